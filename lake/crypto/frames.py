"""Rows of a table with their free text sealed, and opened again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from lake.crypto.access import keys_of
from lake.crypto.keyring import Keyring
from lake.crypto.values import (
    HEAD_BYTES,
    Fault,
    blobs_of,
    open_column,
    seal_column,
    sealer,
    version_of,
)
from lake.lake import Lake
from transforms.errors import LakeError
from transforms.ids import SEPARATOR
from transforms.owners import owner_expr
from transforms.schemas import TEXTS, Table

_REVISION = "revision"
_EXAMPLES = 3


@dataclass(frozen=True)
class Opened:
    """Rows with columns opened, and what could not be.

    Attributes:
        rows: All rows, in order; null where a value could not be opened.
        shredded: By row, whether one of its values was sealed by a key that has been destroyed.
        broken: By row, whether one of its values is not as it was sealed.
    """

    rows: pl.DataFrame
    shredded: pl.Series
    broken: pl.Series


def binding_columns(table: Table) -> list[str]:
    """Columns beside the sealed ones that sealing and opening need: whose the row is, and which."""
    row = [*table.key, *([_REVISION] if _REVISION in table.names else [])]
    who = ["owner"] if "owner" in table.names else [n for n in ("user_id", "agent_id") if n in table.names]
    return list(dict.fromkeys(["tenant_id", *who, *row]))


def seal(lake: Lake, table: Table, rows: pl.DataFrame) -> pl.DataFrame:
    """The rows as they may touch the disk: free text sealed where the lake is encrypted.

    Args:
        lake: Where.
        table: Which; the rows conform to it.
        rows: Rows with their text.

    Raises:
        LakeError: The lake is encrypted, and its keys are not there or not the right ones.
        StorageError: A new key cannot be written to the keyring.
    """
    if lake.encryption is None or not table.free_text or rows.is_empty():
        return rows
    codes, subjects = _subjects(keys_of(lake), table, rows)
    held = keys_of(lake).sealing(dict(subjects))
    tools = [sealer(held[subject]) for subject, _ in subjects]
    sealers = [tools[code] for code in codes]
    bounds = _bounds(table, rows)
    sealed = []
    for name in table.free_text:
        column = rows[name]
        if column.null_count() < column.len():
            found = seal_column(column.to_list(), sealers, bounds, _place(table, name))
            sealed.append(_series(name, found, is_list=column.dtype.is_nested()))
    return rows.with_columns(sealed)


def open_rows(lake: Lake, table: Table, rows: pl.DataFrame) -> Opened:
    """Rows as they were before they were sealed.

    Args:
        lake: Where they come from; an encrypted one.
        table: Which.
        rows: ``binding_columns`` and any other columns of it, as they are stored.

    Raises:
        LakeError: The lake's keys are not there or not the right ones, or a key has never been there.
    """
    names = [n for n in table.free_text if n in rows.columns and rows[n].null_count() < rows.height]
    if not names:
        intact = _marked(rows.height, set())
        return Opened(rows, intact, intact)
    codes, subjects = _subjects(keys_of(lake), table, rows)
    bounds = _bounds(table, rows)
    stored = {name: rows[name].to_list() for name in names}
    parsed = {name: blobs_of(values) for name, values in stored.items()}
    ciphers = _ciphers(keys_of(lake), codes, subjects, [blobs for blobs, _ in parsed.values()])
    found: list[pl.Series] = []
    marks: dict[Fault, set[int]] = {"shredded": set(), "broken": set()}
    for name, (blobs, broken) in parsed.items():
        opened, faults = open_column(stored[name], blobs, ciphers, bounds, _place(table, name))
        found.append(_series(name, opened, is_list=table.polars[name].is_nested()))
        marks["broken"] |= broken
        for at, fault in faults.items():
            marks[fault].add(at)
    shredded, broken_rows = (_marked(rows.height, marks[fault]) for fault in ("shredded", "broken"))
    return Opened(rows.with_columns(found), shredded, broken_rows)


def _series(name: str, values: Sequence[str | None], *, is_list: bool) -> pl.Series:
    column = pl.Series(name, values, dtype=pl.String)
    return column.str.json_decode(TEXTS) if is_list else column


def _ciphers(
    keys: Keyring,
    codes: Sequence[int],
    subjects: Sequence[tuple[str, str]],
    columns: Sequence[Sequence[bytes | None]],
) -> list[dict[bytes, AESGCM | None]]:
    """By row, what opens each version of its subject's key that its values name."""
    heads: list[set[bytes]] = [set() for _ in subjects]
    for blobs in columns:
        for code, blob in zip(codes, blobs, strict=True):
            if blob is not None:
                heads[code].add(blob[:HEAD_BYTES])
    wanted = {
        (subject, version_of(start)): (code, start)
        for code, (subject, _) in enumerate(subjects)
        for start in heads[code]
    }
    tools: list[dict[bytes, AESGCM | None]] = [{} for _ in subjects]
    for name, key in keys.opening(list(wanted)).items():
        code, start = wanted[name]
        tools[code][start] = key.cipher
    return [tools[code] for code in codes]


