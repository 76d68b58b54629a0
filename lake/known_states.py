"""The last state of each table that this process has opened, taken again while its log is the same.

Opening a table reads its log anew: milliseconds, and a night opens tables hundreds of times. On a local disk
a look at the log's folder tells whether anything came, went or changed since; an object store is asked anew.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict

from deltalake import DeltaTable

_MOST = 64
"""States held at once: all tables of two lakes. One is a few hundred bytes for each data file."""
Mark = frozenset[tuple[str, int, int, int]]

_known: OrderedDict[str, tuple[Mark, DeltaTable]] = OrderedDict()
_lock = threading.Lock()


def newest(uri: str) -> DeltaTable:
    """The state of a table of this machine as it is now; to be read only, for others may hold it, too.

    Raises:
        TableNotFoundError: There is none.
        DeltaError: Its log cannot be read.
    """
    mark = _mark(uri)
    with _lock:
        held = _known.get(uri)
        if held is not None and held[0] == mark:
            _known.move_to_end(uri)
            return held[1]
    state = DeltaTable(uri)
    if mark:
        with _lock:
            _known[uri] = (mark, state)
            _known.move_to_end(uri)
            while len(_known) > _MOST:
                _known.popitem(last=False)
    return state


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
