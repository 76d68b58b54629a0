"""The command line's contract: keys, streams, exit codes, one line for each mistake, help without weight."""

from __future__ import annotations

import io
import json
import pickle
import shutil
import signal
import subprocess
import sys
import threading
import tomllib
from pathlib import Path

import pytest

from flows import cli
from flows.__main__ import main
from flows.present import WIDTH
from tests.flows.lakes import REPOSITORY, Command, environment, files_below, row, start, write
from tests.model_server import Fault, ModelServer
from tests.ports import free_ports
from transforms.errors import LakeError
from transforms.readers.registry import READERS

VERBS = (
    "init",
    "ingest",
    "embed",
    "consolidate",
    "decay",
    "retain",
    "cold",
    "publish",
    "nightly",
    "recall",
    "context",
    "used",
    "facts",
    "explain",
    "status",
    "doctor",
    "migrate",
    "formats",
    "demo",
    "pin",
    "unpin",
    "hold",
    "release",
    "opt-out",
    "opt-in",
    "forbid-topic",
    "allow-topic",
    "period",
    "correct",
    "requests",
    "erase",
    "export",
    "report",
    "keys",
    "evaluate",
    "session",
    "hints",
    "share",
    "grant",
    "revoke",
    "grants",
    "team",
    "share-patterns",
    "tune",
    "what-if",
    "backup",
    "restore",
    "quarantine",
)
HEAVY = (
    "polars",
    "duckdb",
    "pyarrow",
    "deltalake",
    "lance",
    "lancedb",
    "pydantic",
    "prefect",
    "numpy",
    "rich",
)
AT = ("--as-of", "2026-06-30T23:00:00Z")
SCOPE = ("--tenant", "acme", "--user", "ana", *AT)


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake with three published rows, made once."""
    folder = tmp_path_factory.mktemp("published")
    write(folder / "a.jsonl", [row(n) for n in range(3)])
    assert main(["--lake", str(folder / "lake"), "init", "--buckets", "2"]) == 0
    assert main(["--lake", str(folder / "lake"), "nightly", str(folder / "a.jsonl"), *AT]) == 0
    return folder


@pytest.fixture
def lake(published: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    shutil.copy(published / "a.jsonl", tmp_path)
    shutil.copytree(published / "lake", tmp_path / "lake")
    return tmp_path / "lake"


def flags(verb: str) -> list[str]:
    return cli.known_flags()[verb]


def test_the_verbs_and_flags_of_the_contract_are_there() -> None:
    assert sorted(cli.known_flags()) == sorted(VERBS)
    shared = {"--lake", "--config", "--json", "--as-of", "--progress"}
    scope = {"--tenant", "--user", "--agent", "--session"}
    engine = {"--engine", "--workers", "--scheduler"}
    wanted = {
        "ingest": scope | engine | {"--format", "--timezone", "--only-tenant", "--explain", "--watch"},
        "embed": engine,
        "nightly": scope | engine | {"--only-tenant", "--no-publish", "--dry-run"},
        "consolidate": engine | {"--dry-run", "--complete"},
        "facts": scope | {"--history", "--recorded-by", "--tenant-wide"},
        "explain": scope | {"--tenant-wide"},
        "recall": scope | {"-k", "--kinds", "--explain", "--weights"},
        "used": scope | {"--call"},
        "backup": {"--to", "--keep", "--erasures-only", "--check"},
        "restore": {"--from", "--copy", "--erasures"},
        "context": scope | {"--budget"},
        "publish": engine | {"--rollback", "--force"},
        "decay": scope | engine | {"--out"},
        "retain": engine | {"--dry-run"},
        "cold": scope | {"--restore"},
        "erase": scope | {"--memory", "--basis", "--yes", "--alias", "--canary", "--resume", "--verify"},
        "export": scope | {"--out", "--force"},
        "pin": scope | {"--basis", "--requested-by"},
        "hold": scope | {"--memory", "--tenant-wide", "--basis"},
        "correct": scope | {"--to", "--object", "--yes"},
        "forbid-topic": scope,
        "opt-out": scope,
        "report": scope | {"--out", "--scenarios", "--days"},
        "tune": scope
        | {
            "--out",
            "--grid",
            "--search",
            "--trials",
            "--traces",
            "--labels",
            "--max-tokens",
            "--max-index-bytes",
        },
        "what-if": scope | {"--policy", "--out"},
        "keys": scope | {"--data", "--yes"},
        "evaluate": {"--set", "--data", "--conversations", "--preset", "--k", "--out", "--seed", "--against"},
    }
    for verb in VERBS:
        assert shared | wanted.get(verb, set()) <= set(flags(verb))


@pytest.mark.parametrize("verb", ["", *VERBS])
def test_help_has_an_example(verb: str, command: Command) -> None:
    said = command(*([verb] if verb else []), "--help")
    assert said.code == 0
    assert said.err == ""
    assert "example: slowwave" in said.out
    assert not verb or verb in said.out[said.out.index("example:") :]


@pytest.mark.parametrize(
    "words", [["--help"], *[[verb, "--help"] for verb in VERBS], ["--version"], ["nonsense"]]
)
def test_help_imports_nothing_heavy(words: list[str]) -> None:
    code = (
        "import sys\nfrom flows.__main__ import main\n"
        f"main({words!r})\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=True
    )
    assert done.stderr.splitlines()[-1] == "[]"


def test_recall_imports_no_orchestrator(lake: Path) -> None:
    code = (
        "import sys\nfrom flows.__main__ import main\n"
        f"words = ['--lake', {str(lake)!r}, 'recall', 'harbour', '--tenant', 'acme', '--user', 'ana']\n"
        "assert main(words) == 0\n"
        "print([name for name in sys.modules if name.split('.')[0] in ('prefect', 'dask')], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=True
    )
    assert done.stderr.splitlines()[-1] == "[]"


def test_help_and_version_are_json_too_when_asked(command: Command) -> None:
    assert "example:" in command("--json", "recall", "--help").json["help"]
    assert command("--version", "--json").json["help"].startswith("slowwave ")


def test_json_keys_that_stay(lake: Path, tmp_path: Path, command: Command) -> None:
    def data(*words: object) -> dict[str, object]:
        said = command("--lake", lake, "--json", *words, *(() if "--as-of" in words else AT))
        assert said.code == 0, said
        return said.json

    write(tmp_path / "b.jsonl", [row(9), "{"])
    assert {"lake", "version"} <= data("init").keys()
    ingested = data("ingest", tmp_path / "b.jsonl")
    assert {"files", "rows_in", "landed", "duplicates", "quarantined", "reasons"} <= ingested.keys()
    assert (ingested["rows_in"], ingested["landed"], ingested["quarantined"]) == (2, 1, 1)
    night = data("nightly")
    step = {"name", "rows_in", "rows_out", "rejected", "seconds", "peak_bytes"}
    names = ["ingest", "embed", "consolidate", "decay", "retain", "publish"]
    assert [s["name"] for s in night["steps"]] == names  # type: ignore[attr-defined]
    assert all(step <= s.keys() for s in night["steps"])  # type: ignore[attr-defined]
    assert night["generation"] == "gen-000002"
    assert step <= data("embed").keys()
    assert data("publish")["generation"] == "gen-000002"
    assert data("publish", "--rollback")["generation"] == "gen-000001"
    [found] = data("recall", "harbour", "-k", "1", *SCOPE)["results"]  # type: ignore[misc]
    assert {"id", "kind", "text", "score", "factors", "event_at", "source_refs"} <= found.keys()
    assert sorted(found["factors"]) == ["frequency", "importance", "recency", "relevance", "type"]
    packed = data("context", "harbour", "--budget", "300", *SCOPE)
    wanted = {"text", "tokens_used", "tokens_available", "packed", "summarised", "dropped"}
    assert wanted <= packed.keys()
    assert {"name", "rows_in", "rows_out"} <= data("consolidate", "--dry-run").keys()
    [fact, *_] = [*data("facts", *SCOPE)["facts"], None]  # type: ignore[misc]
    assert fact is None or {"id", "fact", "subject", "predicate", "object", "polarity"} <= fact.keys()
    assert data("explain", found["id"], *SCOPE)["chain"]["sources"]  # type: ignore[index]
    status = data("status")
    assert status["index"]["generation"] == "gen-000001"  # type: ignore[index]
    assert data("doctor")["passed"] is True
    assert {"name", "description"} <= data("formats")["formats"][0].keys()  # type: ignore[index]


def test_flags_stand_before_or_after_the_verb(lake: Path, command: Command) -> None:
    before = command("--json", "--lake", lake, "--as-of", "2026-07-01T00:00:00Z", "status")
    after = command("status", "--as-of", "2026-07-01T00:00:00Z", "--lake", lake, "--json")
    assert before.json["as_of"] == after.json["as_of"] == "2026-07-01T00:00:00+00:00"
    assert before.json["tenants"] == after.json["tenants"]


def test_the_lake_comes_from_flag_then_environment_then_file(
    lake: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("slowwave.toml").write_text('lake = "nowhere"\n')
    assert command("--json", "status").error["code"] == "lake"
    monkeypatch.setenv("SLOWWAVE_LAKE", str(lake))
    assert command("--json", "status").json["lake"] == str(lake)
    assert command("--json", "--lake", "elsewhere", "status").error["code"] == "lake"


def test_data_goes_to_stdout_and_talk_to_stderr(lake: Path, tmp_path: Path, command: Command) -> None:
    folder = tmp_path / "mixed"
    folder.mkdir()
    write(folder / "a.jsonl", [row(50)])
    (folder / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)))
    said = command("--json", "--lake", lake, "ingest", folder, *AT)
    assert said.json["landed"] == 1
    assert "picture.png" in said.err
    assert "picture.png" in command("--lake", lake, "ingest", folder).err


def test_what_a_library_prints_does_not_spoil_the_document(
    lake: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    from flows import status

    real = status.status_of

    def chatty(job: object) -> object:
        print("loading things")
        return real(job)  # type: ignore[arg-type]

    monkeypatch.setattr(status, "status_of", chatty)
    said = command("--json", "--lake", lake, "status")
    assert said.json["lake"] == str(lake)
    assert "loading things" in said.err


def _endpoint(base_url: str) -> str:
    return (
        f'[embedder]\nprovider = "openai"\nbase_url = "{base_url}"\nmodel = "m"\ndimensions = 8\n'
        'api_key = "k"\nmax_attempts = 1\n'
    )


# Words of the call (LAKE and TMP are filled in), slowwave.toml, exit code, code, and what is said.
MISTAKES: dict[str, tuple[str, str, int, str, str]] = {
    "no command": ("", "", 2, "usage", "COMMAND"),
    "unknown command": ("dream", "", 2, "usage", "dream"),
    "unknown flag": ("--lake LAKE status --fast", "", 2, "usage", "--fast"),
    "shortened flag": ("--lake LAKE status --js", "", 2, "usage", "--js"),
    "k of nothing": ("--lake LAKE recall x -k 0 --tenant acme --user ana", "", 2, "usage", "not a positive"),
    "k of words": ("--lake LAKE recall x -k some --tenant acme --user ana", "", 2, "usage", "not a positive"),
    "missing file": ("--lake LAKE ingest TMP/none.jsonl", "", 3, "input", "none.jsonl: no such file"),
    "glob of nothing": ("--lake LAKE ingest TMP/*.nothing", "", 3, "input", "no file matches"),
    "unknown format": (
        "--lake LAKE ingest TMP/a.jsonl --format yaml",
        "",
        3,
        "input",
        "unknown format 'yaml'",
    ),
    "nobody reads it": ("--lake LAKE ingest TMP/odd.bin", "", 3, "input", "odd.bin: of no known format"),
    "nothing readable": ("--lake LAKE ingest TMP/empty", "", 3, "input", "nothing readable"),
    "only strangers": ("--lake LAKE nightly TMP/strange", "", 3, "input", "nothing readable"),
    "missing config": ("--lake LAKE --config TMP/no.toml status", "", 4, "config", "no.toml"),
    "config is no TOML": ("--lake LAKE status", "[recall\n", 4, "config", "not TOML"),
    "wrong key": (
        "--lake LAKE status",
        "[recall]\nwieghts = 'two'\n",
        4,
        "config",
        "did you mean weights",
    ),
    "wrong section": ("--lake LAKE status", "[recal]\nx = 1\n", 4, "config", "did you mean recall"),
    "wrong embedder key": ("--lake LAKE status", "[embedder]\nmodl = 1\n", 4, "config", "did you mean model"),
    "wrong value": (
        "--lake LAKE status",
        "[publish]\nkeep_generations = 0\n",
        4,
        "config",
        "keep_generations",
    ),
    "wrong type": ("--lake LAKE status", 'recall = "all"\n', 4, "config", "recall"),
    "the policy by name": ("--lake LAKE status", "[policy]\nx = 1\n", 4, "config", "unknown key policy"),
    "weights off": ("--lake LAKE status", "[recall.weights]\nrecency = 0.9\n", 4, "config", "sum to"),
    "no lake": ("--lake TMP/nowhere status", "", 5, "lake", "no lake at"),
    "no lake to search": (
        "--lake TMP/nowhere recall x --tenant acme --user ana",
        "",
        5,
        "lake",
        "no lake at",
    ),
    "other version": ("--lake TMP/future status", "", 5, "lake", "version 9"),
    "odd scheme": ("--lake ftp://x/y status", "", 5, "lake", "ftp"),
    "closed port": ("--lake LAKE embed", "ENDPOINT", 6, "endpoint", "127.0.0.1"),
    "no lake named": ("status", "", 2, "usage", "--lake"),
    "naive as-of": ("--lake LAKE --as-of 2026-06-30T23:00 status", "", 2, "usage", "no zone"),
    "odd as-of": ("--lake LAKE --as-of yesterday status", "", 2, "usage", "not ISO 8601"),
    "as-of of the end of time": (
        "--lake LAKE --as-of 9999-12-31T23:59:59-12:00 status",
        "",
        2,
        "usage",
        "range",
    ),
    "unknown zone": ("--lake LAKE ingest TMP/a.jsonl --timezone Mars/Base", "", 2, "usage", "Mars/Base"),
    "confined to nobody": ("--lake LAKE ingest TMP/a.jsonl --only-tenant", "", 2, "usage", "needs a tenant"),
    "empty query": ("--lake LAKE recall EMPTY --tenant acme --user ana", "", 2, "usage", "query is empty"),
    "no tenant": ("--lake LAKE recall x", "", 2, "usage", "tenant"),
    "no scope": ("--lake LAKE recall x --tenant acme", "", 2, "usage", "user, an agent or a session"),
    "no scope for a context": ("--lake LAKE context x --tenant acme", "", 2, "usage", "user, an agent"),
    "nothing to explain": ("--lake LAKE ingest --explain", "", 2, "usage", "nothing to explain"),
    "nothing before it": ("--lake LAKE publish --rollback", "", 2, "usage", "no generation before"),
    "another model": (
        "--lake LAKE recall x --tenant acme --user ana",
        "[embedder]\ndimensions = 64\n",
        10,
        "model",
        "64",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_one_line_and_its_class_has_an_exit_code(
    name: str, lake: Path, tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    words, config, exit_code, code, told = MISTAKES[name]
    if name == "no lake named":
        lake.rename(tmp_path / "gone")
    for folder in ("empty", "strange", "future"):
        (tmp_path / folder).mkdir()
    (tmp_path / "strange" / "x.bin").write_bytes(bytes(range(256)))
    (tmp_path / "odd.bin").write_bytes(bytes(range(256)))
    (tmp_path / "future" / "lake.json").write_text(
        '{"format": "slowwave", "version": 9, "lake_id": "0123456789abcdef", "buckets": 2}'
    )
    if config == "ENDPOINT":
        (closed,) = free_ports(1)
        config = _endpoint(f"http://127.0.0.1:{closed}/v1")
    if config:
        Path("slowwave.toml").write_text(config)
    filled = words.replace("LAKE", str(lake)).replace("TMP", str(tmp_path))
    call = ["" if word == "EMPTY" else word for word in filled.split()]

    plain = command(*call)
    assert plain.code == exit_code, plain
    assert plain.out == ""
    [line] = [said for said in plain.err.splitlines() if "skipped" not in said]
    assert line.startswith("slowwave: ")
    assert told in line
    assert "Traceback" not in plain.err

    as_json = command(*call, "--json")
    assert as_json.code == exit_code
    assert as_json.error["code"] == code
    assert told in as_json.error["message"] + as_json.error["remedy"]


def test_an_unexpected_fault_is_one_line_too(
    lake: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    from flows import status

    def broken(job: object) -> object:
        raise ZeroDivisionError("a secret value")

    monkeypatch.setattr(status, "status_of", broken)
    said = command("--json", "--lake", lake, "status")
    assert (said.code, said.error["code"]) == (1, "internal")
    assert "secret" not in said.out + said.err
    monkeypatch.setenv("SLOWWAVE_TRACEBACK", "1")
    with pytest.raises(ZeroDivisionError):
        command("--lake", lake, "status")


def test_bytes_that_are_no_text_are_escaped(lake: Path, command: Command) -> None:
    said = command("--lake", lake, "--json", "ingest", "caf\udce9.jsonl")
    assert said.code == 3
    assert "caf\udce9.jsonl" in said.error["message"]
    assert "caf\\udce9.jsonl" in command("--lake", lake, "ingest", "caf\udce9.jsonl").err


def test_a_reader_that_goes_away_is_no_fault(lake: Path, tmp_path: Path) -> None:
    process = start("--lake", lake, "formats", cwd=tmp_path)
    assert process.stdout
    process.stdout.close()
    assert process.stderr
    said = process.stderr.read()
    process.stderr.close()
    assert (process.wait(60), said) == (0, "")


def test_standard_input_is_a_source(lake: Path, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    stdin = io.TextIOWrapper(io.BytesIO(json.dumps(row(77)).encode() + b"\n"))
    monkeypatch.setattr(sys, "stdin", stdin)
    assert command("--lake", lake, "--json", "ingest", "-", *AT).json["landed"] == 1


def test_ingest_explain_writes_nothing(lake: Path, tmp_path: Path, command: Command) -> None:
    write(
        tmp_path / "b.jsonl",
        [row(8, "write to ana.lopez@example.com"), row(9, event_at="2026-06-01T10:00:00")],
    )
    before = files_below(lake)
    data = command("--lake", lake, "--json", "ingest", "--explain", tmp_path / "b.jsonl", *AT).json
    [source] = data["sources"]
    assert source["format"] == "slowwave-jsonl"
    assert "example.com" not in json.dumps(source["rows"])
    assert [r["reason"] for r in source["refused"]] == ["naive_time"]
    assert files_below(lake) == before
    assert "naive_time" in command("ingest", "--explain", tmp_path / "b.jsonl").out


def test_ingest_explain_shows_rows_and_refusals_in_the_order_of_their_lines(
    tmp_path: Path, command: Command
) -> None:
    folder = tmp_path / "mixed"
    folder.mkdir()
    naive = [row(n, event_at="2026-06-01T10:00:00") for n in range(5)]
    lines = ["{", naive[0], row(1, is_injected=True), "[]", *naive[1:], *[row(n) for n in range(2, 7)]]
    write(folder / "b.jsonl", lines)
    (folder / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)))
    words = ("ingest", "--explain", folder, *AT)
    said = command(*words)
    data = command(*words, "--json").json
    [source] = data["sources"]
    assert [r["source_line"] for r in source["refused"]] == [1, 2, 4]
    assert [(r["source_line"], r["is_injected"]) for r in source["rows"]] == [
        (3, True),
        (9, False),
        (10, False),
    ]
    assert [entry["file"] for entry in data["skipped"]] == ["picture.png"]
    assert said.out.count("refused, line") == 3
    assert said.out.count("injected") == 1
    assert "picture.png: skipped, of no known format" in said.out


def test_ingest_explain_shows_calls_between_the_words(tmp_path: Path, command: Command) -> None:
    called = {"id": "k1", "type": "function", "function": {"name": "find_pier", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "Which pier?"},
        {"role": "assistant", "content": None, "tool_calls": [called]},
        {"role": "tool", "tool_call_id": "k1", "content": "Error: no such ferry"},
        {"role": "assistant", "content": "I cannot find it."},
    ]
    write(tmp_path / "chat.jsonl", [{"id": "c1", "timestamp": "2026-06-01T10:00:00Z", "messages": messages}])
    write(tmp_path / "none.jsonl", [{"id": "c2", "messages": []}])
    said = command("ingest", "--explain", tmp_path, "--tenant", "acme", *AT).out.splitlines()
    assert [line.partition("c1 ")[2] for line in said[1:4]] == [
        "conversation user: Which pier?",
        "action, failure find_pier: Error: no such ferry",
        "conversation assistant: I cannot find it.",
    ]
    assert said[4:] == ["none.jsonl: openai-messages", "  nothing to land; left out: empty_conversation 1"]


def test_an_error_says_its_remedy_once(lake: Path, command: Command) -> None:
    error = LakeError("it is damaged", "Mend it.")
    assert (str(error), error.message, error.remedy) == (
        "it is damaged. Mend it.",
        "it is damaged",
        "Mend it.",
    )
    assert (str(LakeError("is it?", "Ask.")), str(LakeError("gone"))) == ("is it? Ask.", "gone")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    said = command("--lake", lake, "recall", "x", "--tenant", "acme").err
    assert said.count("Name one") == 1
    assert "tenant_wide=True, --tenant-wide" in said
    assert command("--lake", "nowhere", "doctor").out.count("Make one") == 1


def test_the_version_has_one_home(command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["project"]
    assert command("--version").out == f"slowwave {project['version']}\n"
    # Where it is installed there is no checkout, and a stranger's pyproject.toml is not ours.
    monkeypatch.setattr(cli, "__file__", str(tmp_path / "flows" / "cli.py"))
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "other"\nversion = "9"\n')
    monkeypatch.setattr("importlib.metadata.version", lambda name: {"slowwave": "7.7"}[name])
    assert command("--version").out == "slowwave 7.7\n"


def test_tables_fit_the_terminal_and_end_without_blanks(
    lake: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    for verb in (("status",), ("doctor",), ("recall", "harbour", *SCOPE), ("formats",), ("nightly", *AT)):
        wide = command("--lake", lake, *verb).out
        with monkeypatch.context() as patch:
            patch.setattr(sys, "__stdout__", Terminal())
            patch.setenv("COLUMNS", "60")
            narrow = command("--lake", lake, *verb).out
        assert all(line == line.rstrip() for line in (wide + narrow).splitlines())
        assert not wide.startswith("\n")
        tables = [[len(line) for line in shown.splitlines() if "─" in line] for shown in (wide, narrow)]
        assert max(tables[1]) <= 60
        assert max(tables[0]) <= WIDTH
    assert "rel (relevance)" in command("--lake", lake, "recall", "harbour", *SCOPE).out


def test_formats_are_told_in_plain_words(command: Command) -> None:
    said = command("formats").out
    assert not any(mark in said for mark in ("`", "Reader of", "__"))
    told = {entry["name"]: entry["description"] for entry in command("formats", "--json").json["formats"]}
    assert list(told) == sorted(reader.name for reader in READERS)
    assert told["slowwave-csv"] == "CSV with the columns of the row shape; a record is one row."
    assert all(name in said for name in told)


@pytest.mark.parametrize("width", [80, 110])
def test_formats_fit_the_line(command: Command, monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    lines = command("formats").out.splitlines()
    assert max(map(len, lines)) <= width
    assert not any("…" in line for line in lines)


def test_init_does_not_settle_in_the_package(command: Command) -> None:
    before = files_below(REPOSITORY / "lake")
    said = command("--lake", REPOSITORY / "lake", "init")
    assert said.code == LakeError.exit_code
    assert "empty or new folder" in said.err
    assert files_below(REPOSITORY / "lake") == before


def test_recall_explain_shows_ids_and_sources(lake: Path, command: Command) -> None:
    [found] = command("--lake", lake, "--json", "recall", "harbour", "-k", "1", *SCOPE).json["results"]
    prefix = found["id"][:8]
    explained = command("--lake", lake, "recall", "harbour", "-k", "1", "--explain", *SCOPE).out
    [line] = [line for line in explained.splitlines() if prefix in line]
    assert "note" in line  # the id stands in the row of its text
    assert prefix not in command("--lake", lake, "recall", "harbour", "-k", "1", *SCOPE).out
    assert command("--lake", lake, "--json", "explain", prefix, *SCOPE).json["chain"]["id"] == found["id"]


@pytest.mark.parametrize("columns", [None, "60", "80", "120"])
def test_recall_breaks_no_date_kind_or_id(
    columns: str | None, lake: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    words = ("--lake", lake, "recall", "harbour", "-k", "2", "--explain", *SCOPE)
    found = command("--json", *words).json["results"]
    if columns:
        monkeypatch.setenv("COLUMNS", columns)
    lines = command(*words).out.splitlines()
    for memory in found:
        assert any(
            all(part in line for part in (memory["id"][:8], memory["event_at"][:10], memory["kind"]))
            for line in lines
        )
    assert max(map(len, lines)) <= (int(columns) if columns else WIDTH)


def test_a_call_without_a_scope_names_its_own_verb(lake: Path, command: Command) -> None:
    assert command("--lake", lake, "facts", "--user", "ana").err.startswith("slowwave: facts needs a tenant")
    assert "facts need a user or an agent" in command("--lake", lake, "facts", "--tenant", "acme").err
    assert command("--lake", lake, "recall", "x").err.startswith("slowwave: recall needs a tenant")
    session = command("--lake", lake, "facts", "--tenant", "acme", "--session", "s1")
    assert (session.code, "not to a session" in session.err) == (2, True)


def test_an_interrupted_run_says_so_in_a_line_and_goes_on_the_next_time(lake: Path, tmp_path: Path) -> None:
    write(tmp_path / "b.jsonl", [row(n) for n in range(40)])
    with ModelServer() as server:
        server.always = Fault(hang=True)
        (tmp_path / "slowwave.toml").write_text(_endpoint(server.base_url) + "timeout_seconds = 20\n")
        process = start("--json", "--lake", lake, "nightly", tmp_path / "b.jsonl", *AT, cwd=tmp_path)
        watch = threading.Thread(target=_interrupt_at_first_request, args=(server, process))
        watch.start()
        out, err = process.communicate(timeout=90)
        watch.join()
    assert process.returncode == 130
    assert json.loads(out)["error"]["code"] == "interrupted"
    assert "Traceback" not in err
    (tmp_path / "slowwave.toml").unlink()
    again = start("--json", "--lake", lake, "nightly", tmp_path / "b.jsonl", *AT, cwd=tmp_path)
    out, err = again.communicate(timeout=90)
    assert again.returncode == 0, err
    steps = {step["name"]: step for step in json.loads(out)["steps"]}
    assert (steps["ingest"]["duplicates"], steps["embed"]["rows_out"]) == (40, 37)


def _interrupt_at_first_request(server: ModelServer, process: subprocess.Popen[str]) -> None:
    waited = threading.Event()
    for _ in range(1_200):
        if server.requests or process.poll() is not None:
            break
        waited.wait(0.05)
    process.send_signal(signal.SIGINT)
    waited.wait(0.3)
    server._closing.set()  # the hanging answers end, so that nothing waits for them


@pytest.mark.parametrize("name", ['sp ace ünï 😀#?*{}"%', "tenant_bucket=5"])
def test_nights_in_a_lake_of_an_odd_name(name: str, tmp_path: Path, command: Command) -> None:
    lake = tmp_path / name
    write(tmp_path / "a.jsonl", [row(n) for n in range(3)])
    assert command("--lake", lake, "init", "--buckets", "2").code == 0
    assert command("--lake", lake, "nightly", tmp_path / "a.jsonl", *AT).code == 0
    write(tmp_path / "b.jsonl", [row(3, "the ferry leaves at dawn")])
    assert command("--lake", lake, "nightly", tmp_path / "b.jsonl", *AT).code == 0
    again = command("--json", "--lake", lake, "nightly", tmp_path / "b.jsonl", *AT).json
    assert [step["state"] for step in again["steps"]] == ["unchanged"] * 6
    found = command("--json", "--lake", lake, "recall", "ferry at dawn", *SCOPE).json["results"]
    assert found[0]["text"] == "the ferry leaves at dawn"


@pytest.mark.parametrize("damage", ["shortened", "missing", "scrambled"])
def test_a_damaged_data_file_is_a_fault_of_the_lake(lake: Path, damage: str, command: Command) -> None:
    file = next((lake / "tables" / "episodes").rglob("*.parquet"))
    data = file.read_bytes()
    if damage == "missing":
        file.unlink()
    else:
        file.write_bytes(data[:100] if damage == "shortened" else data[:4] + bytes(len(data) - 8) + data[-4:])
    said = command("--json", "--lake", lake, "status")
    assert (said.code, said.error["code"]) == (5, "lake")
    assert "backup" in said.error["remedy"]


def test_a_panic_of_a_library_is_a_fault_of_the_lake(
    lake: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    from polars.exceptions import PanicException

    from flows import status

    def broken(job: object) -> object:
        raise PanicException("index out of range")

    monkeypatch.setattr(status, "status_of", broken)
    said = command("--json", "--lake", lake, "status")
    assert (said.code, said.error["code"]) == (5, "lake")


def test_buckets_have_a_limit(tmp_path: Path, command: Command) -> None:
    said = command("--json", "--lake", tmp_path / "lake", "init", "--buckets", "1025")
    assert (said.code, said.error["code"]) == (2, "usage")
    assert not (tmp_path / "lake").exists()


@pytest.mark.parametrize(
    "text", ["[embedder]\n{key} = 1\n", "{key} = 1\n", "[recall.type_bonus]\n{key} = 0.1\n"]
)
def test_a_secret_in_the_place_of_a_key_is_not_shown(text: str, tmp_path: Path, command: Command) -> None:
    secret = "sk-" + "proj-" + "Ab3dE6gH9jK2mN5pQ8sT1vW4yZ7" * 2
    (tmp_path / "slowwave.toml").write_text(text.replace("{key}", f'"{secret}"'))
    said = command("--config", tmp_path / "slowwave.toml", "status")
    assert said.code == 4
    assert secret not in said.err
    assert "[REDACTED:" in said.err
