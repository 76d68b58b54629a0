"""Traces for replay: of a lake, folded and waiting, sealed and plain; of a file, checked; labelled."""

from __future__ import annotations

import argparse
import io
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from flows.erase import run_erase
from flows.tune_trace_file import read_recalls
from flows.tune_traces import TracesWanted, load_traces, traces_of
from lake.lake import Lake
from lake.rights import tombstones
from samples.recall_traces import PATH
from tests.lake.crypto.sealed import sealed_lake
from tests.lake.online.recalls import ME, fold, job_now, logging, notes, publish_now, published, say
from tests.transforms.forgetting.plain import AS_OF, recall
from transforms.errors import InputError, UsageError
from transforms.policy import Policy
from transforms.policy_tune import TunePolicy
from transforms.schemas import RECALLS
from transforms.subjects import Subject

FEW = Policy(tune=TunePolicy(min_calls=2))


def traces(lake: Lake, policy: Policy = FEW, **wanted: Any) -> Any:
    return load_traces(lake, policy, datetime.now(UTC), TracesWanted(**wanted))


def asked(lake: Lake, count: int, **named: Any) -> list[tuple[str, str]]:
    """Calls whose second memory was used."""
    reader, calls = logging(lake), []
    for _ in range(count):
        answer = reader.search("violin", **{**ME, **named}, k=3)
        reader.used([answer[1].id], tenant="t", call_id=answer.call_id)
        calls.append((answer.call_id, answer[1].id))
    reader.close()
    return calls


@pytest.fixture(params=["plain", "sealed"])
def lake(request: pytest.FixtureRequest, tmp_path: Path) -> Lake:
    if request.param == "plain":
        return published(tmp_path)
    made = sealed_lake(tmp_path / "lake")
    say(made, *notes())
    publish_now(made)
    return made


def test_folded_and_waiting_calls_once_each(lake: Lake) -> None:
    early = asked(lake, 2)
    fold(lake)
    late = asked(lake, 1)
    found = traces(lake)
    assert found.calls.heads["call_id"].to_list() == [call for call, _ in early + late]
    assert found.recalls.height == 36
    assert (found.label, found.labelled) == ("used", {"used": 3})
    gains = found.calls.rows.filter(pl.col("gain") > 0)
    assert gains.select("call_id", "memory_id").rows() == early + late
    assert found.calls.rows["gain"].null_count() == 0
    assert set(found.memories["memory_id"]) == set(found.recalls["memory_id"])
    assert found.memories["stored_in"].unique().to_list() == ["episodes"]
    some = found.recalls["memory_id"][:2].to_list()
    told = found.texts(some)
    assert set(told) == set(some)
    assert all("violin" in text for text in told.values())


def test_the_window_ends_at_the_as_of_and_starts_before_it(tmp_path: Path) -> None:
    lake = published(tmp_path)
    asked(lake, 2)
    now = datetime.now(UTC)
    assert len(load_traces(lake, FEW, now, TracesWanted()).calls) == 2
    assert len(load_traces(lake, FEW, now - timedelta(hours=1), TracesWanted()).calls) == 0
    assert len(load_traces(lake, FEW, now + timedelta(days=91), TracesWanted()).calls) == 0


def test_another_tenant_or_user_is_not_in_it(tmp_path: Path) -> None:
    lake = published(tmp_path)
    asked(lake, 2)
    assert len(traces(lake, tenant="t", user="u").calls) == 2
    assert len(traces(lake, tenant="t", user="v").calls) == 0
    other = traces(lake, tenant="other")
    assert (len(other.calls), other.memories.height, other.label) == (0, 0, "none")


def test_of_an_erased_user_nothing_is_replayed(tmp_path: Path) -> None:
    lake = published(tmp_path)
    asked(lake, 2)
    job = job_now(lake)
    run_erase(job, Subject("t", "u"), basis="gdpr-art-17", requested_by="subject")
    found = traces(lake)
    assert (found.recalls.height, found.memories.height) == (0, 0)


def silent(lake: Lake, sessions: int) -> None:
    """Calls of which nobody says what they used."""
    reader = logging(lake)
    for number in range(sessions):
        reader.search("violin", **ME, session=f"s{number}", k=3)
    reader.close()


def later(minutes: float) -> str:
    return (datetime.now(UTC) + timedelta(minutes=minutes)).isoformat()


def in_an_hour(lake: Lake, **wanted: Any) -> Any:
    return load_traces(lake, FEW, datetime.now(UTC) + timedelta(hours=1), TracesWanted(**wanted))


