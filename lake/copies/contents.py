"""What of a lake goes into a copy of it: the state of one moment, and nothing that can be made anew.

Left out: older versions' files and other generations of the index, locks, exports and reports (copies
themselves, for people to take away), a dry run's scratch, a migration's metadata. Of an encrypted lake the
index is left out, too: it holds text in plain, and no destroyed key would reach it in a backup.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from deltalake.exceptions import DeltaError, TableNotFoundError

from lake import landing, recall_segments
from lake.faults import storage_fault
from lake.index_record import POINTER, Pointer, read_pointer
from lake.known_states import Opened
from lake.lake import RECORD, Lake
from lake.online import working_file
from lake.segments import OPEN, SEALED
from transforms.errors import HistoryError
from transforms.schemas import STORED, Table

LASTING = ("audit", "tombstones", "standing", "certificates", "sharing", "state")
"""Folders that go whole, as they are now: rights, proofs, and hints, which tell themselves if they hold."""
LINES = (landing.PREFIX, recall_segments.PREFIX, working_file.PREFIX)
"""Folders of lines that others may be writing: whole lines go."""
_NOT_STATE = ("state/probe-", "state/migrating.json", "state/restoring.json")
_ENTRY = re.compile(r"_delta_log/(\d{20})\..+", re.ASCII)
_LAST = "_delta_log/_last_checkpoint"


@dataclass
class Contents:
    """Files of a copy by key in the lake, with the bytes that are known.

    Attributes:
        sizes: Of files that are copied as they are.
        lines: Keys in the lake of files of lines, by their key in the copy.
        made: Bytes of what is written anew for the copy.
        versions: Version of each table.
        generation: Live generation of the index.
    """

    sizes: dict[str, int] = field(default_factory=dict)
    lines: dict[str, str] = field(default_factory=dict)
    made: dict[str, bytes] = field(default_factory=dict)
    versions: dict[str, int] = field(default_factory=dict)
    generation: str | None = None


def contents(lake: Lake, as_of: datetime | None = None) -> Contents:
    """Plan a copy; call it while no other run works on the lake.

    Args:
        lake: Of which.
        as_of: The tables as they were committed then; neither index nor open lines go along. None: all, now.

    Raises:
        HistoryError: A table no longer holds all files of its version then.
        LakeError: The pointer of the index is damaged.
    """
    found = Contents()
    for table in STORED:
        _add_table(lake, table, as_of, found)
    if as_of is not None and not found.versions:
        raise HistoryError(
            f"the lake held no table at {as_of:%Y-%m-%d %H:%M} UTC",
            "Name an instant at which rows had been committed, by the clock; or leave --as-of out.",
        )
    for prefix in LASTING:
        for entry in lake.storage.entries(prefix):
            if not entry.key.startswith(_NOT_STATE):
                found.sizes[entry.key] = entry.size_bytes
    found.made[RECORD] = lake.storage.read(RECORD) or b""
    if as_of is None:
        _add_lines(lake, found)
        if lake.encryption is None:
            _add_index(lake, found)
    return found


def _add_table(lake: Lake, table: Table, as_of: datetime | None, found: Contents) -> None:
    state = _opened(lake, table, as_of)
    if state is None:
        return
    prefix = f"tables/{table.name}"
    held = {e.key.removeprefix(f"{prefix}/"): e.size_bytes for e in lake.storage.entries(prefix)}
    files = state.sizes
    lost = sorted(set(files) - set(held))
    if lost:
        raise HistoryError(
            f"table {table.name} no longer holds {len(lost)} files of version {state.version()}",
            "Back up a later instant, or the lake as it is now.",
        )
    version = state.version()
    found.versions[table.name] = version
    named = {name: size for name, size in held.items() if name in files}
    log = dict(_log(held, version))
    found.sizes |= {f"{prefix}/{name}": size for name, size in (named | log).items()}


def _opened(lake: Lake, table: Table, as_of: datetime | None) -> Opened | None:
    try:
        state = Opened(lake.table_uri(table))
    except TableNotFoundError:
        return None
    except (DeltaError, OSError) as error:
        raise storage_fault(error, f"opening table {table.name}") from error
    if as_of is not None:
        history = state.history()
        made = min((entry["timestamp"] for entry in history), default=0)
        if made > as_of.timestamp() * 1000 and any(entry.get("version") == 0 for entry in history):
            return None  # it was made later
        try:
            state.load_as_version(as_of)
        except (DeltaError, OSError, ValueError) as error:
            raise HistoryError(
                f"table {table.name} holds no version of {as_of:%Y-%m-%d %H:%M} UTC any more",
                "Back up a later instant, or the lake as it is now.",
            ) from error
    return state


def _log(held: dict[str, int], version: int) -> Iterator[tuple[str, int]]:
    """The table's log up to a version: its entries keep their numbers, by which jobs know what they read."""
    newest = -1
    for name, size in held.items():
        match = _ENTRY.fullmatch(name)
        if match:
            newest = max(newest, int(match[1]))
            if int(match[1]) <= version:
                yield name, size
    if _LAST in held and newest <= version:  # it may name a checkpoint of a later version otherwise
        yield _LAST, held[_LAST]


def _add_lines(lake: Lake, found: Contents) -> None:
    for prefix in LINES:
        for entry in lake.storage.entries(prefix):
            found.lines[entry.key.replace(f"/{OPEN}", f"/{SEALED}", 1)] = entry.key


def _add_index(lake: Lake, found: Contents) -> None:
    pointer = read_pointer(lake)
    if pointer is None:
        return
    found.generation = pointer.generation
    kept = Pointer(pointer.generation, (pointer.generation,)).with_twins(pointer.twins)
    found.made[POINTER] = kept.dumps()
    for generation in pointer.live():
        for entry in lake.storage.entries(f"index/{generation}"):
            found.sizes[entry.key] = entry.size_bytes


def whole_lines(raw: bytes) -> bytes:
    """Bytes up to the last line's end: a writer may be in the middle of the next."""
    return raw[: raw.rfind(b"\n") + 1]
