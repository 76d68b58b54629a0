"""Named policies of retention and decay; the values of a file go on top of the one it names.

Published designs differ in more than their numbers, so each is shipped whole. ``tiers`` is the default:
lifetimes by tier, decay by half-life. ``per_type_ttl`` lets the kind of a row bound its life, too.
``journal`` keeps a year of conversations in detail, steps their priority down with age, and goes by how
sure a fact is. ``archive`` forgets nothing of its own accord: for histories that are imported to be kept.
"""

from __future__ import annotations

from typing import Any, Literal

from transforms.policy_entries import CENTURY_SECONDS, YEAR_SECONDS

Preset = Literal["tiers", "per_type_ttl", "journal", "archive"]

_DAY = 86_400
_EPISODES = ("conversation", "action", "observation", "outcome")

PRESETS: dict[str, dict[str, Any]] = {
    "tiers": {},
    "per_type_ttl": {
        "retention": {
            "session_seconds": 3_600,
            "by_kind_seconds": {
                "conversation": _DAY,
                "observation": _DAY,
                "action": 90 * _DAY,
                "outcome": 90 * _DAY,
                "summary": 7 * _DAY,
                "preference": 30 * _DAY,
                "pattern": 30 * _DAY,
            },
        },
        "working": {"row_tier": "short_term"},  # raw conversation lives its day, the state its hour
    },
    "journal": {
        "retention": {
            "medium_term_seconds": YEAR_SECONDS,
            "long_term_seconds": None,
        },
        "decay": {
            "half_life_days": dict.fromkeys((*_EPISODES, "summary", "preference")),
            "fade_after_days": 90.0,
            "fade_factor": 0.5,
            "fade_more_after_days": 365.0,
            "fade_more_factor": 0.2,
            "unconfirmed_after_days": 182.0,
            "unconfirmed_factor": 0.5,
            "archive_below_confidence": 0.3,
        },
        "cold": {"after_days": 180.0},
    },
    "archive": {
        "retention": {
            "medium_term_seconds": None,
            "long_term_seconds": None,
            "user_cap_seconds": CENTURY_SECONDS,
        },
        "decay": {"forget_below": 0.0},
        "staleness": {"is_enabled": False},
        "capacity": {
            "facts": 1_000_000,
            "indexed_rows": 10_000_000,
            "episodes": 10_000_000,
            "content_chars": 1_000_000_000_000,
        },
    },
}
"""What each preset sets of the policy, by section."""
