"""The recall log folded into its table: once, however often it is killed; erased, exported and expired."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from flows.erase import run_erase
from flows.erase_plan import plan_erase
from flows.erase_verify import look_again
from flows.export_rows import HeldRows
from flows.ingest import run_ingest
from flows.nightly import run_nightly
from flows.recalled import JOURNAL, fold_recalls
from flows.retain import run_retain
from lake import recall_segments, tables
from lake.lake import Lake, open_lake
from lake.recall import Recall
from lake.rights import tombstones
from lake.storage import LocalStorage
from tests.flows.dying import living
from tests.lake.crypto.sealed import sealed_lake
from tests.lake.made import ROOT, environment
from tests.lake.online.recalls import (
    ME,
    fold,
    job_now,
    lines,
    logging,
    publish_now,
    published,
    recalls,
    say,
)
from tests.lake.recalled import WordEmbedder
from transforms.policy import Policy
from transforms.policy_retention import DecayPolicy, RetentionPolicy
from transforms.schemas import EPISODES
from transforms.subjects import Subject


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return published(tmp_path)


def asked(lake: Lake, count: int = 3, **named: Any) -> list[str]:
    """Ids of calls that wait, each giving two memories, the first of which was used."""
    reader, calls = logging(lake), []
    for _ in range(count):
        answer = reader.search("violin", **{**ME, **named}, k=2)
        reader.used([answer[0].id], tenant="t", call_id=answer.call_id)
        calls.append(answer.call_id)
    reader.flush()
    return calls


def test_every_call_is_folded_once_and_its_segment_goes(lake: Lake) -> None:
    calls = asked(lake)
    assert fold(lake) == {"recalls": 36, "used": 3}
    rows = recalls(lake)
    assert set(rows["call_id"]) == set(calls)
    assert rows.filter("is_used").select("call_id", "rank").rows() == [
        (c, 1) for c in rows["call_id"].unique(maintain_order=True)
    ]
    assert lake.storage.entries(recall_segments.PREFIX) == []
    assert lake.storage.read(JOURNAL) is None
    assert fold(lake) == {}
    assert run_ingest(job_now(lake), [])[0].state == "unchanged"


def test_feedback_that_comes_a_night_later_marks_the_rows_of_its_call(lake: Lake) -> None:
    reader = logging(lake)
    first = reader.search("violin", **ME, session="s1", k=3)
    reader.search("violin", **ME, session="s0", k=3)
    reader.flush()
    fold(lake)
    reader.used([first[2].id, "unknown"], tenant="t", call_id=first.call_id)
    reader.used([first[0].id], tenant="t", session="s1")
    reader.used([first[0].id], tenant="other", session="s1")
    reader.flush()
    assert fold(lake) == {"used": 2, "left_out": {"used_unknown": 2}}
    rows = recalls(lake)
    used = rows.filter("is_used").select("call_id", "memory_id").rows()
    assert sorted(used) == sorted((first.call_id, memory.id) for memory in (first[0], first[2]))
    assert rows.height == rows.unique(["call_id", "memory_id"]).height


def test_lines_that_are_none_of_ours_are_counted(lake: Lake) -> None:
    calls = asked(lake, 1)
    (entry,) = lake.storage.entries(recall_segments.PREFIX)
    whole = lake.storage.read(entry.key) or b""
    odd = [b'{"recalls": {"call_id": "c"}}', b'{"used": {}}', b'{"other": {}}', b"[]", b'{"recalls": {"ca']
    lake.storage.write(entry.key, whole + b"\n".join(odd))
    assert fold(lake) == {"recalls": 12, "used": 1, "left_out": {"torn": 5}}
    assert set(recalls(lake)["call_id"]) == set(calls)


EFFECTS: tuple[tuple[Any, str], ...] = (
    (LocalStorage, "write"),
    (LocalStorage, "delete"),
    (tables, "_commit"),
)


def in_order(lake: Lake) -> list[Any]:
    return recalls(lake).rows()


def two_nights(lake: Lake) -> None:
    """A folded call that feedback waits for, and calls that wait: every kind of commit comes up."""
    reader = logging(lake)
    early = reader.search("violin", **ME, k=2)
    reader.flush()
    fold(lake)
    asked(lake, 2)
    reader.used([early[1].id], tenant="t", call_id=early.call_id)
    reader.close()


def test_killed_before_any_write_and_run_again_it_comes_to_the_same_rows(tmp_path: Path) -> None:
    made = published(tmp_path)
    two_nights(made)

    def copy(name: str) -> Lake:
        return open_lake(str(shutil.copytree(made.uri, tmp_path / name)))

    clean = copy("clean")
    with living(effects=EFFECTS) as life:
        fold_recalls(job_now(clean))
    expected = in_order(clean)
    assert len(expected) == 36
    assert life.count >= 6
    for number in range(0, life.count, 2):
        dying = copy(f"died-{number}")
        with living(number, EFFECTS):
            fold_recalls(job_now(dying))
        fold_recalls(job_now(dying))
        assert in_order(dying) == expected, f"killed before write {number}"
        assert dying.storage.entries(recall_segments.PREFIX) == []
        assert dying.storage.read(JOURNAL) is None


KILLED = """
import os, signal, sys
sys.path.insert(0, {root!r})
from lake.lake import open_lake
from lake.storage import LocalStorage
from flows.recalled import fold_recalls
from tests.lake.online.recalls import job_now

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

