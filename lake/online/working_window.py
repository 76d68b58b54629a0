"""What is shown of a session at an instant: the window's rows, the state of the task, the summary."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property

from lake.lake import Lake
from lake.online.working_log import Log
from lake.rights import standing
from lake.rights.refusals import scope_of
from lake.rights.tombstones import Tombstones, load
from transforms.policy import Policy
from transforms.working.messages import Message
from transforms.working.rendering import Parts, brief, preface
from transforms.working.rows import Row, ordered, shown_until
from transforms.working.state import TaskState, folded
from transforms.working.summary import Summary
from transforms.working.turns import Cut, cut, groups


@dataclass(frozen=True)
class Window:
    """A session at an instant.

    Attributes:
        all_rows: Rows that are neither past their time, nor refused, nor summed up, by time.
        cut: Where the window begins.
        state: Of the task.
        summed: What stands for rows that were summed up.
        brief_chars: Most characters of what stands for rows that left and are not summed up yet.
        group_rows: Least rows that are summed up together.
    """

    all_rows: list[Row]
    cut: Cut
    state: TaskState
    summed: Summary
    brief_chars: int
    group_rows: int

    @cached_property
    def rows(self) -> list[Row]:
        """Rows that are shown."""
        return self.cut.shown(self.all_rows)

    @cached_property
    def left(self) -> list[Row]:
        """Rows that have left the window and are not summed up yet."""
        return self.cut.left(self.all_rows)

    @cached_property
    def groups(self) -> list[list[Row]]:
        """Those of them that are to be summed up together."""
        return groups(self.cut.whole_turns(self.all_rows), self.group_rows)

    @cached_property
    def summary(self) -> str:
        """What stands for all that left: sentences, and the beginnings of what is not summed up yet."""
        lines = [self.summed.text, brief(self.left, self.brief_chars)]
        return "\n".join(line for line in lines if line)

    def parts(self) -> Parts:
        """What is rendered."""
        return Parts(self.state, self.summary, tuple(self.rows))

    def preface(self) -> list[Message]:
        """State and summary as one message; none where there is neither."""
        text = preface(self.state, self.summary)
        return [{"role": "system", "content": text}] if text else []


def window_of(lake: Lake, log: Log, policy: Policy, now: datetime) -> Window:
    """A session at an instant.

    Args:
        lake: Where; its tombstones hide at once.
        log: What stands in the session's file.
        policy: Window and lifetimes.
        now: The instant.
    """
    refusing = load(lake)
    until = until_of(lake, log, policy)
    rows = [
        row
        for row in ordered(log.rows)
        if row.id not in log.covered
        and until(row) > now
        and (log.closed_at is None or row.at > log.closed_at)
        and refusing.mark_of(scope_of(row.raw), row.at, row.id) is None
    ]
    rules = policy.working
    summed = log.summary.live(now)
    if refusing:
        hidden = {i for one in summed.sentences for i in one.sources if _hides(refusing, log, i)}
        summed = summed.without(hidden)
        if _is_refused(refusing, log, log.opened_at):
            summed = Summary()
    made = cut(rows, rules.window_rows, rules.window_tokens)
    state = _state(log, rows, policy, now, refusing)
    return Window(rows, made, state, summed, 4 * rules.summary_tokens, rules.summary_rows)


def until_of(lake: Lake, log: Log, policy: Policy) -> Until:
    """When each row of a session is no longer shown, by the policy and its person's own wish."""
    return Until(lake, log.name.tenant, policy)


@dataclass
class Until:
    """See ``until_of``."""

    lake: Lake
    tenant: str
    policy: Policy
    _periods: dict[str, int | None] = field(default_factory=dict)

    def __call__(self, row: Row) -> datetime:
        """When the row is no longer shown."""
        user = row.raw["user_id"]
        if user and user not in self._periods:
            self._periods[user] = self._period(user)
        period = self._periods.get(user) if user else None
        return shown_until(row.raw, self.policy.working, self.policy.retention, period)

    def _period(self, user: str) -> int | None:
        told = standing.of_rows(self.lake, self.tenant, user, None)
        return next((one.period_seconds for one in told if one.subject.user == user), None)


def _state(log: Log, rows: list[Row], policy: Policy, now: datetime, refusing: Tombstones) -> TaskState:
    state = folded(log.changes, policy.working.state_items)
    due = state_until(state, policy)
    if due is not None and (due <= now or _is_refused(refusing, log, state.updated_at)):
        state = TaskState()
    result = next((row for row in reversed(rows) if row.is_result), None)
    told = [change.at for change in log.changes if "last_tool_result" in change.set]
    if result is None or (told and told[-1] >= result.at):
        return state
    return state.with_result(result.content[: policy.working.state_chars])


def state_until(state: TaskState, policy: Policy) -> datetime | None:
    """First instant at which a state is no longer shown; None where there is none, or never."""
    seconds = policy.retention.ttl_seconds()[policy.working.state_tier]
    if state.updated_at is None or seconds is None:
        return None
    return state.updated_at + timedelta(seconds=seconds)


def _is_refused(refusing: Tombstones, log: Log, at: datetime | None) -> bool:
    """Whether what was written at an instant about the session as a whole may not be shown.

    It may be about anybody who took part.
    """
    tenant, user, agent, session = log.name.scope
    return any(
        refusing.mark_of((tenant, person, agent, session), at) for person in {user, *sorted(log.people)}
    )


def _hides(refusing: Tombstones, log: Log, row_id: str) -> bool:
    return refusing.mark_of((log.name.tenant, None, None, None), log.opened_at, row_id) is not None
