"""The report on quality and the audit of one person: right, of nobody else, one page that needs nothing."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from flows.job import Job
from flows.metrics import record_night
from flows.report_quality import Report, quality, run_report_quality
from flows.report_quality_page import quality_html, quality_text
from lake import tables
from lake.lake import init_lake
from lake.rights import standing, tombstones
from tests.flows.lakes import AS_OF, Command, job_on
from tests.flows.measured import add_calls, add_episodes, add_facts, ago, scope
from tests.lake.crypto.sealed import sealed_job
from tests.lake.made import frame
from tests.lake.online.recalls import ME, job_now, logging, notes, published
from transforms.errors import UsageError
from transforms.policy import Policy
from transforms.policy_metrics import MetricsPolicy
from transforms.schemas import PROCEDURES, RECALLS
from transforms.standing import Standing
from transforms.subjects import Subject

NO_INDEX = "No index is published that can be read: near duplicates are told by equal text only."
ANA = Subject("acme", user="ana")
HOSTILE = "=<b>um\"brella</b>' & <script>x</script>"


def add_all(job: Job) -> None:
    """Something of everything for Ana, and rows of others that must not show."""
    add_episodes(
        job,
        [
            {"episode_id": "twin-a", "content": "the kiln is in Graz"},
            {"episode_id": "twin-b", "content": "the kiln is in Graz"},
            {"episode_id": "hostile", "content": HOSTILE, "importance": 0.9},
            {"episode_id": "idle", "event_at": ago(35), "importance": 0.1},
            {"episode_id": "late", "retention_tier": "session"},
            {"episode_id": "injected", "is_injected": True},
            {"episode_id": "pinned", "importance": 0.2},
            {**scope(job, user="bo"), "episode_id": "of-bo", "content": "what Bo said"},
            {**scope(job, "bolt"), "episode_id": "of-bolt", "content": "what Bolt said"},
        ],
    )
    add_facts(
        job,
        [
            {"fact_id": "f-graz"},
            {"fact_id": "f-porto", "object": "Porto"},
            {"fact_id": "f-old", "object": "Ghent", "valid_until": ago(9), "retired_at": ago(9)},
            {**scope(job, user="bo"), "owner": "user:bo", "fact_id": "f-bo", "object": "Bordeaux"},
        ],
    )
    standing.save(job.lake, Standing(ANA, pinned=("pinned",)))
    add_calls(
        job,
        [
            {"gave": ["twin-a", "twin-b", "hostile"], "used": ["hostile"], "seconds": 0.1},
            {"gave": ["hostile"], "used": ["hostile"], "seconds": 0.2, "recalled_at": ago(3)},
            {"gave": ["f-old"], "kind": "fact", "recalled_at": ago(3)},
            {"seconds": 0.3},
            {**scope(job, user="bo"), "gave": ["of-bo", "twin-a"], "recalled_at": ago(2)},
            {**scope(job, "bolt"), "gave": ["of-bolt"], "recalled_at": ago(2)},
        ],
    )


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return job_on(tmp_path / "lake")


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Job:
    """A planted lake; not to be written."""
    made = job_on(tmp_path_factory.mktemp("quality") / "lake")
    add_all(made)
    return made


@pytest.fixture(scope="module")
def whole(full: Job) -> Report:
    return quality(full, None)


@pytest.fixture(scope="module")
def audit(full: Job) -> Report:
    return quality(full, ANA)


@pytest.fixture(scope="module")
def written(full: Job, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the audit."""
    folder = tmp_path_factory.mktemp("written")
    run_report_quality(full, folder, ANA)
    return folder


def rows(report: Report, name: str, *columns: str) -> list[tuple[Any, ...]]:
    return report.tables[name].select(columns).rows()


def test_measures_of_the_whole_and_day_by_day(whole: Report) -> None:
    told = whole.figures["measures"]
    assert (told["calls"], told["misses"], told["returned_rows"], told["fact_rows"]) == (6, 1, 8, 1)
    assert (told["seconds_p50"], told["superseded_ratio"], told["expired_rows"]) == (0.2, 1.0, 0)
    assert told["crowded_ratio"] == 0.5
    course = whole.tables["course"].select(
        pl.col("period_at").dt.day(), "calls", "misses", "superseded_ratio"
    )
    assert course.rows() == [(27, 2, 0, 1.0), (28, 2, 0, None), (29, 2, 1, None)]
    assert whole.figures["period"] == "day"
    assert rows(whole, "tenants", "tenant", "calls") == [("acme", 5), ("bolt", 1)]


def test_facts_that_were_served_when_retired_are_a_fault(whole: Report) -> None:
    assert whole.faults == ("1 of 1 served facts had been retired before the call.",)
    assert whole.remarks == (NO_INDEX,)


