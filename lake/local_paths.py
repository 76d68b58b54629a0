"""Which directories of this machine can be a lake."""

from __future__ import annotations

import re
from pathlib import Path

from transforms.errors import LakeError

_UNOPENABLE = re.compile(r"[\x00-\x1f\x7f\[\]^|\\\ud800-\udfff]|%[0-9A-Fa-f]{2}")
"""What the table library takes for an escape or a separator, or panics at."""


def local_path(address: str) -> Path:
    """The absolute path of a lake's address.

    Raises:
        LakeError: It is one that the table library would look for elsewhere or not open at all, or
            begins with the home of a user who is not there.
    """
    try:
        path = Path(address).expanduser().absolute()
    except RuntimeError as error:
        raise LakeError(f"{address}: there is no such home", "Name the directory in full.") from error
    odd = sorted(set(_UNOPENABLE.findall(str(path))))
    if odd:
        raise LakeError(
            f"a lake's path cannot hold {' or '.join(ascii(part) for part in odd)}",
            "Choose one without control characters, [, ], ^, |, backslashes and escapes such as %20.",
        )
    return path
