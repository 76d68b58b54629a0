"""Claims read by a language model: its answers checked against what it was shown, then built as any other.

Nothing a model says is believed unchecked: it may claim only from turns it was shown, must quote them, and
decides neither whose word a claim is nor how far that is trusted.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any, NamedTuple

import polars as pl

from transforms.claims.build import CANDIDATES, REFUSED, build
from transforms.claims.told import to_be_read, told
from transforms.model_json import salvage_items
from transforms.model_prompts import PROMPT_VERSION
from transforms.model_requests import Model, ModelAnswer
from transforms.model_turns import ClaimRequest, Count, Shown, claim_requests
from transforms.policy import Policy

__all__ = ["Extracted", "candidates", "claim_requests", "extract_with", "extractor_of", "locate"]

_TEXTS = ("turn", "evidence", "operation", "subject", "predicate", "object", "polarity")
_WORD = re.compile(r"\w+")
_DIGITS = re.compile(r"\d+")
_QUOTES = str.maketrans("‘’‚‛“”„‟«»", '\'\'\'\'""""""')
_EDGES = " \t\r\n\"'“”‘’…"
_LEAST_EVIDENCE_CHARS = 2
_STEM_CHARS = 4
_DATE = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?")


class Extracted(NamedTuple):
    """What a model read from episodes.

    Attributes:
        claims: ``CLAIMS``, sorted.
        refused: ``claims.build.REFUSED``: candidates that are none, and answers or parts of them that
            could not be read (``episode_id`` is null where it is not known).
        pending: Ids of the episodes that a later run has to ask for again, sorted.
    """

    claims: pl.DataFrame
    refused: pl.DataFrame
    pending: list[str]


def extractor_of(model: Model) -> str:
    """The name under which a model's claims are stored."""
    return f"model:{model.key}@{PROMPT_VERSION}"


def extract_with(model: Model, episodes: pl.DataFrame, policy: Policy, count: Count) -> Extracted:
    """Claims of episodes, by a model.

    Args:
        model: Asked once for all; keeps its answers, so that the same episodes cost nothing again.
        episodes: ``schemas.EPISODES``, in any order.
        policy: Sections claims and trust.
        count: Counts tokens.

    Raises:
        EndpointError: The model cannot be reached or refuses every request.
    """
    requests = claim_requests(to_be_read(episodes), policy.claims, count)
    answers = model.ask([made.request for made in requests])
    found, refused, pending = candidates(requests, answers)
    found = pl.concat([found, told(episodes, policy)])
    built = build(found, episodes, extractor_of(model), policy)
    order = ["tenant_id", "episode_id", "span_start", "span_end", "predicate", "reason"]
    return Extracted(built.claims, pl.concat([built.refused, refused]).sort(order), pending)


def candidates(
    requests: Sequence[ClaimRequest], answers: Sequence[ModelAnswer]
) -> tuple[pl.DataFrame, pl.DataFrame, list[str]]:
    """Candidates out of answers.

    Args:
        requests: What was asked.
        answers: In the order of the requests.

    Returns:
        ``CANDIDATES``; ``REFUSED``; ids of episodes whose answers are to come. Reasons of refusals:
        ``missing_<field>``, ``unknown_turn`` (an id the model was not shown), ``no_evidence`` (what it quotes
        does not stand in the turn), ``time_unread``; of answers: ``model_<error>`` for each source episode
        of a failed request, ``answer_<loss>`` for what ``model_json`` lost.
    """
    found: list[dict[str, Any]] = []
    refused: list[dict[str, Any]] = []
    pending: set[str] = set()
    for made, answer in zip(requests, answers, strict=True):
        tenant = made.request.tenant_id
        sources = sorted({shown.episode_id for shown in made.shown.values()})
        if answer.state == "pending":
            pending.update(sources)
        elif answer.state == "failed":
            refused += [_refusal(tenant, f"model_{answer.error}", source) for source in sources]
        else:
            _read(made, answer.text, found, refused)
    return (
        pl.DataFrame(found, schema=CANDIDATES),
        pl.DataFrame(refused, schema=REFUSED),
        sorted(pending),
    )


def _refusal(
    tenant: str, reason: str, episode: str | None = None, predicate: object = None
) -> dict[str, Any]:
    known = predicate if isinstance(predicate, str) else None
    return {"tenant_id": tenant, "episode_id": episode, "predicate": known, "reason": reason}


