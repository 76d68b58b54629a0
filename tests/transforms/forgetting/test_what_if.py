"""Rows under two policies, counted: nothing twice, nothing lost, and a row that neither lists stays."""

from __future__ import annotations

from typing import Any

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from transforms.forgetting.what_if import ROW_SCHEMA, WHERE, compared, going, reasons, standing

STATES = ("stays", "goes", "waiting", "held")


def row(key: str, state: str = "stays", reason: str | None = None, **fields: Any) -> dict[str, Any]:
    """An episode of acme with 10 bytes of text; fields override."""
    given = {"table": "episodes", "kind": "conversation", "tier": "medium_term", "tenant": "acme"}
    return {
        **given,
        "key": key,
        "state": state,
        "reason": reason,
        "is_served": True,
        "content_bytes": 10,
        **fields,
    }


def rows(*given: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame(given, schema={"key": pl.String, **dict(ROW_SCHEMA.items())}, orient="row")


CURRENT = rows(
    row("a"), row("b", "goes", "expired"), row("c", "goes", "stale"), row("d", "waiting", "stale"),
    row("f", table="facts", kind="fact", content_bytes=7),
)  # fmt: skip
NEW = rows(
    row("a", "goes", "expired"), row("b", "goes", "stale"), row("c"), row("d", "waiting", "stale"),
    row("f", "held", "expired", table="facts", kind="fact", content_bytes=7),
)  # fmt: skip


def test_what_goes_is_counted_beside_what_goes_now() -> None:
    found = going(compared(CURRENT, NEW), ("table",)).to_dicts()
    assert [{k: v for k, v in one.items() if v} for one in found] == [
        {
            "table": "episodes", "rows": 4, "content_bytes": 40, "goes_current": 2, "goes_new": 2,
            "waiting_current": 1, "waiting_new": 1, "more": 1, "fewer": 1, "more_bytes": 10,
            "fewer_bytes": 10, "goes_bytes_current": 20, "goes_bytes_new": 20,
        },
        {"table": "facts", "rows": 1, "content_bytes": 7, "held_new": 1},
    ]  # fmt: skip


def test_a_single_line_is_the_sum() -> None:
    total = going(compared(CURRENT, NEW), ()).row(0, named=True)
    assert (total["rows"], total["goes_new"], total["more"], total["fewer"]) == (5, 2, 1, 1)


def test_reasons_are_those_of_each_side() -> None:
    assert reasons(compared(CURRENT, NEW)).rows() == [
        ("episodes", "expired", 1, 1, 10, 10),
        ("episodes", "stale", 1, 1, 10, 10),
    ]


def test_what_the_index_would_hold() -> None:
    unseen = row("x", is_served=False)
    counts = compared(pl.concat([CURRENT, rows(unseen)]), pl.concat([NEW, rows(unseen)]))
    assert standing(counts) == {"current": 3, "new": 3}


def test_a_row_that_one_side_does_not_list_stays_there() -> None:
    total = going(compared(rows(row("a", "goes", "expired")), rows()), ()).row(0, named=True)
    assert (total["rows"], total["goes_current"], total["goes_new"], total["content_bytes"]) == (1, 1, 0, 10)


def test_nothing_is_counted_as_nothing() -> None:
    counts = compared(rows(), rows())
    assert counts.is_empty()
    assert set(going(counts, ()).row(0)) == {0}
    assert reasons(counts).is_empty()
    assert standing(counts) == {"current": 0, "new": 0}


@given(st.lists(st.tuples(st.sampled_from(STATES), st.sampled_from(STATES), st.sampled_from("xy"))))
def test_counts_of_parts_add_up_to_the_whole(drawn: list[tuple[str, str, str]]) -> None:
    def side(place: int) -> pl.DataFrame:
        return rows(
            *(
                row(str(n), one[place], None if one[place] == "stays" else "expired", tenant=one[2])
                for n, one in enumerate(drawn)
            )
        )

    counts = compared(side(0), side(1))
    whole, parts = going(counts, ()), going(counts, WHERE)
    assert whole.row(0) == tuple(parts.drop(WHERE).sum().row(0))
    assert whole["rows"].item() == len(drawn)
    goes = [(one[0] == "goes", one[1] == "goes") for one in drawn]
    assert whole["more"].item() == sum(new and not current for current, new in goes)
    assert whole["fewer"].item() == sum(current and not new for current, new in goes)
    told = reasons(counts)
    assert int(told["rows_new"].sum()) == sum(new for _, new in goes)
