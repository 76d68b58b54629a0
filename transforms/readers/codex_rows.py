"""Rows of one agent session, held until nothing can take them back."""

from __future__ import annotations

from collections import Counter

from transforms.policy import IngestPolicy
from transforms.readers.batch import Collector
from transforms.readers.blocks import Call, Result
from transforms.readers.pairs import Pairs, Scope
from transforms.readers.runs import run_id


class Rows:
    """Gathers the rows of a session in their order and hands them over together.

    A message without an id of its own is named by its session, its role and text, and a count where they
    repeat: the same when the file grows, and whether an item or only an event told it.

    Args:
        collector: Where rows go in the end.
        policy: For the size of what is held.
        session_id: Session of the rows.
    """

    def __init__(self, collector: Collector, policy: IngestPolicy, session_id: str | None) -> None:
        """Start empty."""
        self._collector = collector
        self._policy = policy
        self._session_id = session_id
        self._held: list[Scope] = []
        self._chars = 0
        self._turn = 0
        self._asked: str | None = None
        self._requests: list[tuple[int, int]] = []  # turn of each, and rows held before it
        self._said: Counter[str] = Counter()
        self._echoes: list[tuple[str, Scope]] = []
        self._named: Counter[str] = Counter()
        self._pairs = Pairs(self._hold, collector.leave_out, policy)

    @property
    def is_full(self) -> bool:
        """Whether the rows held make a batch."""
        return len(self._held) >= self._policy.batch_rows or self._chars >= self._policy.batch_bytes

    def _hold(self, **fields: object) -> None:
        self._held.append(fields)
        self._chars += len(str(fields.get("content") or ""))

    def _next(self, scope: Scope) -> Scope:
        self._turn += 1
        return {"parent_id": self._asked, **scope, "turn_index": self._turn - 1}

    def say(self, text: str, scope: Scope, own_id: str | None, *, is_injected: bool) -> None:
        """A message; a user's own words are a request, which what follows answers."""
        if not text.strip():
            return
        role = scope.get("role")
        natural_id = own_id if own_id is not None else self._name(text, scope)
        is_request = role == "user" and not is_injected
        if is_request:
            self.ask()
        self._said[run_id(role, text.strip())] += 1
        row = {"natural_id": natural_id, "content": text, "is_injected": True if is_injected else None}
        self._hold(**self._next(scope), **row)
        if is_request:
            self._asked = natural_id

    def ask(self) -> None:
        """A request begins, in words or without any."""
        self._requests.append((self._turn, len(self._held)))
        self._asked = None

    def miss(self) -> None:
        """A line that could not be read may have been a request: what stood before it is not taken back."""
        self._requests = []

    def _name(self, text: str, scope: Scope) -> str | None:
        """None in a session without an id: there the same words of another file would be the same row."""
        if self._session_id is None:
            return None
        name = run_id(scope.get("role"), text.strip())
        self._named[name] += 1
        count = self._named[name]
        base = f"{self._session_id}/{name}"
        return base if count == 1 else f"{base}/{count}"

    def echo(self, text: str, scope: Scope) -> None:
        """What an event says was said: once more, or alone."""
        self._echoes.append((text, self._next(scope)))

    def take_call(self, call: Call, scope: Scope) -> None:
        """A tool call; without an id named by what it asks for."""
        asked = f"{call.name} {call.arguments or ''}"
        spare = self._name(asked, scope) if call.call_id is None else None
        self._pairs.take_call(call, self._next(scope), spare)

    def act(self, call: Call, result: Result | None, scope: Scope) -> None:
        """A tool call whose end is known; named by what it asks for."""
        natural_id = self._name(f"{call.name} {call.arguments or ''}", scope)
        self._pairs.draft_action(call, result, self._next(scope), natural_id)

    def take_result(self, result: Result, scope: Scope) -> None:
        """A tool result."""
        self._pairs.take_result(result, self._next(scope), self._name(result.text, scope))

    def take_back(self, turns: int) -> None:
        """Leave out the last requests and all that followed them, as far as they are still held."""
        if turns <= 0 or not self._requests:
            return
        self._pairs.finish()
        first, start = self._requests[-turns] if turns <= len(self._requests) else self._requests[0]
        del self._requests[-turns:]
        later = self._held[start:]
        kept = [row for row in later if _turn(row) < first]  # calls from before that ended after
        self._held[start:] = kept
        lost = len(later) - len(kept)
        while self._echoes and _turn(self._echoes[-1][1]) >= first:
            self._echoes.pop()
            lost += 1
        self._collector.leave_out("abandoned_branch", lost)
        self._asked = None

    def release(self) -> None:
        """Hand over the rows held, and forget what events said once more."""
        self._echoes = [echo for echo in self._echoes if not self._is_repeated(*echo)]
        for row in self._held:
            self._collector.draft(**row)
        self._held = []
        self._requests = []
        self._chars = 0

    def _is_repeated(self, text: str, scope: Scope) -> bool:
        key = run_id(scope.get("role"), text.strip())
        if text.strip() and self._said[key] <= 0:
            return False
        self._said[key] -= 1
        self._collector.leave_out("repeated")
        return True

    def finish(self) -> None:
        """Hand over all, with calls that wait for a result and words that only an event told."""
        self._pairs.finish()
        for text, scope in self._echoes:
            if not self._is_repeated(text, scope):
                self._hold(**scope, natural_id=self._name(text, scope), content=text)
        self._echoes = []
        self.release()


def _turn(row: Scope) -> int:
    turn = row.get("turn_index")
    return turn if isinstance(turn, int) else 0
