"""Facts of the machine and versions that every measurement carries."""

from __future__ import annotations

import os
import platform
import resource
from importlib.metadata import version
from typing import Any

PACKAGES = ("polars", "duckdb", "pyarrow", "deltalake", "lancedb", "pylance")


def facts() -> dict[str, Any]:
    """Cores, memory, load, Python and library versions."""
    pages, size = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    return {
        "cores": os.cpu_count(),
        "memory_gib": round(pages * size / 2**30, 1),
        "load_1min": round(os.getloadavg()[0], 2),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in PACKAGES},
    }


def peak_mb() -> float:
    """Peak resident memory of this process, MB."""
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000, 0)


def cpu_seconds() -> float:
    """User and system time of this process, all threads."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
