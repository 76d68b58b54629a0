"""Subject access: the zip holds what the lake holds about one person, all of it, and nobody else's."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import zipfile
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from flows import cli_report, export_page
from flows.export import Exported, run_export
from flows.export_schema import INTERNAL
from flows.job import Job, exclusive
from lake import landing, revisions, tables
from lake.rights import audit, requests, standing
from tests.flows.lakes import AS_OF, Command, content, environment, files_below, job_on, row
from tests.flows.sleepers import history, night, said
from tests.lake.crypto.sealed import files_with, sealed_job
from tests.lake.made import frame
from transforms.declarations import VECTOR
from transforms.errors import StorageError, UsageError
from transforms.rights_tables import REQUESTERS
from transforms.schemas import (
    ATTEMPTS,
    CLAIMS,
    COLD,
    CONVERSATIONS,
    DECISIONS,
    EPISODES,
    FACTS,
    FORGOTTEN,
    MODEL_RESULTS,
    PROCEDURES,
    QUARANTINE,
    RECALLS,
    SUMMARIES,
    TOPIC_MEMBERS,
    TOPICS,
)  # fmt: skip
from transforms.standing import Standing
from transforms.subjects import Subject

ANA = Subject("acme", user="ana")
HOSTILE = "<script>alert('x')</script> & \"friends\" \u2028 {{ 7 * 7 }}"
OTHERS = ("tulip-of-anabel", "tulip-of-an", "tulip-of-ben", "tulip-of-umbrella", "tulip-of-nobody")
"""What others said; none of it may be in ana's export."""


def other_rows() -> list[dict[str, Any]]:
    """The same session and words, from users whose ids are prefixes, from another tenant, from nobody."""
    scopes: list[dict[str, Any]] = [
        {"user_id": "anabel"}, {"user_id": "an"}, {"user_id": "ben"}, {"tenant_id": "umbrella"},
        {"user_id": None, "agent_id": "desk", "speaker": "carl"},
    ]  # fmt: skip
    return [
        said(60 + i, f"I live in {word}. It is lovely there.", "06-05", session_id="group", **scope)
        for i, (word, scope) in enumerate(zip(OTHERS, scopes, strict=True))
    ]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Job:
    """A lake with ana's history, others in her sessions, and a row of hers in every other table."""
    folder = tmp_path_factory.mktemp("export")
    job = job_on(folder / "lake")
    hers = [*history(), said(30, HOSTILE, "06-05", session_id="group"), _refused()]
    spoken = said(
        40, "Spoken in the office channel.", "06-05", user_id=None, agent_id="desk", speaker=" Ana "
    )
    night(job, folder, "night", [*hers, spoken, *other_rows()])
    landing.append(job.lake, [{"content": "just landed"}], tenant_id="acme", user_id="ana", now=AS_OF)
    landing.append(job.lake, [{"content": OTHERS[0]}], tenant_id="acme", user_id="anabel", now=AS_OF)
    _add_the_rest(job)
    return job


def _refused() -> dict[str, Any]:
    return row(99, "", event_at="never")


def _add_the_rest(job: Job) -> None:
    """Rows of tables that no job here writes: ana's, and anabel's beside each."""
    for user, word in (("ana", "hers"), ("anabel", OTHERS[0])):
        scope = {"tenant_id": "acme", "tenant_bucket": job.lake.bucket("acme"), "user_id": user}
        episode = {**scope, "session_id": "old", "episode_id": f"cold-{user}", "event_at": AS_OF}
        tables.append(job.lake, COLD, frame(COLD, [{**episode, "month": "2026-06", "content": word}]))
        recall = {**scope, "call_id": f"call-{user}", "month": "2026-06", "query": word, "recalled_at": AS_OF}
        tables.append(job.lake, RECALLS, frame(RECALLS, [recall]))
        gone = {**episode, "episode_id": f"gone-{user}"}
        tables.append(job.lake, FORGOTTEN, frame(FORGOTTEN, [gone]))
        answer = {**scope, "result_id": f"result-{user}", "answer": word}
        answers = [
            {**answer, "source_refs": [f"cold-{user}", f"gone-{user}"]},
            {**answer, "result_id": f"mixed-{user}", "source_refs": ["cold-ana", "cold-anabel"],
             "answer": OTHERS[0]},
        ]  # fmt: skip
        tables.append(job.lake, MODEL_RESULTS, frame(MODEL_RESULTS, answers))
        subject = Subject("acme", user=user)
        standing.save(job.lake, Standing(subject, period_seconds=90 * 86_400, forbidden_topics=(word,)))
        memory = Subject("acme", memory=f"cold-{user}")
        for about in (subject, memory):
            requests.open_request(job.lake, "pin", about, "own wish", "subject", AS_OF, AS_OF)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "ana.zip"