def _read(made: ClaimRequest, text: str, found: list[dict[str, Any]], refused: list[dict[str, Any]]) -> None:
    """Sort the claims of one answer into the two lists."""
    tenant = made.request.tenant_id
    salvaged = salvage_items(text, "claims")
    for loss, times in salvaged.lost.items():
        refused += [_refusal(tenant, f"answer_{loss}")] * times
    for item in salvaged.items:
        made_of = _candidate(item, made.shown)
        if isinstance(made_of, str):
            shown = made.shown.get(item["turn"]) if isinstance(item.get("turn"), str) else None
            source = shown.episode_id if shown else None
            refused.append(_refusal(tenant, made_of, source, item.get("predicate")))
        else:
            found.append(made_of)


def _candidate(item: Mapping[str, Any], shown: Mapping[str, Shown]) -> dict[str, Any] | str:
    """A row of ``CANDIDATES``, or why it is none."""
    for name in _TEXTS:
        if not isinstance(item.get(name), str):
            return f"missing_{name}"
    confidence = item.get("confidence")
    if isinstance(confidence, bool) or not isinstance(confidence, int | float):
        return "missing_confidence"
    turn = shown.get(item["turn"].strip())
    if turn is None:
        return "unknown_turn"
    span = locate(item["evidence"], turn.text)
    if span is None:
        return "no_evidence"
    try:
        valid_from = _instant(item.get("valid_from"))
        valid_until = _instant(item.get("valid_until"), is_end=True)
    except (ValueError, OverflowError):
        return "time_unread"
    aspect = item.get("aspect")
    return {
        "episode_id": turn.episode_id,
        **{name: item[name] for name in ("operation", "subject", "predicate", "object", "polarity")},
        "aspect": aspect if isinstance(aspect, str) else "",
        "confidence": min(1.0, max(0.0, float(confidence))),
        "span_start": turn.offset_chars + span[0],
        "span_end": turn.offset_chars + span[1],
        "valid_from": valid_from,
        "valid_until": valid_until,
        "is_inferred": item.get("is_inferred") is True or not _is_said(item["object"], turn.text),
    }


def locate(quote: str, text: str) -> tuple[int, int] | None:
    """Where a quotation stands in a text: start and end; None where it does not.

    Blanks, case, the shape of quotation marks and the escapes of the rendering may differ.
    """
    quote = quote.strip(_EDGES)
    for form in dict.fromkeys((quote, html.unescape(quote))):
        if len("".join(_WORD.findall(form))) < _LEAST_EVIDENCE_CHARS:
            continue
        start = text.find(form)
        if start >= 0:
            return start, start + len(form)
        words = [re.escape(word) for word in form.translate(_QUOTES).split()]
        found = re.search(r"\s+".join(words), text.translate(_QUOTES), re.IGNORECASE)
        if found:
            return found.span()
    return None


def _is_said(thing: str, text: str) -> bool:
    """Whether the text can be what says the object: it has all of its numbers and any of its words.

    Words are compared by their first letters, so that other forms of them count; those of scripts without
    blanks by any character.
    """
    said = text.casefold()
    if not all(number in said for number in _DIGITS.findall(thing)):
        return False
    words = _WORD.findall(thing.casefold())
    parts = [[word[:_STEM_CHARS]] if word.isascii() else [*word] for word in words]
    return not words or any(part in said for some in parts for part in some)


def _instant(text: object, *, is_end: bool = False) -> datetime | None:
    """The instant that a year, month, day or ISO time names; of an end, the first instant after it.

    Raises:
        ValueError: It names none.
        OverflowError: It is beyond the calendar.
    """
    if text is None or (isinstance(text, str) and text.strip().lower() in ("", "null", "none")):
        return None
    if not isinstance(text, str):
        raise ValueError(text)
    match = _DATE.fullmatch(text.strip())
    if match is None:
        moment = datetime.fromisoformat(text.strip())
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    year, month, day = (int(part) if part else None for part in match.groups())
    first = date(year or 0, month or 1, day or 1)
    if is_end:
        first = _day_after(first, has_month=month is not None, has_day=day is not None)
    return datetime(first.year, first.month, first.day, tzinfo=UTC)


def _day_after(first: date, *, has_month: bool, has_day: bool) -> date:
    """The day after the day, month or year that starts at a day."""
    if has_day:
        return first + timedelta(days=1)
    if has_month:
        return (first.replace(day=28) + timedelta(days=4)).replace(day=1)
    return first.replace(year=first.year + 1)
