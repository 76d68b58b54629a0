"""Input that breaks things elsewhere: each through the whole night, nothing lost, nobody else's touched."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from flows.nightly import run_nightly
from lake import tables
from lake.recall import Recall
from lake.sources import open_sources
from tests.flows.lakes import (
    AS_OF,
    Command,
    CountingEmbedder,
    content,
    environment,
    files_below,
    ingest,
    job_on,
    reasons,
    row,
    write,
)
from transforms.errors import LakeError
from transforms.schemas import EPISODES, QUARANTINE, VECTORS
from transforms.validate import Defaults

WRITING = ("ingest", "embed", "publish")
"""Steps of a night that write a row for each episode."""
ODD_TENANTS = [
    "007",
    "7",
    "../x",
    "__HIVE_DEFAULT_PARTITION__",
    "a'b\"c; drop",
    "\U0001f419",
    "null",
    "a/b",
    "a%2Fb",
    "%",
    "*",
    "a=b&c",
    "con",
    ".",
    "CURRENT",
    "\u00e9",
    "e\u0301",
]


def test_odd_tenants_stay_apart_and_inside_the_lake(tmp_path: Path) -> None:
    """Each is recalled in its own scope and nowhere else, and no file is made anywhere else."""
    root = tmp_path / "deep" / "er" / "lake"
    rows = [
        row(n, f"the secret word is kraken{n}", tenant_id=tenant, user_id=tenant, session_id=tenant)
        for n, tenant in enumerate(ODD_TENANTS)
    ]
    file = write(tmp_path / "a.jsonl", rows)
    job = job_on(root, buckets=4)
    outside = set(files_below(tmp_path)) - {f"deep/er/lake/{name}" for name in files_below(root)}
    night = run_nightly(job, ((s, Defaults()) for s in open_sources(str(file))))
    assert [step.rows_out for step in night.steps if step.name in WRITING] == [len(ODD_TENANTS)] * 3
    assert sorted(content(job)["tenant_id"]) == sorted(ODD_TENANTS)
    reader = Recall(job.lake, embedder=job.embedder)
    for n, tenant in enumerate(ODD_TENANTS):
        for scope in ({"user": tenant}, {"session": tenant}, {"tenant_wide": True}):
            found = reader.search("secret word", tenant=tenant, as_of=AS_OF, **scope)  # type: ignore[arg-type]
            assert [memory.text for memory in found] == [f"the secret word is kraken{n}"], (tenant, scope)
        stranger = ODD_TENANTS[n - 1]
        assert reader.search("secret word", tenant=tenant, user=stranger, as_of=AS_OF) == []
    inside = {f"deep/er/lake/{name}" for name in files_below(root)}
    assert set(files_below(tmp_path)) - inside == outside
    # Random names of files, and numbers of versions, may hold anything.
    plain = [re.sub(r"[0-9a-f-]{16,}", "", name) for name in inside]
    assert not [name for name in plain if any(t in name for t in ("HIVE", "drop", "007", "\U0001f419"))]
    parts = {part for name in inside for part in re.split(r"[/=]", name)}
    assert not parts & (set(ODD_TENANTS) - {"CURRENT"})


def test_odd_tenants_through_the_command_line(tmp_path: Path, command: Command) -> None:
    words = ("--lake", tmp_path / "lake", "--json", "--as-of", AS_OF.isoformat())
    command(*words, "init")
    for n, tenant in enumerate(ODD_TENANTS[:6]):
        write(tmp_path / "a.jsonl", [row(n, f"plain note {n}", tenant_id=None)])
        assert command(*words, "ingest", tmp_path / "a.jsonl", "--tenant", tenant).json["landed"] == 1
    for n, tenant in enumerate(ODD_TENANTS[:6]):
        results = command(*words, "recall", "note", "--tenant", tenant, "--user", "ana").json["results"]
        assert [memory["text"] for memory in results] == [f"plain note {n}"]


def test_an_empty_tenant_is_none(tmp_path: Path) -> None:
    job = job_on(tmp_path / "lake")
    file = write(tmp_path / "a.jsonl", [row(1, tenant_id=""), row(2, tenant_id=None)])
    assert ingest(job, file, defaults=Defaults(tenant_id=""))["reasons"] == {"no_tenant": 2}


def test_an_empty_file_has_no_rows_and_stops_nobody(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "empty.jsonl").touch()
    write(tmp_path / "in" / "a.jsonl", [row(1)])
    job = job_on(tmp_path / "lake")
    assert ingest(job, tmp_path / "in" / "empty.jsonl")["rows_in"] == 0
    assert ingest(job, tmp_path / "in")["landed"] == 1


def test_truncated_json_is_quarantined_with_file_and_line_and_the_rest_lands(tmp_path: Path) -> None:
    job = job_on(tmp_path / "lake")
    cut = json.dumps(row(2))[:70]
    assert ingest(job, write(tmp_path / "a.jsonl", [row(1), cut, row(3)]))["landed"] == 2
    [held] = content(job, QUARANTINE).to_dicts()
    assert (held["reason"], held["source_file"], held["source_line"]) == ("truncated_json", "a.jsonl", 2)
    assert held["raw"] == cut


def test_one_message_of_thirty_megabytes_is_quarantined_and_the_rest_lands(tmp_path: Path) -> None:
    job = job_on(tmp_path / "lake")
    huge = row(2, "word " * 6_000_000)
    tally = ingest(job, write(tmp_path / "a.jsonl", [row(1), huge, row(3)]))
    assert (tally["landed"], tally["reasons"]) == (2, {"content_too_long": 1})
    [held] = content(job, QUARANTINE).to_dicts()
    assert held["source_line"] == 2
    assert len(held["raw"]) > 30_000_000


def test_lone_surrogates_and_nul_bytes(tmp_path: Path) -> None:
    job = job_on(tmp_path / "lake")
    lines = [
        json.dumps(row(1, "half a pair \ud83d here")),
        json.dumps(row(2, "nul\u0000inside\u0007", tags=["a\u0000b", "c\u001fd"], speaker="A\u0000na")),
        json.dumps(row(3, tenant_id="ac\u0000me")),
        json.dumps(row(4, tenant_id="ac\ud83dme")),
    ]
    tally = ingest(job, write(tmp_path / "a.jsonl", lines))
    assert (tally["landed"], tally["quarantined"]) == (2, 2)
    held = content(job).sort("event_at")
    assert held["content"].to_list() == ["half a pair \ufffd here", "nulinside"]
    assert held["tags"].to_list() == [[], ["ab", "cd"]]
    assert held["speaker"].to_list() == [None, "Ana"]
    run_nightly(job, [])
    found = Recall(job.lake, embedder=job.embedder).search("half", tenant="acme", user="ana", as_of=AS_OF)
    assert len(found) == 2


def test_times_without_zone_and_out_of_range(tmp_path: Path) -> None:
    job = job_on(tmp_path / "lake")
    times = {
        "2026-06-01T10:00:00": "naive_time",
        "2026-06-01": "naive_time",
        "1969-12-31T23:59:59Z": "time_out_of_range",
        "2999-01-01T00:00:00Z": "time_out_of_range",
        "9999-12-31T23:59:59Z": "time_out_of_range",
        "0001-01-01T00:00:00Z": "time_out_of_range",
        "2026-02-30T10:00:00Z": "bad_time",
        "tomorrow": "bad_time",
    }
    file = write(tmp_path / "a.jsonl", [row(n, event_at=time) for n, time in enumerate(times)])
    ingest(job, file)
    held = content(job, QUARANTINE).sort("source_line")["reason"].to_list()
    assert held == list(times.values())
    zoned = ingest(job, file, defaults=Defaults(timezone="Asia/Tokyo"))
    assert zoned["landed"] == 2


def test_one_id_with_two_contents(tmp_path: Path) -> None:
    job = job_on(tmp_path / "lake")
    twins = [row(1, "closes at two"), row(1, "closes at three")]
    assert ingest(job, write(tmp_path / "a.jsonl", twins[::-1]))["reasons"] == {"duplicate_id": 1}
    assert content(job)["content"].to_list() == ["closes at three"]  # of the least hash
    assert "closes at two" in content(job, QUARANTINE)["raw"][0]
    again = ingest(job, write(tmp_path / "b.jsonl", twins))
    assert (again["landed"], again["reasons"]) == (0, {"duplicate_id": 1})
    assert content(job).height == 1


def test_ten_thousand_tenants(tmp_path: Path) -> None:
    job = job_on(tmp_path / "lake", embedder=CountingEmbedder(), buckets=16)
    rows = [row(n, tenant_id=f"tenant-{n}") for n in range(10_000)]
    file = write(tmp_path / "a.jsonl", rows)
    night = run_nightly(job, ((s, Defaults()) for s in open_sources(str(file))))
    assert [step.rows_out for step in night.steps if step.name in WRITING] == [10_000] * 3
    for table in (EPISODES, VECTORS):
        assert len(tables.data_files(job.lake, table)) <= 16
    assert len(files_below(tmp_path / "lake")) < 300
    reader = Recall(job.lake, embedder=job.embedder)
    for n in (0, 4_321, 9_999):
        found = reader.search("harbour", tenant=f"tenant-{n}", user="ana", as_of=AS_OF)
        assert [memory.text for memory in found] == [f"note {n} on the harbour office"]


# Root may write anywhere; without these two capabilities (DAC_OVERRIDE, DAC_READ_SEARCH) it may not.
UNPRIVILEGED = """
import ctypes, os, sys
if os.geteuid() == 0:
    libc = ctypes.CDLL(None, use_errno=True)
    if any(libc.prctl(24, capability, 0, 0, 0) for capability in (1, 2)):
        sys.exit(77)