def export(job: Job, out: Path, subject: Subject = ANA, **options: Any) -> Exported:
    with exclusive(job):
        return run_export(job, subject, out, **options)


def unpacked(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as file:
        assert file.testzip() is None
        return {name: file.read(name) for name in file.namelist()}


def data(files: Mapping[str, bytes]) -> dict[str, list[dict[str, Any]]]:
    return {n[5:-5]: json.loads(raw) for n, raw in files.items() if n.startswith("data/")}


def plain(rows: pl.DataFrame) -> list[dict[str, Any]]:
    """Rows as the JSON has them, by a slow walk; order is the first column's."""

    def value(found: Any) -> Any:
        if isinstance(found, datetime):
            return found.astimezone(UTC).isoformat(
                timespec="microseconds" if found.microsecond else "seconds"
            )
        return found

    left_out = {*INTERNAL, *(name for name, dtype in rows.schema.items() if dtype == VECTOR)}
    return [
        {n: value(v) for n, v in found.items() if n not in left_out} for found in rows.iter_rows(named=True)
    ]


def same(shown: list[dict[str, Any]], rows: pl.DataFrame) -> None:
    """Shares are single precision in the lake, and written as short as that allows."""
    key = rows.columns[0]
    held = sorted(plain(rows), key=lambda found: str(found[key]))
    for one, other in zip(sorted(shown, key=lambda found: str(found[key])), held, strict=True):
        assert one.keys() == other.keys()
        for name, found in other.items():
            assert one[name] == (pytest.approx(found, rel=1e-6) if isinstance(found, float) else found), name


def hers(rows: pl.DataFrame, *, is_spoken: bool = False) -> pl.DataFrame:
    """Ana's rows, told row by row."""

    def is_hers(found: dict[str, Any]) -> bool:
        if found["tenant_id"] != "acme":
            return False
        by_name = is_spoken and found["user_id"] is None and (found["speaker"] or "").strip().lower() == "ana"
        return found["user_id"] == "ana" or by_name

    return rows.filter(pl.Series([is_hers(found) for found in rows.iter_rows(named=True)], dtype=pl.Boolean))


def test_the_data_is_what_the_tables_hold_of_her(made: Job, out: Path) -> None:
    done = export(made, out)
    shown = data(unpacked(out))
    assert done.counts == {name: len(rows) for name, rows in shown.items()}
    for table in (EPISODES, COLD):
        same(shown[table.name], hers(content(made, table), is_spoken=True))
    for table in (QUARANTINE, RECALLS, FORGOTTEN, CLAIMS):
        same(shown[table.name], hers(content(made, table)))
        assert shown[table.name], table.name
    for table in (FACTS, SUMMARIES, TOPICS, CONVERSATIONS, ATTEMPTS, PROCEDURES, DECISIONS):
        same(shown[table.name], hers(revisions.standing(made.lake, table)))
        assert shown[table.name], table.name
    members = revisions.standing(made.lake, TOPIC_MEMBERS).filter(pl.col("owner") == "user:ana")
    same(shown["topic_members"], members.filter(pl.col("tenant_id") == "acme"))
    assert [found["content"] for found in shown["landed"]] == ["just landed"]
    assert [found["result_id"] for found in shown["model_results"]] == ["result-ana"]
    assert [found["forbidden_topics"] for found in shown["standing"]] == [["hers"]]
    assert any(found["retired_reason"] == "superseded" for found in shown["facts"])
    assert sum(found["speaker"] == " Ana " for found in shown["episodes"]) == 1


def test_nothing_of_anybody_else_is_in_it(made: Job, out: Path) -> None:
    export(made, out)
    whole = b"\n".join(unpacked(out).values())
    assert b"hers" in whole
    for word in (*OTHERS, "anabel", "umbrella", "Cork", "Turku"):
        assert word.encode() not in whole, word


def test_requests_about_her_and_her_memories_are_in_it(made: Job, out: Path) -> None:
    done = export(made, out)
    kinds = [(found["kind"], found["subject_kind"]) for found in data(unpacked(out))["requests"]]
    assert ("pin", "user") in kinds
    assert ("pin", "memory") in kinds
    assert kinds.count(("pin", "memory")) == 1
    assert done.request_id in {found["request_id"] for found in data(unpacked(out))["requests"]}


def test_the_manifest_names_every_file_and_the_schema_every_column(made: Job, out: Path) -> None:
    done = export(made, out)
    files = unpacked(out)
    manifest = json.loads(files.pop("manifest.json"))
    assert {f["name"]: f["sha256"] for f in manifest["files"]} == {
        name: sha256(raw).hexdigest() for name, raw in files.items()
    }
    assert {f["name"]: f["bytes"] for f in manifest["files"]} == {n: len(raw) for n, raw in files.items()}
    assert {f["name"][5:-5]: f["rows"] for f in manifest["files"] if f["rows"] is not None} == done.counts
    assert manifest["lake_id"] == made.lake.lake_id
    assert manifest["as_of"] == AS_OF.isoformat()
    assert manifest["policy_hash"] == made.policy.hash()
    assert manifest["request_id"] == done.request_id
    schema = json.loads(files["schema.json"])
    for name, rows in data(files).items():
        assert all(list(found) == list(schema[name]["columns"]) for found in rows)
        assert all(told["description"] for told in schema[name]["columns"].values())


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.said: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)

    def handle_data(self, text: str) -> None:
        self.said.append(text)


