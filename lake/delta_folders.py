"""Folders of Delta tables among files to be read: only what makes up a table now, not what it was before."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from transforms.errors import InputError

_LOG = "_delta_log"


def without_superseded(files: Sequence[Path]) -> list[Path]:
    """The files without logs of tables, and without data files that a table's log does not name any more.

    Raises:
        InputError: A log cannot be read: its files would bring back what was edited or erased.
    """
    roots = {path.parents[place + 1] for path in files for place in _places(path)}
    kept = {root: _named(root) for root in sorted(roots)}
    return [path for path in files if all(path in kept[root] for root in roots.intersection(path.parents))]


def _places(path: Path) -> list[int]:
    """How far above a file a folder is that holds the log of a table."""
    return [place for place, folder in enumerate(path.parents) if folder.name == _LOG]


def _named(root: Path) -> set[Path]:
    try:
        names = DeltaTable(str(root)).get_add_actions(flatten=True).column("path").to_pylist()
    except (DeltaError, OSError, KeyError) as error:
        raise InputError(f"{root.name}: the log of the table cannot be read", "Name its files.") from error
    return {root / str(name) for name in names}
