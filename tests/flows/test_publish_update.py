"""A generation made from the live one is the one that would be built whole, and says when it is not made."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import polars as pl
import pytest

from flows import publish_build, publish_changes
from flows.embed import run_embed
from flows.engine.units import UnitsError
from flows.job import Job
from flows.publish import run_publish
from flows.publish_build import build
from flows.published import inputs_of
from lake import index_going, index_update, tables
from lake.index import Generation, Manifest, load_manifest, read_pointer
from lake.index_build import generations, remove_generation
from lake.index_checks import Check
from lake.recall import Recall
from lake.rights import standing
from lake.upkeep import compact, vacuum
from tests.flows.lakes import AS_OF, content, files_below, ingest, job_on, row, write
from tests.flows.measured import add_facts
from tests.transforms.forgetting.plain import recall
from transforms.errors import CheckError
from transforms.floor import SHARES, Background
from transforms.policy import Policy, PublishPolicy
from transforms.schemas import EPISODES, FACTS, RECALLS
from transforms.standing import Standing
from transforms.subjects import Subject

DAY = timedelta(days=1)
ALWAYS = Policy(publish=PublishPolicy(rebuild_above_ratio=1, check_queries=6))
USERS = ("ana", "ben", "cy", None)


@pytest.fixture
def job(tmp_path: Path) -> Job:
    """Forty episodes of four people, published."""
    made = job_on(tmp_path / "lake", policy=ALWAYS)
    land(made, tmp_path, range(40))
    run_publish(made)
    return made


def land(job: Job, folder: Path, numbers: range, **fields: Any) -> None:
    rows = [row(n, user_id=USERS[n % 4], agent_id="desk", session_id=f"s{n % 7}", **fields) for n in numbers]
    ingest(job, write(folder / f"{numbers.start}-{numbers.stop}.jsonl", rows))
    run_embed(job)


def live(job: Job) -> Manifest:
    pointer = read_pointer(job.lake)
    assert pointer
    return load_manifest(job.lake, pointer.generation)


def rows_of(job: Job, manifest: Manifest) -> pl.DataFrame:
    """Every row of a generation as it is stored, with the table it lies in."""
    generation = Generation(job.lake, manifest)
    frames = []
    for entry in manifest.tables:
        held = generation.dataset(entry.name).to_table()
        vector = [str(one) for one in held["vector"].to_pylist()]
        frame = pl.DataFrame(held.drop_columns(["vector"])).with_columns(
            vector=pl.Series(vector, dtype=pl.String), table=pl.lit(entry.name)
        )
        frames.append(frame)
    return pl.concat(frames).sort("memory_id")


def built_whole(job: Job) -> Manifest:
    """The generation that a rebuild comes to, beside the live one."""
    made = build(job, "gen-900000", inputs_of(job), None)
    assert made.how == "whole"
    return made.manifest


def require_same_as_whole(job: Job, *, is_purged: bool = False) -> None:
    mine, whole = live(job), built_whole(job)
    try:
        left, right = rows_of(job, mine), rows_of(job, whole)
        assert left.equals(right), left.join(right, on=left.columns, how="anti", nulls_equal=True)
        if not is_purged:  # a purge does not count what it has not written
            assert (mine.rows, mine.bare_rows) == (whole.rows, whole.bare_rows)
            assert mine.next_expiry_at == whole.next_expiry_at
        assert answers(job) == answers_of(job, whole)
    finally:
        remove_generation(job.lake, whole.generation)


def answers(job: Job) -> list[Any]:
    """What recall says to some questions in every scope."""
    reader = Recall(job.lake, policy=job.policy, embedder=job.embedder)
    scopes: list[dict[str, Any]] = [{"user": "ana"}, {"user": "ben", "agent": "desk"}, {"tenant_wide": True}]
    questions = ("harbour office", "note 7", "Where does Ana live?")
    found = [
        reader.search(question, tenant="acme", as_of=job.as_of, **scope)
        for question in questions
        for scope in scopes
    ]
    return [[(one.id, round(one.score, 6), one.text) for one in rows] for rows in found]


def answers_of(job: Job, manifest: Manifest) -> list[Any]:
    """The same with another generation live."""
    storage = job.lake.storage
    raw = storage.read("index/CURRENT")
    assert raw is not None
    record = orjson.loads(raw)
    other = {**record, "generation": manifest.generation, "history": [manifest.generation]}
    storage.write("index/CURRENT", orjson.dumps(other))
    try:
        return answers(job)
    finally:
        storage.write("index/CURRENT", raw)


def forget(job: Job, ids: list[str]) -> None:
    """Take episodes out, as retention does: their files are written anew without them."""
    for name in sorted(tables.data_files(job.lake, EPISODES)):
        held = tables.scan(job.lake, EPISODES, files=[name]).collect()
        left = held.filter(~pl.col("episode_id").is_in(ids))
        if left.height < held.height:
            tables.rewrite(job.lake, EPISODES, [name], left)


def hear(job: Job, *rows: dict[str, Any]) -> None:
    buckets = [{**one, "tenant_bucket": job.lake.bucket(one["tenant_id"])} for one in rows]
    tables.append(job.lake, RECALLS, pl.DataFrame(buckets, schema=RECALLS.polars, orient="row"))


@pytest.mark.parametrize("seed", range(4))
def test_nights_in_a_row_come_to_what_a_rebuild_comes_to(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    large = 14 if seed % 2 else 20_000  # with odd seeds two people have a table of their own
    policy = ALWAYS.model_copy(
        update={"publish": ALWAYS.publish.model_copy(update={"large_scope_rows": large})}
    )
    job = job_on(tmp_path / "lake", policy=policy)
    land(job, tmp_path, range(64))
    add_facts(job, [{"fact_id": f"f{n}", "object": f"Town{n}", "span_episode_id": one} for n, one in
                    enumerate(content(job)["episode_id"][:4])])  # fmt: skip
    run_embed(job)
    run_publish(job)
    numbers, hows = 100, []
    for night in range(1, 5):
        job = replace(job, as_of=AS_OF + night * DAY)
        for act in rng.sample([_lands, _recalls, _forgets, _revises, _expires, _compacts, _believes], 4):
            act(job, tmp_path, rng, numbers)
            numbers += 10
        run_embed(job)
        result = run_publish(job)
        hows.append(result.detail.get("built"))
        require_same_as_whole(job)
    assert "updated" in hows, hows


def _lands(job: Job, folder: Path, rng: random.Random, number: int) -> None:
    at = (job.as_of - timedelta(hours=rng.randrange(1, 20))).isoformat()
    land(job, folder, range(number, number + rng.randrange(1, 6)), event_at=at)


def _recalls(job: Job, folder: Path, rng: random.Random, number: int) -> None:
    del folder
    ids = sorted(content(job)["episode_id"])
    for n in range(3):  # one in two is still to come
        at = job.as_of + rng.choice((-2, 1)) * timedelta(hours=9)
        hear(job, recall(number + n, rng.choice(ids), at, session_id=f"r{number}{n}"))


def _forgets(job: Job, folder: Path, rng: random.Random, number: int) -> None:
    del folder, number
    forget(job, rng.sample(sorted(content(job)["episode_id"]), 3))


def _revises(job: Job, folder: Path, rng: random.Random, number: int) -> None:
    del folder
    held = content(job, FACTS).sort("revision").unique("fact_id", keep="last").sort("fact_id")
    for one in rng.sample(held.to_dicts(), min(2, held.height)):
        changed = {
            "object": f"New{number}",
            "fact": f"Ana lives in New{number}",
            "is_removed": rng.random() < 0.3,
        }
        revised = {**one, **changed, "revision": one["revision"] + 1}
        tables.append(job.lake, FACTS, pl.DataFrame([revised], schema=FACTS.polars, orient="row"))


def _expires(job: Job, folder: Path, rng: random.Random, number: int) -> None:
    gone = (job.as_of + rng.randrange(1, 40) * timedelta(hours=1)).isoformat()
    land(job, folder, range(number, number + 2), expires_at=gone)


def _compacts(job: Job, folder: Path, rng: random.Random, number: int) -> None:
    del folder, rng, number
    compact(job.lake, EPISODES)


def _believes(job: Job, folder: Path, rng: random.Random, number: int) -> None:
    """A fact that begins to hold, and one that ends, at some time of the next days."""
    del folder
    starts, ends = (job.as_of + timedelta(hours=rng.randrange(-12, 40)) for _ in range(2))
    add_facts(job, [
        {"fact_id": f"s{number}", "object": f"Start{number}", "valid_from": starts},
        {"fact_id": f"e{number}", "object": f"End{number}", "valid_until": ends},
    ])  # fmt: skip


def test_the_live_one_is_linked_not_changed(job: Job, tmp_path: Path) -> None:
    root = tmp_path / "lake" / "index" / "gen-000001"
    before, held = files_below(root), rows_of(job, live(job))
    land(job, tmp_path, range(50, 53))
    forget(job, content(job)["episode_id"].to_list()[:2])
    result = run_publish(job)
    told = {name: result.detail[name] for name in ("built", "appended", "removed")}
    assert told == {"built": "updated", "appended": 3, "removed": 2}
    assert files_below(root) == before
    assert rows_of(job, load_manifest(job.lake, "gen-000001")).equals(held)
    now = tmp_path / "lake" / "index" / "gen-000002" / "main.lance" / "data"
    shared = [path for path in now.iterdir() if path.stat().st_nlink == 2]
    assert (len(shared), len(list(now.iterdir()))) == (1, 2)
    manifest = live(job)
    assert (manifest.appended_rows, manifest.hidden_rows, manifest.hidden_since) == (3, 2, AS_OF.isoformat())


def test_a_reader_of_the_old_generation_goes_on(job: Job, tmp_path: Path) -> None:
    reader = Recall(job.lake, policy=job.policy, embedder=job.embedder)
    asked = {"tenant": "acme", "user": "ana", "as_of": AS_OF}
    before = [found.id for found in reader.search("note", **asked)]  # type: ignore[arg-type]
    old = Generation(job.lake, live(job))
    forget(job, content(job)["episode_id"].to_list()[:4])
    run_publish(job)
    assert rows_of(job, old.manifest).height == 40
    assert before


@pytest.mark.parametrize(("room", "fragments"), [(50_000, 2), (0, 5)])
def test_appended_files_become_one_while_they_are_small_and_deltas_are_merged(
    job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int, fragments: int
) -> None:
    monkeypatch.setattr(index_going, "MERGED_ROWS", room)
    monkeypatch.setattr(index_going, "MERGED_SHARE", 10**9)
    monkeypatch.setattr(index_update, "MOST_DELTAS", 2)
    first = content(job)["episode_id"].to_list()
    for start in (50, 53, 56, 59):
        land(job, tmp_path, range(start, start + 3))
        forget(job, [first.pop()])
        assert run_publish(job).detail["built"] == "updated"
    table = Generation(job.lake, live(job)).dataset("main")
    assert len(table.get_fragments()) == fragments
    assert max(len(one.segments) for one in table.describe_indices()) <= 3
    assert (live(job).appended_rows, live(job).hidden_rows) == (12, 4)
    require_same_as_whole(job)


@pytest.mark.parametrize(
    ("ratio", "days", "how"), [(1, 7, "updated"), (0, 7, "whole"), (0.2, 7, "updated"), (1, 0, "whole")]
)
def test_the_policy_says_when_it_is_built_whole(tmp_path: Path, ratio: float, days: float, how: str) -> None:
    publish = PublishPolicy(rebuild_above_ratio=ratio, hidden_days=days, check_queries=4)
    job = job_on(tmp_path / "lake", policy=Policy(publish=publish))
    land(job, tmp_path, range(20))
    assert run_publish(job).detail["built"] == "whole"
    land(job, tmp_path, range(30, 33))
    assert run_publish(job).detail["built"] == how


def test_many_appended_rows_and_rows_hidden_for_long_end_in_a_rebuild(job: Job, tmp_path: Path) -> None:
    publish = ALWAYS.publish.model_copy(update={"rebuild_above_ratio": 0.3})
    some = replace(job, policy=ALWAYS.model_copy(update={"publish": publish}))
    assert run_publish(some).detail["built"] == "whole"  # another policy
    hows = []
    for start in range(100, 130, 6):
        land(some, tmp_path, range(start, start + 6))
        hows.append(run_publish(some).detail["built"])
    assert hows == ["updated", "updated", "whole", "updated", "updated"]
    forget(some, content(some)["episode_id"].to_list()[:1])
    for days, how in ((1, "updated"), (4, "updated"), (9, "whole"), (10, "updated")):
        later = replace(job, as_of=AS_OF + days * DAY)
        if days == 1:
            run_publish(later, force=True)
            forget(later, content(later)["episode_id"].to_list()[:1])
        hear(later, recall(days, content(later)["episode_id"][-1], later.as_of, session_id=f"d{days}"))
        assert run_publish(later).detail["built"] == how, days


def test_other_inputs_and_a_lost_history_end_in_a_rebuild(job: Job, tmp_path: Path) -> None:
    standing.save(job.lake, Standing(Subject("acme", user="ana"), period_seconds=31 * 86_400))
    assert run_publish(job).detail["built"] == "whole"
    forget(job, content(job)["episode_id"].to_list()[:1])
    for file in (tmp_path / "lake" / "tables" / "episodes").rglob("*.parquet"):
        if not any(file.match(name.rpartition("/")[2]) for name in tables.data_files(job.lake, EPISODES)):
            file.unlink()  # as vacuum does
    assert run_publish(job).detail["built"] == "whole"
    require_same_as_whole(job)


def test_files_that_were_merged_and_removed_since_are_neither_missed_nor_read(
    job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for start in (40, 46, 52):
        land(job, tmp_path, range(start, start + 6))
    hear(job, recall(1, content(job)["episode_id"][3], job.as_of, session_id="d1"))
    run_publish(job)
    for table in (EPISODES, RECALLS):
        compact(job.lake, table)
        vacuum(job.lake, table, 0)
    land(job, tmp_path, range(58, 60))
    forgotten = content(job)["episode_id"].to_list()[:1]
    forget(job, forgotten)
    read = list[str]()
    scanned = publish_changes.scan_files
    monkeypatch.setattr(
        publish_changes, "scan_files", lambda *told: (read.extend(told[2]), scanned(*told))[1]
    )
    done = run_publish(job)
    assert (done.detail["built"], done.detail["removed"]) == ("updated", 1)
    assert len(read) == 3, "what came, and the merged file that a row was taken out of, before and after"
    require_same_as_whole(job)


def test_a_person_who_passes_the_limit_gets_a_table_by_a_rebuild(tmp_path: Path) -> None:
    publish = ALWAYS.publish.model_copy(update={"large_scope_rows": 12})
    job = job_on(tmp_path / "lake", policy=ALWAYS.model_copy(update={"publish": publish}))
    land(job, tmp_path, range(40))
    run_publish(job)
    assert [entry.name for entry in live(job).tables] == ["main"]
    land(job, tmp_path, range(40, 52))
    assert run_publish(job).detail["built"] == "whole"
    assert len(live(job).tables) == 5
    land(job, tmp_path, range(52, 54))
    assert run_publish(job).detail["built"] == "updated"
    require_same_as_whole(job)


def test_a_text_whose_vector_comes_later_gets_it(tmp_path: Path) -> None:
    job = job_on(tmp_path / "lake", policy=ALWAYS)
    land(job, tmp_path, range(20))
    ingest(job, write(tmp_path / "more.jsonl", [row(70, "a late note")]))
    run_publish(job)
    assert live(job).bare_rows == 1
    run_embed(job)
    assert run_publish(job).detail == {**run_detail(job), "appended": 1, "removed": 1}
    assert live(job).bare_rows == 0
    require_same_as_whole(job)


def run_detail(job: Job) -> dict[str, Any]:
    manifest = live(job)
    counts = {"expired": 0, "injected": 0, "facts": 0, "summaries": 0, "procedures": 0}
    return {"generation": manifest.generation, "built": "updated", "checks": manifest.checks, **counts}


@pytest.mark.parametrize("broken", ["row_counts", "vectors", "recall"])
def test_an_update_that_fails_its_checks_is_built_whole(
    job: Job, tmp_path: Path, broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = publish_build.run_checks

    def update_fails(*args: Any, **kwargs: Any) -> list[Check]:
        is_update = kwargs["fresh"] is not None
        return [
            replace(c, passed=c.passed and not (is_update and c.name == broken))
            for c in real(*args, **kwargs)
        ]

    monkeypatch.setattr(publish_build, "run_checks", update_fails)
    land(job, tmp_path, range(50, 52))
    assert run_publish(job).detail["built"] == "whole"
    assert generations(job.lake) == ["gen-000001", "gen-000002"]
    require_same_as_whole(job)


def test_a_row_that_an_update_loses_is_caught(
    job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = publish_build.changed_frames
    monkeypatch.setattr(publish_build, "changed_frames", lambda *a: (frame.tail(-1) for frame in real(*a)))
    land(job, tmp_path, range(50, 54))
    assert run_publish(job).detail["built"] == "whole"
    require_same_as_whole(job)


def test_a_killed_update_leaves_the_old_one_live_and_goes_on(
    job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    land(job, tmp_path, range(50, 52))

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(publish_build, "run_checks", killed)
    with pytest.raises(KeyboardInterrupt):
        run_publish(job)
    monkeypatch.undo()
    assert live(job).generation == "gen-000001"
    assert run_publish(job).detail["built"] == "updated"
    assert generations(job.lake) == ["gen-000001", "gen-000003"]
    require_same_as_whole(job)


def test_both_fail_and_the_old_one_stays_live(
    job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    land(job, tmp_path, range(50, 52))
    bad = [Check("recall", False, "recall@10 0.4 over 50 queries")]
    monkeypatch.setattr(publish_build, "run_checks", lambda *_, **__: bad)
    with pytest.raises(CheckError):
        run_publish(job)
    assert (live(job).generation, generations(job.lake)) == ("gen-000001", ["gen-000001"])


def test_an_earlier_instant_is_built_whole(job: Job, tmp_path: Path) -> None:
    land(job, tmp_path, range(50, 52))
    earlier = replace(job, as_of=datetime.fromisoformat(live(job).as_of) - DAY)
    assert run_publish(earlier).detail["built"] == "whole"


def test_how_near_unrelated_texts_come_is_measured_again_once_a_tenth_is_new(
    job: Job, tmp_path: Path
) -> None:
    first = live(job)
    assert (first.background, first.measured_at_rows) == ({}, 0)  # rows that are too few are looked at anew
    known = Background("owners", 9, tuple(n / 100 for n in range(len(SHARES))), 0.5).as_dict()
    told = replace(first, background={"latin": known}, checks={**first.checks, "background": "as it was"})
    job.lake.storage.write(f"index/{first.generation}/manifest.json", told.dumps())
    land(job, tmp_path, range(40, 42))
    run_publish(job)
    second = live(job)
    assert second.measured()["latin"] == told.measured()["latin"]
    assert second.checks["background"] == "as it was"
    assert (second.measured_at_rows, second.appended_rows) == (0, 2)
    land(job, tmp_path, range(42, 46))
    run_publish(job)
    third = live(job)
    assert (third.background, third.measured_at_rows, third.appended_rows) == ({}, 6, 6)


@pytest.mark.parametrize(
    "fault", [TypeError("7 is no text"), ValueError("no such place"), KeyboardInterrupt()]
)
def test_a_fault_in_making_rows_is_told_and_not_built_around(
    job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: BaseException
) -> None:
    """Lance hands on what its batches raise as an error of reading: it must not pass for a damaged index."""

    def fails(*_: object) -> Any:
        raise fault

    land(job, tmp_path, range(50, 53))
    with monkeypatch.context() as patch:
        patch.setattr("lake.index_update.to_batch", fails)
        with pytest.raises(type(fault)) as told:
            run_publish(job)
        assert told.value is fault
        patch.setattr("lake.index_build.to_batch", fails)
        name = type(fault).__name__  # a unit of work tells its fault by name
        with pytest.raises((KeyboardInterrupt, UnitsError), match=f"unexpected {name} in|^$"):
            run_publish(job, force=True)
    assert live(job).generation == "gen-000001"
    assert run_publish(job).detail["built"] == "updated"


def test_a_disk_that_fails_in_making_rows_ends_in_a_rebuild(
    job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> Any:
        raise OSError(5, "Input/output error")

    land(job, tmp_path, range(50, 53))
    monkeypatch.setattr("lake.index_update.to_batch", fails)
    assert run_publish(job).detail["built"] == "whole"
