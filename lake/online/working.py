"""Working memory: the open session of an agent, its newest rows and the state of its task."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from lake import arguments, landing
from lake.lake import Lake
from lake.landing import Refused
from lake.online import working_feed, working_file, working_log, working_state
from lake.online.working_log import Log, SessionName
from lake.online.working_sums import SumUp, in_background
from lake.online.working_task import Added, Task
from lake.online.working_window import Window, window_of
from lake.storage import LocalStorage
from transforms.errors import UsageError
from transforms.ids import digest
from transforms.policy import Policy
from transforms.redact import redact_text
from transforms.working.messages import Message, messages
from transforms.working.rendering import as_text
from transforms.working.rows import CALL_ID, ROLES, Row
from transforms.working.state import Change, TaskState

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class _Held:
    """What was read: the file as it was then (its number, size and time), its lines, and what they say."""

    tag: tuple[int, int, int]
    lines: bytes
    log: Log


class Session(Task):
    """One open session. ``Recall.session`` makes it. Safe between threads and processes.

    What ``add`` and ``update`` acknowledge is on disk. Rows that other writers land for the same tenant,
    agent, session and user appear, too.

    Args:
        lake: Where.
        name: Which.
        policy: Window, lifetimes, redaction.
        sum_up: Makes the running summary; by rule where None.
        clock: Now; for tests and replays.
    """

    def __init__(
        self,
        lake: Lake,
        name: SessionName,
        policy: Policy,
        *,
        sum_up: SumUp | None = None,
        clock: Callable[[], datetime] = lambda: working_log.utc(None),
    ) -> None:
        self.name = name
        self._lake, self._policy, self._clock = lake, policy, clock
        self._sum_up = sum_up
        self._key = name.key(lake)
        self._held: _Held | None = None
        self._is_open = False
        self._summing: Future[None] | None = None

    def add(
        self,
        role: str,
        content: str,
        *,
        at: datetime | None = None,
        id: str | None = None,
        **fields: Any,
    ) -> Added:
        """Land a message of this session, and keep it in the window.

        Args:
            role: user, assistant, system, tool or other.
            content: What is said.
            at: When; now where None.
            id: The caller's own id of the row: added again, it is the same row.
            **fields: Further fields of a landed row, such as ``speaker``, ``kind``, ``outcome``,
                ``tags``, ``importance`` or ``retention_tier``.

        Raises:
            UsageError: There is no such role.
            StorageError: The disk is full.
            LakeError: The lake cannot be written.
        """
        if role not in ROLES:  # an unknown speaker must not become the user
            raise UsageError(f"no role is called {role!r}", f"Use one of {', '.join(ROLES)}.")
        return self._land({"role": role, "content": content, **fields}, at, id)

    def add_tool_call(
        self,
        name: str,
        arguments: Mapping[str, Any] | str | None = None,
        *,
        call_id: str | None = None,
        content: str = "",
        **more: Any,
    ) -> str | None:
        """Land a call of a tool. Returns the id that its result names; None where it was refused.

        See ``call_tool``.
        """
        added, link = self.call_tool(name, arguments, call_id=call_id, content=content, **more)
        return None if added.refused else link

    def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | str | None = None,
        *,
        call_id: str | None = None,
        content: str = "",
        **more: Any,
    ) -> tuple[Added, str]:
        """Land a call of a tool. Returns what became of it, and the id that its result names.

        Args:
            name: Of the tool.
            arguments: An object, or its JSON.
            call_id: The model's id of the call; made where None. Kept as it is, but for one like a secret.
            content: What was said with it.
            **more: As for ``add``.
        """
        link = _plain_id(call_id or f"call_{secrets.token_hex(12)}")
        told = arguments if isinstance(arguments, str) else json.dumps(dict(arguments or {}), default=str)
        row = {"role": "assistant", "tool_name": name, "tool_arguments": told, "content": content}
        at, own = more.pop("at", None), more.pop("id", None)
        return self._land({**row, "metadata": {CALL_ID: link}, **more}, at, own), link

    def add_tool_result(self, call_id: str, content: str, *, name: str | None = None, **more: Any) -> Added:
        """Land what a tool answered.

        Args:
            call_id: Of the call.
            content: The answer.
            name: Of the tool.
            **more: As for ``add``; a failure has ``outcome="failure"`` and a ``failure_reason``.
        """
        at, own = more.pop("at", None), more.pop("id", None)
        row = {"role": "tool", "kind": "observation", "content": content, "parent_id": _plain_id(call_id)}
        return self._land({**row, **({"tool_name": name} if name else {}), **more}, at, own)

    def window(self, *, opens: bool = True) -> Window:
        """Rows, state and summary as they stand now.

        Args:
            opens: Whether the session is opened where it is not; else nothing is written.
        """
        log = self._read() if opens or working_file.read(self._lake, self._key) else self._looked_at()
        return window_of(self._lake, log, self._policy, self._clock())

    def rows(self) -> list[Row]:
        """The rows of the window, by time."""
        return self.window().rows

    def state(self) -> TaskState:
        """The state of the task."""
        return self.window().state

    def messages(self) -> list[Message]:
        """The window as messages for a chat endpoint; what left it, as one system message before them."""
        window = self.window()
        return [*window.preface(), *messages(window.rows)]

    def as_text(self) -> str:
        """State, summary and window as delimited data."""
        return as_text(self.window().parts())

    def context(self, budget: int) -> str:
        """As much of it as a budget holds: the state, then the newest rows, then the summary.

        Args:
            budget: Most tokens.
        """
        return self.fitted(self.window(), budget)

    def fitted(self, window: Window, budget: int) -> str:
        """``context`` of a window."""
        from lake.online.working_context import fitted

        tokens = arguments.count("budget", budget, arguments.MOST_TOKENS)
        return fitted(window.parts(), tokens, self._policy.context.encoding)

    def memories(self) -> pl.DataFrame:
        """The rows, the state and the summary as ``schemas.MEMORIES`` of tier working, without vectors."""
        from lake.online.working_memories import memories_of

        return memories_of(self.window(), self.name)

    def settle(self) -> None:
        """Wait until what left the window is summed up, as far as it makes a group of turns.

        Raises:
            SlowwaveError: It could not be.
        """
        before = -1
        while True:
            if self._summing is not None:
                self._summing.result()
            left = len(self.window().groups)
            if not left or left == before:  # nothing to do, or another process is at it
                return
            before = left
            self._sum(self._read())

    def close(self) -> None:
        """End the session: window, summary and state go; its rows stay in the lake until their time."""
        now = self._clock()

        def step(held: bytes) -> working_file.Write | None:
            if not held:
                return None
            header = working_log.header(self.name, now, closed_at=now)
            return working_file.Write(header + working_log.pulled(), is_all=True)

        working_file.change(self._lake, self._key, step)
        self._held = None

    def _land(self, row: dict[str, Any], at: datetime | None, own: str | None) -> Added:
        self._open()
        told = {
            "retention_tier": self._policy.working.row_tier,
            **row,
            **self.name.columns(),
            "natural_id": own or secrets.token_hex(16),
            "event_at": at or self._clock(),
        }
        receipt = landing.append(self._lake, [told], policy=self._policy, now=self._clock())
        if receipt.refused:
            return Added(None, receipt.refused[0])
        self._sum(self._read())
        return Added(receipt.landed[0])

    def _change(self, change: Change) -> Refused | None:
        self._open()
        return working_state.write(self._lake, self.name, change, self._policy)

    def _looked_at(self) -> Log:
        return working_feed.unopened(self._lake, self.name, self._policy, self._clock())

    def _open(self) -> None:
        if not self._is_open:
            self._is_open = working_feed.opened(self._lake, self.name, self._policy, self._clock())

    def _read(self) -> Log:
        """What stands in the file; opened where it is not, and read again only where it has changed."""
        self._open()
        tag, held = self._tag(), self._held
        if held is not None and tag is not None and held.tag == tag:
            return held.log
        lines = working_file.read(self._lake, self._key)
        if not lines:  # it has expired or was erased since it was opened
            self._is_open = False
            self._open()
            tag, lines = self._tag(), working_file.read(self._lake, self._key)
        if not lines:
            return Log(self.name, self._clock())
        if held is not None and lines.startswith(held.lines):  # mostly some were added
            log = working_log.extended(self._lake, self._key, held.log, lines[len(held.lines) :])
        else:
            log = working_log.parsed(self._lake, self._key, lines)
        self._held = None if tag is None else _Held(tag, lines, log)
        return log

    def _tag(self) -> tuple[int, int, int] | None:
        """What changes with the file's content; None on an object store."""
        if not isinstance(self._lake.storage, LocalStorage):
            return None
        try:
            stat = self._lake.storage.path(self._key).stat()
        except FileNotFoundError:
            return None
        return stat.st_ino, stat.st_size, stat.st_mtime_ns

    def _sum(self, log: Log) -> None:
        """Have what left the window summed up, if anything did."""
        is_busy = self._summing is not None and not self._summing.done()
        if is_busy or not window_of(self._lake, log, self._policy, self._clock()).groups:
            return
        self._summing = in_background(self._lake, self.name, self._policy, self._clock, self._sum_up)


def _plain_id(call_id: str) -> str:
    """An id that landing and redaction leave as it is: two rows have to name the same one."""
    while not call_id.isprintable() or redact_text(call_id)[0] != call_id:
        call_id = f"call_{digest(call_id)[:24]}"
    return call_id
