"""The page about tuning: its commands run, its snippet prints what it shows, and it lists every key."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import duckdb
import pytest

from flows.__main__ import main
from tests.docs.test_snippets import check, run_page
from transforms.policy_entries import MEMORY_KINDS
from transforms.tuning.knobs import KNOBS

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "tuning.md").read_text("utf-8")


def block(language: str) -> str:
    (found,) = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    return str(found)


def test_the_commands_and_snippets_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("grid.toml").write_text(block("toml"), "utf-8")
    Path("samples/data").mkdir(parents=True)
    shutil.copy(ROOT / "samples" / "data" / "recalls.parquet", "samples/data")
    commands = re.findall(r"^\$ slowwave (tune --traces .*)$", PAGE, re.MULTILINE)
    assert len(commands) == 2
    for command in commands:
        assert main(command.split()) == 0, command
    check(run_page("tuning.md"))
    told = duckdb.sql(block("sql")).fetchall()
    assert [row[0] for row in told] == [3.0, 7.0, 14.0, 30.0, 60.0, None]
    shown = re.findall(r"^ *(\S+) days +([\d.]+) +-([\d.]+)$", PAGE, re.MULTILINE)
    assert [(float(ndcg), float(cost)) for _, ndcg, cost in shown] == [row[1:3] for row in told]
    assert {row[3] for row in told} == {327.0, 328.0}


def keys_of_the_page() -> set[str]:
    """Keys of the table, each written out."""
    found: set[str] = set()
    table = PAGE.partition("| key | from | to |")[2].partition("\n\n")[0]
    for line in re.findall(r"^\| (`[^|]*)\|", table, re.MULTILINE):
        names = re.findall(r"`([^`]+)`", line)
        section = names[0].rpartition(".")[0]
        if "and a kind" in line:
            found |= {f"{section}.{kind}" for kind in MEMORY_KINDS}
        else:
            found |= {name if not name.startswith(".") else f"{section}{name}" for name in names}
    return found


def test_every_key_that_can_be_tuned_is_in_the_table() -> None:
    assert keys_of_the_page() == set(KNOBS)
