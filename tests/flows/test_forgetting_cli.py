"""The verbs decay, retain and cold: what they print, and the files they write."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from tests.flows.lakes import AS_OF, Command, files_below, row, write

AT = ("--as-of", AS_OF.isoformat())
CONFIG = """
preset = "journal"

[cold]
after_days = 20
"""


def lake(tmp_path: Path, command: Command) -> tuple[object, ...]:
    words = ("--lake", tmp_path / "lake", *AT)
    command(*words, "init", "--buckets", "2")
    rows = [row(n) for n in range(12)] + [row(13, expires_at="2026-06-15T00:00:00Z"), row(14, user_id="ben")]
    command(*words, "ingest", write(tmp_path / "a.jsonl", rows))
    return words


def test_decay_shows_scores_by_kind_and_writes_them_where_asked(tmp_path: Path, command: Command) -> None:
    words = lake(tmp_path, command)
    before = files_below(tmp_path / "lake")
    out = tmp_path / "scores.parquet"
    told = command(*words, "decay", "--out", out, "--json").json
    (kind,) = told["kinds"]
    assert (kind["kind"], kind["rows"], sum(kind["histogram"])) == ("conversation", 14, 14)
    assert kind["forgotten"] == {"expired": 1}
    scores = pl.read_parquet(out)
    assert scores.height == 14
    assert {"id", "score", "recency", "frequency", "reason", "state"} <= set(scores.columns)
    text = command(*words, "decay", "--tenant", "acme", "--user", "ben").out
    assert "conversation" in text
    assert " 1 " in text
    assert files_below(tmp_path / "lake") == before
    assert command(*words, "decay", "--tenant", "nobody").out == "no memories in this scope\n"
    assert command(*words, "decay", "--user", "ben", "--json").error["code"] == "usage"
    again = command(*words, "decay", "--out", out, "--json").error
    assert again["message"] == "scores.parquet exists already"
    assert command(*words, "cold", "--json").error["message"] == "cold needs a tenant"
    assert command(*words, "decay", "--out", tmp_path / "no" / "x.parquet", "--json").code != 0


def test_retain_lists_before_it_does(tmp_path: Path, command: Command) -> None:
    words = lake(tmp_path, command)
    dry = command(*words, "retain", "--dry-run", "--json").json
    (line,) = dry["lines"]
    assert (line["tenant"], line["table"], line["reason"], line["rows"]) == ("acme", "episodes", "expired", 1)
    assert len(line["ids"]) == 1
    text = command(*words, "retain", "--dry-run").out
    assert "would go" in text
    assert line["ids"][0][:8] in text
    done = command(*words, "retain", "--json").json
    assert done["removed"]["episodes"] == {"expired": 1}
    assert "lines" not in done
    assert command(*words, "retain").out == "retain: nothing is due\n"
    assert command(*words, "retain", "--dry-run").out == "retain, dry run: nothing is due\n"


def test_cold_lists_and_brings_back(tmp_path: Path, command: Command) -> None:
    words = (*lake(tmp_path, command), "--config", write(tmp_path / "slowwave.toml", CONFIG.splitlines()))
    assert "cold" in command(*words, "retain").out
    mine = command(*words, "cold", "--tenant", "acme", "--user", "ana", "--json").json["cold"]
    assert mine
    assert "harbour" in command(*words, "cold", "--tenant", "acme").out
    assert command(*words, "cold", "--tenant", "acme", "--restore", "--json").json == {"restored": len(mine)}
    assert "nothing" in command(*words, "cold", "--tenant", "acme").out
    assert command(*words, "cold", "--json").error["code"] == "usage"


def test_a_history_past_its_time_is_told_before_and_after_it_goes(tmp_path: Path, command: Command) -> None:
    words = ("--lake", tmp_path / "lake", *AT)
    command(*words, "init", "--buckets", "2")
    old = [row(n, event_at=f"2020-01-0{n}T10:00:00Z") for n in (1, 2)]
    said = command(*words, "ingest", write(tmp_path / "a.jsonl", old)).out
    assert "2 rows are past their time to live, and go with the next night" in said
    file = write(tmp_path / "b.jsonl", [row(n, event_at=f"2020-02-0{n}T10:00:00Z") for n in (3, 4, 5)])
    night = command(*words, "nightly", file).out
    assert "3 of the rows that landed were past their time to live, and were taken out" in night
    assert 'preset = "archive"' in night
    (tmp_path / "keep.toml").write_text('preset = "archive"\n', "utf-8")
    kept = command(*words, "--config", tmp_path / "keep.toml", "nightly", file).out
    assert "past their time" not in kept
    assert "taken out" not in kept


def test_what_goes_above_the_capacity_is_told(tmp_path: Path, command: Command) -> None:
    words = ("--lake", tmp_path / "lake", *AT)
    command(*words, "init", "--buckets", "2")
    (tmp_path / "few.toml").write_text("[capacity]\nepisodes = 5\n", "utf-8")
    file = write(tmp_path / "a.jsonl", [row(n) for n in range(12)])
    said = command(*words, "--config", tmp_path / "few.toml", "nightly", file).out
    assert "7 episodes were above capacity.episodes of their person, and were taken out" in said
