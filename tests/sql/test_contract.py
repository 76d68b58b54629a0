"""Every statement against its own header, and each one's answer on small visible tables."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lake import queries, tables
from lake.lake import init_lake
from transforms.errors import UsageError
from transforms.schemas import EPISODES, STORED, VECTORS

NAMES = queries.statement_names()
EXTRA = {"lifetimes": EPISODES.polars, "single_valued": pl.Schema({"predicate": pl.String()})}
"""Inputs that are no lake tables."""
VALUES = {"VARCHAR": "x", "BIGINT": 5, "TIMESTAMPTZ": datetime(2026, 3, 1, tzinfo=UTC)}
SCHEMAS = {**{table.name: table.polars for table in STORED}, **EXTRA}
NOON = datetime(2026, 3, 14, 12, tzinfo=UTC)


def body(name: str) -> str:
    """A statement without its comments."""
    return re.sub(r"--[^\n]*", "", queries.statement(name).text)


def hours(count: float) -> datetime:
    return NOON + timedelta(hours=count)


def frame(table: str, names: Sequence[str], rows: Sequence[Sequence[Any]]) -> pl.DataFrame:
    """Rows of some columns of an input; the other columns that the schema has are null."""
    shown = {name: SCHEMAS[table][name] for name in names}
    held = pl.DataFrame([tuple(row) for row in rows], schema=shown, orient="row")
    rest = [pl.lit(None, dtype).alias(n) for n, dtype in SCHEMAS[table].items() if n not in shown]
    return held.with_columns(rest)


def run(name: str, frames: Mapping[str, pl.DataFrame], **parameters: Any) -> list[tuple[Any, ...]]:
    """Rows of the answer, which must not depend on the order of the inputs' rows."""
    wanted = queries.statement(name)
    shown = {table: frames[table].select(columns) for table, columns in wanted.inputs.items()}
    answer = queries.run(wanted, shown, parameters)
    for seed in (1, 2):
        mixed = {t: f.sample(fraction=1.0, shuffle=True, seed=seed) for t, f in shown.items()}
        assert queries.run(wanted, mixed, parameters).rows() == answer.rows()
    return answer.rows()


@pytest.mark.parametrize("name", NAMES)
def test_header(name: str) -> None:
    wanted, text = queries.statement(name), body(name)
    header = queries.statement(name).text.split("\nselect")[0].split("\nwith")[0]
    assert header.startswith("-- purpose: ")
    assert "-- source: " in header
    assert header.count("-- input: ") == len(wanted.inputs) > 0
    assert header.count("-- parameter: ") == len(wanted.parameters)
    assert set(wanted.parameters.values()) <= set(VALUES)
    assert set(re.findall(r"\$(\w+)", text)) == set(wanted.parameters)
    for table, columns in wanted.inputs.items():
        assert set(columns) <= set(SCHEMAS[table])
        assert re.search(rf"\b{table}\b", text)
        assert len(set(columns)) == len(columns)
        if "*" not in text:
            assert all(re.search(rf"\b{column}\b", text) for column in columns)


@pytest.mark.parametrize("name", NAMES)
def test_one_plain_statement_in_a_total_order(name: str) -> None:
    text = body(name)
    assert not re.search(r"[{}]|%s|\?", text)
    assert ";" not in text
    final = text[text.rindex("\nselect") :] if "\nselect" in text else text
    assert re.search(r"\norder by [^()]+?(\nlimit \$\w+)?\s*$", final)
    assert not re.match(r"\s*select\s*\*", final)
    assert text == text.lower()


@pytest.mark.parametrize("name", NAMES)
def test_output_is_as_declared_on_empty_inputs(name: str) -> None:
    wanted = queries.statement(name)
    values = {key: VALUES[kind] for key, kind in wanted.parameters.items()}
    with duckdb.connect() as connection:
        connection.execute("set timezone = 'UTC'")
        for table, columns in wanted.inputs.items():
            held = pl.DataFrame(schema={c: SCHEMAS[table][c] for c in columns})
            connection.register(table, held.to_arrow())
        answer = connection.sql(wanted.text, params=values)
        found = dict(zip(answer.columns, map(str, answer.types), strict=True))
        assert list(found.items()) == list(wanted.output.items())
        assert answer.fetchall() == []


