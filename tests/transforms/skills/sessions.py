"""Sessions written as lines, for the tests of skills.

``U``, ``A`` and ``S`` are turns of user, assistant and system; ``C tool`` a call, ``R tool`` its result;
``T tool`` and ``F tool`` a call with its result that worked and that failed, ``N tool`` one whose end is not
told; ``O success`` an outcome. Options stand in braces: ``U{feedback=helpful}: Good``, tags divided by
``|``. A backslash and n in a text are a line break.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl

from transforms.schemas import EPISODES

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
TRUST = {"user": 1.0, "assistant": 0.7, "system": 0.7, "tool": 0.4}
_LINE = re.compile(r"(\w)(?: (\w+))?(?:\{(.*?)\})?:(?: (.*))?$", re.DOTALL)
_MARKS: dict[str, tuple[str, str]] = {
    "U": ("conversation", "user"), "A": ("conversation", "assistant"), "S": ("conversation", "system"),
    "C": ("action", "assistant"), "R": ("observation", "tool"), "T": ("action", "tool"),
    "F": ("action", "tool"), "N": ("action", "tool"), "O": ("outcome", "assistant"),
}  # fmt: skip


def row(number: int, line: str, **scope: Any) -> dict[str, Any]:
    """One episode; numbers order the rows of a session, and name them."""
    match = _LINE.match(line)
    if match is None:
        raise ValueError(line)
    mark, word, raw, text = match.groups()
    text = (text or "").replace("\\n", "\n")
    kind, role = _MARKS[mark]
    is_tool = mark in "CRTFN"
    options = dict(item.split("=", 1) for item in (raw or "").split(";") if item)
    ended = {"T": "success", "F": "failure", "O": word}.get(mark)
    session = scope.get("session_id", "s")
    values = {
        "episode_id": f"{scope.get('tenant_id', 'a')}-{session}-{number:02d}",
        "tenant_id": "a",
        "tenant_bucket": 3,
        "agent_id": "g",
        "user_id": "u",
        "session_id": session,
        "month": "2026-03",
        "kind": kind,
        "role": options.get("role", role),
        "content": text,
        "content_hash": "",
        "content_chars": len(text),
        "tool_name": word if is_tool else options.get("tool"),
        "tool_arguments": options.get("args"),
        "outcome": options.get("outcome", ended),
        "failure_reason": options.get("reason"),
        "feedback": options.get("feedback"),
        "tags": options["tags"].split("|") if "tags" in options else [],
        "importance": float(options.get("importance", 0.4)),
        "sensitivity": options.get("sensitivity", "normal"),
        "redactions": [],
        "is_injected": "injected" in options,
        "trust": TRUST[options.get("role", role)],
        "source": "test",
        "turn_index": number,
        "retention_tier": "medium_term",
        "event_at": NOON + timedelta(minutes=number),
        "ingested_at": NOON,
        "metadata": options.get("metadata"),
    }
    return {**dict.fromkeys(EPISODES.names), **values, **scope}


def session(text: str | Iterable[str], **scope: Any) -> list[dict[str, Any]]:
    """Rows of one session, a line each."""
    lines = text.strip().splitlines() if isinstance(text, str) else text
    return [row(number, line.strip(), **scope) for number, line in enumerate(lines)]


def frame(rows: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    """Rows as ``schemas.EPISODES``."""
    return pl.DataFrame(list(rows), schema=EPISODES.polars)


def episodes(text: str, **scope: Any) -> pl.DataFrame:
    """One session as ``schemas.EPISODES``."""
    return frame(session(text, **scope))
