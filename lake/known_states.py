"""The last state of each table that this process has opened, taken again while its log is the same.

Opening a table reads its log anew: milliseconds, and a night opens tables hundreds of times. On a local disk
a look at the log's folder tells whether anything came, went or changed since: where entries only came, a
state that nobody holds any more reads these alone. An object store is asked anew.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import polars as pl
from deltalake import DeltaTable

_MOST = 64
"""States held at once: all tables of two lakes. One is a few hundred bytes for each data file."""
Mark = frozenset[tuple[str, int, int, int]]


class Opened(DeltaTable):  # type: ignore[misc]
    """A table as it was opened; it stays so, whatever is committed."""

    @cached_property
    def actions(self) -> pl.DataFrame:
        """A row of each data file, as the log has it; no columns where there is none."""
        return pl.DataFrame(self.get_add_actions(flatten=True))

    @cached_property
    def sizes(self) -> Mapping[str, int]:
        """Bytes of each data file, by name below the table's root."""
        held = self.actions
        return dict(held.select("path", "size_bytes").iter_rows()) if held.height else {}


@dataclass(frozen=True)
class _Known:
    """A state that was read.

    Attributes:
        mark: Of the log that it was read from, or of one before.
        raw: The library's own state.
        lent: What was given out of it last: while that is held, the state must stay as it is.
    """

    mark: Mark
    raw: Any
    lent: weakref.ref[Opened]


_known: OrderedDict[str, _Known] = OrderedDict()
_lock = threading.Lock()


def newest(uri: str) -> Opened:
    """The state of a table of this machine as it is now; to be read only, for others may hold it, too.

    Raises:
        TableNotFoundError: There is none.
        DeltaError: Its log cannot be read.
    """
    mark = _mark(uri)
    with _lock:
        held = _known.get(uri)
        lent = held.lent() if held is not None else None
        if held is not None and held.mark == mark:
            _known.move_to_end(uri)
            return _hold(uri, held) if lent is None else lent
        # The lock is held, so that nobody takes the state while it goes on.
        if held is not None and lent is None and held.mark and held.mark < mark:
            del _known[uri]  # where reading fails, it is of no state
            held.raw.update_incremental()
            return _hold(uri, replace(held, mark=mark))
    state = Opened(uri)
    if mark:
        with _lock:
            _known[uri] = _Known(mark, state._table, weakref.ref(state))
            _known.move_to_end(uri)
            while len(_known) > _MOST:
                _known.popitem(last=False)
    return state


def _hold(uri: str, known: _Known) -> Opened:
    """Give a state out, and note to whom."""
    given = Opened.__new__(Opened)
    given._table, given._storage_options = known.raw, None
    _known[uri] = replace(known, lent=weakref.ref(given))
    _known.move_to_end(uri)
    return given


def _mark(uri: str) -> Mark:
    """Name, size, time and place of each file of the log; taken before the state, so never newer than it."""
    try:
        with os.scandir(f"{uri}/_delta_log") as entries:
            found = [(entry.name, entry.stat()) for entry in entries if not entry.name.startswith(".")]
    except (FileNotFoundError, NotADirectoryError):  # no table, or a file went meanwhile: opened anew
        return frozenset()
    return frozenset((name, stat.st_size, stat.st_mtime_ns, stat.st_ino) for name, stat in found)


def _forget_all() -> None:
    """A forked child opens its tables itself, and with a lock of its own."""
    global _lock  # noqa: PLW0603 the lock may have been held while forking
    _lock = threading.Lock()
    _known.clear()


os.register_at_fork(after_in_child=_forget_all)
