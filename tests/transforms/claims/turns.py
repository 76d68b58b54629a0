"""Reads the labelled turns, and holds what the rules read from them against the labels."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from transforms.claims.extract import extract
from transforms.claims.keys import key_of
from transforms.policy import Policy
from transforms.predicates import BY_NAME
from transforms.schemas import EPISODES

PLACE = Path(__file__).parent
SAID_AT = datetime(2026, 5, 13, 10, 0, tzinfo=UTC)
ROLES = {"U": "user", "A": "assistant", "T": "tool", "J": "user", "S": "system"}
LINE = re.compile(r"^([UATJS])(?:\((\w+)\))?: (.*)$")


class Label(NamedTuple):
    """One claim, as labelled or as read; subject and object are keys."""

    sign: str
    subject: str
    predicate: str
    aspect: str
    object: str

    def __str__(self) -> str:
        parts = [self.subject, self.predicate, *([self.aspect] if self.aspect else []), self.object]
        return f"{self.sign} {' | '.join(parts)}"


@dataclass
class Turn:
    number: int
    section: str
    mark: str
    speaker: str | None
    text: str
    is_held_out: bool
    labels: list[Label] = field(default_factory=list)


@dataclass
class Result:
    turn: Turn
    right: list[Label]
    missed: list[Label]
    wrong: list[Label]


@cache
def load() -> list[Turn]:
    """The turns of all files; those of ``held_out.txt`` come last."""
    turns: list[Turn] = []
    for name in ("turns.txt", "more_turns.txt", "held_out.txt"):
        _load(name, turns)
    return _keyed(turns)


def _load(name: str, turns: list[Turn]) -> None:
    section = ""
    for line in (PLACE / name).read_text(encoding="utf-8").splitlines():
        if line.startswith("= "):
            section = line[2:]
        elif found := LINE.match(line):
            text = found[3].replace("\\n", "\n")
            turns.append(Turn(len(turns) + 1, section, found[1], found[2], text, name == "held_out.txt"))
        elif line[:2] in ("+ ", "- ", "x "):
            turns[-1].labels.append(_label(line))
        elif line and not line.startswith("#"):
            raise ValueError(line)


def _label(line: str) -> Label:
    subject, predicate, *rest = (part.strip() for part in line[2:].split("|"))
    if len(rest) != 1 + BY_NAME[predicate].has_aspect:
        raise ValueError(line)
    return Label(line[0], subject, predicate, rest[0] if len(rest) > 1 else "", rest[-1])


def _keyed(turns: list[Turn]) -> list[Turn]:
    """The turns with keys for the texts of their labels."""
    texts = sorted({text for turn in turns for label in turn.labels for text in label})
    keys = dict(zip(texts, key_of(pl.Series(texts)).to_list(), strict=True))
    for turn in turns:
        turn.labels = [
            Label(a.sign, keys[a.subject], a.predicate, keys[a.aspect], keys[a.object]) for a in turn.labels
        ]
    return turns


def episodes(turns: list[Turn]) -> pl.DataFrame:
    return pl.DataFrame([row(t) for t in turns], schema=EPISODES.polars)


def row(turn: Turn, **values: Any) -> dict[str, Any]:
    return {
        **dict.fromkeys(EPISODES.names),
        "episode_id": f"turn-{turn.number:03}", "tenant_id": "t", "tenant_bucket": 0, "user_id": "u",
        "agent_id": "a", "session_id": "s", "month": "2026-05",
        "kind": "observation" if turn.mark == "T" else "conversation",
        "role": ROLES[turn.mark], "speaker": turn.speaker, "content": turn.text, "content_hash": "",
        "content_chars": len(turn.text), "tool_name": "tool" if turn.mark == "T" else None, "tags": [],
        "importance": 0.5, "sensitivity": "normal", "redactions": [], "is_injected": turn.mark == "J",
        "trust": 0.4 if turn.mark == "T" else 1.0, "source": "slowwave", "retention_tier": "medium_term",
        "event_at": SAID_AT, "ingested_at": SAID_AT, **values,
    }  # fmt: skip


def read_labels(claims: pl.DataFrame) -> dict[str, list[Label]]:
    """What was read, by episode."""
    found: dict[str, list[Label]] = {}
    for c in claims.sort("episode_id", "span_start", "claim_id").iter_rows(named=True):
        sign = "x" if c["operation"] == "retract" else "+" if c["polarity"] == "positive" else "-"
        label = Label(sign, c["subject_key"], c["predicate"], c["aspect"], c["object_key"])
        found.setdefault(c["episode_id"], []).append(label)
    return found


def is_right(read: Label, label: Label) -> bool:
    same = read[:3] == label[:3] and (not label.aspect or read.aspect == label.aspect)
    a, b = f" {read.object} ", f" {label.object} "
    return same and (a in b or b in a or _unspaced(read.object, label.object))


def _unspaced(a: str, b: str) -> bool:
    """Scripts without spaces: one contains the other."""
    return not (a + b).isascii() and not re.search(r"[A-Za-z]", a + b) and (a in b or b in a)


def score(turns: list[Turn]) -> list[Result]:
    found = read_labels(extract(episodes(turns), Policy()).claims)
    results = []
    for turn in turns:
        left = list(found.get(f"turn-{turn.number:03}", []))
        right, missed = [], []
        for label in turn.labels:
            hit = next((r for r in left if is_right(r, label)), None)
            if hit is None:
                missed.append(label)
            else:
                left.remove(hit)
                right.append(label)
        results.append(Result(turn, right, missed, left))
    return results


def figures(results: list[Result]) -> tuple[float, float, int, int, int]:
    """Precision, recall, right, wrong, missed."""
    right = sum(len(r.right) for r in results)
    wrong = sum(len(r.wrong) for r in results)
    missed = sum(len(r.missed) for r in results)
    return right / max(1, right + wrong), right / max(1, right + missed), right, wrong, missed


def misses(results: list[Result]) -> str:
    """Every claim missed and every one wrongly read, a line each; ``python -m`` this module writes it."""
    lines = ["# Claims that the rules miss, and that they read wrongly; written by turns.py beside it."]
    for result in results:
        turn = result.turn
        place = f"{'held out' if turn.is_held_out else 'tuning'} {turn.number}"
        text = turn.text.replace("\n", "\\n")
        lines += [f"missed  {place}: {text}\n        {label}" for label in result.missed]
        lines += [f"wrong   {place}: {text}\n        {label}" for label in result.wrong]
    return "\n".join(lines) + "\n"


def areas(results: list[Result]) -> list[tuple[str, int, int, int]]:
    """Area of predicates, claims right, wrong and missed."""
    counts: dict[str, list[int]] = {}
    for result in results:
        for n, labels in enumerate((result.right, result.wrong, result.missed)):
            for label in labels:
                counts.setdefault(BY_NAME[label.predicate].area, [0, 0, 0])[n] += 1
    return [(area, *counts[area]) for area in sorted(counts)]  # type: ignore[misc]


if __name__ == "__main__":
    scored = score(load())
    (PLACE / "misses.txt").write_text(misses(scored), encoding="utf-8")
    for name, part in (
        ("tuning", [r for r in scored if not r.turn.is_held_out]),
        ("held out", [r for r in scored if r.turn.is_held_out]),
        ("all", scored),
    ):
        precision, recall, right, wrong, missing = figures(part)
        print(f"{name}: {len(part)} turns, precision {precision:.3f}, recall {recall:.3f}")
        print(f"  {right} right, {wrong} wrong, {missing} missed")
    for area, *counts in areas(scored):
        print("|", area, *(f"| {n}" for n in counts), "|")