def test_checks_are_those_named_so() -> None:
    checks = [name for name in NAMES if name.startswith("check_")]
    assert checks == ["check_episode_ids", "check_vector_copies"]
    for name in checks:
        assert "none is right" in queries.statement(name).text


def test_check_episode_ids() -> None:
    rows = [("a", "1"), ("a", "2"), ("b", "1"), ("a", "1"), ("a", "1"), ("b", "1")]
    episodes = frame("episodes", ["tenant_id", "episode_id"], rows)
    assert run("check_episode_ids", {"episodes": episodes}) == [("a", "1", 3), ("b", "1", 2)]
    assert run("check_episode_ids", {"episodes": episodes.unique()}) == []


def test_check_vector_copies() -> None:
    rows = [("a", "h", "m"), ("a", "h", "n"), ("b", "h", "m"), ("a", "h", "m")]
    vectors = frame("vectors", ["tenant_id", "text_hash", "model_key"], rows)
    assert run("check_vector_copies", {"vectors": vectors}) == [("a", "h", "m", 2)]
    assert run("check_vector_copies", {"vectors": vectors.unique()}) == []


COUNTED = ["tenant_id", "user_id", "session_id", "expires_at", "event_at", "content_chars"]


def test_episode_counts() -> None:
    rows = [
        ("a", "u1", "s1", hours(0), hours(-24), 5),  # expires this very instant
        ("a", "u1", "s2", hours(1), hours(-23), 6),
        ("a", "u2", "s2", None, hours(-9000), 7),
        ("a", None, None, hours(-1), hours(-2), 8),
        ("b", "u1", "s1", hours(-6), hours(-30), 9),
        ("c", "u1", "s1", None, hours(-1), 1),
    ]
    assert run("episode_counts", {"lifetimes": frame("episodes", COUNTED, rows)}, as_of=NOON) == [
        ("a", 4, 2, 2, 2, 26, hours(-9000), hours(-2)),
        ("b", 1, 1, 1, 1, 9, hours(-30), hours(-30)),
        ("c", 1, 1, 1, 0, 1, hours(-1), hours(-1)),
    ]


INSTANTS = st.integers(-50, 50).map(hours)
EPISODE = st.tuples(
    st.sampled_from("ab"),
    st.sampled_from(["u", "v", None]),
    st.sampled_from(["s", "t", None]),
    st.one_of(st.none(), INSTANTS),
    INSTANTS,
    st.integers(0, 2**40),
)


@settings(max_examples=25, deadline=None)
@given(st.lists(EPISODE, max_size=12), INSTANTS)
def test_episode_counts_as_plain_python_counts(rows: list[tuple[Any, ...]], as_of: datetime) -> None:
    groups = defaultdict(list)
    for row in rows:
        groups[row[0]].append(row)
    expected = []
    for tenant, held in sorted(groups.items()):
        expired = sum(row[3] is not None and row[3] <= as_of for row in held)
        events = [row[4] for row in held]
        people = {row[1] for row in held} - {None}
        sessions = {row[2] for row in held} - {None}
        chars = sum(row[5] for row in held)
        expected.append(
            (tenant, len(held), len(people), len(sessions), expired, chars, min(events), max(events))
        )
    frames = {"lifetimes": frame("episodes", COUNTED, rows)}
    assert run("episode_counts", frames, as_of=as_of) == expected


def test_last_runs() -> None:
    rows = [
        (run_id, step, "done", NOON, hours(at), 1, 2, 3, 4, 0.5, 6)
        for run_id, step, at in (
            ("r1", "ingest", 1),
            ("r4", "publish", 3),
            ("r3", "embed", 3),
            ("r2", "ingest", 2),
        )
    ]
    shown = [
        "run_id",
        "step",
        "state",
        "as_of_at",
        "started_at",
        "rows_in",
        "rows_out",
        "rejected",
        "duplicates",
    ]
    runs = frame("runs", [*shown, "seconds", "peak_bytes"], rows)
    found = run("last_runs", {"runs": runs}, max_rows=3)
    assert [row[0] for row in found] == ["embed", "publish", "ingest"]
    assert found[0] == ("embed", "done", NOON, hours(3), 1, 2, 3, 4, 0.5, 6, None, None)


