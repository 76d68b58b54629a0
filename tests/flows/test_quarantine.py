"""Refused rows: listed, tried again with what they lacked, taken out; nothing is lost or lands twice."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from flows.commit import to_quarantine
from flows.quarantine import Chosen, drop, held, retry
from flows.shared_commits import placed, unplaced
from lake import tables
from lake.rights import audit
from lake.sources import open_sources
from tests.flows.lakes import REPOSITORY, Command, content, ingest, job_on, reasons, row, write
from transforms.errors import UsageError
from transforms.readers.batch import Collector, Leaning, Resumable, refusals_frame
from transforms.readers.text import JsonFault
from transforms.schemas import EPISODES, QUARANTINE
from transforms.validate import Defaults

BERLIN = Defaults(timezone="Europe/Berlin")
SAMPLES = REPOSITORY / "samples" / "formats"
NAIVE = "2026-06-01T10:00:00"


def refused_lake(root: Path) -> tuple[Path, list[dict[str, object] | str]]:
    """A file whose rows lack a zone, a tenant, a time, a brace."""
    rows: list[dict[str, object] | str] = [
        row(1),
        row(2, event_at=NAIVE, metadata={"deal": 7}, tags=["a", "b"]),
        row(3, event_at=None),
        row(4, tenant_id=None),
        '{"id": "cut", "tenant_id": "acme", "conte',
        row(6, content=""),
    ]
    return write(root / "notes.jsonl", rows), rows


def test_what_rows_lacked_lands_them(tmp_path: Path) -> None:
    job = job_on(tmp_path / "lake")
    path, _ = refused_lake(tmp_path)
    ingest(job, path)
    before = reasons(job)
    assert before == {
        "missing_time": 1, "naive_time": 1, "no_content": 1, "no_tenant": 1, "truncated_json": 1,
    }  # fmt: skip
    done = retry(job, Chosen(), Defaults(tenant_id="acme", timezone="Europe/Berlin", event_at=NAIVE))
    assert (done.tried, done.landed, done.held) == (5, 3, 0)
    assert done.refused == {"no_content": 1, "truncated_json": 1}
    left = content(job, QUARANTINE).sort("source_line")
    assert left.select("source_line", "retry_count").rows() == [(5, 1), (6, 1)]
    rows = content(job).sort("source_line")
    assert rows["source_line"].to_list() == [1, 2, 3, 4]
    assert set(rows["source_file"]) == {"notes.jsonl"}
    assert set(rows["source"]) == {"slowwave-jsonl"}
    naive = rows.row(1, named=True)
    assert naive["event_at"].isoformat() == "2026-06-01T08:00:00+00:00"
    assert json.loads(naive["metadata"]) == {"deal": 7}
    assert naive["tags"] == ["a", "b"]


def test_retried_rows_are_those_of_a_mended_file(tmp_path: Path) -> None:
    """A row that lands from quarantine has the id and the values that it has when its file comes right."""
    tried, mended = job_on(tmp_path / "tried"), job_on(tmp_path / "mended")
    path, _ = refused_lake(tmp_path)
    given = Defaults(tenant_id="acme", timezone="Europe/Berlin", event_at=NAIVE)
    ingest(tried, path)
    retry(tried, Chosen(), given)
    ingest(mended, path, defaults=given)
    assert content(tried).equals(content(mended))
    assert ingest(tried, path, defaults=given)["landed"] == 0


def test_a_second_try_finds_nothing_more(tmp_path: Path) -> None:
    job = job_on(tmp_path / "lake")
    path, _ = refused_lake(tmp_path)
    ingest(job, path)
    retry(job, Chosen(reason="naive_time"), BERLIN)
    again = retry(job, Chosen(reason="naive_time"), BERLIN)
    assert (again.tried, again.landed) == (0, 0)
    assert reasons(job)["missing_time"] == 1


def test_a_dry_try_changes_nothing(tmp_path: Path) -> None:
    from dataclasses import replace

    job = job_on(tmp_path / "lake")
    path, _ = refused_lake(tmp_path)
    ingest(job, path)
    held_before, landed_before = content(job, QUARANTINE), content(job)
    done = retry(replace(job, is_dry=True), Chosen(), BERLIN)
    assert done.landed == 1
    assert drop(replace(job, is_dry=True), Chosen(reason="no_content")) == 1
    assert content(job, QUARANTINE).equals(held_before)
    assert content(job).equals(landed_before)


def test_killed_between_landing_and_leaving(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from flows import quarantine_trial

    job = job_on(tmp_path / "lake")
    path, _ = refused_lake(tmp_path)
    ingest(job, path)

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(quarantine_trial, "rewritten", killed)
        with pytest.raises(KeyboardInterrupt):
            retry(job, Chosen(reason="naive_time"), BERLIN)
    assert content(job).height == 2
    done = retry(job, Chosen(reason="naive_time"), BERLIN)
    assert (done.landed, done.held) == (0, 1)
    assert content(job).height == 2
    assert "naive_time" not in reasons(job)


def test_a_redacted_id_is_not_taken_for_one(tmp_path: Path) -> None:
    job = job_on(tmp_path / "lake")
    path = write(tmp_path / "mail.jsonl", [row(1, user_id="ana@example.com", event_at=NAIVE)])
    ingest(job, path)
    done = retry(job, Chosen(), BERLIN)
    assert done.refused == {"redacted_id": 1}
    assert content(job).is_empty()


def test_a_conversation_is_read_by_its_reader(tmp_path: Path) -> None:
    job = job_on(tmp_path / "lake")
    talk = {
        "id": "c1",
        "created": NAIVE,
        "messages": [{"role": "user", "content": "The boat leaves at six."}],
    }
    path = write(tmp_path / "talk.jsonl", [talk])
    ingest(job, path, defaults=Defaults(tenant_id="acme"))
    done = retry(job, Chosen(), Defaults(tenant_id="acme", timezone="UTC"))
    assert (done.landed, done.refused) == (1, {})
    assert content(job)["source"].to_list() == ["openai-messages"]


def test_dropped_rows_are_gone_and_counted(tmp_path: Path) -> None:
    job = job_on(tmp_path / "lake")
    path, _ = refused_lake(tmp_path)
    ingest(job, path)
    assert drop(job, Chosen(reason="truncated_json")) == 1
    assert "truncated_json" not in reasons(job)
    assert content(job, QUARANTINE).height == 4
    events = [entry for entry in audit.entries(job.lake) if entry.kind == "quarantine_dropped"]
    assert [entry.counts["rows"] for entry in events] == [1]
    assert content(job, EPISODES).height == 1


def test_rows_are_named_by_the_beginning_of_their_id(tmp_path: Path) -> None:
    job = job_on(tmp_path / "lake")
    path, _ = refused_lake(tmp_path)
    ingest(job, path)
    first = content(job, QUARANTINE)["quarantine_id"][0]
    assert held(job, Chosen((first[:8],)))["quarantine_id"].to_list() == [first]
    for name in (first[:7], "00000000", "%' or 1=1"):
        with pytest.raises(UsageError):
            held(job, Chosen((name,)))


def test_no_tenant_sees_the_rows_of_another(tmp_path: Path) -> None:
    job = job_on(tmp_path / "lake")
    path = write(tmp_path / "two.jsonl", [row(1, event_at=NAIVE), row(2, event_at=NAIVE, tenant_id="zenith")])
    ingest(job, path)
    assert held(job, Chosen(tenant="zenith"))["tenant_id"].to_list() == ["zenith"]
    assert drop(job, Chosen(tenant="zenith")) == 1
    assert content(job, QUARANTINE)["tenant_id"].to_list() == ["acme"]


def test_the_verb(tmp_path: Path, command: Command) -> None:
    path, _ = refused_lake(tmp_path)
    lake = str(tmp_path / "lake")
    command("--lake", lake, "init")
    command("--lake", lake, "ingest", str(path))
    shown = command("--lake", lake, "quarantine", "list")
    assert "5 refused rows" in shown.out
    assert "notes.jsonl:2 naive_time: The time has no zone" in shown.out
    listed = command("--lake", lake, "--json", "quarantine", "list", "--reason", "naive_time").json
    assert [one["reason"] for one in listed["shown"]] == ["naive_time"]
    bare = command("--lake", lake, "quarantine", "drop")
    assert bare.code == 2
    assert "--all" in bare.err
    tried = command(
        "--lake",
        lake,
        "--json",
        "quarantine",
        "retry",
        "--reason",
        "naive_time",
        "--timezone",
        "Europe/Berlin",
    ).json
    assert (tried["landed"], tried["refused"]) == (1, {})
    gone = command("--lake", lake, "--json", "quarantine", "drop", "--source-file", "notes.jsonl").json
    assert gone == {"dropped": 4, "dry_run": False}
    assert command("--lake", lake, "quarantine", "list").out.strip() == "no refused rows"
    wrong = command("--lake", lake, "quarantine", "retry", "--all", "--event-at", NAIVE)
    assert wrong.code == 2
    assert "has no zone" in wrong.err
    assert pl.Series([wrong.err]).str.contains("Traceback").sum() == 0


def is_read_alone(path: Path) -> bool:
    reader = next(iter(open_sources(str(path)))).reader if path.is_file() else None
    return isinstance(reader, Resumable) and not isinstance(reader, Leaning)


@pytest.mark.parametrize("name", sorted(path.name for path in SAMPLES.iterdir() if is_read_alone(path)))
def test_what_a_mended_reader_takes_is_what_it_makes_of_the_whole_file(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of a sample, refused by its reader, lands from quarantine as it does from its file or stays."""
    given = Defaults(tenant_id="acme", timezone="UTC", event_at=NAIVE)
    whole, tried = job_on(tmp_path / "whole"), job_on(tmp_path / "tried")
    ingest(whole, SAMPLES / name, defaults=given)

    def refuses(*_: object, **__: object) -> None:
        raise JsonFault("bad_field_type", "not known yet")

    with monkeypatch.context() as patch:
        patch.setattr(Collector, "draft", refuses)
        ingest(tried, SAMPLES / name, defaults=given)
    before = content(tried, QUARANTINE).height
    done = retry(tried, Chosen(), given)
    told = ["episode_id", "tenant_id", "user_id", "session_id", "content", "event_at", "role", "source_file"]
    assert content(tried).join(content(whole), on=told, how="anti", nulls_equal=True).is_empty()
    assert done.tried == before == content(tried, QUARANTINE).height + done.landed + done.held
    if name in ("swe-agent-traj.traj", "mem0-export.json", "tau-bench.json", "slowwave-export.jsonl"):
        assert content(tried).height == content(whole).height


