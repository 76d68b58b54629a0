"""Sizes of a generation of the index: by column and index, and what a reader holds of one scope."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from lake.faults import storage_fault
from lake.index import Generation, Manifest
from lake.lake import Lake
from lake.online.held_views import TooLarge, read
from lake.scope import Scope
from transforms.errors import UsageError
from transforms.planning.index_sizes import HELD_SCHEMA, INDEX_SCHEMA
from transforms.policy_recall import RecallPolicy


def index_bytes(lake: Lake, manifest: Manifest) -> pl.DataFrame:
    """Bytes of a generation by column and by index (``index_sizes.INDEX_SCHEMA``), each table by itself.

    Raises:
        LakeError: It cannot be read.
    """
    generation = Generation(lake, manifest)
    rows: list[tuple[str, int, str, str, int]] = []
    try:
        for entry in manifest.tables:
            dataset = generation.dataset(entry.name)
            is_own = "own" if entry.scope else "main"
            rows += [
                (is_own, entry.rows, "column", name, size) for name, size in _columns(dataset) if entry.rows
            ]
            rows += [
                (is_own, entry.rows, "index", f"{index.field_names[0]} ({_kind(index)})", size)
                for index in dataset.describe_indices()
                if (size := int(index.total_size_bytes or 0))
            ]
    except (OSError, ValueError, RuntimeError) as error:
        raise storage_fault(error, f"reading the index at {generation.root}") from error
    found = pl.DataFrame(rows, schema=["held_in", "rows", "part", "name", "bytes"], orient="row")
    return found.cast(INDEX_SCHEMA) if rows else pl.DataFrame(schema=INDEX_SCHEMA)


def _columns(dataset: Any) -> Iterator[tuple[str, int]]:
    """Bytes of each column, nested ones by their first name."""
    names: dict[int, str] = {}

    def name(field: Any, first: str) -> None:
        names[field.id()] = first
        for child in field.children():
            name(child, first)

    for field in dataset.lance_schema.fields():
        name(field, field.name())
    for held in dataset.stats.data_stats().fields:
        yield names.get(held.id, "other"), int(held.bytes_on_disk)


def _kind(index: Any) -> str:
    """The kind of an index in a word: words, vectors, values."""
    kind = str(index.type_url).rsplit(".", 1)[-1].removesuffix("IndexDetails").lower()
    return {"inverted": "words", "vector": "vectors", "btree": "values", "bitmap": "values"}.get(kind, kind)


def kind_counts(lake: Lake, manifest: Manifest) -> dict[str, int]:
    """Memories served by kind, in the order of the kinds.

    Raises:
        LakeError: The index cannot be read.
    """
    generation = Generation(lake, manifest)
    counts: dict[str, int] = {}
    try:
        for entry in manifest.tables:
            for batch in generation.dataset(entry.name).scanner(columns=["kind"]).to_batches():
                for held in batch.column(0).value_counts().to_pylist():
                    counts[held["values"]] = counts.get(held["values"], 0) + int(held["counts"])
    except (OSError, ValueError, RuntimeError) as error:
        raise storage_fault(error, f"reading the index at {generation.root}") from error
    return dict(sorted(counts.items()))


def held_scopes(lake: Lake, manifest: Manifest, policy: RecallPolicy, most: int) -> pl.DataFrame:
    """What reading one person's whole scope takes: memory held, and reads of the store.

    Args:
        lake: Where.
        manifest: The generation.
        policy: That searches are asked with.
        most: Scopes that are read, evenly over the rows of the main table; larger ones are met more often,
            as they are by searches.

    Returns:
        ``index_sizes.HELD_SCHEMA``; counts only, no scope is named.

    Raises:
        LakeError: The index cannot be read.
    """
    generation = Generation(lake, manifest)
    main = next((entry for entry in manifest.tables if entry.scope is None and entry.rows), None)
    if main is None:
        return pl.DataFrame(schema=HELD_SCHEMA)
    try:
        dataset = generation.dataset(main.name)
        places = sorted({main.rows * i // (most + 1) for i in range(most + 1)})
        owners = dataset.take(places, columns=["tenant_id", "user_id"]).to_pylist()
        rows = [_held(generation, dataset, scope, policy) for scope in _scopes(owners)]
    except (OSError, ValueError, RuntimeError) as error:
        raise storage_fault(error, f"reading the index at {generation.root}") from error
    # The first reads what every search shares: the list of files, the pages of the indexes.
    told = [row for row in rows[1:] if row is not None]
    return pl.DataFrame(told, schema=HELD_SCHEMA, orient="row")


def _scopes(owners: list[dict[str, Any]]) -> Iterator[Scope]:
    seen = set()
    for owner in owners:
        named = (owner["tenant_id"], owner["user_id"])
        if named[1] is None or named in seen:
            continue
        seen.add(named)
        try:
            yield Scope(named[0], user=named[1])
        except UsageError:  # an id that only upkeep may name
            continue


def _held(
    generation: Generation, dataset: Any, scope: Scope, policy: RecallPolicy
) -> tuple[int, int, int, int] | None:
    dataset.io_stats_incremental()  # counts from here on
    views = read(generation, scope, policy)
    if isinstance(views, TooLarge):
        return None
    done = dataset.io_stats_incremental()
    rows = sum(len(view.columns) for view in views)
    return rows, sum(view.nbytes for view in views), int(done.read_iops), int(done.read_bytes)
