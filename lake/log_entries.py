"""Commits of a table as its log names them: what came, what went, and whether any row changed.

Merging files and removing superseded ones changes no row. Such a commit moves the table's version, but not
what a job has to read: marks (``lake.lineage``) stay where they were, and files that were merged from known
ones are as known as these (``arrived``).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

import orjson

from lake.storage import Storage
from transforms.schemas import Table

_UNDONE_COMMITS = 32
"""A commit is read in a tenth of the time that opening a table takes."""
_LASTING = {"metaData", "protocol"}
"""Actions that make a table another one though no row changes."""


@dataclass(frozen=True)
class Commit:
    """What one log entry says.

    Attributes:
        added: Data files that came.
        removed: Data files that went.
        is_upkeep: Whether every row is where it was, in whatever file.
        at_ms: When it was made, milliseconds since 1970; 0 where it does not say.
    """

    added: frozenset[str] = field(default_factory=frozenset)
    removed: frozenset[str] = field(default_factory=frozenset)
    is_upkeep: bool = True
    at_ms: int = 0


def entry_key(table: Table, version: int) -> str:
    """Where the log entry of a version lies."""
    return f"tables/{table.name}/_delta_log/{version:020d}.json"


def commit_of(raw: bytes) -> Commit:
    """A log entry, read."""
    added, removed = set[str](), set[str]()
    is_upkeep, at_ms = True, 0
    for line in raw.splitlines():
        for name, action in orjson.loads(line).items() if line.strip() else ():
            if name in _LASTING:
                is_upkeep = False
            elif name == "commitInfo":
                at_ms = int(action.get("timestamp") or 0)
            elif name in ("add", "remove"):
                (added if name == "add" else removed).add(str(action["path"]))
                is_upkeep = is_upkeep and action.get("dataChange") is False
    return Commit(frozenset(added), frozenset(removed), is_upkeep, at_ms)


def read_commit(storage: Storage, table: Table, version: int) -> Commit | None:
    """The commit of a version; None where the log does not hold it, or no longer."""
    raw = storage.read(entry_key(table, version))
    return None if raw is None else commit_of(raw)


def undone(storage: Storage, table: Table, files: Collection[str], later: range) -> set[str] | None:
    """Data files that stood before some commits.

    Args:
        storage: Where.
        table: Which.
        files: Those that stand behind them.
        later: Their versions, up to the one of ``files``.

    Returns:
        Names; None where the commits are many, or one is no longer in the log.
    """
    if len(later) > _UNDONE_COMMITS:
        return None
    names = set(files)
    for version in reversed(later):
        commit = read_commit(storage, table, version)
        if commit is None:
            return None
        names = (names - commit.added) | commit.removed
    return names


def settled(storage: Storage, table: Table, version: int) -> int:
    """The last version up to the given one whose commit changed a row; see ``Commit.is_upkeep``."""
    at = version
    while at > 0:
        commit = read_commit(storage, table, at)
        if commit is None:  # the log begins behind it
            return version if at == version else at + 1
        if not commit.is_upkeep:
            return at
        at -= 1
    return at


def arrived(commits: Iterable[Commit], base: Collection[str], due: Collection[str] = ()) -> set[str]:
    """Which files hold rows that were not in any file before some commits.

    A commit that takes files of a folder away and brings others there brings the same rows: what was
    written of known files only is known.

    Args:
        commits: All that came since, in order.
        base: Data files that stood before them.
        due: Files of whatever time whose rows count as new all the same.

    Returns:
        Names; also of such as went again.
    """
    wanted = set(due)
    new = wanted & set(base)
    for commit in commits:
        sources: dict[str, bool] = {}
        for name in commit.removed:
            folder = name.rpartition("/")[0]
            sources[folder] = sources.get(folder, False) or name in new
        new |= {n for n in commit.added if n in wanted or sources.get(n.rpartition("/")[0], True)}
    return new


def followed(commits: Iterable[Commit], files: Collection[str]) -> set[str]:
    """Under which names the rows of some files stand, after the merges among some commits.

    A merge is followed where it took none but these files of a folder; what a row was changed or taken out of
    keeps the name that it had before.

    Args:
        commits: All that came since the files stood, in order.
        files: Data files.
    """
    names = set(files)
    for commit in commits:
        if not commit.is_upkeep:
            continue
        gone, came = _by_folder(commit.removed), _by_folder(commit.added)
        for folder, merged in gone.items():
            if merged <= names:
                names = (names - merged) | came.get(folder, set())
    return names


def _by_folder(names: Iterable[str]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for name in names:
        found.setdefault(name.rpartition("/")[0], set()).add(name)
    return found
