"""Changes of a session's task state as they may be kept: plain, short, redacted, and of nothing forbidden."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from lake.lake import Lake
from lake.landing import Refused
from lake.online import working_file, working_log
from lake.online.working_file import Write
from lake.online.working_log import SessionName
from lake.rights.admission import DETAILS, admission
from transforms.errors import UsageError
from transforms.policy import Policy
from transforms.redact import redact_text
from transforms.working.state import FIELDS, LISTS, Change

_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")


def checked(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values by field, lists as lists.

    Raises:
        UsageError: A field is unknown, or a value of another type.
    """
    unknown = sorted(set(values) - set(FIELDS))
    if unknown:
        raise UsageError(f"a task has no {', '.join(unknown)}", f"It has {', '.join(FIELDS)}.")
    found: dict[str, Any] = {}
    for name, value in values.items():
        is_list = name in LISTS
        if is_list and value is None:
            found[name] = []
        elif is_list and isinstance(value, list | tuple) and all(isinstance(text, str) for text in value):
            found[name] = list(value)
        elif not is_list and (value is None or isinstance(value, str)):
            found[name] = value
        else:
            raise UsageError(
                f"{name} is {type(value).__name__}",
                f"Pass {'a list of str' if is_list else 'a str or None'}.",
            )
    return found


def write(lake: Lake, name: SessionName, change: Change, policy: Policy) -> Refused | None:
    """Keep a change; durable when it returns None, else why nothing of it was kept.

    Args:
        lake: Where.
        name: Of which session; it has been opened.
        change: As ``checked``.
        policy: Redaction and limits.
    """
    clean = replace(
        change,
        set=_cleaned(change.set, policy),
        add=_cleaned(change.add, policy),
        drop=_cleaned(change.drop, policy),
    )
    line = working_log.change_line(lake, name, clean)
    refused: list[str] = []

    def step(held: bytes) -> Write | None:
        # Looked up under the file's lock: an erasure places its tombstone before it comes for the file.
        reason = _refusal(lake, name, clean)
        refused[:] = [] if reason is None else [reason]
        if reason is not None:
            return None
        return Write(line if held else working_log.header(name, clean.at) + line)

    working_file.change(lake, name.key(lake), step)
    return Refused(0, refused[0], DETAILS[refused[0]]) if refused else None


def _refusal(lake: Lake, name: SessionName, change: Change) -> str | None:
    row = {**name.columns(), "event_at": change.at, "tags": change.texts()}
    return admission(lake).reason(row)


def _cleaned(values: Mapping[str, Any], policy: Policy) -> dict[str, Any]:
    return {
        name: [_clean(text, policy) for text in value]
        if isinstance(value, list)
        else None
        if value is None
        else _clean(value, policy)
        for name, value in values.items()
    }


def _clean(text: str, policy: Policy) -> str:
    """As landing has it: no control characters, NFC, redacted; and cut."""
    plain = unicodedata.normalize("NFC", _CONTROL.sub("", text))
    if policy.redact.is_enabled:
        plain, _ = redact_text(plain, policy.redact.keep_kinds)
    most = policy.working.state_chars
    return plain if len(plain) <= most else f"{plain[: most - 1]}…"
