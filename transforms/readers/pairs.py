"""Tool calls wait for their results, however far down the source, and become one action each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from transforms.policy import IngestPolicy
from transforms.readers.blocks import Call, Result, action_fields, result_fields

Scope = dict[str, object]
"""Columns of ``DRAFTS`` that a row has from where it stands: session, time, line, metadata."""


class Draft(Protocol):
    """Takes one row: columns of ``DRAFTS``, absent ones null."""

    def __call__(self, **fields: object) -> None:
        """Take the row."""


class Pairs:
    """Joins calls and results by call id, in whichever order they come.

    At the end of the source calls without a result are actions without outcome, and results without a call
    observations. A call without an id, or with one that another call waits under, is an action at once.

    Args:
        draft: Where rows go.
        leave_out: Told of results without text and call.
        policy: For the longest failure reason.
    """

    def __init__(self, draft: Draft, leave_out: Callable[[str], None], policy: IngestPolicy) -> None:
        """Start with nothing waiting."""
        self._draft = draft
        self._leave_out = leave_out
        self._policy = policy
        self._calls: dict[str, tuple[Call, Scope]] = {}
        self._results: dict[str, tuple[Result, Scope]] = {}

    def take_call(self, call: Call, scope: Scope, spare_id: str | None) -> None:
        """A call; ``spare_id`` is its natural id where it has no call id."""
        waiting = self._results.pop(call.call_id, None) if call.call_id is not None else None
        if waiting is None and call.call_id is not None and call.call_id not in self._calls:
            self._calls[call.call_id] = (call, scope)
            return
        result = waiting[0] if waiting else None
        self.draft_action(call, result, scope, call.call_id if call.call_id is not None else spare_id)

    def take_result(self, result: Result, scope: Scope, own_id: str | None) -> None:
        """A result; ``own_id`` is its natural id where no call takes it."""
        waiting = self._calls.pop(result.call_id, None) if result.call_id is not None else None
        if waiting:
            self.draft_action(waiting[0], result, waiting[1], result.call_id)
        elif result.call_id is not None and result.call_id not in self._results:
            self._results[result.call_id] = (result, scope | {"natural_id": own_id})
        else:
            self._draft_observation(result, scope | {"natural_id": own_id})

    def draft_action(self, call: Call, result: Result | None, scope: Scope, natural_id: str | None) -> None:
        """A call whose result is known, or known to be missing."""
        self._draft(**scope, natural_id=natural_id, **action_fields(call, result, self._policy))

    def _draft_observation(self, result: Result, scope: Scope) -> None:
        if not result.text.strip():
            self._leave_out("empty_result")
            return
        self._draft(**(scope | result_fields(result, self._policy)))

    def finish(self) -> None:
        """Draft what still waits."""
        calls, results = self._calls, self._results
        self._calls, self._results = {}, {}
        for call, scope in calls.values():
            self.draft_action(call, None, scope, call.call_id)
        for result, scope in results.values():
            self._draft_observation(result, scope)