def read(page: bytes) -> _Page:
    found = _Page()
    found.feed(page.decode("utf-8"))
    return found


def test_the_page_tells_facts_first_and_then_every_turn_escaped(made: Job, out: Path) -> None:
    export(made, out)
    files = unpacked(out)
    page = read(files["index.html"])
    words = " ".join(page.said)
    assert not page.tags & {"script", "img", "iframe"}
    assert words.index("The user lives in Lisbon") < words.index("The user lives in Graz")
    assert words.index("The user lives in Graz") < words.index("I moved to Lisbon last week.")
    for found in [*data(files)["episodes"], *data(files)["cold"], *data(files)["landed"]]:
        assert found["content"] in words
    turns = words.rpartition("Conversations")[2]
    assert turns.index("2026-06-05") < turns.index("2026-05-12") < turns.index("2026-03-06")
    assert "{{ 7 * 7 }}" in turns


def test_a_long_history_gets_a_page_a_month(made: Job, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export_page, "MOST_ON_ONE_PAGE", 10)
    export(made, out)
    files = unpacked(out)
    pages = {name: " ".join(read(raw).said) for name, raw in files.items() if name.endswith(".html")}
    assert sorted(pages) == [
        "conversations/2026-03.html", "conversations/2026-05.html", "conversations/2026-06.html", "index.html"
    ]  # fmt: skip
    assert "I moved to Lisbon last week." in pages["conversations/2026-05.html"]
    assert "I moved to Lisbon last week." not in " ".join(pages["index.html"].split("Conversations")[1:])
    assert not any(word in text for word in OTHERS for text in pages.values())


def test_one_session_only(made: Job, out: Path) -> None:
    export(made, out, Subject("acme", user="ana", session="s-05-12"))
    shown = data(unpacked(out))
    assert {found["session_id"] for found in shown["episodes"]} == {"s-05-12"}
    assert {found["session_id"] for found in (*shown["claims"], *shown["conversations"])} == {"s-05-12"}
    ids = {found["episode_id"] for found in shown["episodes"]}
    assert shown["facts"]
    assert all(ids & set(found["source_refs"]) for found in (*shown["facts"], *shown["summaries"]))
    assert {found["item_id"] for found in shown["decisions"]} == {f["claim_id"] for f in shown["claims"]}
    assert {found["episode_id"] for found in shown["topic_members"]} <= ids
    assert shown["cold"] == shown["quarantine"] == shown["landed"] == []


