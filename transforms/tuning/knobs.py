"""Which keys of a policy can be tuned on logged recalls, in what range, and why the others cannot."""

from __future__ import annotations

import difflib
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from transforms.errors import ConfigError
from transforms.policy import Policy
from transforms.policy_entries import MEMORY_KINDS, MEMORY_TIERS, YEAR_SECONDS
from transforms.replay.changes import changed
from transforms.weights import Weights

Scale = Literal["linear", "log"]
WEIGHTS = "recall.weights."
HALF_LIVES = "decay.half_life_days."
LENGTHS = ("recall.default_k", "context.default_budget_tokens")
"""Keys that say how long answers are."""
_KEY_CHARS = 80
DIGITS = 3
"""Significant digits of a value that a search picks: more would claim what no log can tell."""


@dataclass(frozen=True)
class Knob:
    """One key of the policy and what it may be.

    Attributes:
        key: Dotted, as in ``slowwave.toml``.
        low: Least value of a range.
        high: Greatest.
        scale: How the range is divided.
        is_whole: Whether values are whole numbers.
        has_never: Whether "never" (None) is one of them, beyond the greatest.
        choices: The values, where they are a list; then there is no range.
        steps: Values that a grid takes of the range, both ends among them.
    """

    key: str
    low: float = 0.0
    high: float = 1.0
    scale: Scale = "linear"
    is_whole: bool = False
    has_never: bool = False
    choices: tuple[Any, ...] = ()
    steps: int = 5


def _each(prefix: str, names: Sequence[str], like: Knob) -> dict[str, Knob]:
    return {f"{prefix}{name}": replace(like, key=f"{prefix}{name}") for name in names}


_LIFETIME = Knob("", 3_600, 3 * YEAR_SECONDS, "log", is_whole=True, has_never=True)
"""An hour, the shortest tier, to three years, which a person's own period caps all at."""
_RANGES = (
    # Twice the default power; at 12 a row nine tenths as relevant keeps a quarter of its other factors.
    Knob("recall.closeness_power", 0, 12),
    Knob("recall.success_boost", 0, 0.5),
    # Fewer than 3 rows answer no question of several parts; more than 50 were not candidates.
    Knob("recall.default_k", 3, 50, "log", is_whole=True),
    # From the smallest useful prompt to twice the "large" preset.
    Knob("context.default_budget_tokens", 500, 32_000, "log", is_whole=True),
    # A memory of 4 to 999 recalls counts as most frequent.
    Knob("decay.frequency_scale", 5, 1_000, "log"),
    Knob("decay.refresh", choices=("served", "used")),
    # Above 0.5 a memory of full importance that nobody recalls would go.
    Knob("decay.forget_below", 0, 0.5),
    Knob("decay.importance_weight"),
    Knob("decay.recency_weight"),
    Knob("decay.frequency_weight"),
    Knob("staleness.after_days", 7, 365, "log"),
    Knob("staleness.below_importance", 0, 0.6),
    # A tenth to a hundred times of the defaults.
    Knob("capacity.facts", 10, 10_000, "log", is_whole=True),
    Knob("capacity.indexed_rows", 1_000, 1_000_000, "log", is_whole=True),
    Knob("capacity.episodes", 50, 50_000, "log", is_whole=True),
    Knob("capacity.content_chars", 1_000_000, 1_000_000_000, "log", is_whole=True),
)
_TIERS = ("transient", "session", "short_term", "medium_term", "long_term", "permanent")
KNOBS: dict[str, Knob] = {
    **_each(WEIGHTS, tuple(Weights.model_fields), Knob("")),
    **_each("recall.type_bonus.", MEMORY_TIERS, Knob("")),
    # A day to a year: a longer one can hardly be told from "never" in a log of some months.
    **_each(HALF_LIVES, MEMORY_KINDS, Knob("", 1, 365, "log", has_never=True)),
    **_each("retention.by_kind_seconds.", MEMORY_KINDS, _LIFETIME),
    **{f"retention.{tier}_seconds": replace(_LIFETIME, key=f"retention.{tier}_seconds") for tier in _TIERS},
    **{knob.key: knob for knob in _RANGES},
}
"""Every key that may be tuned, with its range."""

