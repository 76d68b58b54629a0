"""How a table is declared: columns with units, keys, partitions and what is personal, and its other forms."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import polars as pl

from transforms.errors import LakeError

if TYPE_CHECKING:
    import pyarrow as pa

INSTANT = pl.Datetime("us", "UTC")
TEXTS = pl.List(pl.String)
VECTOR = pl.List(pl.Float32)

KINDS = ("conversation", "action", "observation", "outcome", "summary")
OUTCOMES = ("success", "failure", "partial")
SENSITIVITIES = ("normal", "personal", "restricted")
RETENTION_TIERS = ("transient", "session", "short_term", "medium_term", "long_term", "permanent")


@dataclass(frozen=True, slots=True)
class Column:
    """One column.

    Args:
        name: Singular; suffixes carry the unit (``_at`` UTC instant, ``_seconds``, ``_bytes``).
        dtype: Polars type; every other form derives from it.
        description: One line for the docs.
        is_nullable: Whether null is a value here.
        is_personal: Whether it may hold text or ids of a person; such columns get no statistics
            in the table log, because the log would keep what an erasure must remove.
        allowed: The closed list of values, where there is one.
        is_free_text: Whether it holds words of people or models; an encrypted lake seals it. Ids, hashes,
            closed lists, instants and numbers are no free text, nor is a column of the key.
    """

    name: str
    dtype: pl.DataType | type[pl.DataType]
    description: str
    is_nullable: bool = False
    is_personal: bool = False
    allowed: tuple[str, ...] = ()
    is_free_text: bool = False


@dataclass(frozen=True)
class Table:
    """One table: name, columns, key and partition columns."""

    name: str
    description: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    partition_by: tuple[str, ...] = ()
    sort_by: tuple[str, ...] = ()

    @cached_property
    def polars(self) -> pl.Schema:
        """Polars schema, in declared order."""
        return pl.Schema({c.name: c.dtype for c in self.columns})

    @property
    def names(self) -> list[str]:
        """Column names in declared order."""
        return [c.name for c in self.columns]

    @cached_property
    def free_text(self) -> tuple[str, ...]:
        """Columns that an encrypted lake seals, in declared order: of strings or of lists of strings."""
        return tuple(c.name for c in self.columns if c.is_free_text)

    @property
    def statistics_columns(self) -> list[str]:
        """Columns whose minimum and maximum may stand in the table log: the impersonal ones."""
        plain = [c for c in self.columns if not c.is_personal and not c.dtype.is_nested()]
        return [c.name for c in plain if c.name not in self.partition_by]

    def empty(self) -> pl.DataFrame:
        """A frame of no rows in this table's schema."""
        return self._empty.clone()

    @cached_property
    def _empty(self) -> pl.DataFrame:
        return pl.DataFrame(schema=self.polars)

    def arrow(self) -> pa.Schema:
        """Arrow schema with plain (not view) types and declared nullability."""
        return self._arrow

    @cached_property
    def _arrow(self) -> pa.Schema:
        import pyarrow as pa

        plain = {pa.string_view(): pa.string(), pa.large_string(): pa.string()}

        def narrow(kind: pa.DataType) -> pa.DataType:
            if pa.types.is_large_list(kind):
                return pa.list_(narrow(kind.value_type))
            return plain.get(kind, kind)

        raw = self.empty().to_arrow().schema
        return pa.schema(
            [pa.field(c.name, narrow(raw.field(c.name).type), nullable=c.is_nullable) for c in self.columns]
        )

    def conform(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The frame with exactly this table's columns, order and types.

        Raises:
            LakeError: A column is missing, of a type that cannot be cast, null where it may not
                be, or holds a value outside its closed list. All violations are named at once.
        """
        faults = [f"column {n} is missing" for n in self.names if n not in frame.columns]
        if faults:
            raise LakeError(f"{self.name}: {'; '.join(faults)}", "This is a fault in slowwave.")
        try:
            cast = frame.select(pl.col(c.name).cast(c.dtype) for c in self.columns)
        except pl.exceptions.PolarsError as error:
            odd = [f"{n} is {frame[n].dtype}, not {t}" for n, t in self.polars.items() if frame[n].dtype != t]
            raise LakeError(f"{self.name}: {'; '.join(odd)}", "This is a fault in slowwave.") from error
        faults = self._violations(cast)
        if faults:
            raise LakeError(f"{self.name}: {'; '.join(faults)}", "This is a fault in slowwave.")
        return cast

    def _violations(self, frame: pl.DataFrame) -> list[str]:
        nulls = frame.select(pl.col(c.name).null_count() for c in self.columns if not c.is_nullable).row(0)
        required = [c.name for c in self.columns if not c.is_nullable]
        faults = [f"{n} null rows in {c}" for c, n in zip(required, nulls, strict=True) if n]
        for column in self.columns:
            if column.allowed:
                strange = frame.filter(~pl.col(column.name).is_in(column.allowed)).height
                if strange:
                    faults.append(f"{strange} rows of {column.name} outside {column.allowed}")
        return faults


def free_text(
    name: str,
    description: str,
    dtype: pl.DataType | type[pl.DataType] = pl.String,
    *,
    is_nullable: bool = False,
) -> Column:
    """A column of words of people or models."""
    return Column(name, dtype, description, is_nullable, is_personal=True, is_free_text=True)


def scope_columns() -> tuple[Column, ...]:
    """Tenant, bucket, agent, user and session, as every table of rows of a scope holds them."""
    return (
        Column("tenant_id", pl.String, "Customer the row belongs to", is_personal=True),
        Column("tenant_bucket", pl.Int32, "Stable hash of tenant_id modulo the lake's buckets"),
        Column("agent_id", pl.String, "Agent that recorded it", is_nullable=True, is_personal=True),
        Column(
            "user_id",
            pl.String,
            "Person it is about or was said by",
            is_nullable=True,
            is_personal=True,
        ),
        Column("session_id", pl.String, "Conversation or run", is_nullable=True, is_personal=True),
    )


def fact_columns() -> tuple[Column, ...]:
    """Keys of a memory that is a fact; null for every other."""
    return (
        Column("subject", pl.String, "Of a fact: whom it is about", is_nullable=True, is_personal=True),
        Column("predicate", pl.String, "Of a fact: one of `transforms.predicates`", is_nullable=True),
        Column("aspect", pl.String, "Of a fact: which seat, drink ...", is_nullable=True, is_personal=True),
        Column("object", pl.String, "Of a fact: what is claimed", is_nullable=True, is_personal=True),
        Column("polarity", pl.String, "Of a fact: negative where it is denied", is_nullable=True),
        Column("confidence", pl.Float32, "Of a fact: 0 to 1", is_nullable=True),
    )