def test_a_long_window_is_told_by_week(full: Job) -> None:
    report = quality(full, None, 60)
    assert report.figures["period"] == "week"
    assert rows(report, "course", "calls") == [(4,), (2,)]  # the 29th was a Monday


def test_periods_and_tenants_add_up_to_the_whole(whole: Report) -> None:
    for table in ("course", "tenants"):
        for name in (
            "calls",
            "misses",
            "known_calls",
            "returned_rows",
            "timed_calls",
            "answers",
            "fact_rows",
        ):
            assert whole.tables[table][name].sum() == whole.figures["measures"][name], (table, name)


def test_a_tenant_alone(full: Job) -> None:
    report = quality(full, Subject("acme"))
    assert report.figures["measures"]["calls"] == 5
    assert report.audit is None
    assert not [name for name in report.tables if name.startswith("audit") or name == "tenants"]
    assert report.tables["scores_all"]["rows"].sum() == 11  # episodes of Ana and Bo, and facts


def test_what_is_counted_of_one_person(audit: Report) -> None:
    assert audit.audit is not None
    assert dict(audit.audit.figures) == {
        "subject": {"tenant": "acme", "user": "ana"},
        "memories": 9,
        "kinds": {"conversation": 6, "fact": 3},
        "never_served": 5,
        "used_memories": 1,
        "compared": 9,
        "near_pairs": 1,
        "near_memories": 2,
        "stale": {"never_asked_for": 1, "superseded": 1},
        "served_retired": 1,
        "contradictions": 1,
        "due": 2,
        "pinned": 1,
        "held": 0,
    }


def test_memories_by_use(audit: Report) -> None:
    shown = rows(audit, "audit_memories", "memory_id", "served", "used")
    assert shown[:4] == [("hostile", 2, 2), ("twin-a", 2, 0), ("f-old", 1, 0), ("twin-b", 1, 0)]
    assert {served for _, served, _ in shown[4:]} == {0}
    assert rows(audit, "audit_never_used", "memory_id", "served") == [
        ("twin-a", 2),
        ("f-old", 1),
        ("twin-b", 1),
    ]
    assert {"injected", "of-bo", "of-bolt", "f-bo"}.isdisjoint(name for name, _, _ in shown)


def test_near_duplicates_contradictions_stale_and_next(audit: Report) -> None:
    assert rows(audit, "audit_near_duplicates", "left", "right", "is_same_text") == [
        ("twin-a", "twin-b", True)
    ]
    assert rows(audit, "audit_contradictions", "left", "right", "why") == [
        ("f-graz", "f-porto", "two_objects")
    ]
    assert rows(audit, "audit_stale", "memory_id", "why") == [
        ("idle", "never_asked_for"),
        ("f-old", "superseded"),
    ]
    coming = rows(audit, "audit_forgotten_next", "memory_id", "why", "state")
    assert coming[:2] == [("idle", "stale", "waiting"), ("late", "expired", "goes")]
    pinned = ("pinned", "expired", "stays")  # only what bounds every lifetime takes it, at its end
    assert coming[-1] == pinned
    assert sum(audit.tables["audit_next_by_month"]["rows"]) == len(coming)


def test_budgets_spreads_and_activity(audit: Report) -> None:
    assert rows(audit, "audit_capacity", "budget", "held", "most") == [
        ("episodes", 6, 500), ("facts", 2, 100), ("indexed_rows", 8, 10_000),
        ("content_chars", 2 * 19 + len(HOSTILE) + 4 + 4 + 6, 100_000_000),
    ]  # fmt: skip
    for name in ("audit_importance", "audit_scores"):
        assert audit.tables[name]["rows"].sum() == 9
    assert audit.tables["audit_activity"]["calls"].sum() == 4


def test_an_agent_is_audited_whoever_it_was_about(full: Job) -> None:
    report = quality(full, Subject("acme", agent="aide"))
    assert report.audit is not None
    assert report.audit.figures["memories"] == 11
    assert report.tables["audit_activity"]["calls"].sum() == 5
    held = dict(rows(report, "audit_capacity", "budget", "held"))
    assert held["episodes"] == 0  # what is of a user counts against the user's budgets


def test_skills_that_are_not_suggested_are_no_memories(job: Job) -> None:
    plain = {**scope(job), "owner": "user:ana", "last_event_at": ago(3), "retention_tier": "permanent",
             "revision": 1}  # fmt: skip
    skills = [("p1", "procedure", True), ("p2", "procedure", False), ("l1", "lesson", False)]
    held = [{**plain, "procedure_id": i, "kind": k, "is_suggested": s} for i, k, s in skills]
    tables.append(job.lake, PROCEDURES, frame(PROCEDURES, held))
    report = quality(job, ANA)
    assert set(report.tables["audit_memories"]["memory_id"]) == {"p1", "l1"}


