from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transforms import schemas
from transforms.errors import LakeError
from transforms.schemas import (
    DERIVED,
    DRAFTS,
    EPISODES,
    MEMORIES,
    QUARANTINE,
    REFUSALS,
    RUNS,
    STORED,
    VECTORS,
    Column,
    Table,
)

DERIVED_NAMES = [
    "claims",
    "facts",
    "decisions",
    "topics",
    "topic_members",
    "summaries",
    "conversations",
    "attempts",
    "procedures",
    "lineage",
    "model_results",
]
TABLES = [*STORED, MEMORIES, DRAFTS, REFUSALS]
NOON = datetime(2026, 3, 14, 12, tzinfo=UTC)
SMALL = Table(
    "small",
    "For these tests.",
    (
        Column("id", pl.String, "Key"),
        Column("count", pl.Int32, "How many"),
        Column("color", pl.String, "Which", is_nullable=True, allowed=("red", "blue")),
        Column("seen_at", schemas.INSTANT, "When", is_nullable=True),
    ),
    key=("id",),
)


@pytest.mark.parametrize("table", TABLES, ids=lambda t: t.name)
def test_conventions(table: Table) -> None:
    assert len(set(table.names)) == len(table.names)
    assert set(table.key) | set(table.partition_by) | set(table.sort_by) <= set(table.names)
    assert table.description.endswith(".")
    for column in table.columns:
        assert re.fullmatch(r"[a-z][a-z0-9_]*", column.name)
        assert column.description
        assert (column.dtype == schemas.INSTANT) <= column.name.endswith(("_at", "valid_from", "valid_until"))
        assert (column.dtype == pl.Boolean) <= column.name.startswith(("is_", "has_"))
        if column.name.endswith("_at") and table is not DRAFTS:
            assert column.dtype == schemas.INSTANT
        if column.allowed:
            assert column.dtype == pl.String
    assert not [c.name for c in table.columns if c.name in table.key and c.is_nullable]


@pytest.mark.parametrize("table", TABLES, ids=lambda t: t.name)
def test_all_forms_agree(table: Table) -> None:
    empty, arrow = table.empty(), table.arrow()
    assert (empty.height, empty.columns) == (0, table.names)
    assert dict(empty.schema) == dict(table.polars)
    assert arrow.names == table.names
    assert [field.nullable for field in arrow] == [c.is_nullable for c in table.columns]
    assert dict(pl.DataFrame(arrow.empty_table()).schema) == dict(table.polars)
    kinds = " ".join(str(field.type) for field in arrow)
    assert "view" not in kinds
    assert "large" not in kinds
    assert all(f.type == pa.timestamp("us", "UTC") for f in arrow if pa.types.is_timestamp(f.type))


@pytest.mark.parametrize("table", STORED, ids=lambda t: t.name)
def test_what_may_stand_in_the_table_log(table: Table) -> None:
    personal = {c.name for c in table.columns if c.is_personal}
    assert not personal & set(table.statistics_columns)
    assert not personal & set(table.partition_by)
    scope = {
        "tenant_id",
        "user_id",
        "agent_id",
        "session_id",
        "episode_id",
        "content",
        "raw",
        "vector",
        "speaker",
    }
    assert scope & set(table.names) <= personal
    assert not set(table.statistics_columns) & set(table.partition_by)


def test_which_tables_are_stored_and_how() -> None:
    assert [t.name for t in STORED] == [
        "episodes", "vectors", "quarantine", "runs", *DERIVED_NAMES,
        "cold", "recalls", "forgotten", "removals", "requests", "metrics", "costs",
    ]  # fmt: skip
    assert all(t.partition_by == ("tenant_bucket",) for t in DERIVED)
    assert EPISODES.partition_by == ("tenant_bucket", "month")
    assert VECTORS.partition_by == QUARANTINE.partition_by == ("tenant_bucket",)
    assert RUNS.partition_by == ()


def row(**values: Any) -> dict[str, Any]:
    return {"id": "a", "count": 1, "color": None, "seen_at": None, **values}


def test_conform_selects_orders_and_casts() -> None:
    frame = pl.DataFrame({"extra": [0], "seen_at": [NOON], "color": ["red"], "count": [3], "id": ["a"]})
    found = SMALL.conform(frame)
    assert found.rows() == [("a", 3, "red", NOON)]
    assert dict(found.schema) == dict(SMALL.polars)


def test_conform_names_every_violation_at_once() -> None:
    with pytest.raises(LakeError, match=r"small: column count is missing; column seen_at is missing"):
        SMALL.conform(pl.DataFrame({"id": ["a"], "color": ["red"]}))
    rows = [row(id=None), row(id=None, count=None), row(color="green")]
    with pytest.raises(
        LakeError, match=r"small: 2 null rows in id; 1 null rows in count; 1 rows of color"
    ) as caught:
        SMALL.conform(pl.DataFrame(rows, schema=SMALL.polars))
    assert "green" not in caught.value.message


@pytest.mark.parametrize(
    "frame",
    [
        pl.DataFrame([row(count="many")], schema_overrides={"count": pl.String}),
        pl.DataFrame([row(count=2**40)], schema_overrides={"count": pl.Int64}),
        pl.DataFrame([row(seen_at="soon")], schema_overrides={"seen_at": pl.String}),
    ],
    ids=["text for a number", "too large", "text for an instant"],
)
def test_conform_refuses_what_cannot_be_cast(frame: pl.DataFrame) -> None:
    with pytest.raises(LakeError, match="small: "):
        SMALL.conform(frame)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.one_of(st.none(), st.just("a")),
            st.one_of(st.none(), st.integers(0, 9)),
            st.sampled_from([None, "red", "blue", "green"]),
        ),
        max_size=5,
    )
)
def test_conform_judges_as_row_by_row(rows: list[tuple[Any, ...]]) -> None:
    frame = pl.DataFrame([row(id=i, count=n, color=c) for i, n, c in rows], schema=SMALL.polars)
    is_good = all(i is not None and n is not None and c != "green" for i, n, c in rows)
    if is_good:
        assert SMALL.conform(frame).equals(frame)
    else:
        with pytest.raises(LakeError):
            SMALL.conform(frame)
