"""What is not kept, in words and counts: empty where all is well."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import polars as pl

from transforms.compliance.kept import summed


@dataclass(frozen=True)
class Finding:
    """One thing that is not as it must be.

    Args:
        name: Machine-readable, snake_case.
        text: A sentence; ids and counts only.
        count: How many.
        where: Tables, kinds or certificates.
        is_fault: Whether something is not kept now; else something that is over, or to be known.
    """

    name: str
    text: str
    count: int
    where: tuple[str, ...] = field(default=())
    is_fault: bool = True

    def as_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {**asdict(self), "where": list(self.where)}


def findings(
    kept: pl.DataFrame, requests: pl.DataFrame, certificates: pl.DataFrame, audit: Mapping[str, Any]
) -> list[Finding]:
    """Everything that is not kept, gravest first.

    Args:
        kept: ``kept.KEPT_SCHEMA``.
        requests: ``requests.stood``.
        certificates: ``request_id``, ``fault`` (null where it is whole).
        audit: ``broken``: what is wrong with the chain, null where nothing is.
    """
    found = [
        _chain(audit),
        _certificates(certificates),
        _overdue(kept),
        _requests(requests, "overdue", "Requests past their due date", is_fault=True),
        _requests(requests, "failed", "Requests that failed and are tried again", is_fault=False),
        _late(kept),
        _requests(requests, "done late", "Requests done after their due date", is_fault=False),
    ]
    return [finding for finding in found if finding is not None]


def _chain(audit: Mapping[str, Any]) -> Finding | None:
    if audit["broken"] is None:
        return None
    return Finding("audit_broken", f"The audit chain is broken: {audit['broken']}.", 1)


def _certificates(rows: pl.DataFrame) -> Finding | None:
    wrong = rows.filter(pl.col("fault").is_not_null())
    if wrong.is_empty():
        return None
    names = tuple(sorted(wrong["request_id"].to_list()))
    return Finding(
        "certificates_wrong",
        f"Certificates that do not match their hash: {len(names):,}.",
        len(names),
        names,
    )


def _overdue(kept: pl.DataFrame) -> Finding | None:
    late = summed(kept, "table").filter(pl.col("overdue") > 0)
    if late.is_empty():
        return None
    count = int(late["overdue"].sum())
    return Finding(
        "rows_overdue",
        f"Rows past their time and still in the lake: {count:,}. They are not served; run retain.",
        count,
        tuple(late["table"].to_list()),
    )


def _late(kept: pl.DataFrame) -> Finding | None:
    late = summed(kept, "table").filter(pl.col("late") > 0)
    if late.is_empty():
        return None
    count = int(late["late"].sum())
    return Finding(
        "rows_went_late",
        f"Rows that went later than the grace period allows: {count:,}. It begins when a row is due, or when"
        " it came into the lake, if that was later.",
        count,
        tuple(late["table"].to_list()),
        is_fault=False,
    )


def _requests(rows: pl.DataFrame, standing: str, text: str, *, is_fault: bool) -> Finding | None:
    found = rows.filter(pl.col("standing") == standing).sort("kind")
    if found.is_empty():
        return None
    count, kinds = int(found["requests"].sum()), tuple(found["kind"].to_list())
    name = f"requests_{standing.replace(' ', '_')}"
    return Finding(name, f"{text}: {count:,}.", count, kinds, is_fault=is_fault)
