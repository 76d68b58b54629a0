"""Input of the consolidation benchmark, by a seed: sessions of users with topics, facts and tool runs."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson

from benchmarks.data import WORDS

START = datetime(2026, 1, 1, tzinfo=UTC)
DAYS = 180
TURNS = 20
SESSIONS_A_USER = 5
SUBJECTS = 40
"""Vocabularies that users take their topics from."""
TOPICS_A_USER = 5
_SEATS = ("window seat", "aisle seat", "middle seat")
_TOWNS = ("Lisbon", "Graz", "Aarhus", "Nantes", "Cork", "Bilbao", "Turku", "Ghent")
_FOODS = ("peanuts", "shellfish", "coriander", "olives", "rye bread", "mango", "green tea", "smoked fish")
_TOOLS = (
    ("search", "read_file", "edit_file", "run_tests"),
    ("query", "plot"),
    ("fetch", "parse", "import_rows"),
)
_STATEMENTS = (
    lambda r: f"I prefer the {r.choice(_SEATS)} on flights.",
    lambda r: f"I live in {r.choice(_TOWNS)}.",
    lambda r: f"I moved to {r.choice(_TOWNS)} last month.",
    lambda r: f"I really like {r.choice(_FOODS)}.",
    lambda r: f"I don't like {r.choice(_FOODS)}.",
    lambda r: f"I'm allergic to {r.choice(_FOODS)}.",
    lambda r: f"We decided to ship the {r.choice(WORDS)} report on Friday.",
    lambda r: f"I no longer live in {r.choice(_TOWNS)}.",
)


def write_base(path: Path, rows: int, seed: int = 11, *, part: int = 0, parts: int = 1) -> None:
    """Write about ``rows`` episodes over 180 days: sessions of 20 turns, 5 sessions a user.

    Of several parts each is a span of the days, with the same users.
    """
    sessions = max(1, rows * parts // TURNS)
    users = max(1, sessions // SESSIONS_A_USER)
    rng = random.Random(seed)
    mine = range(sessions * part // parts, sessions * (part + 1) // parts)
    _write(path, (_session(rng, i, i % users, i / sessions * DAYS) for i in mine))


def write_more(path: Path, rows: int, base_rows: int, seed: int = 12) -> None:
    """Write ``rows`` more episodes, of the day after, each session of a random user."""
    users = max(1, base_rows // TURNS // SESSIONS_A_USER)
    rng = random.Random(seed)
    first = base_rows // TURNS + 1
    sessions = range(first, first + max(1, rows // TURNS))
    _write(path, (_session(rng, i, rng.randrange(users), DAYS + rng.random()) for i in sessions))


def _write(path: Path, sessions: Iterator[list[dict[str, Any]]]) -> None:
    with path.open("wb") as file:
        for rows in sessions:
            for row in rows:
                file.write(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE))


def _session(rng: random.Random, number: int, user: int, day: float) -> list[dict[str, Any]]:
    """One session: statements, talk on one of the user's topics, and often a run of tools."""
    at = START + timedelta(days=day)
    subject = random.Random(user * TOPICS_A_USER + rng.randrange(TOPICS_A_USER)).randrange(SUBJECTS)
    vocabulary = WORDS[subject::SUBJECTS]
    tools = rng.choice(_TOOLS) if rng.random() < 0.5 else ()
    rows = []
    for turn in range(TURNS):
        place = turn - (TURNS - len(tools) - 1)
        if tools and 0 <= place < len(tools):
            is_bad = place == len(tools) - 1 and rng.random() < 0.3
            said = {"role": "tool", "kind": "action", "tool_name": tools[place]}
            said["content"] = f"Error: {rng.choice(vocabulary)} refused" if is_bad else "done"
            said |= {"outcome": "failure" if is_bad else "success"}
        elif turn % 2 == 0 and rng.random() < 0.3:
            said = {"role": "user", "content": rng.choice(_STATEMENTS)(rng)}
        else:
            words = rng.choices(vocabulary, k=rng.randrange(6, 30))
            said = {"role": "assistant" if turn % 2 else "user", "content": f"{' '.join(words)}."}
        rows.append(
            {
                "id": f"b{number}-{turn}",
                "tenant_id": f"tenant-{user % 200:03d}",
                "user_id": f"user-{user:06d}",
                "agent_id": "desk",
                "session_id": f"s{number}",
                "event_at": (at + timedelta(seconds=30 * turn)).isoformat(),
                **said,
            }
        )
    return rows
