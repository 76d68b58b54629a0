"""The Prefect shell on a real server and worker: what is deployed, what runs become, what is kept."""

from __future__ import annotations

import inspect
import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from flows.erase import record
from flows.job import LOCK, Job
from flows.markdown import escaped, manifest_markdown
from flows.prefect_flows import ingest, nightly
from flows.prefect_steps import options_of
from flows.setup import defaults_of
from lake import landing, locks, tables
from lake.embedders.config import EmbedderConfig, make_embedder
from lake.index import read_pointer
from lake.lake import init_lake, open_lake
from lake.rights import requests
from tests.flows.prefect_server import REPOSITORY, PrefectServer, prefect_server
from transforms.policy import Policy
from transforms.schemas import RUNS
from transforms.subjects import Subject
from transforms.validate import Defaults

SAMPLES = REPOSITORY / "samples"
AS_OF = json.loads((SAMPLES / "expected.json").read_text("utf-8"))["as_of"]

CONFIG = """
[run]
on_busy = "decline"
busy_wait_seconds = 0.2
step_retries = 2
step_retry_seconds = 0.0
"""


def sources() -> str:
    """The samples as ``[[sources]]`` of the configuration."""
    names = {"format": "format", "tenant": "tenant_id", "user": "user_id", "agent": "agent_id"}
    entries = []
    for entry in json.loads((SAMPLES / "manifest.json").read_text("utf-8")):
        given = {"path": str(SAMPLES / entry["file"]), **{k: entry[v] for k, v in names.items() if entry[v]}}
        lines = [f"{key} = {json.dumps(value)}" for key, value in given.items()]
        entries.append("\n".join(["[[sources]]", *lines]))
    return "\n\n".join(entries)


def test_a_flow_run_has_every_option_that_a_call_has() -> None:
    """What the command line adds for sources and their rows, Prefect's flows have to have as well."""
    options = options_of("lake", None, None, event_at="2026-06-01T09:00:00Z", format="auto")
    assert defaults_of(options).event_at == "2026-06-01T09:00:00Z"
    given = {field.name.removesuffix("_id") for field in fields(Defaults)} - {"session"}
    for run in (nightly, ingest):
        assert given <= inspect.signature(run.fn).parameters.keys()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PrefectServer]:
    home = tmp_path_factory.mktemp("prefect")
    with prefect_server(home) as started:
        (started.work / "slowwave.toml").write_text(CONFIG + sources(), "utf-8")
        init_lake(str(started.lake), buckets=2)
        yield started


@pytest.fixture(scope="module")
def night(server: PrefectServer) -> dict[str, Any]:
    """The first night, run by the worker from its deployment."""
    return server.finished(server.run("nightly", as_of=AS_OF))


def result_of(server: PrefectServer, run: dict[str, Any]) -> Any:
    """What the flow returned, as the worker stored it."""
    stored = run["state"]["data"]
    assert stored["serializer"]["type"] == "json"
    return json.loads(Path(stored["storage_key"]).read_text("utf-8"))


@pytest.mark.server
def test_every_key_of_the_file_is_what_the_server_holds(server: PrefectServer) -> None:
    file = yaml.safe_load((REPOSITORY / "prefect.yaml").read_text("utf-8"))
    assert set(file) == {"name", "pull", "deployments"}
    assert file["pull"] == []
    places = {"{{ $SLOWWAVE_LAKE }}": str(server.lake), "{{ $PWD }}": str(server.work)}
    for wanted in file["deployments"]:
        held = server.deployment(wanted["name"])
        schedules = [{"slug": s["slug"], **s["schedule"]} for s in held["schedules"]]
        for schedule in schedules:
            assert schedule.pop("day_or") is True
        limit = {"limit": held["global_concurrency_limit"]["limit"], **held["concurrency_options"]}
        assert limit.pop("grace_period_seconds") is None
        pool = {"name": held["work_pool_name"], "job_variables": held["job_variables"]}
        assert {"schedules": [], **wanted} == {  # no key: no schedule
            "name": held["name"],
            "description": held["description"],
            "tags": held["tags"],
            "entrypoint": held["entrypoint"],
            "parameters": {k: unplaced(v, places) for k, v in held["parameters"].items()},
            "schedules": schedules,
            "concurrency_limit": limit,
            "work_pool": {
                "name": pool["name"],
                "job_variables": {k: unplaced(v, places) for k, v in pool["job_variables"].items()},
            },
        }
        assert held["pull_steps"] in (None, [])
        assert held["enforce_parameter_schema"] is True
        assert all(s["active"] for s in held["schedules"])
        assert set(wanted["parameters"]) <= set(held["parameter_openapi_schema"]["properties"])