def test_only_so_many_memories_are_compared_and_shown_and_texts_are_cut(job: Job) -> None:
    add_episodes(
        job, [{"episode_id": f"e{n}", "content": "the same long words again " * 3} for n in range(6)]
    )
    add_calls(job, [{"gave": ["e4", "e5"]}])
    few = replace(job, policy=Policy(metrics=MetricsPolicy(audit_rows=3, audit_shown=2, audit_chars=20)))
    report = quality(few, ANA)
    assert report.audit is not None
    assert (report.audit.figures["compared"], report.audit.figures["near_pairs"]) == (3, 3)
    assert rows(report, "audit_memories", "memory_id", "text") == [
        ("e4", "the same long words…"),
        ("e5", "the same long words…"),
    ]
    assert report.tables["audit_near_duplicates"].height == 2


def test_the_lake_as_it_was(full: Job) -> None:
    report = quality(replace(full, as_of=ago(2.5)), ANA)
    assert report.audit is not None
    assert report.figures["measures"]["calls"] == 2
    assert rows(report, "audit_memories", "memory_id", "served")[:2] == [("hostile", 1), ("f-old", 1)]
    early = quality(replace(full, as_of=ago(15)), ANA)
    assert early.audit is not None
    assert early.audit.figures["kinds"] == {"conversation": 1, "fact": 3}


def test_nights_are_shown_and_the_checks_of_health_are_not(job: Job) -> None:
    add_all(job)
    for days in (1, 0):
        record_night(replace(job, as_of=AS_OF - timedelta(days=days)))
    report = quality(job, None)
    held = report.tables["nights"].filter(pl.col("name") == "calls", pl.col("part") == "")
    assert held["value"].to_list() == [6.0, 6.0]
    assert "As nights measured it" in quality_html(report)
    mine = quality(job, Subject("bolt")).tables["nights"]
    assert mine.filter(pl.col("name") == "calls")["value"].to_list() == [1.0, 1.0]


def test_calls_that_wait_for_the_night_are_in_it(tmp_path: Path) -> None:
    lake = published(tmp_path, notes(3))
    reader = logging(lake)
    answer = reader.search("violin", **ME, k=2)
    reader.used([answer[0].id], tenant="t", call_id=answer.call_id)
    reader.flush()
    report = quality(job_now(lake), Subject("t", user="u"))
    assert report.figures["measures"]["hit_ratio"] == 1.0
    assert report.audit is not None
    assert (report.audit.figures["memories"], report.audit.figures["used_memories"]) == (3, 1)
    assert tables.scan(lake, RECALLS).collect().is_empty()


def test_memories_of_nearly_the_same_words_are_near_by_their_vectors(tmp_path: Path) -> None:
    near = "the red kiln stands in the old harbour of Graz"
    words = (near, f"{near} now", "tea at nine with the neighbours")
    lake = published(tmp_path, [{"content": text} for text in words])
    report = quality(job_now(lake), Subject("t", user="u"))
    ((left, right, cosine, is_same),) = rows(
        report, "audit_near_duplicates", "left_text", "right_text", "cosine", "is_same_text"
    )
    assert {left, right} == set(words[:2])
    assert not is_same
    assert 0.92 < cosine < 1
    lake.storage.write("index/CURRENT", b"no pointer")
    report = quality(job_now(lake), Subject("t", user="u"))
    assert report.tables["audit_near_duplicates"].is_empty()
    assert NO_INDEX in report.remarks


def test_an_encrypted_lake(tmp_path: Path, audit: Report) -> None:
    sealed = sealed_job(tmp_path / "sealed")
    add_all(sealed)
    report = quality(sealed, ANA)
    for name in ("audit_memories", "audit_near_duplicates", "audit_contradictions", "course"):
        assert report.tables[name].equals(audit.tables[name]), name


def test_who_was_erased_is_not_shown(job: Job) -> None:
    add_all(job)
    tombstones.place(job.lake, Subject("acme", memory="hostile"), None, "f" * 32)
    report = quality(job, ANA)
    assert HOSTILE not in str(report.as_dict())
    assert "hostile" not in report.tables["audit_memories"]["memory_id"]
    tombstones.place(job.lake, ANA, None, "f" * 32)
    with pytest.raises(UsageError, match="erased or has opted out"):
        quality(job, ANA)
    tombstones.place(job.lake, Subject("acme"), None, "f" * 32)
    with pytest.raises(UsageError, match="this tenant was erased"):
        quality(job, Subject("acme"))
    assert rows(quality(job, None), "tenants", "tenant") == [("bolt",)]


