"""Names of data files, which tell whether some files hold the same rows as others.

Each file that is written bears a random number, its digest. A file that others were merged into bears the
sum of theirs. So the digests of a partition add up to the same before and after a merge, and to something
else once a row came or went.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable
from hashlib import blake2b

MODULUS = 1 << 128
_NAMED = re.compile(r"part-([0-9a-f]{32})[.-]")


def file_name(digest: int) -> str:
    """A new name for a file; never one that was there before, whatever its digest."""
    return f"part-{digest:032x}-{secrets.token_hex(4)}.zstd.parquet"


def digest_of(name: str) -> int:
    """The digest that a data file bears; a hash of its name where another program wrote it."""
    found = _NAMED.match(name.rpartition("/")[2])
    if found:
        return int(found[1], 16)
    return int.from_bytes(blake2b(name.encode(), digest_size=16).digest(), "big")


def rows_digest(names: Iterable[str]) -> str:
    """A digest of the rows that some data files of a table hold: the same before and after a merge."""
    return f"{sum(map(digest_of, names)) % MODULUS:032x}"
