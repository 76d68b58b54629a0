"""The rules of this codebase, held by reading it."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from transforms import errors, schemas
from transforms.schemas import Column, Table

ROOT = Path(__file__).resolve().parents[1]
LAYERS = ("transforms", "lake", "flows")
"""Each may import itself and those before it."""
MODULES = sorted(path for layer in LAYERS for path in (ROOT / layer).rglob("*.py"))
TREES = {path: ast.parse(path.read_text("utf-8")) for path in MODULES}
TABLES = [value for value in vars(schemas).values() if isinstance(value, Table)]

MAX_MODULE_LINES = 300
MAX_FUNCTION_LINES = 40
LONG_MODULES: dict[str, str] = {
    "transforms/predicates.py": "a closed list, a line a field",
    "transforms/derived.py": "declarations of tables, and nothing else",
}
"""Modules that may be longer, and why."""

PREFECT_MODULES = {"flows/prefect_flows.py", "flows/prefect_progress.py", "flows/prefect_steps.py"}


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def imports(path: Path) -> Iterator[str]:
    """Every module imported anywhere in the file, lazily too."""
    for node in ast.walk(TREES[path]):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name_of(path)} imports relatively"
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def in_layer(layer: str) -> list[Path]:
    return [path for path in MODULES if path.is_relative_to(ROOT / layer)]


def test_the_walk_finds_the_code() -> None:
    assert len(MODULES) > 60
    assert {path.relative_to(ROOT).parts[0] for path in MODULES} == set(LAYERS)


@pytest.mark.parametrize("layer", LAYERS)
def test_imports_go_one_way(layer: str) -> None:
    later = LAYERS[LAYERS.index(layer) + 1 :]
    wrong = [
        f"{name_of(path)} imports {module}"
        for path in in_layer(layer)
        for module in imports(path)
        if module.split(".")[0] in (*later, "tests", "benchmarks", "samples")
    ]
    assert wrong == []


def test_only_one_module_imports_the_orchestrator() -> None:
    users = {name_of(p) for p in MODULES if any(m.split(".")[0] == "prefect" for m in imports(p))}
    assert users <= PREFECT_MODULES
    wrappers = {name.removesuffix(".py").replace("/", ".") for name in PREFECT_MODULES}
    around = {name_of(p) for p in MODULES if wrappers & set(imports(p))}
    assert around <= PREFECT_MODULES


def test_the_online_path_imports_neither_orchestrator_nor_index() -> None:
    heavy = ("prefect", "lance", "lancedb", "dask")
    code = f"import sys, lake.recall; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


FORBIDDEN_MODULES = {
    "os", "sys", "io", "pathlib", "shutil", "tempfile", "glob", "socket", "http", "urllib", "requests",
    "httpx", "subprocess", "time", "random", "secrets", "uuid", "deltalake", "lance", "lancedb", "obstore",
    "openai",
}  # fmt: skip
PURE = {
    "transforms/readers": {"io", "pathlib", "pathlib.PurePosixPath"},  # streams are handed in; names are text
    "transforms/readers/slowwave_csv.py": {"sys"},  # the csv module's own limit
}
CLOCKS = {("datetime", "now"), ("datetime", "utcnow"), ("datetime", "today"), ("date", "today")}


def test_transforms_touch_no_path_no_clock_and_no_network() -> None:
    wrong = []
    for path in in_layer("transforms"):
        allowed = {m for place, names in PURE.items() if name_of(path).startswith(place) for m in names}
        wrong += [
            f"{name_of(path)} imports {module}"
            for module in imports(path)
            if module.split(".")[0] in FORBIDDEN_MODULES and module not in allowed
        ]
        for node in ast.walk(TREES[path]):
            match node:
                case ast.Call(func=ast.Name(id="open" | "input" | "print")):
                    wrong.append(f"{name_of(path)}:{node.lineno} calls {node.func.id}")  # type: ignore[attr-defined]
                case ast.Attribute(value=ast.Name(id=owner), attr=attribute) if (owner, attribute) in CLOCKS:
                    wrong.append(f"{name_of(path)}:{node.lineno} reads the clock")
                case ast.Attribute(value=ast.Name(id="pl"), attr=attribute) if re.match(
                    "(read|scan)_", attribute
                ) and not name_of(path).startswith("transforms/readers"):
                    wrong.append(f"{name_of(path)}:{node.lineno} reads a file")
    assert wrong == []


def test_only_flows_reads_arguments_and_environment_of_its_own() -> None:
    """``lake`` may look at what belongs to the libraries it opens; what is ours comes as arguments."""
    own = re.compile("SLOWWAVE|OPENAI")
    wrong = []
    for path in (*in_layer("lake"), *in_layer("transforms")):
        for node in ast.walk(TREES[path]):
            if isinstance(node, ast.Attribute) and ast.unparse(node) == "sys.argv":
                wrong.append(f"{name_of(path)}:{node.lineno} sys.argv")
            text = ast.unparse(node) if isinstance(node, ast.Call | ast.Subscript) else ""
            if "os.environ" in text and own.search(text):
                wrong.append(f"{name_of(path)}:{node.lineno} {text}")
    assert wrong == []


def test_modules_and_functions_are_short() -> None:
    long = [
        f"{name_of(path)}: {count} lines"
        for path in MODULES
        if (count := len(path.read_text("utf-8").splitlines())) > MAX_MODULE_LINES
        and name_of(path) not in LONG_MODULES
    ]
    long += [
        f"{name_of(path)}:{node.lineno} {node.name}: {length} lines"
        for path in MODULES
        for node in ast.walk(TREES[path])
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (length := _code_lines(node)) > MAX_FUNCTION_LINES
    ]
    assert long == []


def _code_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of a function from its name, without its docstring."""
    lines = (node.end_lineno or node.lineno) - node.lineno + 1
    first = node.body[0]
    if ast.get_docstring(node) is not None:
        lines -= (first.end_lineno or first.lineno) - first.lineno + 1
    return lines