def test_page_is_one_file_that_runs_and_fetches_nothing(written: Path) -> None:
    page = (written / "quality.html").read_text("utf-8")
    assert "<script" not in page
    assert "<b>um" not in page
    assert "&lt;b&gt;um" in page
    assert not re.search(r"(src|href|url\()\s*=?\s*[\"']?(https?:)?//", page)
    assert page.count("<svg") >= 8
    assert "what Bo said" not in page


def test_json_csv_and_parquet_hold_the_same_rows(written: Path, audit: Report) -> None:
    told = json.loads((written / "quality.json").read_text("utf-8"))
    assert set(told["tables"]) == set(audit.tables)
    for name, held in audit.tables.items():
        assert pl.read_parquet(written / "parquet" / f"{name}.parquet").equals(held), name
        assert len(told["tables"][name]) == held.height
    assert told["audit"]["near_pairs"] == 1
    assert "'=<b>" in (written / "csv" / "audit_memories.csv").read_text("utf-8")


def test_lines_for_a_terminal(whole: Report, audit: Report, tmp_path: Path) -> None:
    text = quality_text(whole, tmp_path)
    assert text.startswith("6 calls in 30 days")
    assert "NOT AS IT MUST BE: 1 of 1 served facts" in text
    assert "audit of tenant acme user ana: 9 memories, 1 of use, 5 never served" in quality_text(
        audit, tmp_path
    )


def test_an_empty_lake_has_a_page_that_says_so(job: Job, tmp_path: Path) -> None:
    report = run_report_quality(job, tmp_path / "out", None)
    assert report.remarks == ("No call is on record in the 30 days before the as-of.", NO_INDEX)
    assert "No call is on record" in (tmp_path / "out" / "quality.html").read_text("utf-8")
    assert report.figures["measures"]["hit_ratio"] is None


def test_what_is_not_known_is_said(job: Job) -> None:
    add_calls(job, [{"gave": ["e1"], "policy_hash": "another"}])
    remarks = " ".join(quality(job, None).remarks)
    for word in ("No agent says what it uses", "latency", "under this policy"):
        assert word in remarks


@pytest.fixture
def lake_of_ana(tmp_path: Path) -> Path:
    made = job_on(tmp_path / "lake")
    add_all(made)
    return tmp_path / "lake"


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--user", "ana"], "needs its tenant"),
        (["--tenant", "acme", "--session", "s"], "not at a session"),
        (["--tenant", "acme", "--user", "ana", "--agent", "aide"], "two subjects"),
        (["--tenant", "acme", "--user", "nobody"], "no memory of user nobody in tenant acme"),
        (["--tenant", "bolt", "--user", "bo"], "no memory of user bo in tenant bolt"),
        (["--tenant", "unknown"], "holds nothing of tenant unknown"),
        (["--tenant", ""], "needs its tenant"),
        (["--days", "1000000000"], "is too long"),
        (["--days", "0"], ""),
        (["--out", "lake"], "inside the lake"),
    ],
)
def test_a_wrong_call_says_what_is_wrong(
    command: Command, lake_of_ana: Path, flags: list[str], message: str
) -> None:
    where = [] if "--out" in flags else ["--out", "report"]
    flags = [str(lake_of_ana / "report") if f == "lake" else f for f in flags]
    said = command(
        "--lake", lake_of_ana, "--as-of", AS_OF.isoformat(), "--json", "report", "quality", *where, *flags
    )
    assert said.code == 2
    assert message in said.error["message"]
    assert not Path("report").exists()


def test_the_verb_writes_the_files_and_prints_the_same(command: Command, lake_of_ana: Path) -> None:
    common = ("--lake", lake_of_ana, "--as-of", AS_OF.isoformat())
    said = command(
        *common, "--json", "report", "quality", "--out", "out", "--tenant", "acme", "--user", "ana"
    )
    assert said.code == 0
    assert said.json["audit"]["memories"] == 9
    held = json.loads(Path("out/quality.json").read_text("utf-8"))
    assert {name for name in held if held[name] != said.json[name]} == set()
    assert sorted(p.name for p in Path("out").iterdir()) == ["csv", "parquet", "quality.html", "quality.json"]


def test_a_lake_without_tables(command: Command, tmp_path: Path) -> None:
    init_lake(str(tmp_path / "lake"), 2)
    said = command("--lake", tmp_path / "lake", "report", "quality", "--out", "out")
    assert said.code == 0
    assert "0 calls in 30 days" in said.out
