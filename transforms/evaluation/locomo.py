"""LoCoMo (Maharana et al. 2024) as a labelled set: turns as its reader reads them, questions, and answers.

Each conversation is a user of one tenant, so that it is searched alone; its two speakers are the rows'
speakers, and both are people, so their role is user. The caption of a shared image stands behind the text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson

from transforms.errors import InputError, UsageError
from transforms.evaluation.labelled import LEAD, LabelledSet, Question
from transforms.readers.locomo import said, session_time, sessions_of

TENANT = "locomo"
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
"""LoCoMo's numbers of kinds of question. Those of 5 are about what was never said: nothing answers them."""
ADVERSARIAL = 5
TUNED = 5
"""Conversations 1 to 5 are for tuning, the others are looked at last."""
_EVIDENCE = re.compile(r"D:?0*(\d{1,6}):0*(\d{1,6})")
_SHAPE = "Give a file of LoCoMo such as locomo10.json, or --set rows for a file of your own."


def read_locomo(raw: bytes, conversations: Sequence[int] = ()) -> LabelledSet:
    """LoCoMo's JSON as a labelled set.

    Evidence such as ``D8:6; D9:17``, ``D:11:26`` or ``D30:05`` is mended where the turns are there;
    what names no turn is left out. Both are counted in ``remarks``, and so are questions left without
    evidence, which cannot be scored.

    Args:
        raw: The file.
        conversations: Numbers, from 1 in the file's order; empty: all.

    Raises:
        InputError: It is no JSON or not of that shape.
        UsageError: There is no such conversation.
    """
    try:
        samples = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise InputError("the file is not JSON", _SHAPE) from error
    if not isinstance(samples, list) or not samples:
        raise InputError("the file is no list of conversations", _SHAPE)
    counts: Counter[str] = Counter()
    rows: list[dict[str, Any]] = []
    questions: list[Question] = []
    for number, sample in enumerate(samples, 1):
        if conversations and number not in conversations:
            continue
        try:
            _read_sample(number, sample, rows, questions, counts)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            fault = f"conversation {number} is not of the shape of LoCoMo ({type(error).__name__})"
            raise InputError(fault, _SHAPE) from error
    if not questions:
        raise UsageError("no question is left of that selection", "Choose other conversations.")
    return LabelledSet(TENANT, rows, questions, dict(sorted(counts.items())))


def _read_sample(
    number: int, sample: Mapping[str, Any], rows: list[dict[str, Any]], questions: list[Question],
    counts: Counter[str],
) -> None:  # fmt: skip
    user = f"conversation-{number:02d}"
    turns = list(_turns(user, sample["conversation"]))
    rows.extend(turns)
    known = {row["id"].partition("/")[2] for row in turns}
    as_of = max(row["event_at"] for row in turns) + LEAD
    for position, asked in enumerate(sample["qa"], 1):
        kind, query = asked["category"], asked["question"]
        if not isinstance(query, str) or not query.strip():
            counts["questions left out, without text"] += 1
            continue
        evidence = _evidence(asked["evidence"], known, counts)
        if kind == ADVERSARIAL:
            evidence = ()
        elif not evidence:
            counts["questions left out, without evidence"] += 1
            continue
        questions.append(
            Question(
                name=f"{user}/q{position:03d}",
                query=query,
                category=CATEGORIES[kind],
                group=user,
                part=f"1-{TUNED}" if number <= TUNED else f"from {TUNED + 1}",
                scope={"tenant": TENANT, "user": user},
                relevant=tuple(f"{user}/{name}" for name in evidence),
                as_of=as_of,
            )
        )


def _turns(user: str, conversation: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Rows in order of their sessions; a turn is a second after the one before it."""
    for session in sessions_of(conversation):
        began = _instant(str(session.date))
        for place, turn in enumerate(_listed(session.turns)):
            yield {
                "id": f"{user}/{turn['dia_id']}",
                "tenant_id": TENANT,
                "user_id": user,
                "session_id": f"{user}/session-{session.number:02d}",
                "role": "user",
                "speaker": turn["speaker"],
                "content": said(turn),
                "event_at": began + timedelta(seconds=place),
            }


def _listed(turns: object) -> list[Any]:
    if not isinstance(turns, list):
        raise TypeError("a session is no list of turns")
    return turns


def _instant(date: str) -> datetime:
    """When a session began; the file names no zone, and UTC is as good as any."""
    time = session_time(date)
    if time is None:
        raise ValueError("a session without a date")
    return datetime.fromisoformat(time).replace(tzinfo=UTC)


def _evidence(given: Sequence[str], known: set[str], counts: Counter[str]) -> tuple[str, ...]:
    """Turns that the evidence names, each once, in order."""
    found: dict[str, None] = {}
    for text in given:
        if text in known:
            found[text] = None
            continue
        named = [f"D{session}:{turn}" for session, turn in _EVIDENCE.findall(text)]
        there = [name for name in named if name in known]
        counts["evidence ids mended" if there else "evidence ids left out"] += 1
        found.update(dict.fromkeys(there))
    return tuple(found)
