"""A certificate of erasure as a page that opens offline and prints on two sheets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from flows.html_pages import UNKNOWN, count, duration, render, size

BAR_WIDTH = 330
"""Of the longest step, in units of the drawing."""
_STORE = ("before", "after", "files_rewritten", "files_removed", "bytes_rewritten")


def certificate_html(certificate: Mapping[str, Any]) -> str:
    """The page: outcome first, then scope, what went, what stayed, proof, and how to check it.

    Nothing is taken on trust: a certificate that calls itself complete is shown as not proven where its
    own figures say otherwise. What it does not state is shown as not stated.

    Args:
        certificate: As in ``certificates/<request_id>.json``; fields may be missing.

    Returns:
        One HTML document without script, network or personal data, every value escaped.
    """
    c: Mapping[str, Any] = defaultdict(lambda: None, certificate)
    stores = [_known(s, ("store", *_STORE)) for s in _rows(c["stores"])]
    touched = [store for store in stores if any(store[name] for name in _STORE)]
    kept = _rows(c["kept"])
    held = _held_stores(kept)
    verification = _known(c["verification"], _VERIFICATION)
    verdict = _verdict(c, verification, stores)
    return render(
        "certificate.html",
        {
            "c": c,
            "unknown": UNKNOWN,
            "verdict": verdict,
            "lateness": _lateness(c, is_closed=verdict["is_closed"]),
            "stores": touched,
            "empty": [s["store"] for s in stores if s not in touched and s["store"] not in (held or ())],
            "has_held": held is not None,
            "total": {name: _sum(stores, name) for name in _STORE},
            "kept": [_known(k, ("what", "count", "why")) for k in kept],
            "has_kept": c["kept"] is not None,
            "generations": _generations(c["generations_removed"]),
            "keys": _keys(c["keys_destroyed"]),
            "backups": c["covers_backups"],
            "owners": _known(c["owners"], ("gone", "derived_anew")),
            "lake": _known(c["lake"], ("files_before", "bytes_before", "files_after", "bytes_after")),
            "v": verification,
            "checked": _checked(verification),
            "requeried": _requeried(verification["requeried"]),
            "searched": _searched(verification),
            "pace": _pace(verification),
            "steps": _steps(c["steps"]),
            "audit": _known(c["audit"], ("seq", "hash")),
        },
    )


_VERIFICATION = (
    "method",
    "files",
    "bytes",
    "seconds",
    "gb_per_second",
    "needles",
    "searched",
    "unreadable",
    "leaks",
    "mentions",
    "mentions_held",
    "requeried",
    "passed",
)


def _held_stores(kept: Iterable[Mapping[str, Any]]) -> list[object] | None:
    """Stores with rows under hold; None where no row is, empty where the certificate does not say which."""
    held = [row for row in kept if row.get("what") == "rows_held" and row.get("count")]
    if not held:
        return None
    return [name for row in held if isinstance(row.get("stores"), Mapping) for name in row["stores"]]


def _known(value: object, names: Iterable[str]) -> dict[str, Any]:
    """The named fields of a mapping, None where it lacks one or is none."""
    held = value if isinstance(value, Mapping) else {}
    return {name: held.get(name) for name in names}


def _rows(value: object) -> list[Mapping[str, Any]]:
    return [row for row in value if isinstance(row, Mapping)] if isinstance(value, list | tuple) else []


def _sum(rows: Iterable[Mapping[str, Any]], name: str) -> int | float | None:
    numbers = [row[name] for row in rows if isinstance(row[name], int | float)]
    return sum(numbers) if numbers else None


def _number(value: object) -> float:
    """How many: of a list its length; 0 where nothing is stated."""
    if isinstance(value, int | float):
        return float(value)
    return float(len(value)) if isinstance(value, list | tuple | Mapping) else 0.0


def _verdict(
    c: Mapping[str, Any], verification: Mapping[str, Any], stores: Iterable[Mapping[str, Any]]
) -> dict[str, Any]:
    """Mood, mark, title, sentence, and whether the request is closed."""
    outcome = str(c["outcome"] or "").lower()
    left = sum(_number(store["after"]) for store in stores)
    is_proven = verification["passed"] is True and not _number(verification["leaks"])
    if outcome == "complete" and is_proven and not left:
        return _told("good", "✔", "Complete", _COMPLETE, is_closed=True)
    if outcome == "held" and is_proven:
        return _told("warn", "!", "Held", _HELD, is_closed=False)
    if outcome in ("complete", "held"):
        return _told("bad", "✘", "Not proven", _NOT_PROVEN.format(outcome), is_closed=False)
    if outcome == "failed":
        return _told("bad", "✘", "Failed", _FAILED, is_closed=False)
    return _told("bad", "✘", "Outcome not stated", _FAILED, is_closed=False)


_COMPLETE = (
    "Everything of the subject that this certificate's scope covers was removed, and reading back every"
    " file of the lake found nothing of it. What was kept on purpose is listed below with its reason."
)
_HELD = (
    "A legal hold keeps some rows; all others were removed, and reading back found nothing else of the"
    " subject. The request stays open and is finished when the hold is released."
)
_NOT_PROVEN = (
    "The certificate calls itself {}, but its own figures do not bear that out: see rows after and"
    " verification below. Treat the request as open. This page is no proof of erasure."
)
_FAILED = (
    "The request stays open and is tried again with the next nightly run. This page is no proof of erasure."
)


def _told(mood: str, mark: str, title: str, sentence: str, *, is_closed: bool) -> dict[str, Any]:
    return {"mood": mood, "mark": mark, "title": title, "sentence": sentence, "is_closed": is_closed}


def _checked(verification: Mapping[str, Any]) -> dict[str, str]:
    if verification["passed"] is True and not _number(verification["leaks"]):
        return {"mood": "good", "text": "passed"}
    return {"mood": "bad", "text": UNKNOWN if verification["passed"] is None else "not passed"}


def _requeried(value: object) -> str:
    """What was queried again: a count, or rows found by store."""
    if isinstance(value, Mapping):
        found = sum(v for v in value.values() if isinstance(v, int | float))
        return f"{count(len(value))} stores, {count(found)} rows found"
    if isinstance(value, list | tuple):
        return f"{count(len(value))} stores"
    if isinstance(value, bool):
        return "every table and generation" if value else "no"
    return UNKNOWN if value is None else f"{count(value)} rows of the subject found in tables and index"


def _searched(verification: Mapping[str, Any]) -> str:
    """How many strings of the subject were looked for, and of which kinds where that is stated."""
    kinds = verification["searched"] if isinstance(verification["searched"], Mapping) else {}
    told = [
        f"{count(kind['count'])} {str(name).replace('_', ' ')}"
        for name, kind in kinds.items()
        if isinstance(kind, Mapping) and kind.get("count")
    ]
    return f"{count(verification['needles'])} strings of the subject" + (
        f": {', '.join(told)}" if told else ""
    )


def _pace(verification: Mapping[str, Any]) -> str:
    """How fast it was read, where that is stated."""
    read, seconds = verification["bytes"], verification["seconds"]
    if isinstance(read, int | float) and isinstance(seconds, int | float) and seconds > 0:
        return f", {size(read / seconds)} a second"
    rate = verification["gb_per_second"]
    return f", {size(rate * 1e9)} a second" if isinstance(rate, int | float) else ""


def _generations(value: object) -> str:
    if value is None:
        return UNKNOWN
    number = int(_number(value))
    return "none had to be removed" if not number else f"{count(number)} older removed, with all they held"


def _keys(value: object) -> str:
    if value is None:
        return UNKNOWN
    number = int(_number(value))
    if not number:
        return "none (the subject's text was not encrypted with a key of its own)"
    return (
        f"{count(number)}; the text that they encrypted in the tables of any copy or backup can no longer be"
        " read, wherever it is"
    )


def _steps(value: object) -> list[dict[str, Any]]:
    """Name, seconds and width of the bar of each step."""
    steps = [_known(s, ("name", "seconds")) for s in _rows(value)]
    steps = [s for s in steps if isinstance(s["seconds"], int | float)]
    longest = max((s["seconds"] for s in steps), default=0) or 1
    return [
        {
            "name": str(s["name"] or "").replace("_", " "),
            "seconds": s["seconds"],
            "width": round(max(BAR_WIDTH * s["seconds"] / longest, 1), 1),
        }
        for s in steps
    ]


def _lateness(c: Mapping[str, Any], *, is_closed: bool) -> dict[str, str] | None:
    """In time or late, where both instants are stated; of an open request, how long it has."""
    done, due = _parsed(c["completed_at"]), _parsed(c["due_at"])
    if done is None or due is None or (done.tzinfo is None) != (due.tzinfo is None):
        return None
    seconds = (done - due).total_seconds()
    if seconds <= 0 and not is_closed:
        return {"mood": "soft", "text": f"still open; due {duration(-seconds)} later"}
    if seconds <= 0:
        return {"mood": "good", "text": f"{duration(-seconds)} before it was due"}
    return {"mood": "bad", "text": f"{duration(seconds)} late"}


def _parsed(value: object) -> datetime | None:
    if isinstance(value, datetime):
        return value
    try:
        return datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
