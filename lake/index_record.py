"""The index's two small records, pointer and manifest: written whole, read with suspicion."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any

from lake.fences import committing
from lake.lake import Lake
from transforms.errors import LakeError
from transforms.floor import Background, read_background

POINTER = "index/CURRENT"
REMEDY = "Run slowwave publish --force; the next night mends it too."
_NAME = re.compile(r"gen-\d{6,}", re.ASCII)
_TABLE_NAME = re.compile(r"main|s-[0-9a-f]{32}", re.ASCII)


def is_generation(name: object) -> bool:
    """Whether it is a generation's name; anything else is never made part of a path."""
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


@dataclass(frozen=True)
class TableEntry:
    """One table of a generation. Its scope stands as hashes, so no id is in the manifest.

    Attributes:
        name: ``main``, or that of a large scope.
        rows: Rows that searches see.
        tenant: Hash of the tenant of a large scope.
        scope: Hash of the scope.
        nprobes: Partitions that a vector search looks into; None: it has no approximate index.
        hidden_rows: Rows that went since the table was built whole: its files and indexes hold them still.
        fragments: How many fragments it had when it was built whole; None: not known.
    """

    name: str
    rows: int
    tenant: str | None = None
    scope: str | None = None
    nprobes: int | None = None
    hidden_rows: int = 0
    fragments: int | None = None


@dataclass(frozen=True)
class Manifest:
    """What a generation is: its tables, what it was built from, and how it was checked.

    Attributes:
        generation: Its name.
        space: Vector space.
        dimensions: Length of the vectors.
        rows: Of all tables.
        as_of: ISO 8601: the instant that it was built at.
        tables: All of them.
        inputs: What it was built from (``flows.published.inputs_of``).
        next_expiry_at: When the first of its rows expires, or before.
        checks: What they said.
        background: Of ``measured``.
        large: Hashes of the scopes above ``publish.large_scope_rows``; None: of an older version.
        appended_rows: Rows that came after it was built whole: they lie outside the sorted order.
        hidden_since: ISO 8601: when the first of the rows went that its tables still hide.
        bare_rows: Rows without a vector; None: not counted.
        measured_at_rows: ``appended_rows`` of the generation that ``background`` was measured in; None: not
            known.
    """

    generation: str
    space: str
    dimensions: int
    rows: int
    as_of: str
    tables: tuple[TableEntry, ...]
    inputs: dict[str, Any]
    next_expiry_at: str | None = None
    checks: dict[str, Any] = field(default_factory=dict)
    background: dict[str, Any] = field(default_factory=dict)
    large: tuple[str, ...] | None = None
    appended_rows: int = 0
    hidden_since: str | None = None
    bare_rows: int | None = None
    measured_at_rows: int | None = None

    @property
    def hidden_rows(self) -> int:
        """Rows that went since it was built whole: no search sees them, but its files hold them."""
        return sum(entry.hidden_rows for entry in self.tables)

    def measured(self) -> dict[str, Background]:
        """How near unrelated texts come in this space, by script; those that are not known are missing."""
        return {name: read_background(record) for name, record in self.background.items()}

    def dumps(self) -> bytes:
        """As JSON."""
        return json.dumps(asdict(self), indent=1).encode()


def load_manifest(lake: Lake, generation: str) -> Manifest:
    """The manifest of a generation.

    Raises:
        LakeError: The generation is gone, was never finished, or its manifest is damaged.
    """
    raw = lake.storage.read(f"index/{generation}/manifest.json") if is_generation(generation) else None
    if raw is None:
        raise LakeError(f"generation {generation} of the index is gone", REMEDY)
    try:
        record = json.loads(raw)
        tables = tuple(TableEntry(**entry) for entry in record["tables"])
        large = None if record.get("large") is None else tuple(record["large"])
        manifest = Manifest(**{**record, "tables": tables, "large": large})
        _require(manifest, generation)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise LakeError(f"the manifest of generation {generation} is damaged", REMEDY) from error
    return manifest