@pytest.mark.parametrize("name", ["codex-jsonl.jsonl", "otel-spans.jsonl", "slack-export"])
def test_a_record_that_leans_on_others_is_not_read_alone(name: str, tmp_path: Path) -> None:
    """Alone it would land under another name than in its mended file."""
    job, given = job_on(tmp_path / "lake"), Defaults(tenant_id="acme", timezone="UTC")
    source = next(iter(open_sources(str(SAMPLES / name))))
    with source.open() as stream:
        text = stream.read().decode()
    raws = [text] if text.startswith("[") else text.splitlines()
    rows = [{"reason": "unknown_record", "raw": raw, "source_line": n} for n, raw in enumerate(raws)]
    tables.append(job.lake, QUARANTINE, to_quarantine(job, refusals_frame(rows), source.reader.name))
    done = retry(job, Chosen(), given)
    assert (done.landed, done.held, done.refused) == (0, 0, {"unknown_record": len(raws)})
    assert content(job).is_empty()


def test_a_row_is_still_of_whom_its_file_was_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a call gives goes to rows that lack it: one that came in for a tenant and a person does not."""
    job = job_on(tmp_path / "lake")
    memory = {"id": "m1", "memory": "Likes green tea.", "created_at": "2026-06-01T10:00:00Z"}
    path = write(tmp_path / "memories.jsonl", [memory])

    def refuses(*_: object, **__: object) -> None:
        raise JsonFault("bad_value", "not known yet")

    with monkeypatch.context() as patch:
        patch.setattr(Collector, "draft", refuses)
        ingest(job, path, defaults=Defaults("acme", "ana"), form="mem0-export")
    assert retry(job, Chosen(), Defaults("zenith", "ben")).landed == 1
    assert content(job).select("tenant_id", "user_id").rows() == [("acme", "ana")]


def test_no_name_and_no_row_commands_the_terminal(tmp_path: Path, command: Command) -> None:
    """Escapes, C1 commands and marks that turn what is read, in a file's name and in its rows."""
    odd = "\x1b]0;owned\x07\x9b31m\u202e"
    lake = str(tmp_path / "lake")
    command("--lake", lake, "init")
    folder = tmp_path / "in"
    folder.mkdir()
    write(folder / f"chat{odd}.jsonl", [row(1, event_at=NAIVE, speaker=odd), f'{{"content": "{odd}'])
    (folder / f"unknown{odd}.bin").write_bytes(b"\x00\x01")
    told = [
        command("--lake", lake, "ingest", str(folder)),
        command("--lake", lake, "quarantine", "list"),
        command("--lake", lake, "--json", "quarantine", "list"),
        command("--lake", lake, "quarantine", "retry", "--all", "--timezone", "UTC"),
    ]
    for one in told:
        assert not set(one.out + one.err) & set(odd) - set("]0;owned31m"), one
    assert any("\x9b" in shown["raw"] or "\x9b" in shown["source_file"] for shown in told[2].json["shown"])


def test_the_list_is_shown_in_pages(tmp_path: Path, command: Command) -> None:
    job = job_on(tmp_path / "lake")
    ingest(job, write(tmp_path / "many.jsonl", [row(n, event_at=NAIVE) for n in range(7)]))

    def lines(*more: str) -> list[int]:
        told = command(
            "--lake", str(tmp_path / "lake"), "--json", "quarantine", "list", "--limit", "3", *more
        )
        assert told.json["rows"] == 7
        return [shown["source_line"] for shown in told.json["shown"]]

    pages = [lines("--offset", str(n)) for n in (0, 3, 6, 9)]
    assert pages == [[1, 2, 3], [4, 5, 6], [7], []]


def test_a_refused_row_of_the_second_file_of_a_name_is_read_by_that_name() -> None:
    assert [unplaced(placed("rollout-1.jsonl", place)) for place in (1, 2, 13)] == ["rollout-1.jsonl"] * 3
    assert unplaced("notes (2).jsonl") == "notes (2).jsonl"
