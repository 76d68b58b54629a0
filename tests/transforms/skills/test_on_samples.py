"""The planted failures and fixes of the samples: each lasting pair a lesson, each passing failure none."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

from lake.sources import open_sources
from transforms.ids import row_id
from transforms.normalise import normalise
from transforms.policy import Policy
from transforms.skills.attempts import attempts
from transforms.skills.lessons import lessons
from transforms.skills.procedures import procedures
from transforms.validate import Defaults

SAMPLES = Path(__file__).resolve().parents[3] / "samples"
AS_OF = datetime(2026, 6, 30, 23, tzinfo=UTC)
POLICY = Policy()

PLANTED = {
    # failure: (what its lesson says of cause and cure)
    "tomasz-refund-fail": ("approve_refund: missing idempotency key → ", "with an Idempotency-Key"),
    "tomasz-voucher-fail": ("issue_voucher: amount not a multiple of 25 → ", "multiple of 25"),
    "leila-print-fail": ("order_print: no bleed margin → ", "3 mm bleed margin"),
    "anand-import-fail": ("import_invoices: decimal comma → ", "thousands set to a dot"),
    "anand-dispute-fail": ("dispute_charge: reason code missing → ", "reason code 12.6"),
    "dayo-pool-fail": ("run_sql: connection slots exhausted → ", "Pool size 4 a worker"),
    "dayo-clock-fail": ("run ntpdate: port 123 blocked → ", "chronyc makestep through the proxy"),
    "mira-claim-fail": ("file_claim: arrival_time without offset → ", "worked with arrival_time"),
    "outcome-ferry-fail": ("The ferry operator refused", "weather report was attached"),
}
PASSING = ("mira-timeout", "mira-429", "anand-pay-timeout")


@pytest.fixture(scope="module")
def episodes() -> pl.DataFrame:
    landed = []
    for entry in json.loads((SAMPLES / "manifest.json").read_text("utf-8")):
        defaults = Defaults(entry["tenant_id"], entry["user_id"], entry["agent_id"])
        for source in open_sources(str(SAMPLES / entry["file"]), entry["format"], policy=POLICY.ingest):
            with source.open() as stream:
                for batch in source.reader.read(stream, source.file_name, POLICY.ingest):
                    done = normalise(
                        batch.drafts, source=source.reader.name, defaults=defaults, policy=POLICY,
                        as_of=AS_OF, buckets=16,
                    )  # fmt: skip
                    landed.append(done.episodes)
    return pl.concat(landed).unique("episode_id", keep="first", maintain_order=True)


@pytest.fixture(scope="module")
def tried(episodes: pl.DataFrame) -> pl.DataFrame:
    return attempts(episodes, POLICY)


@pytest.fixture(scope="module")
def learnt(tried: pl.DataFrame) -> pl.DataFrame:
    return lessons(tried, POLICY)


def episode_id(episodes: pl.DataFrame, natural_id: str) -> str:
    """Id of a planted row, whose scope only the samples know."""
    scopes = episodes.select("tenant_id", "user_id", "agent_id", "session_id").unique().iter_rows()
    made = [row_id(*(part or "" for part in scope), f"n{natural_id}") for scope in scopes]
    found: str = episodes.filter(pl.col("episode_id").is_in(made))["episode_id"].item()
    return found


@pytest.mark.parametrize("failure", PLANTED)
def test_each_lasting_failure_and_its_fix_make_one_lesson(
    failure: str, episodes: pl.DataFrame, learnt: pl.DataFrame
) -> None:
    cause, cure = PLANTED[failure]
    source = episode_id(episodes, failure)
    (lesson,) = learnt.filter(pl.col("source_refs").list.contains(source)).to_dicts()
    assert lesson["policy"].startswith(cause)
    assert cure in lesson["policy"]
    assert lesson["is_suggested"]
    assert lesson["failure_count"] >= 1


@pytest.mark.parametrize("failure", PASSING)
def test_failures_that_pass_are_seen_and_teach_nothing(
    failure: str, episodes: pl.DataFrame, tried: pl.DataFrame, learnt: pl.DataFrame
) -> None:
    source = episode_id(episodes, failure)
    (attempt,) = tried.filter(pl.col("source_refs").list.contains(source)).to_dicts()
    assert (attempt["outcome"], attempt["is_transient"], attempt["fix"]) == ("failure", True, None)
    assert learnt.filter(pl.col("source_refs").list.contains(source)).is_empty()
    assert learnt.filter(trigger=attempt["task_type"]).is_empty()
    counted = procedures(tried, POLICY).filter(trigger=attempt["task_type"], owner=attempt["owner"])
    assert counted["failure_count"].sum() == 0


def test_a_passing_failure_with_a_lasting_fix_teaches_the_fix(
    episodes: pl.DataFrame, tried: pl.DataFrame, learnt: pl.DataFrame
) -> None:
    failed = episode_id(episodes, "dayo-rate-fail")
    (attempt,) = tried.filter(pl.col("source_refs").list.contains(failed)).to_dicts()
    assert attempt["is_transient"]
    (lesson,) = learnt.filter(trigger="export_report").to_dicts()
    assert lesson["policy"].startswith("export_report: The usage export finished at 30 requests a minute")
    assert lesson["source_refs"] == [episode_id(episodes, "dayo-rate-fix")]
    assert lesson["failure_count"] == 0


def test_nothing_else_is_learnt_but_what_was_cured(learnt: pl.DataFrame) -> None:
    triggers = sorted(learnt.filter(~pl.col("trigger").str.starts_with("Bash"))["trigger"])
    # Two failures of the import and of the configuration have one fix each; a new card paid the flights.
    assert triggers == ["approve_refund", "book_flights", "dispute_charge", "export_report", "file_claim",
                        "import_invoices", "import_invoices", "issue_voucher", "order_print", "run ntpdate",
                        "run_sql", "set_config", "unnamed"]  # fmt: skip


def test_the_planted_order_is_nowhere(tried: pl.DataFrame, learnt: pl.DataFrame) -> None:
    for made in (tried, learnt, procedures(tried, POLICY)):
        assert "always approve" not in made.write_ndjson().lower()


def test_feedback_reaches_the_try_it_is_of(tried: pl.DataFrame) -> None:
    liked = tried.filter(feedback="helpful").select("session_id", "task_type").sort("session_id").rows()
    assert ("dayo-02", "set_config") in liked
    assert ("tomasz-02", "approve_refund") in liked


def test_every_source_is_an_episode_of_the_same_owner_and_session(
    episodes: pl.DataFrame, tried: pl.DataFrame
) -> None:
    refs = tried.select("attempt_id", "tenant_id", "user_id", "session_id", "trust", episode_id="source_refs")
    held = refs.explode("episode_id").join(
        episodes, on=["episode_id", "tenant_id", "user_id", "session_id"], how="left", suffix="_of_source"
    )
    assert held["content"].null_count() == 0
    assert held.select((pl.col("trust") <= pl.col("trust_of_source")).all()).item()
