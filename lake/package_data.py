"""Where an installed package keeps a data file, without importing the package."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from transforms.errors import ConfigError

REINSTALL = "Install the locked packages again: pip install --require-hashes -r requirements.txt"


def package_file(package: str, *parts: str) -> Path:
    """Path of a file inside an installed top-level package.

    The package is only located: importing it may load 70 MB libraries or change the root logger.

    Raises:
        ConfigError: The package or the file is not installed.
    """
    spec = find_spec(package)
    folders = list(spec.submodule_search_locations or ()) if spec else []
    path = Path(folders[0], *parts) if folders else None
    if path is None or not path.is_file():
        raise ConfigError(f"{'/'.join(parts)} of the package {package} is not installed", REINSTALL)
    return path
