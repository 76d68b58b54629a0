"""A process that wraps the keys of a lake anew: ``python rotating.py LAKE``; a line after each entry."""

from __future__ import annotations

import sys
from pathlib import Path

from lake.crypto.rotation import rewrap
from lake.lake import open_lake
from lake.storage import LocalStorage
from tests.lake.crypto.sealed import MASTER, OTHER, keys, ring


def main(root: Path) -> None:
    plain_write = LocalStorage.write

    def told(self: LocalStorage, key: str, data: bytes) -> None:
        plain_write(self, key, data)
        sys.stdout.write(f"{key}\n")
        sys.stdout.flush()

    LocalStorage.write = told  # type: ignore[method-assign]
    rewrap(keys(open_lake(str(root), ring(root, OTHER, MASTER))))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
