"""Facts of a scope as they are handed out, and why there are none."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from flows.job import Job
from lake.beliefs import why_none
from lake.recall import Recall
from lake.scope import Scope
from tests.flows.lakes import AS_OF, job_on
from tests.flows.sleepers import history, night
from transforms.errors import UsageError


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Job:
    """The small history of two people, consolidated; tests only read it."""
    folder = tmp_path_factory.mktemp("beliefs")
    made = job_on(folder / "lake")
    night(made, folder, "all", history())
    return made


def test_shares_have_four_digits_in_python_and_in_json(job: Job) -> None:
    found = Recall(job.lake, embedder=job.embedder).facts(tenant="acme", user="ana", history=True)
    for name in ("confidence", "trust"):
        values = [fact.values[name] for fact in found]
        assert values == [round(value, 4) for value in values] == [fact.as_dict()[name] for fact in found]
    assert 0.9 in [fact.values["confidence"] for fact in found]


def test_a_session_or_no_scope_is_told_what_facts_need(job: Job) -> None:
    reader = Recall(job.lake, embedder=job.embedder)
    with pytest.raises(UsageError, match="not to a session"):
        reader.facts(tenant="acme", user="ana", session="s-03-05")
    with pytest.raises(UsageError, match="facts need a user or an agent"):
        reader.facts(tenant="acme")
    with pytest.raises(UsageError, match="empty"):
        reader.facts(tenant="acme", user="")


@pytest.mark.parametrize(
    ("scope", "as_of", "recorded_by", "why"),
    [
        (Scope("acm", "ana"), None, None, "no facts: no such tenant in this lake"),
        (Scope("acme", "zoe"), None, None, "no facts in this scope: nothing in it was read as one"),
        (
            Scope("acme", "ana"),
            None,
            datetime(2026, 1, 1, tzinfo=UTC),
            "no facts: the first claim of this scope was recorded at 2026-06-30 23:00 UTC",
        ),
        (
            Scope("acme", "ana"),
            datetime(2026, 1, 1, tzinfo=UTC),
            None,
            "no facts: the first claim of this scope was made at 2026-03-05 10:01 UTC",
        ),
        (Scope("acme", "ana"), AS_OF, AS_OF, "no facts hold in this scope"),
    ],
)
def test_why_there_are_none(
    job: Job, scope: Scope, as_of: datetime | None, recorded_by: datetime | None, why: str
) -> None:
    assert why_none(job.lake, scope, as_of, recorded_by) == why
