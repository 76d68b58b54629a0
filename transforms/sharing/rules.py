"""What may be shared between agents: the terms of a grant, and what they say of each recalled memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from transforms.errors import UsageError
from transforms.policy_entries import MEMORY_KINDS
from transforms.schemas import SENSITIVITIES

NORMAL, PERSONAL, RESTRICTED = SENSITIVITIES
SHAREABLE = tuple(kind for kind in MEMORY_KINDS if kind != "pattern")
"""Kinds that may be shared; a pattern is the habit of one person and is nobody else's business."""
OFFERED = (NORMAL, PERSONAL)
"""What a grant may let out; restricted rows never leave."""
PREFIX = "[Shared from "
"""How the text of every copy begins."""


@dataclass(frozen=True)
class Terms:
    """What a grant lets out.

    Args:
        kinds: Only these kinds; none named is all of ``SHAREABLE``.
        max_sensitivity: ``normal``, or ``personal`` where rows about a person's life may be given, too.
        trust: Most trust of a copy, 0 to 1; None is ``sharing.trust``. Never more than the source's own.
    """

    kinds: tuple[str, ...] = ()
    max_sensitivity: str = NORMAL
    trust: float | None = None


@dataclass(frozen=True)
class Withheld:
    """One memory that was found and not shared: which, and why."""

    id: str
    kind: str
    reason: str

    def as_dict(self) -> dict[str, str]:
        """The shape that ``--json`` prints."""
        return dict(self.__dict__)


@dataclass(frozen=True)
class Allowed:
    """One memory that may be shared, the most trust its copy may have, and how private that may be."""

    row: Mapping[str, Any]
    trust: float
    max_sensitivity: str


def require_terms(terms: Terms) -> None:
    """Refuse terms that no grant may have.

    Raises:
        UsageError: A kind is unknown or never shared, the sensitivity is none that leaves, or the trust is
            not between 0 and 1.
    """
    strange = [kind for kind in terms.kinds if kind not in SHAREABLE]
    if strange:
        raise UsageError(
            f"{ascii(strange[0])[:40]} is no kind that is shared", f"Name some of {', '.join(SHAREABLE)}."
        )
    if terms.max_sensitivity not in OFFERED:
        raise UsageError(
            "a grant lets out normal or personal rows", "Restricted rows never leave the scope they are in."
        )
    if terms.trust is not None and not 0 <= terms.trust <= 1:
        raise UsageError("trust is not between 0 and 1", "Leave it out, or name a number such as 0.4.")


def judged(
    rows: Sequence[Mapping[str, Any]], terms: Sequence[Terms], trust: float
) -> list[Allowed | Withheld]:
    """Each memory, in order: allowed by one of the grants, or withheld with the reason.

    Args:
        rows: With ``memory_id``, ``kind``, ``tier``, ``text``, ``sensitivity`` and ``trust``.
        terms: Of the grants in force.
        trust: Most trust of a copy where a grant names none.
    """
    return [_judged(row, terms, trust) for row in rows]


def _judged(row: Mapping[str, Any], terms: Sequence[Terms], trust: float) -> Allowed | Withheld:
    reason = _never(row) or ("" if terms else "no_grant")
    by_kind = [one for one in terms if row["kind"] in (one.kinds or SHAREABLE)]
    fitting = [one for one in by_kind if row["sensitivity"] in (NORMAL, one.max_sensitivity)]
    if not reason and not fitting:
        reason = row["sensitivity"] if by_kind else "kind_not_granted"
    if reason:
        return Withheld(row["memory_id"], row["kind"], reason)
    most = max(trust if one.trust is None else one.trust for one in fitting)
    limit = max((one.max_sensitivity for one in fitting), key=SENSITIVITIES.index)
    return Allowed(row, min(float(row["trust"]), most), limit)


def _never(row: Mapping[str, Any]) -> str:
    """Why a memory is shared under no grant at all; empty where it may be."""
    if row["sensitivity"] not in OFFERED:
        return RESTRICTED
    if row["kind"] not in SHAREABLE or row["tier"] == "working":
        return "private"
    return "not_its_own" if row["text"].startswith(PREFIX) else ""
