"""The log of recalls: handed over in memory on the hot path, written by a thread of its own.

A call is never kept waiting and never fails because of the log: a full queue, a full disk or a lake that
may only be read cost entries, which are counted.
"""

from __future__ import annotations

import atexit
import os
import secrets
import threading
import time
import weakref
from collections import deque
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from lake import recall_segments
from lake.lake import Lake
from lake.scope import Scope, require_id
from transforms.errors import LakeError, SlowwaveError, UsageError
from transforms.policy import Policy
from transforms.weights import told_of

if TYPE_CHECKING:
    from lake.candidates import Ranked
    from lake.online.asked import Asked
    from lake.online.log_entries import CallEntry, Entry, UseEntry

IDLE_SECONDS = 30.0
"""After so long without a call the thread ends; the next call starts another one."""
_SPAN = 1 << 32
MOST_ID_CHARS = 512
"""Of what is said to be used; the ids of memories have 32."""


@dataclass(frozen=True)
class LogStats:
    """What became of this reader's calls so far.

    Attributes:
        state: ``on``, or ``off`` for the rest of this reader's life.
        note: Why it is off; empty where it is on.
        written: Calls and uses that are on disk.
        waiting: Calls and uses that are not, yet.
        unsampled: Calls that ``recall_log.sample_ratio`` left out.
        dropped: Entries that met a full queue.
        failed: Entries that could not be written.
        refused: Calls and uses of erased or opted-out subjects, or on a forbidden topic.
    """

    state: str
    note: str
    written: int
    waiting: int
    unsampled: int
    dropped: int
    failed: int
    refused: int

    def as_dict(self) -> dict[str, Any]:
        """The shape that ``--json`` prints."""
        return asdict(self)


def is_sampled(call_id: str, ratio: float) -> bool:
    """Whether a call is logged: the same answer for the same call, whoever asks.

    Args:
        call_id: Hexadecimal, of eight digits at least.
        ratio: Share of calls that are logged.
    """
    return int(call_id[:8], 16) < ratio * _SPAN


