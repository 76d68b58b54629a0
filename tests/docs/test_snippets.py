"""The Python of the pages runs, in order, and prints what the page says it prints."""

from __future__ import annotations

import contextlib
import io
import json
import re
from datetime import datetime
from pathlib import Path

import polars as pl
import pytest

from flows.__main__ import main
from flows.demo import sample_sources
from flows.job import Job
from flows.nightly import run_nightly
from lake import tables
from lake.embedders.local import LocalEmbedder
from lake.lake import init_lake
from lake.landing import append
from transforms.policy import Policy
from transforms.schemas import RECALLS

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```\n)?", re.DOTALL)


def run_page(name: str) -> list[tuple[str, str | None]]:
    """What each block printed, and what the page shows below it."""
    scope: dict[str, object] = {"__name__": "page"}
    printed = []
    for code, shown in BLOCK.findall((ROOT / "docs" / name).read_text("utf-8")):
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            exec(compile(code, name, "exec"), scope)
        printed.append((said.getvalue(), shown or None))
    return printed


def check(printed: list[tuple[str, str | None]]) -> None:
    for said, shown in printed:
        assert said == (shown or "")


def test_agent_builders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for _ in range(2):  # a second run meets its own lake
        printed = run_page("agent-builders.md")
        assert len(printed) >= 8
        check(printed)


def test_sharing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        printed = run_page("sharing.md")
        assert len(printed) == 2
        check(printed)


def test_compliance_officers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page's commands on a small lake, then its snippets on what they wrote."""
    monkeypatch.chdir(tmp_path)
    lake = init_lake("memory", 2)
    for user in ("u1", "u2"):
        append(lake, [{"content": f"I live in {user}-town."}], tenant_id="acme", user_id=user)
    scope = ("--tenant", "acme", "--user", "u1")
    proof = ("--basis", "gdpr-art-17", "--requested-by", "subject", "--yes")
    commands = [
        ("ingest",),
        ("export", *scope, "--out", "u1.zip"),
        ("erase", *scope, *proof),
        ("report", "compliance", "--out", "report"),
    ]
    for command in commands:
        assert main(["--lake", "memory", "--json", *command]) == 0, command
    printed = run_page("compliance-officers.md")
    assert len(printed) == 2
    check(printed)


@pytest.fixture(scope="module")
def folder_of_demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the demo's lake in it, unpublished."""
    folder, samples = tmp_path_factory.mktemp("pages"), ROOT / "samples"
    as_of = datetime.fromisoformat(json.loads((samples / "expected.json").read_text("utf-8"))["as_of"])
    job = Job(init_lake(str(folder / "memory")), Policy(), as_of, LocalEmbedder)
    run_nightly(job, sample_sources(samples, job), publish=False)
    return folder


@pytest.mark.parametrize(
    ("page", "least"),
    [("data-engineers.md", 4), ("facts.md", 1), ("skills.md", 1), ("summaries.md", 2), ("topics.md", 2)],
)
def test_pages_about_the_demo(
    page: str, least: int, folder_of_demo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder_of_demo)
    printed = run_page(page)
    assert len(printed) >= least
    check(printed)


def test_what_if(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page's command with the page's policy, on a lake with the sample traces, then its snippet."""
    monkeypatch.chdir(tmp_path)
    lake = init_lake("memory", 2)
    traces = pl.read_parquet(ROOT / "samples" / "data" / "recalls.parquet")
    buckets = pl.Series("tenant_bucket", [lake.bucket(tenant) for tenant in traces["tenant_id"]], pl.Int32)
    month = pl.col("recalled_at").dt.strftime("%Y-%m").alias("month")
    tables.append(lake, RECALLS, traces.with_columns(buckets, month).select(RECALLS.names))
    (policy,) = re.findall(r"```toml\n(.*?)```", (ROOT / "docs" / "what-if.md").read_text("utf-8"), re.DOTALL)
    Path("new.toml").write_text(policy, "utf-8")
    asked = ["what-if", "--policy", "new.toml", "--out", "what-if", "--as-of", "2026-06-30T23:00:00Z"]
    assert main(["--lake", "memory", *asked]) == 0
    printed = run_page("what-if.md")
    assert len(printed) == 1
    check(printed)
