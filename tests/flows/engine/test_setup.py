"""What a call is refused for before anything is run."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from lake import tables
from lake.lake import open_lake
from tests.flows.lakes import Command, row, write
from transforms.errors import ConfigError
from transforms.schemas import EPISODES


@pytest.mark.parametrize("flags", [("--engine", "dask"), ("--scheduler", "tcp://127.0.0.1:9")])
def test_a_missing_extra_is_told_before_anything_lands(
    flags: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)  # as where it is not installed
    command, lake = Command(capsys), tmp_path / "memory"
    command("--lake", lake, "init")
    traces = write(tmp_path / "chat.jsonl", [row(1)])
    said = command("--lake", lake, "nightly", traces, *flags)
    assert said.code == ConfigError.exit_code
    assert "pip install '/path/to/slowwave[cluster]'" in said.err
    assert tables.scan(open_lake(str(lake)), EPISODES).collect().is_empty()


def test_who_runs_no_units_needs_no_dask(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    command, lake = Command(capsys), tmp_path / "memory"
    (tmp_path / "slowwave.toml").write_text('[engine]\nkind = "dask"\n')
    shared = ("--config", tmp_path / "slowwave.toml", "--lake", lake)
    for verb in (("init",), ("status",), ("consolidate", "--dry-run")):
        assert command(*shared, *verb).code == 0
    assert command(*shared, "consolidate").code == ConfigError.exit_code
