"""Delta tables opened: each time anew, or once for a block of many small reads."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from deltalake.exceptions import DeltaError, TableNotFoundError

from lake.faults import is_passing, storage_fault
from lake.known_states import Opened, newest
from lake.lake import Lake
from transforms.schemas import Table

_TRIES = 3
"""The library repeats requests, but gives up where a store breaks off in the middle of an answer."""
_PAUSE_SECONDS = 0.2


@dataclass
class _Held:
    """What a block has opened, by address and version."""

    states: dict[str, Opened | None] = field(default_factory=dict)


_HELD: ContextVar[_Held | None] = ContextVar("held tables", default=None)


@contextmanager
def held_open(*, is_shared: bool = False) -> Iterator[None]:
    """Read each table as it was when the block first read it, or after the block's own last commit.

    For a block of many small reads that is alone to write what it reads: opening a table costs
    milliseconds.

    Args:
        is_shared: Inside another such block, be a part of it.
    """
    if is_shared and _HELD.get() is not None:
        yield
        return
    token = _HELD.set(_Held())
    try:
        yield
    finally:
        _HELD.reset(token)


def open_table(lake: Lake, table: Table) -> Opened | None:
    """The table's current state, or None before its first row; see ``held_open``."""
    held = _HELD.get()
    if held is None:
        return _opened(lake, table)
    key = _key(lake, table)
    if key not in held.states:
        held.states[key] = _opened(lake, table)
    return held.states[key]


def _key(lake: Lake, table: Table) -> str:
    return f"{lake.table_uri(table)}@{dict(lake.pins).get(table.name)}"


def _opened(lake: Lake, table: Table) -> Opened | None:
    turn = 1
    while True:
        try:
            pinned = dict(lake.pins).get(table.name)
            if lake.is_local and pinned is None:
                return newest(lake.table_uri(table))
            return Opened(lake.table_uri(table), version=pinned)
        except TableNotFoundError:
            return None
        except (DeltaError, OSError) as error:
            if turn == _TRIES or lake.is_local or not is_passing(error):
                raise storage_fault(error, f"opening table {table.name}") from error
        time.sleep(_PAUSE_SECONDS * turn)
        turn += 1


def forget(lake: Lake, table: Table) -> None:
    """Open the table anew when it is next read inside ``held_open``."""
    held = _HELD.get()
    if held is not None:
        held.states.pop(_key(lake, table), None)


def forget_all() -> None:
    """Open every table anew: other processes have written on behalf of this one."""
    held = _HELD.get()
    if held is not None:
        held.states.clear()
