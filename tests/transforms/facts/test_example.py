"""The example of docs/facts.md, run: its sentences through the rules and the fold give its table."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import polars as pl

from tests.transforms.claims.rows import SAID_AT, episode, episodes, tool
from tests.transforms.facts.claimed import VECTORS
from transforms.claims.extract import extract
from transforms.facts.near import object_groups
from transforms.facts.reconcile import Reconciled, reconcile
from transforms.policy import Policy

PAGE = Path(__file__).resolve().parents[3] / "docs" / "facts.md"


def table() -> list[list[str]]:
    """Cells of the rows of the example: day, said, source, decision, what stands."""
    lines = PAGE.read_text("utf-8").split("\n## Example\n")[1].split("\n## ")[0].splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    return rows[2:]


def said(row: list[str]) -> dict[str, Any]:
    day, words, source, *_ = row
    at = SAID_AT + timedelta(days=int(day))
    made = {"user": episode, "tool": tool}[source]
    return made(f"day-{day}", words.strip('"'), session_id=day, event_at=at, ingested_at=at)


def folded(rows: list[dict[str, Any]]) -> tuple[pl.DataFrame, Reconciled]:
    claims = extract(episodes(rows), Policy()).claims
    return claims, reconcile(claims, object_groups(claims, pl.DataFrame(schema=VECTORS), Policy()), Policy())


def day(instant: Any) -> int:
    return int((instant.date() - SAID_AT.date()).days)


def standing(facts: pl.DataFrame, today: str) -> str:
    """What stands, and what ended today, in the page's words."""
    live = facts.filter(pl.col("retired_at").is_null())
    if live.is_empty():
        return "nothing"
    [now] = live.iter_rows(named=True)
    words = str(now["object"])
    if now["support"] > 1:
        words += f", support {now['support']}"
    for old in facts.filter(pl.col("retired_at").is_not_null()).iter_rows(named=True):
        words += f" since day {day(now['valid_from'])}; {old['object']} until day {day(old['valid_until'])}"
        words += f", retired on day {today}"
    return words


def test_the_example_of_the_page_is_what_the_code_does() -> None:
    rows = table()
    assert len(rows) >= 5
    for count, (today, _, _, decision, stands) in enumerate(rows, 1):
        claims, found = folded([said(row) for row in rows[:count]])
        [claim] = claims.filter(pl.col("episode_id") == f"day-{today}")["claim_id"]
        taken = found.decisions.filter(pl.col("item_id") == claim).row(0, named=True)
        assert f"{taken['operation']} `{taken['reason']}`" == decision
        assert standing(found.facts, today) == stands
