"""A made history of a few people over five weeks, and lakes that were fed with it in different ways."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks.topics_data import adjusted_rand
from flows.job import Job
from flows.nightly import Night, run_nightly
from lake import revisions, tables
from lake.embedders.config import EmbedderConfig, make_embedder
from lake.embedders.protocol import Embedder
from lake.lake import init_lake
from lake.sources import open_sources
from tests.flows.lakes import write
from transforms.policy import Policy
from transforms.schemas import (
    ATTEMPTS,
    CLAIMS,
    CONVERSATIONS,
    DECISIONS,
    FACTS,
    FORGOTTEN,
    PROCEDURES,
    SUMMARIES,
    TOPIC_MEMBERS,
    TOPICS,
    Table,
)
from transforms.validate import Defaults

NIGHTS = 5
GAP = timedelta(days=7)
FIRST = datetime(2026, 3, 1, 23, tzinfo=UTC)
TURNS = 10
PEOPLE = 6
DERIVED_ALIKE = (CLAIMS, FACTS, CONVERSATIONS, ATTEMPTS, PROCEDURES)
"""Tables that no cut into nights may show in, but for when the lake learned something."""
KNOWN_AT = {"recorded_at", "retired_at", "decided_at", "ingested_at"}

_SUBJECTS = (
    "harbour crane freight container dock ship tide pilot cargo anchor berth vessel",
    "sourdough flour yeast oven crust loaf knead starter bakery butter salt grain",
    "violin concerto orchestra bow string rehearsal sonata tempo quartet score melody hall",
    "glacier ridge summit rope crampon avalanche hut valley slope snow trail guide",
    "invoice ledger budget audit tax receipt quarter forecast margin account payment refund",
    "orchid soil pruning greenhouse seed fern moss compost petal watering leaf bloom",
)
_TOWNS = ("Lisbon", "Graz", "Aarhus", "Nantes")
_FOODS = ("peanuts", "coriander", "olives", "mango")
_SAID = (
    "I live in {town}.",
    "I moved to {town} last month.",
    "I no longer live in {town}.",
    "I really like {food}.",
    "I don't like {food}.",
    "I'm allergic to {food}.",
    "I prefer the {seat} seat on flights.",
)
_TOOLS = (("search", "read_file", "run_tests"), ("query", "plot"))


@dataclass(frozen=True)
class Told:
    """A row, and the night that it reaches the lake in."""

    night: int
    row: dict[str, Any]


def history(sessions: int, seed: int = 5, *, fades: bool = False) -> list[Told]:
    """Sessions of six people: contradictions, topics, tool runs; out of order, a tenth of the rows late.

    Args:
        sessions: How many, of ten turns each.
        seed: Of everything.
        fades: Whether some rows expire within the five weeks.
    """
    rng = random.Random(seed)
    found = [told for number in range(sessions) for told in _session(rng, number, fades=fades)]
    rng.shuffle(found)
    return found


def _session(rng: random.Random, number: int, *, fades: bool) -> Iterable[Told]:
    person = number % PEOPLE
    began = FIRST + GAP * (rng.random() * NIGHTS - 1)
    words = _SUBJECTS[(person + rng.randrange(3)) % len(_SUBJECTS)].split()
    tools = rng.choice(_TOOLS) if rng.random() < 0.5 else ()
    tier = {"retention_tier": "short_term"} if fades and rng.random() < 0.3 else {}
    for turn in range(TURNS):
        at = began + timedelta(seconds=40 * turn)
        night = min(NIGHTS - 1, max(0, -((FIRST - at) // GAP)))
        late = rng.randrange(1, 3) if rng.random() < 0.1 else 0
        row = {
            "id": f"{number}-{turn}",
            "tenant_id": f"tenant-{person % 2}",
            "user_id": f"person-{person}",
            "agent_id": "desk",
            "session_id": f"s{number}",
            "event_at": at.isoformat(),
            **_turn(rng, turn - (TURNS - len(tools)), tools, words),
            **tier,
        }
        yield Told(min(NIGHTS - 1, night + late), row)


def _turn(rng: random.Random, place: int, tools: Collection[str], words: list[str]) -> dict[str, Any]:
    if place >= 0:
        is_bad = place == len(tools) - 1 and rng.random() < 0.3
        content = f"Error: the {rng.choice(words)} is refused" if is_bad else "done"
        outcome = "failure" if is_bad else "success"
        called = list(tools)[place]
        return {"role": "tool", "kind": "action", "tool_name": called, "content": content, "outcome": outcome}
    if rng.random() < 0.35:
        said = rng.choice(_SAID).format(
            town=rng.choice(_TOWNS), food=rng.choice(_FOODS), seat=rng.choice(("window", "aisle"))
        )
        return {"role": "user", "content": said}
    return {"role": rng.choice(("user", "assistant")), "content": f"{' '.join(rng.choices(words, k=12))}."}


@cache
def _embedder() -> Embedder:
    return make_embedder(EmbedderConfig())


def job_of(root: Path, night: int, policy: Policy | None = None) -> Job:
    """The job of a night on the lake at ``root``, made where it is not there yet."""
    return Job(init_lake(str(root), 4), policy or Policy(), FIRST + GAP * night, _embedder)


def one_night(job: Job, rows: list[dict[str, Any]], root: Path, *, publish: bool = False) -> Night:
    """A night over some rows."""
    path = write(root.parent / f"{root.name}.jsonl", rows)
    sources = ((source, Defaults()) for source in open_sources(str(path), "auto"))
    return run_nightly(job, sources, publish=publish)


def fed(root: Path, told: list[Told], nights: Collection[int], policy: Policy | None = None) -> Job:
    """A lake whose nights are some of those there were; each takes all that has come by then."""
    waiting = sorted(nights)
    job = job_of(root, waiting[0], policy)
    for place, night in enumerate(waiting):
        after = waiting[place - 1] if place else -1
        job = job_of(root, night, policy)
        one_night(job, [one.row for one in told if after < one.night <= night], root)
    return job


def content(job: Job, table: Table) -> pl.DataFrame:
    """What stands in a table, without when the lake came to know it, in the order of its key."""
    rows = revisions.standing(job.lake, table) if "revision" in table.names else held(job, table)
    return rows.drop([name for name in rows.columns if name in KNOWN_AT]).sort(table.key)


def held(job: Job, table: Table) -> pl.DataFrame:
    """All rows of a table."""
    return tables.scan(job.lake, table).collect()


def verdicts(job: Job) -> pl.DataFrame:
    """Decisions on facts and claims; those on topics follow how topics came about."""
    return content(job, DECISIONS).filter(pl.col("item_kind") != "topic")


def partition(job: Job) -> set[tuple[str, frozenset[str]]]:
    """Owner and episodes of each topic: topics by membership, whatever their ids."""
    members = revisions.standing(job.lake, TOPIC_MEMBERS).filter(pl.col("topic_id") != "")
    grouped = members.group_by("owner", "topic_id").agg("episode_id")
    return {(owner, frozenset(ids)) for owner, _, ids in grouped.iter_rows()}


def summed_up(job: Job) -> set[tuple[str, str, frozenset[str]]]:
    """Owner, text and sources of each summary."""
    rows = revisions.standing(job.lake, SUMMARIES).select("owner", "text", "source_refs")
    return {(owner, text, frozenset(refs)) for owner, text, refs in rows.iter_rows()}


def described(job: Job) -> set[tuple[Any, ...]]:
    """Owner, label and size of each topic."""
    rows = revisions.standing(job.lake, TOPICS).select("owner", "label", "size")
    return {(owner, tuple(label), size) for owner, label, size in rows.iter_rows()}


def rand_index(one: Job, other: Job) -> float:
    """Adjusted Rand index of two lakes' topics; an episode in none is alone."""
    both = _labels(one).join(_labels(other), on="episode_id", suffix="_other")
    return adjusted_rand(both["topic"].to_list(), both["topic_other"].to_list())


def _labels(job: Job) -> pl.DataFrame:
    members = revisions.standing(job.lake, TOPIC_MEMBERS)
    alone = pl.when(pl.col("topic_id") == "").then("episode_id").otherwise("topic_id")
    return members.select("episode_id", topic=alone)


def gone(job: Job) -> set[str]:
    """Ids of episodes that retention took out while something rests on them."""
    return set(held(job, FORGOTTEN)["episode_id"])


def differences(one: pl.DataFrame, other: pl.DataFrame, key: Collection[str]) -> Mapping[str, Any]:
    """What differs between two contents of a table, to be read when a test fails."""
    both = one.join(other, on=list(key), suffix=" other")
    names = [name for name in one.columns if name not in key]
    changed = {n: both.filter(pl.col(n).ne_missing(pl.col(f"{n} other"))).height for n in names}
    return {
        "lost": one.join(other, on=list(key), how="anti").height,
        "new": other.join(one, on=list(key), how="anti").height,
        **{name: rows for name, rows in changed.items() if rows},
    }