def test_exceptions_from_the_length_rule_are_still_needed() -> None:
    for name in LONG_MODULES:
        assert len((ROOT / name).read_text("utf-8").splitlines()) > MAX_MODULE_LINES


def test_no_module_of_odds_and_ends() -> None:
    assert [name_of(p) for p in MODULES if re.search("util|helper|misc|common", p.stem)] == []
    assert [name_of(p) for p in MODULES if p.name == "__init__.py" and p.read_text("utf-8").strip()] == []


BOUNDARIES = {
    "flows/__main__.py",
    "flows/without_content.py",
    "flows/engine/attempt.py",
    "flows/engine/worker.py",
}
"""Where a fault of ours becomes one line, of the command or of a Prefect run, or the failure of a unit."""


def test_nothing_is_asserted_or_swallowed() -> None:
    wrong = []
    for path in MODULES:
        for node in ast.walk(TREES[path]):
            if isinstance(node, ast.Assert):
                wrong.append(f"{name_of(path)}:{node.lineno} asserts")
            if isinstance(node, ast.ExceptHandler) and _is_broad(node) and name_of(path) not in BOUNDARIES:
                wrong.append(f"{name_of(path)}:{node.lineno} catches everything")
    assert wrong == []


def _is_broad(node: ast.ExceptHandler) -> bool:
    """Whether it catches any fault and keeps it; cleaning up and raising it again is no catching."""
    last = node.body[-1]
    if isinstance(last, ast.Raise) and last.exc is None:
        return False
    return node.type is None or re.search(r"\b(Base)?Exception\b", ast.unparse(node.type)) is not None


def test_every_error_has_a_code_and_an_exit_code_of_its_own() -> None:
    found = [e for e in vars(errors).values() if isinstance(e, type) and issubclass(e, errors.SlowwaveError)]
    assert len(found) > 8
    assert len({error.exit_code for error in found}) == len(found)
    assert len({error.code for error in found}) == len(found)
    assert all(0 < error.exit_code < 64 and error.__doc__ for error in found)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_columns_are_named_by_the_rules(table: Table) -> None:
    faults = [fault for column in table.columns for fault in _faults(column)]
    assert faults == []
    assert len(set(table.names)) == len(table.names)
    assert set(table.key) | set(table.partition_by) | set(table.sort_by) <= set(table.names)
    assert all(column.description for column in table.columns)


LISTS = {"tags", "redactions", "source_refs", "claim_ids", "topics"}
COUNTS = {"steps", "dimensions", "rows_in", "rows_out", "rejected", "duplicates", "tokens", "versions_read",
          "versions_written", "tool_arguments", "input_tokens", "output_tokens", "budget_tokens",
          "window_days", "requests", "sentences", "supersedes", "basis"}  # fmt: skip
"""Plural words whose value is a count or one text."""
VALIDITY = {"valid_from", "valid_until"}
"""The field's own names of the two ends of a validity."""


def _faults(column: Column) -> Iterator[str]:
    name, dtype = column.name, column.dtype
    is_instant = isinstance(dtype, pl.Datetime)
    # A draft's times are still text.
    if name in VALIDITY:
        is_instant = False
    if name.endswith("_at") != is_instant and not (name.endswith("_at") and dtype == pl.String):
        yield f"{name} is {dtype}"
    if is_instant and dtype != schemas.INSTANT:
        yield f"{name} is {dtype}, not UTC microseconds"
    if (dtype == pl.Boolean) != name.startswith(("is_", "has_")):
        yield f"{name} is {dtype}"
    if name.endswith(("_chars", "_bytes", "_count", "_index")) and not dtype.is_integer():
        yield f"{name} is {dtype}"
    if name.endswith(("_id", "_hash")) and dtype != pl.String:
        yield f"{name} is {dtype}"
    is_plural = name.endswith("s") and not name.endswith(("ss", "status", "_chars", "_bytes", "seconds"))
    if is_plural and name not in (LISTS if isinstance(dtype, pl.List) else COUNTS):
        yield f"{name} is plural"
    if not re.fullmatch("[a-z][a-z_]*", name):
        yield f"{name} is no plain name"
    if re.search("percent|pct|timestamp|date$|millis|_ms$", name):
        yield f"{name} has another unit or word than the rest"


def test_personal_columns_leave_no_statistics() -> None:
    for table in TABLES:
        personal = {column.name for column in table.columns if column.is_personal}
        assert not personal & set(table.statistics_columns)
        for column in table.columns:
            if column.name in {
                "tenant_id",
                "user_id",
                "agent_id",
                "session_id",
                "content",
                "raw",
                "vector",
                "text",
            }:
                assert column.is_personal or table.name in ("drafts", "refusals", "memories"), column.name
