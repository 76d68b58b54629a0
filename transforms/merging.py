"""Which data files of a table to merge: few files a partition, and each row written again few times."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from transforms.policy_upkeep import UpkeepPolicy


@dataclass(frozen=True)
class DataFile:
    """A data file: its name below the table, its folder being its partition, and its size."""

    name: str
    size_bytes: int

    @property
    def partition(self) -> str:
        """Its folder."""
        return self.name.rpartition("/")[0]


def merges(files: Iterable[DataFile], policy: UpkeepPolicy, most: int) -> list[list[DataFile]]:
    """Groups of files to be merged, each into one, of partitions that have too many small ones.

    The smallest go first, as many as are too many, and with them each next one that is hardly larger than
    those before it together. So a file is written again only when others of about its size have come, and
    a row a number of times that grows with the logarithm of the files.

    Args:
        files: The table's.
        policy: Numbers.
        most: Small files that a partition may have.

    Returns:
        Groups of two and more, by partition.
    """
    small: dict[str, list[DataFile]] = {}
    for file in files:
        if file.size_bytes < policy.small_file_bytes:
            small.setdefault(file.partition, []).append(file)
    found: list[list[DataFile]] = []
    for _, held in sorted(small.items()):
        if len(held) > most:
            chosen = _chosen(sorted(held, key=lambda f: (f.size_bytes, f.name)), policy)
            found += [group for group in _portions(chosen, policy.merge_bytes) if len(group) > 1]
    return found


def _chosen(held: Sequence[DataFile], policy: UpkeepPolicy) -> Sequence[DataFile]:
    """The first files, by size, that are to be merged."""
    count = max(len(held) - policy.partition_files + 1, 2)
    total = sum(file.size_bytes for file in held[:count])
    while count < len(held) and held[count].size_bytes <= policy.merge_factor * total:
        total += held[count].size_bytes
        count += 1
    return held[:count]


def _portions(files: Iterable[DataFile], most_bytes: int) -> list[list[DataFile]]:
    """Files in order, in groups of at most so many bytes."""
    found: list[list[DataFile]] = []
    held = 0
    for file in files:
        if not found or held + file.size_bytes > most_bytes:
            found.append([])
            held = 0
        found[-1].append(file)
        held += file.size_bytes
    return found