def _require(manifest: Manifest, generation: str) -> None:
    """Check what readers build paths and searches from.

    Raises:
        ValueError: A value is not what is ever written.
        TypeError: As ValueError.
        KeyError: As ValueError.
    """
    counts = [manifest.dimensions, manifest.rows, *(entry.rows for entry in manifest.tables)]
    counts += [entry.hidden_rows for entry in manifest.tables]
    counts += [manifest.appended_rows, manifest.bare_rows or 0, manifest.measured_at_rows or 0]
    probes = [entry.nprobes for entry in manifest.tables if entry.nprobes is not None]
    held = (
        manifest.generation == generation
        and isinstance(manifest.space, str)
        and isinstance(manifest.checks, dict)
        and isinstance(manifest.measured(), dict)
        and all(type(n) is int and n >= 0 for n in [*counts, *probes, manifest.inputs["episodes"] + 1])
        and all(_TABLE_NAME.fullmatch(entry.name) for entry in manifest.tables)
        and sum(entry.rows for entry in manifest.tables) == manifest.rows
    )
    if not held:
        raise ValueError(generation)
    known = (manifest.as_of, manifest.next_expiry_at, manifest.hidden_since)
    for instant in filter(None, known):
        if datetime.fromisoformat(instant).tzinfo is None:
            raise ValueError(instant)


@dataclass(frozen=True)
class Pointer:
    """Which generation is live, and those kept behind it, oldest first.

    While an embedding model is being replaced, a generation has a twin: the same rows in the vector space of
    the model before. It is served, kept, rolled back to and removed with its generation.

    Attributes:
        generation: The live one.
        history: All that are kept.
        rolled_back: The one that was rolled back from.
        twins: By generation that has one, vector space and name of its twin.
    """

    generation: str
    history: tuple[str, ...]
    rolled_back: str | None = None
    twins: dict[str, dict[str, str]] = field(default_factory=dict)

    def twin(self, space: str) -> str | None:
        """The live generation's twin of a vector space."""
        return self.twins.get(self.generation, {}).get(space)

    def live(self) -> tuple[str, ...]:
        """The live generation and its twins."""
        return self.generation, *sorted(self.twins.get(self.generation, {}).values())

    def kept(self) -> frozenset[str]:
        """Every generation that is kept, twins among them."""
        twins = (twin for named in self.twins.values() for twin in named.values())
        return frozenset((self.generation, *self.history, *twins))

    def with_twins(self, twins: dict[str, dict[str, str]]) -> Pointer:
        """The same with other twins; those of generations that are not kept are left out."""
        kept = {name: named for name, named in twins.items() if name in self.history and named}
        return replace(self, twins=kept)

    def dumps(self) -> bytes:
        """As JSON."""
        record = asdict(self)
        if not self.twins:  # as it has always been written
            del record["twins"]
        return json.dumps(record).encode()


def read_pointer(lake: Lake) -> Pointer | None:
    """The pointer, None before the first publish.

    Raises:
        LakeError: It is damaged.
    """
    raw = lake.storage.read(POINTER)
    if raw is None:
        return None
    try:
        record = json.loads(raw)
        live, history, back = record["generation"], record["history"], record.get("rolled_back")
        twins = record.get("twins", {})
        pairs = [pair for named in twins.values() for pair in named.items()]
        names = [live, *history, *([] if back is None else [back]), *twins, *(name for _, name in pairs)]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise LakeError(f"{POINTER} of the index is damaged", REMEDY) from error
    if not (isinstance(history, list) and all(is_generation(name) for name in names)):
        raise LakeError(f"{POINTER} of the index is damaged", REMEDY)
    if live not in history:
        history = sorted({*history, live}, key=number_of)
    return Pointer(live, tuple(history), back, twins)


def readable_pointer(lake: Lake) -> Pointer | None:
    """The pointer, None where there is none that can be read."""
    try:
        return read_pointer(lake)
    except LakeError:
        return None


def number_of(generation: str) -> int:
    """The number in a generation's name."""
    return int(generation.removeprefix("gen-"))


def write_pointer(lake: Lake, pointer: Pointer) -> None:
    """Switch readers, in one atomic write.

    Raises:
        BusyError: A lock that this run works under was taken over; the pointer stays.
    """
    with committing():
        lake.storage.write(POINTER, pointer.dumps())
