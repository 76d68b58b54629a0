"""Recall traces of an invented quarter, for ``slowwave tune``: ``python -m samples.recall_traces [OUT]``.

Agents of the sample tenants ask, candidates are scored as recall scores them under the default policy, and
an agent uses what is worth most to it by a policy of its own: the planted truth, ``TRUE_CHANGES``. So a
search that works finds a longer half-life of conversations and more weight of recency.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow.parquet as pq

from samples.recall_words import BY_TENANT, Aspect
from transforms import ids
from transforms.policy import Policy
from transforms.replay.changes import changed
from transforms.schemas import INSTANT, RECALLS
from transforms.scoring import EPOCH, FACTORS, closeness, rank_positions, score_columns

PATH = Path(__file__).parent / "data" / "recalls.parquet"
TRUE_CHANGES = {
    "decay.half_life_days.conversation": 30.0,
    "recall.weights.relevance": 0.25,
    "recall.weights.recency": 0.45,
    "recall.weights.importance": 0.15,
    "recall.weights.frequency": 0.05,
    "recall.weights.type": 0.10,
}
"""What the agents go by."""
FIRST, LAST = datetime(2026, 4, 1, tzinfo=UTC), datetime(2026, 6, 30, tzinfo=UTC)
PEOPLE = (
    ("aurora-travel", "u-mira", "trip-planner"),
    ("aurora-travel", "u-kenji", "trip-planner"),
    ("aurora-travel", "u-tomasz", "refunds-desk"),
    ("brightside-clinic", "u-leila", "clinic-desk"),
    ("brightside-clinic", "u-anand", "finance-helper"),
    ("brightside-clinic", "u-dayo", "meal-coach"),
    ("007", "u-dayo", "oncall-buddy"),
    ("007", "u-soyeon", "home-helper"),
    ("007", "u-wei", "study-partner"),
    ("007", "u-mira", "pair-coder"),
)
CALLS = 1_600
CANDIDATES, SHOWN = 20, 12
MEMORIES = 150
"""Of each person, over the quarter and the two months before."""
LIFETIME = timedelta(days=90)
"""Of what happened, under the default policy; facts and skills outlive the traces."""
KINDS = (
    ("conversation", "episodic", 0.60),
    ("action", "episodic", 0.06),
    ("outcome", "episodic", 0.06),
    ("summary", "episodic", 0.06),
    ("preference", "semantic", 0.08),
    ("fact", "semantic", 0.06),
    ("lesson", "procedural", 0.05),
    ("procedure", "procedural", 0.03),
)
_NEAR, _TOPIC, _FAR = (0.80, 0.03), (0.66, 0.05), (0.38, 0.08)
"""Mean and spread of relevance: of what is asked about, of the topic, of anything else."""
_NOISE = 0.035
"""Spread of what an agent finds useful beyond the planted truth."""
_SECOND = 0.03
"""A second memory is used where it is worth that much less than the first at most."""
_SILENT = 0.12
"""Part of the calls after which the agent says nothing."""
_BUCKETS = 16


@dataclass
class Person:
    """One person's memories: arrays by memory, and the nights' accesses of each."""

    tenant: str
    user: str
    agent: str
    names: list[str]
    texts: list[str]
    kinds: list[str]
    tiers: list[str]
    outcomes: list[str | None]
    topic: np.ndarray
    aspect: np.ndarray
    importance: np.ndarray
    event_us: np.ndarray
    accesses: dict[int, list[tuple[int, str]]]


def build(seed: int = 6) -> pl.DataFrame:
    """The traces, ``schemas.RECALLS`` with ``text``, ordered by time; the same for the same seed."""
    rng = np.random.default_rng(seed)
    people = [_person(rng, *who) for who in PEOPLE]
    span = int((LAST - FIRST).total_seconds())
    moments = np.sort(rng.integers(0, span, CALLS)).tolist()
    policy, truth = Policy(), changed(Policy(), TRUE_CHANGES)
    rows: list[dict[str, Any]] = []
    for number, moment in enumerate(moments):
        person = people[int(rng.integers(len(people)))]
        rows += _call(rng, person, number, FIRST + timedelta(seconds=moment), policy, truth)
    frame = pl.DataFrame(rows, infer_schema_length=None).with_columns(
        pl.col("recalled_at", "event_at", "last_accessed_at").cast(INSTANT),
        month=pl.col("recalled_at").dt.strftime("%Y-%m"),
    )
    buckets = ids.tenant_buckets(frame["tenant_id"], _BUCKETS)
    given = frame.with_columns(tenant_bucket=buckets)
    return pl.concat([RECALLS.conform(given), given.select("text")], how="horizontal")


def _person(rng: np.random.Generator, tenant: str, user: str, agent: str) -> Person:
    topics = BY_TENANT[tenant]
    start = FIRST - timedelta(days=60)
    seconds = np.sort(rng.integers(0, int((LAST - start).total_seconds()), MEMORIES))
    kind = rng.choice(len(KINDS), MEMORIES, p=[share for *_, share in KINDS])
    topic = rng.integers(0, len(topics), MEMORIES)
    aspect = rng.integers(0, len(topics[0]), MEMORIES)
    gap = rng.integers(0, 8, MEMORIES)
    told = [start + timedelta(seconds=int(s)) for s in seconds]
    texts = [_text(topics[t][a], int(g), at) for t, a, g, at in zip(topic, aspect, gap, told, strict=True)]
    names = [ids.row_id(tenant, user, "memory", str(place)) for place in range(MEMORIES)]
    kinds = [KINDS[k][0] for k in kind]
    succeeded = rng.random(MEMORIES) < 0.6
    outcomes = [
        ("success" if good else "failure") if name == "outcome" else None
        for name, good in zip(kinds, succeeded, strict=True)
    ]
    return Person(
        tenant, user, agent, names, texts, kinds, [KINDS[k][1] for k in kind], outcomes, topic, aspect,
        rng.integers(7, 20, MEMORIES) / 20, np.array([_us(at) for at in told]), defaultdict(list),
    )  # fmt: skip


def _text(aspect: Aspect, gap: int, at: datetime) -> str:
    return f"{at.day} {at:%B}: {aspect.sentence.format(aspect.gaps[gap])}"


def _us(at: datetime) -> int:
    return (at - EPOCH) // timedelta(microseconds=1)


def _call(
    rng: np.random.Generator, person: Person, number: int, at: datetime, policy: Policy, truth: Policy
) -> list[dict[str, Any]]:
    """One call: its candidates best first, and what the agent used of what it was shown."""
    topics = BY_TENANT[person.tenant]
    topic, aspect = int(rng.integers(len(topics))), int(rng.integers(len(topics[0])))
    relevance = _relevance(rng, person, topic, aspect)
    relevance[~_living(person, at)] = -1.0
    best = np.argsort(-relevance, kind="stable")[:CANDIDATES]
    places = best[relevance[best] > 0]
    columns, counts = _columns(person, places, relevance[places], at)
    scored = score_columns(columns, policy=policy, as_of=at)
    order = rank_positions(scored["score"], person.event_us[places], [person.names[p] for p in places])
    wanted = score_columns(columns, policy=truth, as_of=at)["score"][order]
    near = closeness(relevance[places], policy.recall.closeness_power)
    is_context = rng.random() < 0.35
    shown = min(len(order), int(rng.integers(6, SHOWN + 1)) if is_context else SHOWN)
    used = _used(rng, wanted[:shown])
    session = f"s-{person.user}-{at:%m%d}-{number % 3}"
    head = {
        "call_id": ids.row_id(person.tenant, "call", str(number)),
        "tenant_id": person.tenant,
        "user_id": person.user,
        "agent_id": person.agent,
        "session_id": session,
        "query": topics[topic][aspect].question,
        "verb": "context" if is_context else "search",
        "route": "semantic",
        "weighting": "five",
        "policy_hash": "sample",
        "seconds": round(float(rng.lognormal(-3.6, 0.5)), 4),
        "budget_tokens": 400 if is_context else None,
        "generation": f"sample-{at:%m%d}",
        "recalled_at": at,
    }
    found = []
    for rank, place in enumerate(order.tolist()):
        memory = int(places[place])
        is_shown = rank < shown
        found.append(
            {
                **head,
                "memory_id": person.names[memory],
                "text": person.texts[memory],
                "kind": person.kinds[memory],
                "tier": person.tiers[memory],
                "outcome": person.outcomes[memory],
                "rank": rank + 1,
                **{_NAMES[name]: float(scored[name][place]) for name in FACTORS},
                "score": float(scored["score"][place]),
                "closeness": float(near[place]),
                "cosine": None,
                "word_match": None,
                "memory_importance": float(person.importance[memory]),
                "access_count": int(counts[place]),
                "last_accessed_at": EPOCH + timedelta(microseconds=int(columns["seen_us"][place])),
                "event_at": EPOCH + timedelta(microseconds=int(person.event_us[memory])),
                "tokens": len(person.texts[memory]) // 4 + 12 if is_context and is_shown else None,
                "is_returned": is_shown,
                "is_packed": is_context and is_shown,
                "is_used": True if rank in used else None,
            }
        )
        if is_shown:
            person.accesses[memory].append((_us(at), session))
    return found


_NAMES = {
    "relevance": "relevance",
    "recency": "recency",
    "importance_factor": "importance",
    "frequency": "frequency",
    "type_factor": "type",
}


def _living(person: Person, at: datetime) -> np.ndarray:
    """Which memories are there: said by then, and not past the time that the default policy gives them.

    All matter enough never to be stale or decayed under it.
    """
    is_episode = np.array([tier == "episodic" for tier in person.tiers])
    born = _us(at - LIFETIME)
    return (person.event_us < _us(at)) & ~(is_episode & (person.event_us <= born))


def _relevance(rng: np.random.Generator, person: Person, topic: int, aspect: int) -> np.ndarray:
    is_topic = person.topic == topic
    is_near = is_topic & (person.aspect == aspect)
    mean = np.where(is_near, _NEAR[0], np.where(is_topic, _TOPIC[0], _FAR[0]))
    spread = np.where(is_near, _NEAR[1], np.where(is_topic, _TOPIC[1], _FAR[1]))
    return np.clip(rng.normal(mean, spread), 0.01, 1.0).round(3)


def _columns(
    person: Person, places: np.ndarray, relevance: np.ndarray, at: datetime
) -> tuple[dict[str, Any], np.ndarray]:
    """What the factors are made of: accesses as the last night folded them in."""
    night = _us(at.replace(hour=0, minute=0, second=0, microsecond=0))
    seen, counts = [], []
    for place in places.tolist():
        earlier = [(when, session) for when, session in person.accesses[place] if when < night]
        first_of: dict[str, int] = {}
        for when, session in earlier:
            first_of.setdefault(session, when)
        counts.append(len(first_of))
        seen.append(max(first_of.values(), default=int(person.event_us[place])))
    columns = {
        "relevance": relevance,
        "importance": person.importance[places],
        "access_count": np.array(counts, np.float64),
        "seen_us": np.array(seen, np.int64),
        "kind": [person.kinds[p] for p in places],
        "tier": [person.tiers[p] for p in places],
        "outcome": [person.outcomes[p] for p in places],
    }
    return columns, np.array(counts)


def _used(rng: np.random.Generator, worth: np.ndarray) -> set[int]:
    """Places of what was used: the best by the truth, give or take, and a second that is nearly as good."""
    if rng.random() < _SILENT or not len(worth):
        return set()
    felt = worth + rng.normal(0, _NOISE, len(worth))
    first, *rest = np.argsort(-felt).tolist()
    return {first, *(place for place in rest[:1] if felt[first] - felt[place] <= _SECOND)}


def write(path: Path, frame: pl.DataFrame) -> None:
    """Write the traces small: factors in single precision, which moves no score by a millionth."""
    names = [n for n, dtype in frame.schema.items() if dtype == pl.Float64]
    small = frame.drop("tenant_bucket", "month").with_columns(pl.col(names).cast(pl.Float32))
    arrow = small.to_arrow()
    texts = [n for n, dtype in small.schema.items() if dtype == pl.String]
    pq.write_table(
        arrow, path, compression="zstd", compression_level=19, use_dictionary=texts,
        use_byte_stream_split=names, write_statistics=False,
    )  # fmt: skip


def main(path: Path = PATH) -> None:
    """Write the traces."""
    write(path, build())


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else PATH)
