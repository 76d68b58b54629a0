"""Chats of several people into a lake: whose rows they are, again and grown; LoCoMo's times need a zone."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import polars as pl

from tests.flows.lakes import REPOSITORY, content, ingest, job_on, reasons
from transforms.validate import Defaults

SAMPLES = REPOSITORY / "samples" / "formats"


def test_a_workspace_is_each_members_or_the_owners(tmp_path: Path) -> None:
    job = job_on(tmp_path / "lake")
    first = ingest(job, SAMPLES / "slack-export", defaults=Defaults(tenant_id="t"))
    assert (first["landed"], first["quarantined"]) == (8, 0)
    owned = Defaults(tenant_id="t", user_id="bram@claybarn.example")
    assert ingest(job, SAMPLES / "slack-export", defaults=owned)["landed"] == 8
    rows = content(job).group_by("user_id", "role").len().sort("user_id", "role").rows()
    assert rows == [
        (None, "other", 2),
        ("U1AURA", "user", 2),
        ("U2BRAM", "user", 3),
        ("U9GUEST", "user", 1),
        ("bram@claybarn.example", "other", 5),
        ("bram@claybarn.example", "user", 3),
    ]
    assert ingest(job, SAMPLES / "slack-export", defaults=owned)["landed"] == 0


def test_a_grown_export_adds_what_is_new_and_a_chat_twice_nothing(tmp_path: Path) -> None:
    job, defaults = job_on(tmp_path / "lake"), Defaults(tenant_id="t")
    export = tmp_path / "export"
    shutil.copytree(SAMPLES / "slack-export", export)
    ingest(job, export, defaults=defaults)
    day = export / "kiln-room" / "2026-05-05.json"
    messages = json.loads(day.read_bytes())
    messages.append({"type": "message", "user": "U1AURA", "text": "Me.", "ts": "1777968120.000300"})
    day.write_text(json.dumps(messages))
    again = ingest(job, export, defaults=defaults)
    assert (again["landed"], again["duplicates"], again["quarantined"]) == (1, 8, 0)
    for expected in (7, 0):
        assert ingest(job, SAMPLES / "group-chat.json", defaults=defaults)["landed"] == expected


def test_dates_without_a_zone_wait_for_one(tmp_path: Path) -> None:
    job = job_on(tmp_path / "lake")
    naive = ingest(
        job, SAMPLES / "locomo.json", SAMPLES / "longmemeval.json", defaults=Defaults(tenant_id="t")
    )
    assert (naive["landed"], reasons(job)) == (0, {"naive_time": 12})
    zoned = Defaults(tenant_id="t", timezone="Europe/Berlin")
    assert ingest(job, SAMPLES / "locomo.json", SAMPLES / "longmemeval.json", defaults=zoned)["landed"] == 12
    times = content(job).sort("event_at")["event_at"]
    assert str(times[0]) == "2026-03-02 08:05:00+00:00"


def test_what_a_file_beside_says_is_read_again_when_it_changes(tmp_path: Path) -> None:
    """Messages name people and channels by ids; the lists beside them say who those are."""
    job, defaults = job_on(tmp_path / "lake"), Defaults(tenant_id="t")
    export = tmp_path / "export"
    shutil.copytree(SAMPLES / "slack-export", export)
    ingest(job, export, defaults=defaults)
    assert ingest(job, export, defaults=defaults)["unchanged_files"] == 3
    users = export / "users.json"
    users.write_text(users.read_text("utf-8").replace("Bram", "Bruno"), "utf-8")
    job = replace(job, as_of=job.as_of + timedelta(days=1))
    changed = ingest(job, export, defaults=defaults)
    assert changed["unchanged_files"] == 0
    assert changed["versions"] == changed["landed"] > 0
    assert any("@Bruno" in text for text in content(job)["content"])
    users.unlink()
    assert ingest(job, export, defaults=defaults)["unchanged_files"] == 0


def test_the_same_bytes_under_a_name_that_says_whose_they_are_are_read(tmp_path: Path) -> None:
    job, defaults = job_on(tmp_path / "lake"), Defaults(tenant_id="t")
    message = {"type": "message", "user": "U1", "text": "Lunch?", "ts": "1777968120.000300"}
    said = {"type": "user", "uuid": "m1", "timestamp": "2026-05-04T10:00:00Z",
            "message": {"role": "user", "content": "Run the tests."}}  # fmt: skip
    for name, record in (("kiln/day.json", message), ("glaze/day.json", message),
                         ("one.json", {"loglines": [said]}), ("two.json", {"loglines": [said]})):  # fmt: skip
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / name).write_text(json.dumps(record if "loglines" in record else [record]))
    assert ingest(job, tmp_path / "in", defaults=defaults)["unchanged_files"] == 0
    assert sorted(content(job)["session_id"]) == ["glaze", "kiln", "one", "two"]


def test_a_new_name_is_of_new_rows_and_of_texts_that_mention_it(tmp_path: Path) -> None:
    job, defaults = job_on(tmp_path / "lake"), Defaults(tenant_id="t")
    export = tmp_path / "export"
    shutil.copytree(SAMPLES / "slack-export", export)
    ingest(job, export, defaults=defaults)
    before = content(job)
    users = export / "users.json"
    users.write_text(users.read_text("utf-8").replace("Bram", "Abraham"), "utf-8")
    later = replace(job, as_of=job.as_of + timedelta(days=1))
    again = ingest(later, export, defaults=defaults)
    after = content(job)
    mentions = before.filter(pl.col("content").str.contains("@Bram"))
    assert (again["landed"], again["versions"]) == (mentions.height, mentions.height)
    served = after.filter(~pl.col("is_injected"))
    assert served["content"].str.contains("@Bram").sum() == 0
    # Who spoke is told by the id: what he was called when he said it stands.
    same = served.filter(pl.col("episode_id").is_in(before["episode_id"].implode()))
    assert same.join(before, on=["episode_id", "speaker"], how="anti").is_empty()
    assert set(same.filter(pl.col("user_id") == "U2BRAM")["speaker"]) == set(
        before.filter(pl.col("user_id") == "U2BRAM")["speaker"]
    )
    assert (
        ingest(replace(later, as_of=later.as_of + timedelta(days=1)), export, defaults=defaults)["landed"]
        == 0
    )
