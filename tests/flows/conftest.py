"""Fixtures of the jobs' tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.flows.lakes import Command


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Command:
    """``slowwave`` in this process, in an empty folder, untouched by the caller's environment."""
    for name in ("SLOWWAVE_LAKE", "SLOWWAVE_API_KEY", "OPENAI_API_KEY", "SLOWWAVE_TRACEBACK"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SLOWWAVE_PROGRESS", "none")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return Command(capsys)