_RECIPE = "relevance is logged as one number, and the words and vectors that it is made of are not"
_VECTORS = "it compares vectors of candidates, which the log does not hold"
_ROWS = "rows beyond the logged candidates are not known"
_FLOOR = "the floor depends on the index that was searched"
_WRITTEN = "it acts when memories are made, and recalls are replayed on the memories that were there"
_LEGAL = "it is what a person or the law asks for, and no matter of how well recall serves"
_REFUSED = {
    "recall.agents": "the log is searched for one set of weights; take --agent and put the result there",
    "recall.candidates": _ROWS,
    "context.candidates": _ROWS,
    "context.shares": "a context is not packed again: texts are not in the log",
    "context": "a context is not packed again: texts are not in the log",
    "recall.duplicate_cosine": _VECTORS,
    "recall.diversity_share": _VECTORS,
    "recall.floor": _FLOOR,
    "recall.relevance_floor": _FLOOR,
    "recall.derived_floor_ratio": "rows below it were not logged",
    "recall.rerank": "what a reranker would say of other rows is not known",
    "recall.max_sensitivity": _LEGAL,
    "recall.fresh_rows": _ROWS,
    "recall.as_of_rows": _ROWS,
    "recall.hint_relevance": "hints are not logged",
    "recall": _RECIPE,
    "routing": "the route of a call was chosen from its words, and is replayed as it was",
    "retention.user_cap_seconds": _LEGAL,
    "retention.quarantine_seconds": "refused rows are not recalled",
    "retention.recalls_seconds": "it is about the log itself",
    "retention": "it names a tier of new memories; tune the lifetime of the tier",
    "rights": _LEGAL,
    "redact": _LEGAL,
    "sharing": "what other scopes would have given is not in the log",
    "working": "working memory is not logged as candidates",
    "decay": "it is not replayed yet",
    "cold": "what lies in cold storage was no candidate",
}
"""Why a key cannot be replayed, by the longest beginning that fits."""


def knob_of(key: str) -> Knob:
    """The knob of a key.

    Raises:
        ConfigError: A log cannot replay it, or there is no such key.
    """
    if key in KNOBS:
        return KNOBS[key]
    fits = [name for name in _REFUSED if key == name or key.startswith((f"{name}.", f"{name}_"))]
    if _is_known(key) or any("." in name for name in fits):
        why = _REFUSED[max(fits, key=len)] if fits else _WRITTEN
        raise ConfigError(f"{key} cannot be tuned on a log: {why}", "Leave it out of the search.")
    near = difflib.get_close_matches(key, KNOBS, n=1)
    hint = f", did you mean {near[0]}?" if near else ""
    raise ConfigError(
        f"no policy key {_shown(key)}{hint}", "docs/tuning.md lists the keys that can be tuned."
    )


def _shown(key: str) -> str:
    """A key out of a file, short, without the secret that it may be by mistake."""
    from transforms.redact import redact_text  # heavy, and needed for a fault only

    return redact_text(key)[0][:_KEY_CHARS]


def _is_known(key: str) -> bool:
    """Whether a policy has this key, at any depth."""
    place: Any = Policy().model_dump()
    for name in key.split("."):
        if not isinstance(place, dict) or name not in place:
            return False
        place = place[name]
    return True


def checked(policy: Policy, key: str, values: Sequence[Any]) -> None:
    """Check values of a key, each alone.

    Raises:
        ConfigError: One of them is none that the policy may have.
    """
    for value in values:
        if key.startswith(WEIGHTS) and not is_number(value):
            raise ConfigError(f"{key}: a weight is a number from 0 to 1", "Write such as [0.1, 0.2].")
        changed(policy, {key: value})


def value_of(policy: Policy, key: str) -> Any:
    """What a policy says under a key; a weight as its number, None is "never".

    A kind without an entry has what the policy takes for it: the half-life of conversations, no lifetime
    of its own.
    """
    if key.startswith(WEIGHTS):
        return getattr(policy.recall.weights_for(None), key.removeprefix(WEIGHTS))
    if key.startswith(HALF_LIVES):
        lives = policy.decay.half_life_days
        return lives.get(key.removeprefix(HALF_LIVES), lives.get("conversation"))
    place: Any = policy.model_dump()
    for name in key.split("."):
        place = place.get(name, 0.0 if key.startswith("recall.type_bonus.") else None)
    return place


def is_number(value: Any) -> bool:
    """Whether it is a finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return isinstance(value, int) or math.isfinite(value)


def told(value: Any) -> str:
    """A value as text: "never" for None, numbers without noise."""
    if value is None:
        return "never"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
