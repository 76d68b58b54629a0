"""What stands behind a row: by id or its first characters, inside the scope, to the words that ended it."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from flows.job import Job
from lake import revisions, tables
from lake.chain import PREFIX_CHARS, Chain
from lake.recall import Recall
from tests.flows.lakes import job_on
from tests.flows.sleepers import history, night, said
from transforms.errors import UsageError
from transforms.schemas import ATTEMPTS, CLAIMS, FACTS, TOPICS

ANA = {"tenant": "acme", "user": "ana"}


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Job:
    """The small history of two people, consolidated; tests only read it."""
    folder = tmp_path_factory.mktemp("chain")
    made = job_on(folder / "lake")
    night(made, folder, "all", history())
    return made


def ids(job: Job, *where: pl.Expr) -> list[str]:
    found: list[str] = revisions.standing(job.lake, FACTS).filter(where or pl.lit(True))["fact_id"].to_list()
    return found


def explained(job: Job, row_id: str, tenant: str = "acme", user: str | None = "ana") -> Chain:
    reader = Recall(job.lake, embedder=job.embedder)
    return reader.explain(row_id, tenant=tenant, user=user, tenant_wide=user is None)


def about(job: Job, key: str) -> str:
    [found] = ids(job, pl.col("object_key") == key, pl.col("tenant_id") == "acme")
    return found


def test_the_first_characters_of_an_id_are_enough(job: Job) -> None:
    whole = about(job, "peanuts")
    for count in (PREFIX_CHARS, 20, len(whole)):
        assert explained(job, whole[:count]).id == whole
    for odd in (whole[: PREFIX_CHARS - 1], whole[1:], f"{whole[:PREFIX_CHARS]}.*", "." * 32, ""):
        with pytest.raises(UsageError):
            explained(job, odd)


def test_a_prefix_finds_nothing_outside_its_scope(job: Job) -> None:
    cork = about(job, "cork")[:PREFIX_CHARS]
    assert explained(job, cork, user="ben").row["object"] == "Cork"
    assert explained(job, cork, user=None).row["object"] == "Cork"
    for tenant, user in (("acme", "ana"), ("umbrella", "ben"), ("umbrella", None)):
        with pytest.raises(UsageError, match="no row"):
            explained(job, cork, tenant, user)


def test_a_prefix_of_several_rows_says_of_how_many(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one character enough, two of many ids begin alike; the scope's rows alone are counted."""
    monkeypatch.setattr("lake.chain.PREFIX_CHARS", 1)
    from lake.chain import KINDS

    frames = [tables.scan(job.lake, t).select("tenant_id", "user_id", id=t.key[0]).collect() for t in KINDS]
    rows = pl.concat(frames).unique().filter(tenant_id="acme", user_id="ana")
    counts = rows.group_by(first=pl.col("id").str.head(1)).len().filter(pl.col("len") > 1)
    first, count = counts.sort("first").row(0)
    with pytest.raises(UsageError, match=rf"^{count} rows of this scope begin with {first}\.") as caught:
        explained(job, first)
    assert caught.value.remedy == "Give more of the id."


@pytest.mark.parametrize(
    ("key", "reason", "quote"),
    [
        ("rye bread", "retracted", "I no longer like rye bread"),
        ("aisle seat", "superseded", "I prefer a window seat"),
        ("graz", "superseded", "I moved to Lisbon"),
    ],
)
def test_a_fact_that_ended_shows_the_words_that_ended_it(job: Job, key: str, reason: str, quote: str) -> None:
    chain = explained(job, about(job, key))
    assert chain.row["retired_reason"] == reason
    [ending] = chain.ended_by
    assert ending["quote"].startswith(quote)
    assert ending["claim_id"] not in [claim["claim_id"] for claim in chain.claims]


def test_a_fact_that_holds_was_ended_by_nothing(job: Job) -> None:
    assert explained(job, about(job, "lisbon")).ended_by == []


def test_a_retraction_of_several_facts_is_shown_with_each(tmp_path: Path) -> None:
    """Its one decision names one fact; the others find it by what it retracts, and when."""
    job = job_on(tmp_path / "lake")
    rows = [said(1, "I like tea.", "03-05"), said(2, "I like jazz.", "03-05"), said(3, "So be it.", "04-01")]
    night(job, tmp_path, "all", rows)
    tea, jazz = about(job, "tea"), about(job, "jazz")
    claims = tables.scan(job.lake, CLAIMS).collect()
    at = revisions.standing(job.lake, FACTS)["recorded_at"].max()
    broad = claims.filter(pl.col("object_key") == "tea").with_columns(
        claim_id=pl.lit("f" * 32), operation=pl.lit("retract"), valid_from=at, event_at=at, recorded_at=at
    )
    tables.append(job.lake, CLAIMS, broad)
    ended = {"valid_until": at, "retired_at": at, "retired_reason": "retracted", "revision": 2}
    rows_ended = revisions.standing(job.lake, FACTS).with_columns(
        *(pl.lit(value).cast(FACTS.polars[name]).alias(name) for name, value in ended.items()),
        is_removed=pl.lit(False),
    )
    tables.append(job.lake, FACTS, rows_ended)
    for fact in (tea, jazz):
        assert [claim["claim_id"] for claim in explained(job, fact).ended_by] == ["f" * 32]


def test_figures_have_four_digits(job: Job) -> None:
    chain = explained(job, about(job, "rye bread"))
    figures = [chain.row["confidence"], chain.row["trust"], chain.row["importance"]]
    figures += [claim["confidence"] for claim in (*chain.claims, *chain.ended_by)]
    assert figures == [round(figure, 4) for figure in figures]
    assert 0.9 in figures


def test_every_kind_of_row_says_what_it_is(job: Job) -> None:
    attempt = revisions.standing(job.lake, ATTEMPTS).row(0, named=True)
    assert explained(job, attempt["attempt_id"]).text.startswith("import_invoices: ")
    for topic in revisions.standing(job.lake, TOPICS).filter(user_id="ana", tenant_id="acme").to_dicts():
        assert explained(job, topic["topic_id"]).text == ", ".join(topic["label"])
    lisbon = explained(job, about(job, "lisbon"))
    built = explained(job, lisbon.sources[0]["episode_id"]).built_on_it
    assert built["facts"] == [{"id": lisbon.id, "text": lisbon.text}]
    assert built["claims"][0]["text"]
