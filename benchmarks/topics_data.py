"""Planted topics: conversations made from ``topic_texts.txt``, and vectors around random directions."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from transforms.derived import TOPICS
from transforms.embedding import embedding_text
from transforms.policy import Policy
from transforms.schemas import EPISODES
from transforms.tagging import tag
from transforms.topics.frames import WAITING

ENGLISH = "topic_texts.txt"
CHINESE = "topic_texts_zh.txt"
START = datetime(2026, 1, 5, 9, tzinfo=UTC)
NO_TOPIC = ("noise", "small talk")
NO_TOPICS = TOPICS.empty()
_ROLES = {"U": "user", "A": "assistant", "T": "tool"}
_HEADS = ("", "", "", "", "Quick question: ", "By the way, ", "One more thing: ", "Update: ", "So, ")
_TAILS = ("", "", "", "", " What do you think?", " Let me know.", " I am not sure yet.", " That is all.")


@cache
def texts(file: str = ENGLISH) -> dict[str, list[tuple[str, str, dict[str, list[str]]]]]:
    """Subject -> (role, sentence with slots, fillers)."""
    found: dict[str, list[tuple[str, str, dict[str, list[str]]]]] = {}
    for line in (Path(__file__).parent / file).read_text("utf-8").splitlines():
        said = re.match(r"([UAT]): (.*)", line)
        if line.startswith("= "):
            name, slots = line[2:], {}
            found[name] = []
        elif said:
            found[name].append((_ROLES[said[1]], said[2], slots))
        elif line and not line.startswith("#"):
            slot, _, fillers = line.partition(": ")
            slots[slot] = [filler.strip() for filler in fillers.split("|")]
    return found


def subjects(file: str = ENGLISH) -> list[str]:
    """Names of the planted subjects."""
    return [name for name in texts(file) if name not in NO_TOPIC]


def conversations(
    seed: int, names: Sequence[str], turns: int, file: str, noise: float = 0.1, small_talk: float = 0.15
) -> list[dict[str, Any]]:
    """Turns of one owner in sessions of 3 to 10 about one subject; one session in five changes it midway."""
    rng = random.Random(seed)
    made: list[dict[str, Any]] = []
    session = 0
    while len(made) < turns:
        session += 1
        at = START + timedelta(days=rng.random() * 120)
        subject, length = rng.choice(names), rng.randint(3, 10)
        turn = rng.randint(2, length) if rng.random() < 0.2 else length
        for i in range(length):
            subject = rng.choice(names) if i == turn else subject
            chance = rng.random()
            kind = "noise" if chance < noise else "small talk" if chance < noise + small_talk else subject
            role, content = _said(rng, kind, file)
            at += timedelta(seconds=40)
            made.append(
                {
                    "planted": kind,
                    "role": role,
                    "content": content,
                    "event_at": at,
                    "session_id": f"s{session}",
                }
            )
    return made[:turns]


def _said(rng: random.Random, subject: str, file: str) -> tuple[str, str]:
    role, sentence, slots = rng.choice(texts(file)[subject])
    said = [sentence]
    if subject not in NO_TOPIC and rng.random() < 0.4:
        said.append(rng.choice([s for r, s, _ in texts(file)[subject] if r == role]))
    filled = re.sub(r"\{(\w+)\}", lambda slot: rng.choice(slots[slot[1]]), " ".join(said))
    if subject in NO_TOPIC or role == "tool" or file != ENGLISH:
        return role, filled
    return role, rng.choice(_HEADS) + filled + rng.choice(_TAILS)


def planted_texts(
    owners: int, per_owner: int, turns: int, seed: int, embed: Any, file: str = ENGLISH
) -> pl.DataFrame:
    """``WAITING`` and ``planted``: each owner talks about ``per_owner`` subjects; embedded by ``embed``."""
    parts = []
    for owner in range(owners):
        names = random.Random(seed * 1_000 + owner).sample(subjects(file), per_owner)
        rows = pl.DataFrame(conversations(seed * 1_000 + owner, names, turns, file))
        number = pl.int_range(pl.len()).cast(pl.String)
        parts.append(
            rows.with_columns(
                tenant_id=pl.lit(f"t{owner % 3}"),
                user_id=pl.lit(f"u{owner}"),
                episode_id=pl.lit(f"e{owner}-") + number,
            )
        )
    frame = pl.concat(parts).with_columns(
        event_at=pl.col("event_at").cast(EPISODES.polars["event_at"]),
        tenant_bucket=pl.lit(0, pl.Int32),
        owner=pl.lit("user:") + pl.col("user_id"),
        agent_id=pl.lit("desk"),
        ingested_at=pl.col("event_at").cast(EPISODES.polars["event_at"]),
        kind=pl.lit("conversation"),
        speaker=pl.lit(None, pl.String),
        redactions=pl.lit([], pl.List(pl.String)),
        is_injected=pl.lit(False),
        outcome=pl.lit(None, pl.String),
        failure_reason=pl.lit(None, pl.String),
        feedback=pl.lit(None, pl.String),
        importance=pl.lit(None, pl.Float64),
    )
    frame = tag(frame, Policy())
    vectors = np.asarray(embed(frame.select(embedding_text(8_000)).to_series().to_list()), np.float32)
    frame = frame.with_columns(vector=pl.Series(vectors).arr.to_list())
    return frame.select("planted", *(pl.col(n).cast(t) for n, t in WAITING.items()))


def planted_vectors(
    owners: int, rows: int, per_owner: int, noise: float, seed: int, width: int = 256, spread: float = 1.2
) -> pl.DataFrame:
    """``WAITING`` and ``planted`` (number of the topic, -1 for noise): vectors around random directions.

    Args:
        owners: How many.
        rows: Rows of each.
        per_owner: Topics of each.
        noise: Share of rows in random directions.
        seed: Of everything.
        width: Dimensions.
        spread: Length of the random part beside a direction of length 1; at 1.2 two members of a topic
            have a mean cosine of 0.41.
    """
    rng = np.random.default_rng(seed)
    directions = rng.normal(size=(owners * per_owner, width)).astype(np.float32)
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    number = np.repeat(np.arange(owners), rows)
    planted = rng.integers(0, per_owner, size=owners * rows)
    vectors = rng.normal(size=(owners * rows, width)).astype(np.float32)
    vectors *= spread / np.linalg.norm(vectors, axis=1, keepdims=True)
    is_noise = rng.random(owners * rows) < noise
    vectors[~is_noise] += directions[(number * per_owner + planted)[~is_noise]]
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    planted[is_noise] = -1
    names = pl.Series(number).cast(pl.String)
    at = pl.Series(np.arange(owners * rows)).cast(pl.String)
    frame = pl.DataFrame({"planted": planted, "user_id": "u" + names, "episode_id": "e" + at.str.zfill(9)})
    return frame.with_columns(
        tenant_id=pl.lit("t"),
        tenant_bucket=pl.lit(0, pl.Int32),
        owner=pl.lit("user:") + pl.col("user_id"),
        agent_id=pl.lit("desk"),
        session_id=pl.lit(None, pl.String),
        event_at=pl.lit(START) + pl.duration(seconds=pl.int_range(pl.len())),
        ingested_at=pl.lit(START),
        content=pl.lit("a planted vector says nothing"),
        importance=pl.lit(0.5),
        vector=pl.Series(vectors).arr.to_list(),
    ).select("planted", *(pl.col(n).cast(t) for n, t in WAITING.items()))


def adjusted_rand(one: Sequence[Any], other: Sequence[Any]) -> float:
    """Adjusted Rand index (Hubert and Arabie, 1985) of two partitions of the same rows: 1 if they agree."""
    pairs = pl.DataFrame({"one": one, "other": other}, strict=False)

    def choose_two(counts: pl.Series) -> float:
        return float((counts * (counts - 1) / 2).sum())

    both = choose_two(pairs.group_by("one", "other").len()["len"].cast(pl.Float64))
    ones = choose_two(pairs.group_by("one").len()["len"].cast(pl.Float64))
    others = choose_two(pairs.group_by("other").len()["len"].cast(pl.Float64))
    total = pairs.height * (pairs.height - 1) / 2
    chance = ones * others / total
    most = (ones + others) / 2
    return 1.0 if most == chance else (both - chance) / (most - chance)