class RecallLog:
    """Takes entries of one reader and writes them to its lake. Safe between threads.

    Args:
        lake: Where.
        policy: Sections recall_log and redact.
    """

    def __init__(self, lake: Lake, policy: Policy) -> None:
        self._lake = lake
        self._policy = policy
        self._rule = policy.recall_log
        self._note = "recall_log.sample_ratio is 0" if policy.recall_log.sample_ratio == 0 else ""
        self._counts = dict.fromkeys(("written", "unsampled", "dropped", "failed", "refused"), 0)
        self._begin()
        _LOGS.add(self)

    def _begin(self) -> None:
        self._queue: deque[Entry] = deque()
        self._lock = threading.Lock()  # of the queue and the counts; never held while anything is written
        self._writing = threading.Lock()
        self._wake = threading.Event()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None

    @cached_property
    def _policy_hash(self) -> str:
        return self._policy.hash()

    def record(
        self,
        asked: Asked,
        found: Ranked,
        verb: str,
        returned: Collection[str],
        tokens: Mapping[str, int] | None = None,
        *,
        began: float,
        budget: int | None = None,
    ) -> str:
        """Hand a call over to be logged, where it is to be.

        Args:
            asked: The search.
            found: What it came to.
            verb: ``search`` or ``context``.
            returned: Ids that the caller is given.
            tokens: Tokens by id of those that were packed.
            began: ``time.perf_counter`` at the start of the call.
            budget: Tokens that a context had room for.

        Returns:
            The call's id, whether or not it is logged; empty where the call was as of another instant, which
            is no use of a memory and is never logged.
        """
        if asked.filters.is_replay:
            return ""
        call_id = secrets.token_hex(16)
        if self.takes(call_id):
            from lake.online.log_entries import CallHead, call_entry

            weights = asked.weights or asked.policy.recall.weights_for(None)
            head = CallHead(
                call_id,
                asked.scopes[0],
                asked.text,
                verb,
                "semantic" if found.route is None else str(found.route.kind),
                told_of(weights),
                self._policy_hash,
                found.generation,
                asked.filters.as_of,
                time.perf_counter() - began,
                budget,
                asked.filters.tombstones,
            )
            most = self._rule.candidates
            self.add(call_entry(head, found.pool, most=most, returned=returned, tokens=tokens))
        return call_id

    def used(self, ids: Sequence[str], call_id: str | None, scope: Scope) -> None:
        """Hand over what an agent says it used.

        Raises:
            UsageError: The ids are no texts, or the call's is none, or one of them can be no id.
        """
        if isinstance(ids, str) or not all(isinstance(one, str) and one for one in ids):
            raise UsageError("the ids are not a list of texts", "Pass the ids of memories.")
        if call_id is not None and not isinstance(call_id, str):
            raise UsageError(f"call_id is {type(call_id).__name__}", "Pass the answer's, or leave it out.")
        # Refused here: it could not be written later, nor could what waits with it.
        for one in (*ids, call_id or ""):
            require_id(one)
            if len(one) > MOST_ID_CHARS:
                raise UsageError("an id is too long", "Pass ids as the answer gave them.")
        if not ids or call_id == "":  # of a call that was not recorded nothing can be said
            return
        from lake.online.log_entries import UseEntry

        who = (scope.tenant, scope.user, scope.agent, scope.session)
        self.add(UseEntry(tuple(dict.fromkeys(ids)), call_id, *who, datetime.now(UTC)))

    def takes(self, call_id: str) -> bool:
        """Whether a call is to be logged; asked before anything is made for it."""
        if self._note:
            return False
        if is_sampled(call_id, self._rule.sample_ratio):
            return True
        with self._lock:
            self._counts["unsampled"] += 1
        return False

    def add(self, entry: CallEntry | UseEntry) -> None:
        """Hand an entry over; never waits, never raises."""
        if self._note:
            return
        with self._lock:
            if len(self._queue) >= self._rule.queue_calls:
                self._counts["dropped"] += 1
                return
            self._queue.append(entry)
            if self._thread is None:
                self._start()
        if not self._wake.is_set():
            self._wake.set()

    def stats(self) -> LogStats:
        """What became of the calls so far."""
        with self._lock:
            state = "off" if self._note else "on"
            return LogStats(state, self._note, waiting=len(self._queue), **self._counts)

    def flush(self) -> None:
        """Write what waits; on disk when it returns, or counted as failed."""
        with self._writing:
            with self._lock:
                entries, self._queue = list(self._queue), deque()
            if entries:
                self._write(entries)

    def close(self) -> None:
        """``flush``, and end the thread; an entry that comes later starts it again."""
        self._closing.set()
        self._wake.set()
        self.flush()

    def _run(self) -> None:
        try:
            while self._wake.wait(IDLE_SECONDS):
                self._closing.wait(self._rule.flush_seconds)  # others may come meanwhile
                self._wake.clear()
                self.flush()
                if self._closing.is_set():
                    break
        finally:
            with self._lock:
                self._thread = None
                self._closing.clear()
                if self._queue:  # it came between the last look and now
                    self._start()

    def _start(self) -> None:
        """Start the thread; where none can be, as the interpreter ends, ``close`` writes what waits."""
        thread = threading.Thread(target=self._run, name="slowwave-recall-log", daemon=True)
        with suppress(RuntimeError):
            thread.start()
            self._thread = thread

    def _write(self, entries: Sequence[Entry]) -> None:
        from lake.online.log_lines import Batch, bucket_of

        by_bucket: dict[int, list[Entry]] = {}
        for entry in entries:
            by_bucket.setdefault(bucket_of(self._lake, entry), []).append(entry)
        for bucket, mine in sorted(by_bucket.items()):
            batch = Batch(self._lake, mine, self._policy.redact)
            try:
                if not self._note:
                    recall_segments.write(self._lake, bucket, batch.lines)
            except LakeError as error:  # it may not be written, or not be sealed: so it stays
                self._note = error.message
            except SlowwaveError:
                self._count(failed=len(mine))
                continue
            if self._note:
                self._count(failed=len(mine))
            else:
                self._count(written=len(mine) - batch.refused, refused=batch.refused)

    def _count(self, **more: int) -> None:
        with self._lock:
            for name, number in more.items():
                self._counts[name] += number


_LOGS: weakref.WeakSet[RecallLog] = weakref.WeakSet()


def _flush_all() -> None:
    for log in list(_LOGS):
        log.close()


def _begin_all() -> None:
    """A forked child begins with nothing: its parent writes what waits."""
    for log in list(_LOGS):
        log._begin()


atexit.register(_flush_all)
os.register_at_fork(after_in_child=_begin_all)