def test_where_nobody_said_what_was_used_the_users_word_is_taken(tmp_path: Path) -> None:
    rows = [{**note, "session_id": f"s{place % 3}"} for place, note in enumerate(notes())]
    lake = published(tmp_path, rows)
    silent(lake, 3)
    for number, word in enumerate(["helpful", "that helped", "wrong"]):
        told = {"content": "so be it", "session_id": f"s{number}", "event_at": later(1), "feedback": word}
        say(lake, told)
    publish_now(lake)
    found = in_an_hour(lake)
    assert (found.label, found.labelled) == ("feedback", {"used": 0, "feedback": 2})
    assert len(found.calls) == 2
    assert found.calls.rows.filter("is_returned")["gain"].unique().to_list() == [1.0]
    unseen = found.calls.rows.filter(~pl.col("is_returned"))["gain"]
    assert 0 < len(unseen) == unseen.null_count()
    assert any("1 labelled calls showed nothing of use" in note for note in found.notes)


def test_where_nobody_said_anything_the_answer_is_read(lake: Lake) -> None:
    silent(lake, 2)
    for number in range(2):
        answer = f"they are: {' '.join(note['content'] for note in notes())}"
        told = {"content": answer, "role": "assistant", "session_id": f"s{number}", "event_at": later(1)}
        say(lake, told)
    publish_now(lake)
    found = in_an_hour(lake)
    assert found.label == "echo"
    assert found.labelled == {"used": 0, "feedback": 0, "echo": 2}
    with_text = found.texts(found.calls.rows.filter(pl.col("gain") > 0)["memory_id"].to_list())
    assert all("harbour" in text for text in with_text.values())


def test_a_named_source_and_a_labelled_set(tmp_path: Path) -> None:
    lake = published(tmp_path)
    calls = asked(lake, 2)
    assert traces(lake, labels="used").label == "used"
    first = traces(lake).calls.rows["memory_id"][0]
    rows = pl.DataFrame({"call_id": [calls[0][0]], "memory_id": [first], "gain": [1.0]})
    for name, write in (
        ("l.csv", pl.DataFrame.write_csv),
        ("l.jsonl", pl.DataFrame.write_ndjson),
        ("l.parquet", pl.DataFrame.write_parquet),
    ):
        write(rows, tmp_path / name)
        found = traces(lake, labels=str(tmp_path / name))
        assert (found.label, len(found.calls)) == ("imported", 1)
        assert found.calls.rows.filter(pl.col("gain") > 0)["memory_id"].to_list() == [first]
    with pytest.raises(InputError, match="no file"):
        traces(lake, labels=str(tmp_path / "none.csv"))
    with pytest.raises(InputError, match=r"labels.txt is no"):
        traces(lake, labels="labels.txt")


def options(**given: Any) -> argparse.Namespace:
    names = ("lake", "config", "as_of", "tenant", "user", "agent", "session", "traces")
    return argparse.Namespace(**{**dict.fromkeys(names), "labels": "auto", **given})