def _subjects(keys: Keyring, table: Table, rows: pl.DataFrame) -> tuple[list[int], list[tuple[str, str]]]:
    """By row the number of its subject, and hashes of each subject and its tenant."""
    if "owner" in table.names:
        owner = pl.col("owner")
    elif "agent_id" in table.names:
        owner = owner_expr()
    else:
        owner = pl.lit("user:") + pl.col("user_id")
    who = rows.select(tenant="tenant_id", owner=owner.fill_null(""))
    told = list(zip(who["tenant"].to_list(), who["owner"].to_list(), strict=True))
    hashed = {name: keys.hashed(*name) for name in dict.fromkeys(told)}
    places = {subject: place for place, subject in enumerate(dict.fromkeys(hashed.values()))}
    codes = {name: places[subject] for name, subject in hashed.items()}
    return [codes[name] for name in told], list(places)


def subject_hashes(lake: Lake, table: Table, rows: pl.DataFrame) -> pl.Series:
    """By row the salted hash of the subject whose key seals it."""
    codes, subjects = _subjects(keys_of(lake), table, rows)
    return pl.Series([subjects[code][0] for code in codes], dtype=pl.String)


def _bounds(table: Table, rows: pl.DataFrame) -> list[bytes]:
    """Of each row, the part of what its values are bound to that all of them share."""
    row = [*table.key, *([_REVISION] if _REVISION in table.names else [])]
    # The tenant is last: it alone is not of our making, and could hold anything but the separator.
    parts = [pl.col(name).cast(pl.String) for name in (*row, "tenant_id")]
    joined = pl.concat_str([part.fill_null("") for part in parts], separator=SEPARATOR)
    return list(rows.select(joined.cast(pl.Binary)).to_series().to_list())


def _place(table: Table, column: str) -> bytes:
    return f"{table.name}{SEPARATOR}{column}{SEPARATOR}".encode()


def _marked(height: int, places: set[int]) -> pl.Series:
    marks = pl.repeat(False, height, dtype=pl.Boolean, eager=True)
    return marks.scatter(sorted(places), True) if places else marks


def require_unbroken(table: Table, opened: Opened) -> None:
    """Refuse rows of which a value is not as it was sealed.

    Raises:
        LakeError: Says how many, and names up to three.
    """
    count = int(opened.broken.sum())
    if count:
        ids = opened.rows.filter(opened.broken)[table.key[0]].head(_EXAMPLES).to_list()
        raise LakeError(
            f"table {table.name}: {count} rows hold text that was changed, moved or damaged since it was"
            f" sealed, such as {', '.join(map(str, ids))}",
            "Restore the table's files from a backup of the lake; nothing was written.",
        )
