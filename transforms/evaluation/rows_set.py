"""Reader of a labelled set of one's own: JSON lines of episodes and questions (see docs/evaluation.md)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import orjson

from transforms.errors import InputError
from transforms.evaluation.labelled import LEAD, LabelledSet, Question

TENANT = "evaluation"
"""Of rows and questions that name none."""
USER = "user"
"""Of rows and questions that name none, nor an agent."""
CATEGORY = "questions"
"""Of questions that name none."""
_SCOPE = ("tenant_id", "user_id", "agent_id", "session_id")
_EPISODE = {"content": str, "event_at": str}
_QUESTION = {"query": str}
_REMEDY = "See docs/evaluation.md for the form of a line."
_SHOWN = 3
"""Places told of one kind of fault."""


class _Faults:
    """Faults by what they are, with the lines they are in."""

    def __init__(self) -> None:
        self._lines: dict[str, list[int]] = {}

    def add(self, rule: str, line: int) -> None:
        self._lines.setdefault(rule, []).append(line)

    def require_none(self) -> None:
        """Raise for all of them at once.

        Raises:
            InputError: There are some.
        """
        if not self._lines:
            return
        told = []
        for rule, lines in self._lines.items():
            shown = ", ".join(map(str, lines[:_SHOWN]))
            more = f" and {len(lines) - _SHOWN:,} more" if len(lines) > _SHOWN else ""
            told.append(f"{rule} (line{'s' if len(lines) > 1 else ''} {shown}{more})")
        raise InputError("; ".join(told), _REMEDY)


def read_rows(raw: bytes) -> LabelledSet:
    """JSON lines as a labelled set.

    Raises:
        InputError: Lines are not of the documented form; all of them are told, by what is wrong.
    """
    faults = _Faults()
    rows: dict[str, tuple[int, dict[str, Any]]] = {}
    asked: dict[str, tuple[int, dict[str, Any]]] = {}
    for line, record in _records(raw, faults):
        kind = record.get("type")
        if kind not in ("episode", "question"):
            faults.add('"type" is neither "episode" nor "question"', line)
            continue
        held, required = (rows, _EPISODE) if kind == "episode" else (asked, _QUESTION)
        if _is_whole(record, required, faults, line):
            if record["id"] in held:
                faults.add(f'"id" of an earlier {kind}', line)
            held[record["id"]] = line, record
    episodes = [_episode(line, record, faults) for line, record in rows.values()]
    questions = [_question(line, record, rows, faults) for line, record in asked.values()]
    if not rows:
        faults.add("no episode", 1)
    if not asked:
        faults.add("no question", 1)
    faults.require_none()
    return _with_instants(episodes, questions)


def _records(raw: bytes, faults: _Faults) -> Iterator[tuple[int, dict[str, Any]]]:
    for line, text in enumerate(raw.removeprefix(b"\xef\xbb\xbf").splitlines(), 1):
        if not text.strip():
            continue
        try:
            record = orjson.loads(text)
        except orjson.JSONDecodeError:
            faults.add("no JSON", line)
            continue
        if isinstance(record, dict):
            yield line, record
        else:
            faults.add("no JSON object", line)


def _is_whole(record: Mapping[str, Any], required: Mapping[str, type], faults: _Faults, line: int) -> bool:
    wrong = [name for name in ("id", *required) if not (isinstance(record.get(name), str) and record[name])]
    wrong += [
        n for n in _SCOPE if record.get(n) is not None and not (isinstance(record[n], str) and record[n])
    ]
    for name in wrong:
        faults.add(f'"{name}" is missing or no text', line)
    return not wrong


def _scope(record: Mapping[str, Any]) -> dict[str, str]:
    """The scope a line names, with what it leaves out."""
    named = {name: record[name] for name in _SCOPE if record.get(name)}
    if not named.keys() & {"user_id", "agent_id", "session_id"}:
        named["user_id"] = USER
    return {"tenant_id": TENANT, **named}


def _episode(line: int, record: Mapping[str, Any], faults: _Faults) -> dict[str, Any]:
    event_at = _instant(record["event_at"], "event_at", faults, line)
    plain = {name: value for name, value in record.items() if name not in ("type", "group")}
    scope = _scope(record)
    group = record.get("group") or scope.get("user_id") or scope.get("agent_id") or scope["session_id"]
    return {"role": "user", **plain, **scope, "event_at": event_at, "group": str(group)}


def _question(
    line: int, record: Mapping[str, Any], rows: Mapping[str, Any], faults: _Faults
) -> dict[str, Any]:
    relevant = record.get("relevant")
    if not isinstance(relevant, list) or not all(isinstance(name, str) for name in relevant):
        faults.add('"relevant" is no list of ids of episodes', line)
        relevant = []
    if any(name not in rows for name in relevant):
        faults.add('"relevant" names an episode that is not in the file', line)
    as_of = record.get("as_of")
    scope = _scope(record)
    group = record.get("group") or scope.get("user_id") or scope.get("agent_id") or scope["session_id"]
    return {
        "name": record["id"],
        "query": record["query"],
        "category": str(record.get("category") or CATEGORY),
        "group": str(group),
        "part": str(record.get("part") or ""),
        "scope": {name.removesuffix("_id"): value for name, value in scope.items()},
        "relevant": tuple(dict.fromkeys(relevant)),
        "as_of": None if as_of is None else _instant(as_of, "as_of", faults, line),
    }


def _instant(text: object, name: str, faults: _Faults, line: int) -> datetime:
    try:
        instant = datetime.fromisoformat(str(text))
    except ValueError:
        instant = datetime.min
    if instant.tzinfo is None:
        faults.add(f'"{name}" is no ISO 8601 time with a zone', line)
        return datetime(2000, 1, 1, tzinfo=UTC)
    return instant.astimezone(UTC)


def _with_instants(rows: list[dict[str, Any]], questions: list[dict[str, Any]]) -> LabelledSet:
    """The set, each question without an instant asked a day after the last episode of its group."""
    ends: dict[str, datetime] = {}
    for row in rows:
        ends[row["group"]] = max(row["event_at"], ends.get(row["group"], row["event_at"]))
    last = max(ends.values())
    for question in questions:
        question["as_of"] = question["as_of"] or ends.get(question["group"], last) + LEAD
    plain = [{name: value for name, value in row.items() if name != "group"} for row in rows]
    return LabelledSet("rows", plain, [Question(**question) for question in questions])
