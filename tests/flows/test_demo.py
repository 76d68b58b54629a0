"""The samples through the whole night on the real model: every planted answer, no planted secret."""

from __future__ import annotations

import contextlib
import io
import json
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq
import pytest

from flows.__main__ import main
from flows.demo import sample_sources
from flows.ingest import run_ingest
from lake import revisions, tables
from lake.lake import open_lake
from lake.recall import Recall
from tests.flows.lakes import REPOSITORY, Command, files_below, job_on
from transforms import ids
from transforms.memories import live
from transforms.policy import Policy
from transforms.schemas import EPISODES, FACTS, PROCEDURES, QUARANTINE, STORED

SAMPLES = REPOSITORY / "samples"
EXPECTED = json.loads((SAMPLES / "expected.json").read_text("utf-8"))
MANIFEST = json.loads((SAMPLES / "manifest.json").read_text("utf-8"))


def _is_json(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """One demo run: its folder, what it printed, and what its lake holds."""
    folder = tmp_path_factory.mktemp("demo")
    patch = pytest.MonkeyPatch()
    patch.chdir(folder)
    patch.delenv("SLOWWAVE_LAKE", raising=False)
    try:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(["demo", "--json", "--dir", str(folder)])
        assert code == 0, out.getvalue()
    finally:
        patch.undo()
    lake = open_lake(str(folder / "lake"))
    return {"data": json.loads(out.getvalue()), "said": out.getvalue() + err.getvalue(), "lake": lake}


@pytest.fixture(scope="module")
def episodes(demo: dict[str, Any]) -> pl.DataFrame:
    return tables.scan(demo["lake"], EPISODES).collect()


@pytest.fixture(scope="module")
def landed(tmp_path_factory: pytest.TempPathFactory) -> pl.DataFrame:
    """All episodes of the samples, those too that the demo's night forgets."""
    job = job_on(tmp_path_factory.mktemp("landed") / "lake")
    run_ingest(job, sample_sources(SAMPLES, job))
    return tables.scan(job.lake, EPISODES).collect()


@pytest.fixture(scope="module")
def ids_by_natural(landed: pl.DataFrame) -> dict[str, set[str]]:
    """Episode ids of each id in the samples' own JSON lines, found by file and line."""
    found: dict[str, set[str]] = {}
    places = {(f, n): e for f, n, e in landed.select("source_file", "source_line", "episode_id").iter_rows()}
    for entry in MANIFEST:
        if entry["format"] != "slowwave-jsonl":
            continue
        path = SAMPLES / entry["file"]
        for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
            episode = places.get((path.name, number))
            if episode and _is_json(line):
                found.setdefault(json.loads(line)["id"], set()).add(episode)
    frames = [
        pl.read_csv(SAMPLES / "data" / "clinic_reminders.csv", infer_schema=False),
        pl.read_parquet(SAMPLES / "data" / "desk_outcomes.parquet"),
    ]
    for frame in frames:
        scope = ("tenant_id", "user_id", "agent_id", "session_id")
        names = ids.row_ids(
            frame, *(c if c in frame.columns else pl.lit("") for c in scope), "n" + pl.col("id")
        )
        for natural, name in zip(frame["id"], names, strict=True):
            found.setdefault(natural, set()).add(name)
    return found


def test_the_counts_are_those_that_were_planted(demo: dict[str, Any], episodes: pl.DataFrame) -> None:
    counts = EXPECTED["counts"]
    ingested, embedded, consolidated, _, retained, published = demo["data"]["steps"]
    removed = retained["removed"]["episodes"]
    assert removed == {"expired": counts["expired_rows"]}
    assert ingested["duplicates"] == counts["exact_duplicates"]
    planted = Counter(counts["quarantined"]) + Counter(injection=len(EXPECTED["planted"]["injected"]))
    assert ingested["quarantined"] == planted.total()
    for reason, count in counts["quarantined"].items():
        assert ingested["reasons"][reason] == count, reason
    assert sum(ingested["left_out"].values()) == counts["abandoned_answers"]
    assert ingested["rows_in"] == ingested["landed"] + ingested["duplicates"] + ingested["quarantined"] + sum(
        ingested["left_out"].values()
    )
    slowwave = episodes.filter(pl.col("source").str.starts_with("slowwave"))
    refused = tables.scan(demo["lake"], QUARANTINE).collect()
    held = slowwave.height + removed["expired"] + ingested["duplicates"] + refused.height
    assert held == counts["rows_in_slowwave"]
    as_of = pl.Series([EXPECTED["as_of"]]).str.to_datetime(time_zone="UTC")[0]
    assert episodes.height - live(episodes, Policy(), as_of).height == episodes["is_injected"].sum()
    derived = sum(published[name] for name in ("facts", "summaries", "procedures"))
    assert published["rows_out"] == live(episodes, Policy(), as_of).height + derived
    assert consolidated["facts"]["added"] >= 40
    assert published["facts"] >= 30
    assert embedded["rows_out"] <= ingested["landed"]


@pytest.mark.parametrize("question", EXPECTED["questions"], ids=lambda q: q["query"])
def test_a_planted_question_has_its_answer(
    question: dict[str, Any], demo: dict[str, Any], ids_by_natural: dict[str, set[str]], reader: Recall
) -> None:
    as_of = pl.Series([EXPECTED["as_of"]]).str.to_datetime(time_zone="UTC")[0]
    scope = {name: question[name] for name in ("tenant", "user", "agent", "session") if name in question}
    found = reader.search(question["query"], k=50, as_of=as_of, **scope)
    names = [memory.id for memory in found]
    # What was read from an episode answers as well as the episode; a summary covers too many to count.
    answers = {r for m in found[:5] for r in ([m.id] if m.kind == "summary" else [m.id, *m.source_refs])}
    for natural in question["expected_ids"]:
        assert ids_by_natural[natural] & answers, natural
    for natural in question.get("absent_ids", ()):
        assert ids_by_natural[natural]
        assert not ids_by_natural[natural] & set(names), natural


CHANGES = [*EXPECTED["planted"]["changes"], *EXPECTED["planted"]["contradictions"]]


@pytest.mark.parametrize(("before", "after"), CHANGES, ids=lambda name: name)
def test_a_planted_change_supersedes_what_was_said_before(
    before: str,
    after: str,
    demo: dict[str, Any],
    landed: pl.DataFrame,
    ids_by_natural: dict[str, set[str]],
) -> None:
    """A fact is never read from the assistant's words; where it only passed a tool's on, the tool's count."""
    facts = revisions.standing(demo["lake"], FACTS)

    def resting_on(natural: str) -> list[dict[str, Any]]:
        rows = landed.filter(pl.col("episode_id").is_in(ids_by_natural[natural]))
        if rows["role"][0] == "assistant":
            session = landed.join(rows, on=["tenant_id", "user_id", "session_id"], how="semi")
            rows = session.filter(pl.col("role") == "tool")
        named = rows["episode_id"].to_list()
        rows = facts.filter(pl.col("source_refs").list.set_intersection(named).list.len() > 0)
        return rows.to_dicts()

    new = {fact["fact_id"]: fact for fact in resting_on(after)}
    replaced = [fact for fact in resting_on(before) if fact["superseded_by"] in new]
    assert replaced, (before, after)
    for fact in replaced:
        assert fact["retired_reason"] == "superseded"
        assert new[fact["superseded_by"]]["supersedes"] == fact["fact_id"]
        assert new[fact["superseded_by"]]["valid_from"] >= fact["valid_from"]


def test_planted_fixes_are_lessons_and_transient_failures_are_none(
    demo: dict[str, Any], ids_by_natural: dict[str, set[str]]
) -> None:
    skills = revisions.standing(demo["lake"], PROCEDURES).filter(pl.col("kind") == "lesson")
    taught = {name for refs in skills["source_refs"] for name in refs}
    for failure, fix in EXPECTED["planted"]["fixes"]:
        assert (ids_by_natural[failure] | ids_by_natural[fix]) & taught, fix
    fixed = {failure for failure, _ in EXPECTED["planted"]["fixes"]}
    for failure in set(EXPECTED["planted"]["transient"]) - fixed:
        assert not ids_by_natural[failure] & taught, failure


def test_nothing_is_read_from_injected_or_untrusted_orders(demo: dict[str, Any]) -> None:
    facts = revisions.standing(demo["lake"], FACTS)
    assert not facts["fact"].str.contains("(?i)ignore previous|approve refunds").any()
    assert facts.filter(pl.col("source") == "tool_result")["confidence"].max() <= 0.4 + 1e-6
    assert facts.filter(pl.col("source") == "tool_result")["trust"].max() <= 0.4 + 1e-6


@pytest.fixture(scope="module")
def reader(demo: dict[str, Any]) -> Recall:
    return Recall(demo["lake"])


def test_no_expired_row_is_ever_served(demo: dict[str, Any], episodes: pl.DataFrame, reader: Recall) -> None:
    as_of = pl.Series([EXPECTED["as_of"]]).str.to_datetime(time_zone="UTC")[0]
    served = set(live(episodes, Policy(), as_of)["episode_id"])
    for tenant in sorted(set(episodes["tenant_id"])):
        found = reader.search("the", tenant=tenant, tenant_wide=True, k=2_000, as_of=as_of)
        assert found
        assert {memory.id for memory in found if memory.source_refs == [memory.id]} <= served


def test_no_planted_secret_is_in_any_file_or_message(demo: dict[str, Any]) -> None:
    """Bytes of every file, every Parquet and index column decoded, and what was said."""
    import lance

    root = Path(demo["lake"].storage.uri)
    texts = [demo["said"]]
    for path in sorted(p for p in root.rglob("*") if p.is_file()):
        texts += [path.read_bytes().decode("utf-8", "replace"), path.as_posix()]
        if path.suffix == ".parquet":
            texts.append(json.dumps(pq.read_table(path).to_pylist(), default=str, ensure_ascii=False))
    for table in root.glob("index/gen-*/*.lance"):
        columns = [f.name for f in lance.dataset(str(table)).schema if f.name != "vector"]
        rows = lance.dataset(str(table)).to_table(columns=columns).to_pylist()
        assert rows
        texts.append(json.dumps(rows, default=str, ensure_ascii=False))
    whole = "\n".join(texts)
    assert "[REDACTED:" in whole
    leaked = [secret for secret in EXPECTED["pii"] if secret in whole]
    assert leaked == []


def test_every_planted_kind_was_named(
    demo: dict[str, Any], episodes: pl.DataFrame, ids_by_natural: dict[str, set[str]]
) -> None:
    redactions = dict(episodes.select("episode_id", "redactions").iter_rows())
    for kind, naturals in EXPECTED["pii_ids"].items():
        seen = {k for n in naturals for e in ids_by_natural.get(n, ()) for k in redactions.get(e, ())}
        assert any(k == kind or kind in k or k in kind for k in seen), (kind, seen)


def test_a_second_demo_says_there_is_nothing_new(demo: dict[str, Any], command: Command) -> None:
    root = Path(demo["lake"].storage.uri)
    before = files_below(root)
    said = command("demo", "--dir", root.parent)
    assert said.code == 0
    assert "nothing new" in said.out
    assert said.out.count("recall ") >= 3
    assert files_below(root) == before


def test_the_tables_hold_what_their_schemas_say(demo: dict[str, Any]) -> None:
    for table in STORED:
        frame = tables.scan(demo["lake"], table).collect()
        table.conform(frame)
        assert frame.select(pl.struct(table.key).is_unique().all()).item()


def test_samples_that_are_not_there_are_told(command: Command, tmp_path: Path) -> None:
    said = command("demo", "--json", "--dir", tmp_path / "d", "--samples", tmp_path / "none")
    assert (said.code, said.error["code"]) == (3, "input")