def test_quarantine_counts() -> None:
    rows = [
        ("no_tenant", "csv", hours(1)),
        ("bad_time", "csv", hours(2)),
        ("no_tenant", "jsonl", hours(3)),
        ("no_tenant", "csv", hours(2)),
        ("no_content", None, hours(0)),
    ]
    found = run(
        "quarantine_counts", {"quarantine": frame("quarantine", ["reason", "source", "quarantined_at"], rows)}
    )
    assert found == [
        ("no_tenant", 3, "csv, jsonl", hours(3)),
        ("bad_time", 1, "csv", hours(2)),
        ("no_content", 1, None, hours(0)),
    ]


def test_recent_episodes() -> None:
    rows = [
        ("a", "g", "s", "e1", hours(-30)),
        ("a", "g", "s", "e2", hours(-24)),
        ("a", "g", "s", "e4", hours(-1)),
        ("a", "g", "s", "e3", hours(-1)),
        ("a", "g", "s", "e5", hours(0)),
        ("a", "g", "s", "e6", hours(1)),
        ("b", "g", "s", "x1", hours(-1)),
        ("a", "h", "s", "x2", hours(-1)),
        ("a", "g", "t", "x3", hours(-1)),
        ("a", None, "s", "x4", hours(-1)),
    ]
    episodes = frame("episodes", ["tenant_id", "agent_id", "session_id", "episode_id", "event_at"], rows)
    scope = {"tenant_id": "a", "agent_id": "g", "session_id": "s", "since_at": hours(-24), "until_at": NOON}
    found = run("recent_episodes", {"episodes": episodes}, **scope, max_rows=15)
    assert [row[0] for row in found] == ["e2", "e3", "e4", "e5"]
    found = run("recent_episodes", {"episodes": episodes}, **scope, max_rows=2)
    assert [row[0] for row in found] == ["e3", "e5"]
    odd = {**scope, "tenant_id": "a' or 1=1 --"}
    assert run("recent_episodes", {"episodes": episodes}, **odd, max_rows=15) == []


def test_vector_counts() -> None:
    rows = [("m", 2, hours(1)), ("n", 3, hours(2)), ("m", 2, hours(4)), ("m", 4, hours(3))]
    found = run(
        "vector_counts", {"vectors": frame("vectors", ["model_key", "dimensions", "embedded_at"], rows)}
    )
    assert found == [("m", 2, 2, hours(4)), ("m", 4, 1, hours(3)), ("n", 3, 1, hours(2))]


def test_on_a_lake_only_declared_columns_of_wanted_buckets_are_read(tmp_path: Path) -> None:
    lake = init_lake(str(tmp_path / "lake"), 4)
    assert queries.query(lake, "check_episode_ids").rows() == []
    for tenant in "abcdefgh":
        rows = [(tenant, lake.bucket(tenant), "h", "m", 1, [1.0], NOON)] * 2
        tables.append(lake, VECTORS, frame("vectors", VECTORS.names, rows))
    tenant = random.Random(3).choice("abcdefgh")
    found = queries.query(lake, "check_vector_copies", buckets=[lake.bucket(tenant)])
    assert found["tenant_id"].to_list() == sorted(
        t for t in "abcdefgh" if lake.bucket(t) == lake.bucket(tenant)
    )
    assert queries.query(lake, "check_vector_copies").height == 8


def test_wrong_calls_are_said_so(tmp_path: Path) -> None:
    lake = init_lake(str(tmp_path / "lake"), 4)
    with pytest.raises(UsageError, match="no statement drop_all"):
        queries.statement("drop_all")
    with pytest.raises(UsageError, match="not given as_of, lifetimes"):
        queries.query(lake, "episode_counts")
    assert EPISODES.name in queries.statement("recent_episodes").inputs