def test_an_agent_gets_its_own_rows_and_no_persons(made: Job, out: Path) -> None:
    export(made, out, Subject("acme", agent="desk"))
    shown = data(unpacked(out))
    assert shown["episodes"]
    assert all(found["user_id"] is None for rows in shown.values() for found in rows if "user_id" in found)


@pytest.mark.parametrize(
    "subject", [Subject("acme"), Subject("acme", session="group"), Subject("acme", memory="cold-ana")]
)
def test_nobody_in_particular_is_refused(made: Job, out: Path, subject: Subject) -> None:
    before = requests.standing_requests(made.lake).height
    with pytest.raises(UsageError, match="a user or an agent"):
        export(made, out, subject)
    assert not out.exists()
    assert requests.standing_requests(made.lake).height == before


def test_somebody_unknown_gets_a_page_that_says_so(made: Job, out: Path) -> None:
    done = export(made, out, Subject("acme", user="nobody-here"))
    assert set(done.counts.values()) == {0, 1}
    assert done.counts["requests"] == 1
    assert done.as_dict()["is_empty"] is True
    assert "check tenant and id" in done.as_dict()["warning"]
    told = unpacked(out)["index.html"].decode()
    assert "Nothing is held." in told
    assert "this request" in told


def test_the_request_is_recorded_closed_and_audited(tmp_path: Path) -> None:
    job = job_on(tmp_path / "lake")
    before = datetime.now(UTC)
    done = export(job, tmp_path / "x.zip", requested_by="controller", basis="contract")
    (kept,) = requests.standing_requests(job.lake).to_dicts()
    assert (kept["request_id"], kept["kind"], kept["state"]) == (done.request_id, "export", "done")
    assert (kept["requested_by"], kept["basis"]) == ("controller", "contract")
    assert kept["due_at"] - kept["requested_at"] == timedelta(days=job.policy.rights.other_due_days)
    assert before <= kept["requested_at"] <= kept["closed_at"] <= datetime.now(UTC)
    digest = sha256((tmp_path / "x.zip").read_bytes()).hexdigest()
    assert json.loads(kept["evidence"])["file_sha256"] == digest == done.sha256
    assert "ana" not in kept["evidence"]
    assert [entry.kind for entry in audit.entries(job.lake)] == ["export_requested", "export_done"]
    assert audit.verify(job.lake).broken is None
    assert requests.open_requests(job.lake) == []


def test_a_file_is_replaced_only_by_force(made: Job, out: Path) -> None:
    out.write_bytes(b"mine")
    with pytest.raises(UsageError, match="exists already"):
        export(made, out)
    assert out.read_bytes() == b"mine"
    export(made, out, is_forced=True)
    assert zipfile.is_zipfile(out)
    assert out.stat().st_mode & 0o077 == 0
    assert [path.name for path in out.parent.iterdir()] == ["ana.zip"]


def test_places_that_are_refused(made: Job, tmp_path: Path) -> None:
    inside = Path(made.lake.storage.uri) / "ana.zip"
    with pytest.raises(UsageError, match="inside the lake"):
        export(made, inside)
    with pytest.raises(UsageError, match="does not exist"):
        export(made, tmp_path / "nowhere" / "ana.zip")
    with pytest.raises(UsageError, match="is no file"):
        export(made, tmp_path)
    assert "export" not in {request.kind for request in requests.open_requests(made.lake)}


def test_a_full_disk_leaves_the_request_open_and_no_file(
    tmp_path: Path, small_disk: Callable[[int], Path]
) -> None:
    job = job_on(tmp_path / "lake")
    disk = small_disk(4)
    with pytest.raises(StorageError):
        export(job, disk / "ana.zip")
    assert list(disk.iterdir()) == []
    (waiting,) = requests.open_requests(job.lake)
    done = export(job, tmp_path / "ana.zip")
    assert done.request_id == waiting.request_id