job = job_now(open_lake(sys.argv[1]))
LocalStorage.delete = die  # the rows are committed, their segment is next to go
fold_recalls(job)
"""


def test_a_killed_process_leaves_nothing_twice(lake: Lake) -> None:
    calls = asked(lake)
    command = [sys.executable, "-c", KILLED.format(root=str(ROOT)), lake.uri]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment())
    assert done.returncode == -9, done.stderr
    assert recalls(lake).height == 36  # committed, and its segment is still there
    assert lines(lake) != []
    fold(lake)
    rows = recalls(lake)
    assert (rows.height, set(rows["call_id"])) == (36, set(calls))
    assert lines(lake) == []


def access(lake: Lake, policy: Policy) -> dict[str, tuple[int, bool]]:
    """By memory its accesses, and whether they moved its last access, as a later call sees them."""
    publish_now(lake, policy)
    found = Recall(lake, embedder=WordEmbedder()).search("violin", **ME, k=50)
    assert found.pool is not None
    pool = found.pool
    return {
        name.decode(): (int(count), int(seen) > int(event))
        for name, count, seen, event in zip(
            pool.ids,
            pool.inputs["access_count"],
            pool.inputs["seen_us"],
            pool.inputs["event_us"],
            strict=True,
        )
    }


@pytest.mark.parametrize("refresh", ["served", "used"])
def test_a_recall_refreshes_what_the_policy_says_once_a_session(lake: Lake, refresh: Any) -> None:
    policy = Policy(decay=DecayPolicy(refresh=refresh))
    reader = logging(lake)
    answers = [reader.search("violin 1", **ME, agent=None, k=3) for _ in range(1)]
    answers += [reader.search("violin 1", **ME, session="s1", k=3) for _ in range(4)]  # one session
    for answer in answers[1:]:
        reader.used([answer[0].id], tenant="t", call_id=answer.call_id)
    context = reader.context("harbour", **ME, session="s0", budget=120)
    reader.flush()
    found = access(lake, policy)
    expected: dict[str, int] = dict.fromkeys(found, 0)
    if refresh == "used":
        expected[answers[1][0].id] = 1
    else:
        for given in (
            {m.id for m in answers[0]},
            {m.id for m in answers[1]},
            {m.id for m in context.memories},
        ):
            for memory in given:
                expected[memory] += 1
    assert {name: count for name, (count, _) in found.items()} == expected
    assert {name for name, (_, moved) in found.items() if moved} == {n for n, c in expected.items() if c}
    assert 0 < sum(expected.values()) < len(found)


def test_a_night_folds_before_it_decays_and_publishes(lake: Lake) -> None:
    asked(lake)
    night = run_nightly(job_now(lake), [])
    assert night.steps[0].detail["recall_log"] == {"recalls": 36, "used": 3}
    found = Recall(lake, embedder=WordEmbedder()).search("violin", **ME)
    assert max(found.pool.inputs["access_count"]) == 3  # type: ignore[union-attr]


@pytest.fixture
def crowd(tmp_path: Path) -> Lake:
    """Two people and an agent's own memories, all of which somebody asked for, half of it folded."""
    rows: list[dict[str, Any]] = [
        {
            "content": "the violin stands in the yellow house",
            "user_id": "ana",
            "agent_id": "helper",
            "session_id": "a",
        },
        {
            "content": "the violin was mended by the ferryman",
            "user_id": "ben",
            "agent_id": "helper",
            "session_id": "b",
        },
        {
            "content": "the violin lesson is on Friday morning",
            "user_id": "ana",
            "agent_id": "other",
            "session_id": "c",
        },
    ]
    return asked_about(published(tmp_path, rows))


CALLERS: tuple[dict[str, Any], ...] = (
    {"user": "ana"},
    {"user": "ben"},
    {"agent": "helper"},
    {"user": "ana", "session": "c"},
    {"tenant_wide": True},
)


def asked_about(lake: Lake) -> Lake:
    for is_folded in (True, False):
        reader = logging(lake)
        for who in CALLERS:
            answer = reader.search("where is the violin", tenant="t", **who)
            reader.used([memory.id for memory in answer], tenant="t", call_id=answer.call_id)
        reader.close()
        if is_folded:
            fold(lake)
    return lake