def unplaced(value: str, places: dict[str, str]) -> str:
    """A value with the placeholder it came from, where it is the value of one."""
    return {held: placeholder for placeholder, held in places.items()}.get(value, value)


@pytest.mark.server
def test_a_night_publishes_and_returns_counts(server: PrefectServer, night: dict[str, Any]) -> None:
    assert night["state"]["type"] == "COMPLETED", night["state"]
    pointer = read_pointer(open_lake(str(server.lake)))
    manifest = result_of(server, night)
    assert pointer is not None
    assert manifest["generation"] == pointer.generation == "gen-000001"
    assert [(s["name"], s["state"]) for s in manifest["steps"]] == [
        ("ingest", "done"),
        ("embed", "done"),
        ("consolidate", "done"),
        ("decay", "done"),
        ("retain", "done"),
        ("publish", "done"),
    ]
    consolidated = manifest["steps"][2]
    assert consolidated["facts"]["added"] > 0
    assert "diff" not in consolidated  # its sentences would outlive an erasure in Prefect's database
    ingested = manifest["steps"][0]
    left_out = sum(ingested["left_out"].values())
    outcomes = ingested["landed"] + ingested["duplicates"] + ingested["quarantined"] + left_out
    assert ingested["rows_in"] == outcomes > 500
    (artifact,) = [a for a in server.artifacts(night["id"]) if a["key"] == "slowwave-nightly"]
    assert artifact["type"] == "markdown"
    assert artifact["data"] == manifest_markdown(manifest)
    shown = {a["key"]: a for a in server.artifacts(night["id"]) if a["type"] == "progress"}
    tasks = ("ingest", "embed", "consolidate", "publish")
    assert {f"slowwave-progress-{task}" for task in tasks} <= set(shown)
    assert {a["data"] for a in shown.values()} == {100.0}
    assert all(re.fullmatch(r"[a-z0-9 ]+: [0-9,]+( of [0-9,]+)? [^:]* done after [^:]*", a["description"])
               for a in shown.values()), shown  # fmt: skip
    assert manifest["health"]["state"] == "ok", manifest["health"]
    assert health_events(server, server.lake, "ok")
    # The run's process sends its last log lines after it has reported its state.
    server.wait(
        "progress in the log",
        lambda: any("event=end task=publish " in line for line in server.messages(night["id"])),
    )
    server.wait(
        "the step's line in the log",
        lambda: any(line.startswith("publish done: rows_in") for line in server.messages(night["id"])),
    )


STOPPED = """
import sys
from flows.prefect_flows import consolidate
consolidate(lake=sys.argv[1], as_of=sys.argv[2])
"""