os.execv(sys.executable, [sys.executable, "-m", "flows", *sys.argv[1:]])
"""


def test_a_lake_without_write_permission_is_told_and_can_still_be_read(tmp_path: Path) -> None:
    file = write(tmp_path / "a.jsonl", [row(1)])
    job = job_on(tmp_path / "lake")
    run_nightly(job, ((s, Defaults()) for s in open_sources(str(file))))
    write(tmp_path / "b.jsonl", [row(2)])
    before = files_below(tmp_path / "lake")
    folders = [tmp_path / "lake", *(p for p in (tmp_path / "lake").rglob("*"))]
    for path in folders:
        path.chmod(0o555 if path.is_dir() else 0o444)
    (tmp_path / "closed").mkdir(mode=0o555)

    def call(*words: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", UNPRIVILEGED, "--json", "--as-of", AS_OF.isoformat(), *map(str, words)],
            check=False,
            cwd=tmp_path,
            env=environment(),
            capture_output=True,
            text=True,
        )

    try:
        refused = [
            call("--lake", tmp_path / "lake", "nightly", tmp_path / "b.jsonl"),
            call("--lake", tmp_path / "lake", "ingest", tmp_path / "b.jsonl"),
            call("--lake", tmp_path / "closed" / "new", "init"),
        ]
        status = call("--lake", tmp_path / "lake", "status")
    finally:
        for path in folders:
            path.chmod(0o755 if path.is_dir() else 0o644)
    if status.returncode == 77:
        pytest.skip("this system lets root drop no privilege")
    for done in refused:
        assert done.returncode == LakeError.exit_code, done
        assert "permission" in json.loads(done.stdout)["error"]["message"]
        assert "Traceback" not in done.stderr
    assert status.returncode == 0, status
    assert json.loads(status.stdout)["tenants"][0]["episodes"] == 1
    assert files_below(tmp_path / "lake") == before
    shutil.rmtree(tmp_path / "closed")


def test_what_a_run_says_about_bad_rows_holds_no_content(tmp_path: Path, command: Command) -> None:
    secret = "sk-proj-FAKEfake0123FAKEfake0123FAKEfake0123FAKEfake0123"
    lines = [
        row(1, f"my key is {secret}"),
        '{"content": "' + secret,
        row(2, secret, event_at="2026-06-01T00:00"),
    ]
    words = ("--lake", tmp_path / "lake", "--as-of", AS_OF.isoformat())
    command(*words, "init", "--buckets", "2")
    said = command(*words, "ingest", write(tmp_path / "a.jsonl", lines))
    assert said.code == 0
    assert secret not in said.out + said.err
    job = job_on(tmp_path / "lake")
    assert reasons(job) == {"naive_time": 1, "truncated_json": 1}
    for table in (EPISODES, QUARANTINE):
        held = content(job, table).select(pl.all().exclude("tags", "redactions").cast(pl.String))
        assert not held.select(pl.any_horizontal(pl.all().str.contains(secret, literal=True).any())).item()


@pytest.mark.parametrize("kinds", ["", ",", "conversation,"])
def test_an_empty_kind_is_a_usage_error(tmp_path: Path, command: Command, kinds: str) -> None:
    command("--lake", tmp_path / "lake", "init")
    words = ("--lake", tmp_path / "lake", "--json", "recall", "tide", "--tenant", "acme", "--user", "ana")
    said = command(*words, "--kinds", kinds)
    assert (said.code, said.error["code"]) == (2, "usage")