KILLED = """
import os, signal, sys
from pathlib import Path
import flows.export as export
from flows.job import exclusive
from tests.flows.lakes import job_on
from transforms.subjects import Subject
def killed(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)
where, lake, out = sys.argv[1:]
module, name = where.split(":")
setattr({"export": export, "requests": export.requests, "audit": export.audit}[module], name, killed)
job = job_on(Path(lake))
with exclusive(job):
    export.run_export(job, Subject("acme", user="ana"), Path(out))
"""


@pytest.mark.parametrize("where", ["audit:append", "export:schema_of", "requests:update"])
def test_killed_at_any_step_the_next_run_ends_the_same_request(tmp_path: Path, where: str) -> None:
    job, out = job_on(tmp_path / "lake"), tmp_path / "ana.zip"
    tables.append(job.lake, EPISODES, frame(EPISODES, [
        {"episode_id": "e", "tenant_id": "acme", "tenant_bucket": job.lake.bucket("acme"), "user_id": "ana"}
    ]))  # fmt: skip
    script = [sys.executable, "-c", KILLED, where, str(tmp_path / "lake"), str(out)]
    done = subprocess.run(script, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert out.exists() == (where == "requests:update")
    (waiting,) = requests.open_requests(job.lake)
    again = export(job, out)
    assert again.request_id == waiting.request_id
    assert again.counts["episodes"] == 1
    assert zipfile.is_zipfile(out)
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["ana.zip", "lake"]
    assert requests.standing_requests(job.lake)["state"].to_list() == ["done"]
    assert [entry.kind for entry in audit.entries(job.lake)] == ["export_requested", "export_done"]
    assert requests.open_requests(job.lake) == []


def test_the_command(made: Job, out: Path, command: Command) -> None:
    words = ("--lake", made.lake.uri, "export", "--tenant", "acme", "--user", "ana", "--out", out)
    found = command("--json", *words).json
    assert {"file", "counts", "request"} <= set(found)
    assert found["file"] == str(out)
    assert found["counts"]["episodes"] > 10
    assert (found["is_empty"], found["warning"]) == (False, None)
    assert command("--json", *words).error["code"] == "usage"
    told = command(*words, "--force")
    assert told.code == 0
    assert "rows in" in told.out
    assert "WARNING" not in told.out
    unknown = ("--tenant", "acme", "--agent", "nobody", "--out", out, "--force")
    warned = command("--lake", made.lake.uri, "export", *unknown).out
    assert "WARNING: Nothing is held of this subject" in warned
    assert "rows that name a user are not in it" in warned
    missing = command("--json", "--lake", made.lake.uri, "export", "--out", out)
    assert (missing.code, missing.error["code"]) == (2, "usage")


def test_an_export_changes_nothing_but_requests_and_audit(made: Job, out: Path) -> None:
    root = Path(made.lake.storage.uri)
    before = files_below(root)
    export(made, out)
    changed = {name for name, stat in files_below(root).items() if before.get(name) != stat}
    assert {name.split("/")[0] for name in changed} <= {"tables", "audit", "locks", "state"}
    assert {name.split("/")[1] for name in changed if name.startswith("tables/")} == {"requests"}


def test_who_may_ask_is_one_list() -> None:
    assert cli_report.REQUESTERS == REQUESTERS


def test_an_encrypted_lake_is_exported_as_plain_text(tmp_path: Path, out: Path) -> None:
    job = sealed_job(tmp_path / "lake")
    night(job, tmp_path, "night", [*history(), *other_rows()])
    landing.append(job.lake, [{"content": "just landed"}], tenant_id="acme", user_id="ana", now=AS_OF)
    export(job, out)
    shown = data(unpacked(out))
    same(shown["episodes"], hers(content(job)))
    assert "I moved to Lisbon last week." in [found["content"] for found in shown["episodes"]]
    assert [found["content"] for found in shown["landed"]] == ["just landed"]
    assert "The user lives in Lisbon" in [found["fact"] for found in shown["facts"]]
    assert files_with(Path(job.lake.storage.uri), "I moved to Lisbon last week.") == set()
    whole = b"\n".join(unpacked(out).values())
    assert not any(word.encode() in whole for word in OTHERS)