@pytest.mark.server
def test_sigterm_is_noted_in_the_ledger_and_frees_the_lake(server: PrefectServer) -> None:
    lake = init_lake(str(server.home / "stopped"), buckets=2)
    rows = [{"content": f"I live in Town{n % 13}, pier {n}."} for n in range(600)]
    landing.append(lake, rows, tenant_id="acme", user_id="u1")
    ingested = subprocess.run(
        [sys.executable, "-m", "flows", "--lake", lake.uri, "ingest", "--progress", "none"],
        env=server.environment(),
        check=False,
    )
    assert ingested.returncode == 0
    process = subprocess.Popen(
        [sys.executable, "-c", STOPPED, lake.uri, "2030-01-01T00:00:00Z"],
        env=server.environment(),
        cwd=server.work,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    said = []
    for line in process.stderr:
        said.append(line)
        if "event=start task=consolidate " in line:
            process.send_signal(signal.SIGTERM)
    process.stderr.close()
    assert process.wait(60) != 0, said
    runs = tables.scan(lake, RUNS).sort("started_at").collect()
    assert runs.select("step", "state", "error").row(-1) == ("consolidate", "failed", "interrupted"), said
    with locks.hold(lake, LOCK, 0):
        pass


@pytest.mark.server
def test_later_runs_are_unchanged_failed_or_cancelled(server: PrefectServer, night: dict[str, Any]) -> None:
    """All at once, for the sake of time; of two nightly runs one is more than the deployment's limit."""
    busy = init_lake(str(server.home / "busy"))
    nowhere = server.home / "nowhere"
    with locks.hold(busy, LOCK, 0):
        declined = server.run("ingest", lake=busy.uri)
        again, second = (server.run("nightly", as_of=AS_OF) for _ in range(2))
        lost = server.run("publish", lake=str(nowhere))
        ends = [server.finished(run) for run in (declined, lost, again, second)]
    busy_end, lost_end, *nights = [(end["state"]["type"], end["state"]["message"]) for end in ends]
    assert busy_end[0] == "CANCELLED", busy_end
    assert "busy: another run holds the nightly lock of this lake" in busy_end[1]
    told = f"lake: there is no lake at {nowhere}. Make one: slowwave --lake {nowhere} init"
    assert lost_end == ("FAILED", told)
    assert not nowhere.exists()
    limited = ("CANCELLED", "Deployment concurrency limit reached.")
    assert sorted(nights) == [limited, ("COMPLETED", None)]
    manifest = result_of(server, ends[2 + nights.index(("COMPLETED", None))])
    assert {s["state"] for s in manifest["steps"]} == {"unchanged"}
    assert manifest["generation"] == "gen-000001"


@pytest.mark.server
def test_an_open_erasure_is_completed_and_the_report_is_an_artifact(server: PrefectServer) -> None:
    """Nobody is named to Prefect: the lake knows whom an erasure is about."""
    lake = init_lake(str(server.home / "rights"), buckets=2)
    erased = {"tenant_id": "acme", "user_id": "u-confidential-7", "content": "I live in Graz."}
    landing.append(lake, [{**erased, "id": "1", "event_at": "2026-06-30T10:00:00Z"}])
    job = Job(lake, Policy(), datetime.fromisoformat(AS_OF), lambda: make_embedder(EmbedderConfig()))
    request = record(job, Subject("acme", user="u-confidential-7"), "gdpr-art-17", "subject")
    done = server.finished(server.run("erase", lake=lake.uri, as_of=AS_OF))
    assert done["state"]["type"] == "COMPLETED", done["state"]
    assert [(s["name"], s["rows_out"]) for s in result_of(server, done)["steps"]] == [("erase", 1)]
    assert lake.storage.read(f"certificates/{request.request_id}.json") is not None
    told = server.finished(server.run("compliance", lake=lake.uri, as_of=AS_OF))
    assert told["state"]["type"] == "COMPLETED", told["state"]
    (artifact,) = [a for a in server.artifacts(told["id"]) if a["key"] == "slowwave-compliance"]
    assert "All obligations are met" in artifact["data"]
    kept = [p for p in server.home.rglob("prefect.db*") if p.is_file()]
    assert kept
    assert not [p for p in kept if b"u-confidential-7" in p.read_bytes()]


def health_events(server: PrefectServer, lake: Path, end: str) -> list[dict[str, Any]]:
    """What was told of the health of a lake; the run's process sends it after it has reported its state."""
    resource = f"slowwave.lake.{open_lake(str(lake)).lake_id}"
    wanted = {"event": {"name": [f"slowwave.health.{end}"]}, "resource": {"id": [resource]}}
    found: list[dict[str, Any]] = []

    def is_there() -> bool:
        found[:] = server.call("POST", "/events/filter", {"filter": wanted})["events"]
        return bool(found)

    server.wait("the event", is_there)
    return found


@pytest.mark.server
def test_a_failing_check_fails_the_run_and_is_an_event(server: PrefectServer) -> None:
    lake = init_lake(str(server.home / "ill"), buckets=2)
    subject = Subject("acme", user="u-confidential-8")
    at = datetime.fromisoformat(AS_OF)
    requests.open_request(
        lake, "erase", subject, "gdpr-art-17", "subject", at - timedelta(days=50), at - timedelta(days=20)
    )
    ended = server.finished(server.run("health", lake=lake.uri, as_of=AS_OF))
    assert ended["state"]["type"] == "FAILED", ended["state"]
    assert ended["state"]["message"].startswith("check: health: fail; FAILING erasure; ")
    (artifact,) = [a for a in server.artifacts(ended["id"]) if a["key"] == "slowwave-health"]
    assert "| erasure | fail | " in artifact["data"]
    (event,) = health_events(server, Path(lake.uri), "failing")
    assert event["payload"]["failing"] == ["erasure"]
    assert set(event["payload"]) == {"state", "failing", "warnings", "unknown", "as_of"}
    assert "u-confidential-8" not in json.dumps([event, artifact])


@pytest.mark.server
def test_errors_are_told_and_only_transient_ones_tried_again(server: PrefectServer) -> None:
    lake = init_lake(str(server.home / "cases"))
    config = server.home / "cases.toml"
    config.write_text(CONFIG, "utf-8")
    source = server.home / "chat.jsonl"
    source.write_text('{"id": "1", "content": "hello"}\n', "utf-8")
    script = str(Path(__file__).with_name("prefect_cases.py"))
    told = json.loads(server.python([script, lake.uri, str(config), str(source)]))
    shown = {name: (case["type"], case.get("tries"), case["message"]) for name, case in told.items()}
    assert shown.pop("bug")[:2] == ("FAILED", 1)
    assert shown.pop("waited")[0] == "CANCELLED"
    assert shown == {
        "recovers": ("COMPLETED", 3, None),
        "gives_up": ("FAILED", 3, "endpoint: no answer. Call it."),
        "check": ("FAILED", 1, "check: recall 0.90 is below 0.95."),
        "units": (
            "FAILED",
            1,
            "units: embed: 1 of 3 units failed (bucket 1: a file is missing), the others were done."
            " Restore it.",
        ),
        "reads_anew": ("COMPLETED", None, None),
        "no_zone": (
            "FAILED",
            None,
            "usage: --as-of 2026-06-30T23:00:00 has no zone. Add one: 2026-06-30T23:00:00Z.",
        ),
    }
    assert told["bug"]["message"].startswith("internal: unexpected KeyError in prefect_cases.py, line ")
    assert "(waited 0 s)" in told["waited"]["message"]
    seen = [["chat.jsonl", "acme", "u1"], ["chat.jsonl", "own", "u1"]]
    assert told["reads_anew"]["seen"] == [seen, seen]


@pytest.mark.server
def test_prefect_keeps_no_content(server: PrefectServer, night: dict[str, Any]) -> None:
    """Whatever the earlier tests ran: database, results and logs hold no text of a row."""
    assert night["state"]["type"] == "COMPLETED"
    lines = (SAMPLES / "data" / "aurora-travel.jsonl").read_text("utf-8").splitlines()
    texts = {json.loads(line).get("content") or "" for line in lines}
    texts = {text for text in texts if len(text) > 30 and text.isascii() and '"' not in text}
    assert len(texts) > 50
    kept = [
        p for p in server.home.rglob("*") if p.is_file() and "lake" not in p.relative_to(server.home).parts
    ]
    assert any(p.name == "prefect.db" for p in kept)
    held = "\n".join(p.read_bytes().decode("latin-1") for p in kept if "busy" not in p.parts)
    assert night["id"] in held
    assert [text for text in texts if text in held] == []
    assert "my locker code" not in held  # what prefect_cases.py plants in errors


def test_the_command_line_runs_the_same_jobs_without_prefect(tmp_path: Path) -> None:
    code = (
        "import sys; from flows.__main__ import main; code = main(sys.argv[1:]);"
        "sys.exit(code or ('prefect' in sys.modules and 99))"
    )
    init_lake(str(tmp_path / "lake"))
    source = tmp_path / "chat.jsonl"
    row = {
        "id": "1",
        "tenant_id": "t",
        "role": "user",
        "content": "hello",
        "event_at": "2026-06-01T10:00:00Z",
    }
    source.write_text(json.dumps(row), "utf-8")
    call = ["--lake", str(tmp_path / "lake"), "--as-of", AS_OF, "--json", "nightly", str(source)]
    done = subprocess.run(
        [sys.executable, "-c", code, *call], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["generation"] == "gen-000001"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a|b", r"a\|b"),
        ("<b>&", "&lt;b&gt;&amp;"),
        ("*x* _y_ `z` ~w~ [l](u)", r"\*x\* \_y\_ \`z\` \~w\~ \[l\](u)"),
        ("one\n\n# two\t", "one # two"),
        (r"\|", r"\\\|"),
    ],
)
def test_markdown_shows_text_as_it_is(text: str, shown: str) -> None:
    assert escaped(text) == shown


def test_the_summary_holds_a_row_a_step() -> None:
    step = {"name": "ingest", "state": "done", "rows_in": 1200, "rows_out": 1000, "rejected": 200}
    step |= {"duplicates": 0, "seconds": 1.5, "reasons": {"no|tenant": 200}, "landed": 1000}
    manifest = {"as_of": "2026-06-30T23:00:00+00:00", "steps": [step], "generation": None, "skipped_files": 2}
    assert manifest_markdown(manifest).splitlines() == [
        "As of 2026-06-30T23:00:00+00:00.",
        "",
        "| name | state | rows in | rows out | rejected | duplicates | seconds |",
        "| --- | --- | --- | --- | --- | --- | --- |",
        "| ingest | done | 1,200 | 1,000 | 200 | 0 | 1.5 |",
        "",
        r"- quarantined: no\|tenant 200",
        "- files that no reader takes: 2",
    ]
