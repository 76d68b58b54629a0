"""The log of recalls online: what is logged, that it never costs a call anything, and what is left out."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lake import recall_segments
from lake.lake import Lake, open_lake
from lake.online import recall_log
from lake.online.recall_log import is_sampled
from lake.recall import Recall
from lake.rights import standing, tombstones
from tests.lake.crypto.sealed import sealed_lake
from tests.lake.made import ROOT, environment
from tests.lake.online.recalls import ME, fold, lines, logging, publish_now, published, recalls, say
from tests.lake.recalled import WordEmbedder
from transforms.errors import LakeError, StorageError, UsageError
from transforms.policy import Policy, RedactPolicy
from transforms.policy_recall import RecallLogPolicy
from transforms.scoring import FACTORS, score_columns, weighted
from transforms.standing import Standing
from transforms.subjects import Subject
from transforms.weights import told_weights


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return published(tmp_path)


def test_a_call_is_logged_with_every_candidate_and_what_came_of_it(lake: Lake) -> None:
    say(lake, {"content": "a violin that has just come"})
    reader = logging(lake)
    answer = reader.search("violin 3", **ME, session="s1", k=2)
    context = reader.context("harbour", **ME, agent=None, budget=200)
    assert reader.log_stats().waiting == 2
    assert lines(lake) == []  # off the hot path
    reader.flush()
    assert reader.log_stats().written == 2
    fold(lake)
    rows = recalls(lake)
    searched = rows.filter(call_id=answer.call_id)
    assert searched.filter("is_returned")["memory_id"].to_list() == [memory.id for memory in answer]
    assert searched["rank"].to_list() == list(range(1, 7))  # all of the session, two of them returned
    assert searched["session_id"].unique().to_list() == ["s1"]
    assert searched.filter("is_returned")["score"].to_list() == [memory.score for memory in answer]
    assert set(searched["generation"]) == {"gen-000001"}
    packed = rows.filter(call_id=context.call_id)
    assert packed.height == 13  # the fresh one, too
    assert set(packed.filter("is_packed")["memory_id"]) == {memory.id for memory in context.memories}
    assert packed["is_packed"].equals(packed["is_returned"])
    sizes = dict(packed.filter("is_packed").select("memory_id", "tokens").iter_rows())
    assert sizes == context.tokens_of
    assert packed.filter(~packed["is_packed"])["tokens"].null_count() == 13 - len(sizes)


@pytest.mark.parametrize("weights", ["five", "three", "two", {"importance": 0.5, "recency": 0.5}])
def test_what_is_logged_gives_the_score_again(tmp_path: Path, weights: Any) -> None:
    rows = [
        {"content": f"violin {i}", "importance": i / 7, "outcome": ("success", None, "failure")[i % 3]}
        for i in range(8)
    ]
    lake = published(tmp_path, rows)
    policy = Policy()
    reader = logging(lake, policy)
    reader.search("violin 3", **ME, k=3, weights=weights)
    reader.flush()
    fold(lake)
    logged = recalls(lake)
    assert logged.height == 8
    columns: dict[str, Any] = {
        "relevance": logged["relevance"].to_numpy(),
        "importance": logged["memory_importance"].to_numpy(),
        "access_count": logged["access_count"].to_numpy().astype(float),
        "seen_us": logged["last_accessed_at"].to_physical().to_numpy(),
        **{name: logged[name].to_list() for name in ("kind", "tier", "outcome")},
    }
    (told,) = set(logged["weighting"])
    at, weighing = logged["recalled_at"][0], told_weights(told)
    again = score_columns(columns, policy=policy, as_of=at, weights=weighing, is_about=False)
    near = logged["closeness"].to_numpy()
    again |= {name: values * near for name, values in again.items() if name not in ("relevance", "score")}
    again["score"] = weighted(again, weighing)
    names = ("relevance", "recency", "importance", "frequency", "type")
    for column, factor in zip((*names, "score"), (*FACTORS, "score"), strict=True):
        assert np.abs(logged[column].to_numpy() - again[factor]).max() < 1e-6, column
    assert set(logged["policy_hash"]) == {reader._policy.hash()}


def test_a_call_that_finds_nothing_is_a_row_of_rank_0(lake: Lake) -> None:
    reader = logging(lake)
    assert reader.search("violin", tenant="t", user="nobody") == []
    reader.flush()
    fold(lake)
    (row,) = recalls(lake).to_dicts()
    assert (row["memory_id"], row["rank"], row["is_returned"], row["query"]) == ("", 0, False, "violin")


def test_a_call_as_of_another_instant_is_not_logged(lake: Lake) -> None:
    reader = logging(lake)
    answer = reader.search("violin", **ME, as_of=datetime.now(UTC) + timedelta(seconds=1))
    assert answer.call_id == ""
    reader.used([memory.id for memory in answer], tenant="t", call_id=answer.call_id)
    reader.flush()
    assert reader.log_stats().written == 0
    assert lines(lake) == []


@pytest.mark.parametrize("ratio", [0.0, 0.3, 1.0])
def test_a_sample_is_the_same_calls_whoever_asks(lake: Lake, ratio: float) -> None:
    reader = logging(lake, sample_ratio=ratio)
    calls = [reader.search("violin", **ME, k=1).call_id for _ in range(40)]
    assert len(set(calls)) == 40
    reader.flush()
    kept = [line["recalls"]["call_id"] for line in lines(lake)]
    assert kept == [call for call in calls if is_sampled(call, ratio)]
    told = reader.log_stats()
    if ratio == 0:
        assert (told.state, told.note) == ("off", "recall_log.sample_ratio is 0")
    else:
        assert told.written + told.unsampled == 40


def test_about_the_share_that_was_asked_for_is_sampled() -> None:
    drawn = np.random.default_rng(3).bytes(16 * 4000)
    calls = [drawn[i : i + 16].hex() for i in range(0, len(drawn), 16)]
    assert 0.27 < np.mean([is_sampled(call, 0.3) for call in calls]) < 0.33
    assert all(is_sampled(call, 1.0) for call in calls)
    assert all(is_sampled(c, 0.5) for c in calls if is_sampled(c, 0.2))


def test_a_full_queue_drops_and_counts_and_keeps_no_call_waiting(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_stuck = threading.Event()

    def stuck(*_: Any) -> None:
        is_stuck.wait(60)

    monkeypatch.setattr(recall_segments, "write", stuck)
    reader = logging(lake, queue_calls=3, flush_seconds=0)
    reader.search("violin", **ME)
    until = time.monotonic() + 60
    while reader.log_stats().waiting and time.monotonic() < until:
        time.sleep(0.02)  # until the thread has taken it, which does not come back
    began = time.perf_counter()
    for _ in range(8):
        reader.search("violin", **ME)
    assert time.perf_counter() - began < 3
    told = reader.log_stats()
    assert (told.waiting, told.dropped) == (3, 5)
    is_stuck.set()
    reader.close()
    assert reader.log_stats().written == 4


def test_the_thread_writes_by_itself_and_ends_when_it_is_closed(lake: Lake) -> None:
    reader = logging(lake, flush_seconds=0.01)
    for _ in range(3):
        reader.search("violin", **ME)
    until = time.monotonic() + 10
    while reader.log_stats().written < 3 and time.monotonic() < until:
        time.sleep(0.02)
    assert len(lines(lake)) == 3
    threads = [t for t in threading.enumerate() if t is reader._log._thread]
    reader.close()
    for thread in threads:
        thread.join(10)
        assert not thread.is_alive()
    reader.search("violin", **ME)  # goes on
    reader.close()
    assert len(lines(lake)) == 4


def test_an_idle_thread_ends(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recall_log, "IDLE_SECONDS", 0.05)
    reader = logging(lake, flush_seconds=0)
    reader.search("violin", **ME)
    until = time.monotonic() + 10
    while reader._log._thread is not None and time.monotonic() < until:
        time.sleep(0.02)
    assert reader._log._thread is None
    assert len(lines(lake)) == 1


@pytest.mark.parametrize(
    ("fault", "state", "failed"),
    [(LakeError("permission denied"), "off", 1), (StorageError("the disk is full"), "on", 2)],
)
def test_a_lake_that_may_not_be_written_switches_the_log_off_and_nothing_else(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, fault: Exception, state: str, failed: int
) -> None:
    def refusing(*_: Any) -> None:
        raise fault

    monkeypatch.setattr(recall_segments, "write", refusing)
    reader = logging(lake)
    for _ in range(2):
        assert reader.search("violin", **ME)
        reader.flush()
    told = reader.log_stats()
    assert (told.state, told.failed, told.waiting) == (state, failed, 0)
    assert bool(told.note) == (state == "off")


def test_a_lake_of_which_the_folder_cannot_be_written_is_read_only(lake: Lake) -> None:
    lake.storage.write("recall_log", b"a file where the folder would be")
    reader = logging(lake)
    assert reader.search("violin", **ME)
    reader.flush()
    assert reader.log_stats().state == "off"


def test_a_lake_that_has_gone_is_not_made_again(tmp_path: Path) -> None:
    lake = published(tmp_path)
    reader = logging(lake)
    reader.search("violin", **ME)
    root = Path(lake.uri)
    root.rename(tmp_path / "moved")
    reader.flush()
    assert not root.exists()
    assert reader.log_stats().state == "off"


EXITS = """
import sys
sys.path.insert(0, {root!r})
from tests.lake.online.recalls import ME, logging
from lake.lake import open_lake
reader = logging(open_lake(sys.argv[1]))
answer = reader.search("violin", **ME)
reader.used([answer[0].id], tenant="t", call_id=answer.call_id)
print(answer.call_id)
"""


def test_what_waits_is_written_when_the_interpreter_ends(lake: Lake) -> None:
    script = EXITS.format(root=str(ROOT))
    done = subprocess.run(
        [sys.executable, "-c", script, lake.uri],
        capture_output=True,
        text=True,
        check=True,
        env=environment(),
    )
    assert done.stderr == ""
    assert fold(lake)["used"] == 1
    assert set(recalls(lake)["call_id"]) == {done.stdout.strip()}


def test_a_forked_child_does_not_write_what_its_parent_will(lake: Lake) -> None:
    reader = logging(lake)
    reader.search("violin", **ME)
    recall_log._begin_all()  # what the child does first
    reader.flush()
    assert lines(lake) == []
    reader.search("violin", **ME)
    reader.flush()
    assert len(lines(lake)) == 1


def test_secrets_are_taken_out_of_queries(lake: Lake) -> None:
    secret = "my card is 4111 1111 1111 1111, mail ana@example.org"
    for redact in (RedactPolicy(), RedactPolicy(is_enabled=False)):
        reader = logging(lake, Policy(redact=redact))
        reader.search(secret, **ME)
        reader.flush()
    first, second = (line["recalls"]["query"] for line in lines(lake))
    assert "4111" not in first
    assert "ana@" not in first
    assert second == secret


def test_an_encrypted_lake_seals_queries_and_a_reader_without_keys_logs_nothing(tmp_path: Path) -> None:
    keyed = sealed_lake(tmp_path)
    say(keyed, {"content": "the violin of the harbour"})
    publish_now(keyed)
    reader = logging(keyed)
    reader.search("who has the violin", **ME)
    reader.flush()
    (line,) = lines(keyed)
    assert "violin" not in line["recalls"]["query"]
    blind = logging(open_lake(keyed.uri))
    blind.search("who has the violin", **ME)
    blind.flush()
    assert (blind.log_stats().state, blind.log_stats().failed) == ("off", 1)
    fold(keyed)
    (row,) = recalls(keyed).to_dicts()
    assert row["query"] == "who has the violin"
    assert b"who has the violin" not in b"".join(
        p.read_bytes() for p in Path(keyed.uri).rglob("*") if p.is_file()
    )


def test_nothing_is_kept_of_who_was_erased_or_opted_out_or_forbade_the_topic(lake: Lake) -> None:
    say(lake, {"content": "violin", "user_id": "v"}, {"content": "violin", "user_id": "w"})
    reader = logging(lake)
    for user in ("u", "v", "w"):
        reader.search("violin", tenant="t", user=user)
    tombstones.place(lake, Subject("t", "v"), None, "ab" * 16)
    reader.flush()
    assert lines(lake) == []  # seen before somebody was erased: whose it was is not known any more
    assert reader.log_stats().refused == 3
    standing.save(lake, Standing(Subject("t", "w"), forbidden_topics=("violin",)))
    for user in ("u", "v", "w"):
        reader.search("violin", tenant="t", user=user)
        reader.used(["x"], tenant="t", user=user)
    reader.flush()
    told = [(*line, line.get("recalls", line.get("used"))["user_id"]) for line in lines(lake)]
    assert told == [("recalls", "u"), ("used", "u"), ("used", "w")]


def test_a_memory_that_is_being_erased_is_named_in_no_call(lake: Lake) -> None:
    reader = logging(lake)
    first = reader.search("violin 3", **ME, k=1)[0].id
    reader.flush()
    tombstones.place(lake, Subject("t", memory=first), None, "ab" * 16)
    again = reader.search("violin 3", **ME, k=1)
    reader.used([first, again[0].id], tenant="t", call_id=again.call_id)
    reader.flush()
    call, use = lines(lake)[1:]
    assert call["recalls"]["rows"]["memory_id"] == [again[0].id]
    assert use["used"]["memory_ids"] == [again[0].id]


@pytest.mark.parametrize(
    ("ids", "named", "told"),
    [
        ("one", {"call_id": "c"}, "not a list"),
        ([7], {"call_id": "c"}, "not a list"),
        ([""], {"call_id": "c"}, "not a list"),
        (["a"], {}, "needs a user"),
        (["a"], {"call_id": 7}, "call_id is int"),
        (["a"], {"user": ""}, "empty"),
    ],
)
def test_feedback_that_says_nothing_is_refused(lake: Lake, ids: Any, named: Any, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        logging(lake).used(ids, tenant="t", **named)


def test_many_threads_lose_no_call(lake: Lake) -> None:
    policy = Policy(recall_log=RecallLogPolicy(flush_seconds=0.001, queue_calls=100_000))
    reader = Recall(lake, policy=policy, embedder=WordEmbedder())
    made: list[str] = []

    def ask() -> None:
        made.extend([reader.search("violin", **ME, k=1).call_id for _ in range(15)])

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    reader.close()
    assert sorted(line["recalls"]["call_id"] for line in lines(lake)) == sorted(made)
    assert reader.log_stats().written == 120