def held_calls(lake: Lake) -> list[tuple[Any, ...]]:
    """Who asked, and for which memory, of all that is folded or waits."""
    named = ("tenant_id", "user_id", "agent_id", "session_id")
    found = [(*row[:4], row[4]) for row in recalls(lake).select(*named, "memory_id").iter_rows()]
    for line in lines(lake):
        ((kind, told),) = line.items()
        ids = told["rows"]["memory_id"] if kind == "recalls" else told["memory_ids"]
        found += [(*(told[name] for name in named), memory) for memory in ids]
    return found


SUBJECTS: dict[str, tuple[Callable[[str], Subject], Callable[[tuple[Any, ...]], bool]]] = {
    "user": (lambda _: Subject("t", "ana"), lambda row: row[1] == "ana"),
    "agent": (lambda _: Subject("t", agent="helper"), lambda row: row[2] == "helper"),
    "session": (lambda _: Subject("t", "ana", session="c"), lambda row: row[3] == "c"),
    "tenant": (lambda _: Subject("t"), lambda row: row[0] == "t"),
    "memory": (lambda memory: Subject("t", memory=memory), lambda _: False),
}


@pytest.mark.parametrize(
    ("kind", "is_encrypted"), [*((kind, False) for kind in SUBJECTS), ("user", True), ("memory", True)]
)
def test_an_erasure_takes_the_calls_of_the_subject_and_what_was_shown_of_it(
    crowd: Lake, tmp_path: Path, kind: str, is_encrypted: bool
) -> None:
    lake = crowd
    if is_encrypted:
        lake = sealed_lake(tmp_path / "sealed")
        say(
            lake,
            {"content": "the violin stands in the yellow house", "user_id": "ana", "session_id": "a"},
            {"content": "the violin was mended by the ferryman", "user_id": "ben", "session_id": "b"},
        )
        publish_now(lake)
        asked_about(lake)
    episodes = tables.scan(lake, EPISODES).collect()
    (memory, *_) = episodes.filter(pl.col("session_id") == ("c" if kind == "session" else "a"))["episode_id"]
    make, is_own = SUBJECTS[kind]
    subject = make(memory)
    goes_with = set(episodes.filter(subject.owns())["episode_id"]) if kind != "memory" else {memory}
    before = held_calls(lake)
    kept = [row for row in before if not is_own(row) and row[4] not in goes_with]
    assert len(kept) < len(before)
    planned = plan_erase(job_now(lake), subject)["stores"]
    assert planned["recall_log"] > 0
    certificate = run_erase(job_now(lake), subject, basis="gdpr_art_17", requested_by="subject")
    assert certificate.outcome == "complete"
    assert sorted(map(str, held_calls(lake))) == sorted(map(str, kept))
    assert look_again(job_now(lake), subject)["passed"]
    raw = b"".join(p.read_bytes() for p in Path(lake.uri).rglob("*") if p.is_file() and "recall" in str(p))
    assert not any(name.encode() in raw for name in goes_with)


def test_an_export_holds_the_persons_calls_folded_or_not_and_nobody_elses(crowd: Lake) -> None:
    (part,) = [p for p in HeldRows(crowd, Subject("t", "ana")).parts() if p.name == "recalls"]
    rows = pl.concat([frame for frame in part.frames() if frame.height])
    assert rows["call_id"].n_unique() == 4
    assert set(rows["user_id"]) == {"ana"}
    assert rows.filter("is_used").height == rows.height
    waiting = {line["recalls"]["call_id"] for line in lines(crowd) if "recalls" in line}
    assert len(waiting & set(rows["call_id"])) == 2


def test_a_segment_that_was_committed_and_not_removed_is_exported_once(lake: Lake) -> None:
    asked(lake, 1)
    (entry,) = lake.storage.entries(recall_segments.PREFIX)
    raw = lake.storage.read(entry.key) or b""
    fold(lake)
    lake.storage.write(entry.key, raw)
    (part,) = [p for p in HeldRows(lake, Subject("t", "u")).parts() if p.name == "recalls"]
    assert sum(frame.height for frame in part.frames()) == 12


def test_the_trace_of_a_recall_ends_with_its_time_to_live(lake: Lake) -> None:
    asked(lake)
    fold(lake)
    policy = Policy(retention=RetentionPolicy(recalls_seconds=86_400))
    now = datetime.now(UTC)
    run_retain(job_now(lake, policy, now + timedelta(hours=23)))
    assert recalls(lake).height == 36
    run_retain(job_now(lake, policy, now + timedelta(hours=25)))
    assert recalls(lake).height == 0


def test_a_call_of_a_subject_that_was_erased_meanwhile_is_left_out(lake: Lake) -> None:

    asked(lake, 2)
    tombstones.place(lake, Subject("t", "u"), None, "ab" * 16)
    assert fold(lake)["left_out"]["refused"] == 24
    assert recalls(lake).height == 0
