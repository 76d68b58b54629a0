"""How a table as it lies differs from the table as this version declares it.

Columns come with versions of slowwave. A nullable column that a table lacks reads as null; everything else
that differs is refused, because what would be read or written is not what is meant.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from deltalake import DeltaTable, Schema

from transforms.errors import LakeError
from transforms.schemas import Table


@dataclass(frozen=True)
class Drift:
    """What differs, by column name, sorted.

    Attributes:
        table: Which.
        lacking: Nullable columns that the table does not have.
        strict: Nullable columns that the table declares to be never null.
        required: Columns that are never null and that the table does not have.
        retyped: Columns of another type, with both types.
        unknown: Columns that this version does not know.
    """

    table: str
    lacking: tuple[str, ...] = ()
    strict: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    retyped: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()

    @property
    def is_none(self) -> bool:
        """Whether the table is as declared; the order of its columns does not matter."""
        return not (self.lacking or self.strict or self.unknown or self.is_lasting)

    @property
    def is_lasting(self) -> bool:
        """Whether no migration can mend it: rows would have to be made up, or values changed."""
        return bool(self.required or self.retyped)

    def __str__(self) -> str:
        """As part of a sentence."""
        parts = (
            ("lacks", (*self.required, *self.lacking)),
            ("allows no null in", self.strict),
            ("has another type for", self.retyped),
            ("has the unknown columns", self.unknown),
        )
        return f"{self.table} " + ", ".join(f"{verb} {', '.join(names)}" for verb, names in parts if names)


@lru_cache(maxsize=64)
def declared(table: Table) -> Schema:
    """The table's columns as its log names them."""
    return Schema.from_arrow(table.arrow())


def drift_of(table: Table, state: DeltaTable) -> Drift:
    """What differs between the table's log and its declaration."""
    held, wanted = state.schema(), declared(table)
    if held == wanted:
        return Drift(table.name)
    found, fields = _by_name(held), _by_name(wanted)
    missing = sorted(fields.keys() - found.keys())
    both = sorted(fields.keys() & found.keys())
    is_nullable = {column.name: column.is_nullable for column in table.columns}
    return Drift(
        table.name,
        lacking=tuple(n for n in missing if is_nullable[n]),
        strict=tuple(n for n in both if is_nullable[n] and not found[n].nullable),
        required=tuple(n for n in missing if not is_nullable[n]),
        retyped=tuple(
            f"{n} ({_kind(found[n])} instead of {_kind(fields[n])})"
            for n in both
            if _kind(found[n]) != _kind(fields[n])
        ),
        unknown=tuple(sorted(found.keys() - fields.keys())),
    )


def _by_name(schema: Schema) -> dict[str, Any]:
    return {field.name: field for field in schema.fields}


def _kind(field: Any) -> str:
    kind = field.type
    element = getattr(kind, "element_type", None)
    # Whether a list may hold nulls differs between writers, and no column of ours holds any.
    return f"list of {element.type}" if element is not None else str(kind.type)


def require_readable(drift: Drift) -> None:
    """Refuse to read a table whose rows are not what this version means by them.

    Raises:
        LakeError: It is such a table.
    """
    if drift.is_lasting:
        raise LakeError(f"table {drift}", remedy_of([drift]))


def require_writable(drift: Drift) -> None:
    """Refuse to write to a table that is not as declared.

    Raises:
        LakeError: It is not.
    """
    if not drift.is_none:
        raise LakeError(f"table {drift}", remedy_of([drift]))


def remedy_of(drifts: Iterable[Drift]) -> str:
    """What can be done about tables that differ; the gravest counts."""
    found = list(drifts)
    if any(drift.is_lasting for drift in found):
        return (
            "No migration makes up what is missing: make a new lake, ask there again for opt-outs and"
            " erasures, and ingest the sources, or tables/episodes as a Delta reader gives it. Nothing was"
            " changed."
        )
    if any(drift.unknown for drift in found):
        return "A newer slowwave made it: update slowwave. Nothing was changed."
    return "Run slowwave migrate on this lake; it adds what is missing and changes no row."


def configuration(table: Table) -> dict[str, str]:
    """Properties of a table of this version; ``lake.migrations`` gives them to older ones."""
    return {
        "delta.dataSkippingStatsColumns": ",".join(table.statistics_columns),
        "delta.logRetentionDuration": "interval 30 days",
        "delta.setTransactionRetentionDuration": "interval 1 days",
    }
