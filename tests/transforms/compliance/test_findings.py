"""Findings: silent where all is kept, and nothing amiss goes without one."""

from __future__ import annotations

from typing import Any

import polars as pl

from transforms.compliance.findings import Finding, findings
from transforms.compliance.kept import COUNTS

WELL: dict[str, Any] = {"broken": None}


def kept(**counts: int) -> pl.DataFrame:
    row = {"table": "episodes", **dict.fromkeys(COUNTS, 0), "done": 5, **counts}
    other = {**row, "table": "facts", **dict.fromkeys(counts, 0)}
    return pl.DataFrame([row, other])


def requests(*standing: str) -> pl.DataFrame:
    schema = {"kind": pl.String, "standing": pl.String, "requests": pl.Int64}
    return pl.DataFrame([("erase", name, 2) for name in standing], schema=schema, orient="row")


def certificates(*faults: str | None) -> pl.DataFrame:
    schema = {"request_id": pl.String, "fault": pl.String}
    return pl.DataFrame([(f"r{i}", fault) for i, fault in enumerate(faults)], schema=schema, orient="row")


def found(
    lines: pl.DataFrame | None = None,
    asked: pl.DataFrame | None = None,
    proofs: pl.DataFrame | None = None,
    chain: dict[str, Any] | None = None,
) -> list[Finding]:
    some = (kept() if lines is None else lines, requests() if asked is None else asked)
    return findings(*some, certificates() if proofs is None else proofs, chain or WELL)


def test_nothing_is_found_where_all_is_kept() -> None:
    assert found(kept(held=3, pending=4, waiting=5), requests("done in time", "held", "in progress")) == []
    assert found(proofs=certificates(None, None)) == []


def test_what_is_not_kept_is_a_fault() -> None:
    (rows,) = found(kept(overdue=7))
    (asked,) = found(asked=requests("overdue", "done in time"))
    (proof,) = found(proofs=certificates(None, "was changed"))
    (chain,) = found(chain={"broken": "event 4 was changed"})
    assert [(f.name, f.count, f.where) for f in (rows, asked, proof, chain)] == [
        ("rows_overdue", 7, ("episodes",)),
        ("requests_overdue", 2, ("erase",)),
        ("certificates_wrong", 1, ("r1",)),
        ("audit_broken", 1, ()),
    ]
    assert all(f.is_fault for f in (rows, asked, proof, chain))
    assert "event 4 was changed" in chain.text


def test_what_was_late_and_is_over_is_told_and_no_fault() -> None:
    told = found(kept(late=2), requests("done late", "failed"))
    assert [(f.name, f.count, f.is_fault) for f in told] == [
        ("requests_failed", 2, False),
        ("rows_went_late", 2, False),
        ("requests_done_late", 2, False),
    ]


def test_the_gravest_comes_first() -> None:
    told = found(
        kept(late=1, overdue=1), requests("overdue"), certificates("cannot be read"), {"broken": "x"}
    )
    assert [f.name for f in told] == [
        "audit_broken", "certificates_wrong", "rows_overdue", "requests_overdue", "rows_went_late"
    ]  # fmt: skip