def test_a_file_needs_no_lake_and_ends_at_its_newest_call(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("SLOWWAVE_LAKE", raising=False)
    monkeypatch.chdir(tmp_path)
    found = traces_of(options(traces=str(PATH)))
    assert (found.label, len(found.calls), found.lake) == ("used", 1394, None)
    assert found.as_of == found.recalls["recalled_at"].max()
    assert found.memories["stored_in"].unique().to_list() == ["traces"]
    assert found.memories["content_chars"].null_count() == 0
    (text,) = found.texts([found.calls.rows["memory_id"][0]]).values()
    assert len(text) > 10
    early = traces_of(options(traces=str(PATH), as_of="2026-05-01T00:00:00Z", tenant="007"))
    assert early.recalls["recalled_at"].max() < datetime(2026, 5, 1, tzinfo=UTC)
    assert early.recalls["tenant_id"].unique().to_list() == ["007"]
    with pytest.raises(UsageError, match="no lake named"):
        traces_of(options())
    with pytest.raises(UsageError, match="of a tenant"):
        traces_of(options(traces=str(PATH), user="u-mira"))
    with pytest.raises(UsageError, match="lake's sessions"):
        traces_of(options(traces=str(PATH), labels="echo"))


def frame(**fields: Any) -> pl.DataFrame:
    rows = [recall(n, "m", AS_OF, **{"is_used": True, **fields}) for n in (1, 2)]
    return pl.DataFrame(rows, schema=RECALLS.polars, orient="row")


SPOILED: dict[str, tuple[Callable[[pl.DataFrame], pl.DataFrame], str]] = {
    "columns": (lambda f: f.drop("score", "kind"), "column kind, score is missing"),
    "a type": (lambda f: f.with_columns(rank=pl.lit("first")), "column rank is String, not Int32"),
    "a zone": (
        lambda f: f.with_columns(pl.col("event_at").dt.replace_time_zone(None)),
        "column event_at is Datetime",
    ),
    "a null": (lambda f: f.with_columns(route=pl.lit(None, pl.String)), "2 nulls in route"),
    "a verb": (lambda f: f.with_columns(verb=pl.lit("look")), "2 rows whose verb is none of"),
    "a factor": (lambda f: f.with_columns(recency=pl.lit(7.0)), "2 rows whose recency is not from 0 to 1"),
    "a row": (lambda f: pl.concat([f, f[:1]]), "1 rows repeat"),
    "an importance": (
        lambda f: f.with_columns(memory_importance=pl.lit(-5.0)),
        "2 rows whose memory_importance is not",
    ),
    "tokens": (lambda f: f.with_columns(tokens=pl.lit(-3, pl.Int32)), "2 rows whose tokens is below 0"),
    "accesses": (lambda f: f.with_columns(access_count=pl.lit(-1)), "2 rows whose access_count is below 0"),
    "a user": (
        lambda f: pl.concat([f, f[:1].with_columns(memory_id=pl.lit("n"), user_id=pl.lit("x"))]),
        "calls with more than one user_id",
    ),
    "a gain": (lambda f: f.with_columns(gain=pl.lit(-1.0)), "2 rows whose gain is not"),
    "a call": (
        lambda f: pl.concat([f, f[:1].with_columns(memory_id=pl.lit("n"), query=pl.lit("x"))]),
        "calls with",
    ),
}


@pytest.mark.parametrize("fault", list(SPOILED))
def test_a_file_of_another_shape_is_told_what_is_wrong(fault: str, tmp_path: Path) -> None:
    spoil, message = SPOILED[fault]
    spoil(frame()).write_parquet(tmp_path / "r.parquet")
    with pytest.raises(InputError, match=message):
        read_recalls(tmp_path / "r.parquet")


def test_all_faults_are_named_at_once(tmp_path: Path) -> None:
    frame().drop("score").with_columns(rank=pl.lit("first")).write_parquet(tmp_path / "r.parquet")
    with pytest.raises(InputError, match=r"column score is missing; column rank is String"):
        read_recalls(tmp_path / "r.parquet")


def test_a_file_may_lack_what_may_be_null_and_hold_narrower_types(tmp_path: Path) -> None:
    narrow = frame().drop("outcome", "is_used", "seconds", "tenant_bucket", "month", "agent_id")
    narrow = narrow.with_columns(pl.col("score").cast(pl.Float32), pl.col("rank").cast(pl.Int64), extra=1)
    narrow = narrow.with_columns(pl.col("recalled_at").cast(pl.Datetime("ns", "UTC")), gain=pl.lit(1.0))
    narrow.write_parquet(tmp_path / "r.parquet")
    found = load_traces(None, FEW, None, TracesWanted(file=str(tmp_path / "r.parquet")))
    assert found.recalls.columns == RECALLS.names
    assert (found.label, len(found.calls)) == ("imported", 2)


@pytest.mark.parametrize(("name", "raw"), [("r.parquet", b"PAR1"), ("r.parquet", b""), ("r.txt", b"x")])
def test_a_file_that_is_none(name: str, raw: bytes, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(raw)
    with pytest.raises(InputError):
        read_recalls(tmp_path / name)
    with pytest.raises(InputError, match="no file"):
        read_recalls(tmp_path / "none.parquet")


def test_an_empty_file_labels_nothing(tmp_path: Path) -> None:
    held = io.BytesIO()
    frame().clear().write_parquet(held)
    (tmp_path / "r.parquet").write_bytes(held.getvalue())
    found = load_traces(None, FEW, None, TracesWanted(file=str(tmp_path / "r.parquet")))
    assert (len(found.calls), found.label, found.memories.height) == (0, "none", 0)


def test_folded_calls_of_who_opted_out_since_are_not_shown(tmp_path: Path) -> None:
    lake = published(tmp_path)
    reader = logging(lake)
    reader.search("violin", **ME, k=2)
    reader.flush()
    fold(lake)
    assert len(load_traces(lake, FEW, datetime.now(UTC), TracesWanted()).recalls)
    tombstones.place(lake, Subject("t", user="u"), None, "1" * 32, mark="opted_out")
    found = load_traces(lake, FEW, datetime.now(UTC), TracesWanted())
    assert (len(found.recalls), len(found.accesses)) == (0, 0)
