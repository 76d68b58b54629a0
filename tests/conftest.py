"""Fixtures of the whole suite."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def real_data() -> Path:
    """Folder of real traces, kept beside the checkout and not part of it."""
    path = Path(__file__).resolve().parents[2] / "shared" / "data"
    if not path.is_dir():
        pytest.skip(f"no real traces: {path} is not there")
    return path
