"""What was erased since a copy was made: tombstones of a newer lake, of the backup, or of certificates.

A copy holds whoever was erased later. Tombstones name subjects by hashes keyed with the lake's salt, which
a copy holds too; so they are put into a restored lake before it is one, and nothing of those subjects is
served from its first moment. Whom a hash names is found among the restored rows, so that they can be erased.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from lake import tables
from lake.copies.record import ERASURES, MARK, Copy, owner
from lake.lake import RECORD, Lake, open_lake
from lake.rights import tombstones
from lake.rights.refusals import SCOPE, owners_of, scope_of
from lake.rights.subjects import salt, subject_hasher
from lake.storage import LocalStorage, Storage, open_storage
from transforms.errors import InputError
from transforms.schemas import STORED, Table
from transforms.subjects import SUBJECT_KINDS, Subject

Marks = dict[str, dict[str, Any]]
"""Tombstones by hash, as their files hold them: ``kind`` and ``marks``."""
ERASED = "erased_subject"
_REMEDY = "Name a newer lake, a backup, or certificates."


def gathered(storage: Storage, prefix: str) -> Marks:
    """Tombstones below a prefix; one that cannot be read is refused, not passed over.

    Raises:
        InputError: One is damaged.
    """
    found: Marks = {}
    for entry in storage.entries(prefix):
        raw = storage.read(entry.key)
        name = entry.key.rsplit("/", 1)[-1].removesuffix(".json")
        if raw is not None:
            found[name] = _checked(raw, f"{storage.uri}: {entry.key}")
    return found


def _checked(raw: bytes, where: str) -> dict[str, Any]:
    try:
        told = json.loads(raw)
        if told["kind"] not in SUBJECT_KINDS or not isinstance(told["marks"], dict):
            raise ValueError(where)
        for mark in told["marks"].values():
            _ = mark["until"], mark["request_id"]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"{where} is no tombstone", "Name a newer lake, a backup, or certificates."
        ) from error
    return dict(told)


def record_at(address: str, lake_id: str) -> Marks:
    """The erasures that an address tells of: a newer copy of the lake, a backup, certificates.

    Args:
        address: A lake, a backup, a certificate of an erasure, or a folder of certificates.
        lake_id: Of the lake that is restored.

    Raises:
        InputError: It tells of none, or of another lake's.
    """
    storage = open_storage(address)
    if isinstance(storage, LocalStorage) and storage.root.is_file():
        return _certified([storage.root])
    if storage.read(RECORD) is not None:
        _require_same(open_lake(address).lake_id, lake_id, address)
        return gathered(storage, tombstones.PREFIX)
    mark = storage.read(MARK)
    if mark is not None:
        _require_same(owner(mark), lake_id, address)
        return gathered(storage, ERASURES)
    if isinstance(storage, LocalStorage) and storage.root.is_dir():
        return _certified(sorted(storage.root.glob("*.json")))
    raise InputError(f"{address} tells of no erasure", _REMEDY)


def _require_same(found: str | None, wanted: str, address: str) -> None:
    if found != wanted:
        raise InputError(f"{address} is of another lake", "Name the lake that the backup was made of.")


def _certified(files: list[Path]) -> Marks:
    """Tombstones made of certificates; those of erasures that a legal hold stopped make none."""
    found: Marks = {}
    for file in files:
        try:
            data = json.loads(file.read_bytes())
            if data["kind"] != "erasure":
                raise ValueError(file)
            told = {"until": str(data["completed_at"]), "request_id": str(data["request_id"])}
            named, kind = str(data["subject_hash"]), str(data["subject_kind"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"{file} is no certificate of an erasure",
                "Name certificates/<request>.json, or their folder.",
            ) from error
        if data["outcome"] == "complete":
            found = merged(found, {named: {"kind": kind, "marks": {ERASED: told}}})
    if not found:
        raise InputError("no certificate of an erasure is there", "Name certificates/<request>.json.")
    return found


def merged(one: Mapping[str, dict[str, Any]], other: Mapping[str, dict[str, Any]]) -> Marks:
    """Both; of one mark of one subject the one that refuses more."""
    found = {name: {**told, "marks": dict(told["marks"])} for name, told in one.items()}
    for name, told in other.items():
        marks = found.setdefault(name, {"kind": told["kind"], "marks": {}})["marks"]
        for mark, limit in told["marks"].items():
            if mark not in marks or _later(limit["until"], marks[mark]["until"]):
                marks[mark] = limit
    return found


def _later(one: str | None, other: str | None) -> bool:
    return other is not None and (one is None or one > other)


def of_copy(backup: Storage, copy: Copy) -> Marks:
    """Tombstones that stood when a copy was made."""
    found: Marks = {}
    for item in copy.items:
        if item.key.startswith(f"{tombstones.PREFIX}/"):
            name = item.key.rsplit("/", 1)[-1].removesuffix(".json")
            found[name] = _checked(backup.read(item.place) or b"", item.place)
    return found


def later(marks: Mapping[str, dict[str, Any]], own: Mapping[str, dict[str, Any]]) -> Marks:
    """Erasures that came after a copy, or were not through yet when it was made."""
    found: Marks = {}
    for name, told in marks.items():
        limit = told["marks"].get(ERASED)
        known = own.get(name, {"marks": {}})["marks"].get(ERASED)
        is_through = known is not None and known["until"] is not None
        if limit and not (is_through and known["request_id"] == limit["request_id"]):
            found[name] = {"kind": told["kind"], "marks": {ERASED: limit}}
    return found


def dumps(told: Mapping[str, Any]) -> bytes:
    """One tombstone's file."""
    return json.dumps({"kind": told["kind"], "marks": told["marks"]}, sort_keys=True).encode()


def still_held(lake: Lake, marks: Mapping[str, dict[str, Any]]) -> dict[str, Subject]:
    """Erased subjects that have rows in the lake, by hash; tables are read for ids only.

    Args:
        lake: Which.
        marks: Tombstones that must hold there.
    """
    wanted = {name: told["kind"] for name, told in marks.items() if ERASED in told["marks"]}
    hashed, found = subject_hasher(salt(lake)), dict[str, Subject]()
    for table in STORED:
        if "tenant_id" in table.names and wanted:
            for parts in _subjects(lake, table, frozenset(wanted.values())):
                name = hashed(parts)
                if name in wanted:
                    found[name] = Subject(parts[1], *(part or None for part in parts[2:]))
    return found


def _subjects(lake: Lake, table: Table, kinds: frozenset[str]) -> Iterator[tuple[str, ...]]:
    """``Subject.parts`` of every subject of these kinds that may own a row of the table."""
    names = [name for name in SCOPE if name in table.names]
    rows = tables.scan(lake, table, as_stored=True)
    scopes = rows.select(names).unique().collect()
    for row in scopes.iter_rows(named=True):
        yield from owners_of(kinds, scope_of(row))
    if "memory" in kinds and len(table.key) == 1:
        for tenant, key in rows.select("tenant_id", pl.col(table.key[0])).collect().iter_rows():
            yield "memory", tenant, "", "", "", str(key)
