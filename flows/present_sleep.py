"""What consolidation did, facts, and the chain behind a row, for a person."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from flows.job import StepResult
from flows.present import folded, one_line, plain, short_id, table
from flows.present_origin import origin_lines
from lake.beliefs import Fact

if TYPE_CHECKING:
    from lake.models.config import ModelConfig

DIFF_LINES = 40
"""Lines of a diff on a terminal; ``--json`` has all of it."""
DRY = "dry run: nothing written"
_SIGNS = {"added": "+", "confirmed": "=", "superseded": "~", "retired": "-", "withdrawn": "x"}
_NAMES = {
    "topics_add": "topics made",
    "topics_split": "topics split",
    "topics_merge": "topics merged",
    "joined": "episodes in a topic",
    "waiting": "episodes that fit none yet",
    "summaries": "summaries written",
    "conversations": "conversations described",
    "attempts": "attempts counted",
    "skills": "skills changed",
}


def consolidation_text(result: StepResult, model: ModelConfig | None = None) -> str:
    """Counts of a consolidation; of a dry one also each change of a fact, and a model's cost.

    Args:
        result: Of the step.
        model: Section ``[model]``, where there is one.
    """
    if result.state == "unchanged":
        return "consolidate unchanged: no new episodes since the last run"
    detail = result.detail
    rows = [("episodes looked at", result.rows_in), ("claims read", detail["claims"])]
    rows += [("claims refused", result.rejected)]
    rows += [(f"facts {name}", count) for name, count in detail["facts"].items()]
    rows += [(told, detail[name]) for name, told in _NAMES.items() if detail[name]]
    if detail["pending"]:
        rows.append(("waiting for the model", detail["pending"]))
    told = [table("", ("consolidate", "count"), rows), *_refused(detail)]
    return "\n".join([*told, *changes_lines(detail, model)])


def changes_lines(detail: Mapping[str, Any], model: ModelConfig | None = None) -> list[str]:
    """A model's cost and each change of a fact, of a consolidation's detail; last, where nothing was written.

    Args:
        detail: Of the step; empty where it had nothing to do.
        model: Section ``[model]``, where there is one.
    """
    cost = _cost(detail, model)
    return [*cost, *_diff(detail["diff"]), DRY] if "diff" in detail else cost


def _refused(detail: Mapping[str, Any]) -> list[str]:
    reasons = detail["claims_refused"]
    return [f"refused: {', '.join(f'{name} {count}' for name, count in reasons.items())}"] if reasons else []


def _cost(detail: Mapping[str, Any], model: ModelConfig | None) -> list[str]:
    spent = detail.get("model")
    if spent is None:
        return []
    at = f"model {plain(model.model)} at {model.endpoint}" if model else "model"
    has_prices = model is None or bool(model.input_price or model.output_price)
    money = f"{spent['money']:.4f} (your prices' currency)" if has_prices else "no prices set"
    cost = f"cost at most {money}" if "diff" in detail and has_prices else f"cost {money}"
    sent, received = spent["input_tokens"], spent["output_tokens"]
    most = "at most " if "diff" in detail else ""
    asked = f"{spent['requests']:,} requests, {most}{sent:,} tokens sent and {received:,} received"
    return [f"{at}: {asked}; {cost}; {spent['cached']:,} answers already held"]


def _diff(diff: Sequence[Mapping[str, Any]]) -> list[str]:
    """A line a change, and what its first character means."""
    if not diff:
        return ["no fact changes"]
    texts = {row["fact_id"]: row["fact"] for row in diff}
    lines = [_changed(row, texts) for row in diff[:DIFF_LINES]]
    more = len(diff) - DIFF_LINES
    rest = [f"... and {more:,} more (--json has all)"] if more > 0 else []
    signs = ", ".join(f"{sign} {name}" for name, sign in _SIGNS.items())
    return ["", *lines, *rest, folded(f"{signs}; these are the facts, all else is counted only"), ""]


def _changed(row: Mapping[str, Any], texts: Mapping[str, str]) -> str:
    by = row["superseded_by"] if row["change"] == "superseded" else None
    after = f" -> {texts.get(by, f'fact {short_id(by)}')}" if by else ""
    return one_line(f"{_SIGNS[row['change']]} {row['tenant_id']} {row['owner']}: {row['fact']}{after}", 400)


_LEGEND = (
    "from and until: when it holds, - for no end; ended by: why it no longer does; "
    "id: the first characters of it, enough for slowwave explain"
)
_LEAST = ("predicate", "support", "conf", "from", "ended by")
"""Columns of facts that a narrow terminal does without, first the first."""


def facts_table(found: Sequence[Fact], *, has_owner: bool = False) -> str:
    """Facts with their validity, and an id to explain each by.

    Args:
        found: Facts.
        has_owner: Whether they can be of several users or agents.
    """
    if not found:
        return "no facts in this scope"
    rows = [
        (
            *([_owner(fact.values)] if has_owner else []),
            one_line(fact.fact),
            fact.values["predicate"],
            fact.values["confidence"],
            fact.values["support"],
            _day(fact.values["valid_from"]),
            _day(fact.values["valid_until"]),
            fact.values["retired_reason"],
            short_id(fact.id),
        )
        for fact in found
    ]
    owner = ("owner",) if has_owner else ()
    heads = (*owner, "fact", "predicate", "conf", "support", "from", "until", "ended by", "id")
    return "\n".join([table("", heads, rows, wraps=("fact",), drops=_LEAST), folded(_LEGEND)])


def _owner(values: Mapping[str, Any]) -> str:
    return f"user:{values['user']}" if values["user"] is not None else f"agent:{values['agent']}"


def _day(instant: Any) -> str | None:
    return None if instant is None else f"{instant:%Y-%m-%d}"


_SINGULAR = {
    "facts": "fact",
    "summaries": "summary",
    "topics": "topic",
    "conversations": "conversation",
    "attempts": "attempt",
    "claims": "claim",
    "episodes": "episode",
}


def chain_text(chain: Mapping[str, Any]) -> str:
    """The chain behind a row, from the row back to the words."""
    return plain("\n".join(_chain_lines(chain)))


def _chain_lines(chain: Mapping[str, Any]) -> Iterator[str]:
    row = chain["row"]
    name = row["kind"] if chain["table"] == "procedures" else _SINGULAR[chain["table"]]
    state = ", removed" if chain["is_removed"] else ""
    yield f"{name} {chain['id']}{state}: {one_line(chain['text'], 2_000)}"
    told = {key: row[key] for key in _TOLD if row.get(key) not in _NOTHING}
    yield from (f"  {_TOLD[key]}: {_value(key, value)}" for key, value in told.items())
    yield from origin_lines(row)
    for fact in chain["history"]:
        span = f"{_when(fact['valid_from'])} to {_when(fact['valid_until']) or 'now'}"
        yield f"  history {span}: {one_line(fact['fact'])} ({short_id(fact['fact_id'])})"
    yield from (f"  claim {_claim(claim)}" for claim in chain["claims"])
    yield from (f"  {row['retired_reason']} by claim {_claim(claim)}" for claim in chain["ended_by"])
    for made in chain["decisions"]:
        figures = ", ".join(f"{name} {value}" for name, value in made["evidence"].items())
        item = short_id(made["item_id"])
        yield f"  decision {made['operation']} {made['reason']} ({figures}) on {item}"
    for source in chain["sources"]:
        place = f"{source['source_file'] or '-'}:{source['source_line'] or '-'}"
        who = source["speaker"] or source["role"] or "-"
        words = f"{place} {who}: {one_line(source['content'])}"
        yield f"  source {short_id(source['episode_id'])} {_when(source['event_at'])} {words}"
    if chain["source_count"] > len(chain["sources"]):
        yield f"  ... {chain['source_count']} sources in all"
    for one in chain["versions"]:
        words = f"{short_id(one['episode_id'])} {_when(one['ingested_at'])}: {one_line(one['content'])}"
        yield f"  source {short_id(one['of'])} {one['relation']} {words}"
    for name, found in chain["built_on_it"].items():
        kind = _SINGULAR.get(name, "skill")
        yield from (f"  {kind} built on it {short_id(it['id'])}: {one_line(it['text'])}" for it in found)


_NOTHING: tuple[Any, ...] = (None, "", [])
_TOLD = {
    "confidence": "confidence",
    "trust": "trust",
    "source": "source",
    "support": "support",
    "session_count": "sessions",
    "valid_from": "valid from",
    "valid_until": "valid until",
    "retired_reason": "ended by",
    "success_count": "successes",
    "failure_count": "failures",
    "tool_sequence": "tools",
    "failure_reason": "failed for",
    "fix": "fix",
    "feedback": "feedback",
    "size": "episodes",
    "sentiment_label": "mood",
}
"""Columns of a row that are told, and how they are called."""
_INSTANTS = ("valid_from", "valid_until")


def _value(key: str, value: Any) -> str:
    if key in _INSTANTS:
        return _when(value)
    return ", ".join(map(str, value)) if isinstance(value, list) else one_line(str(value))


def _claim(claim: Mapping[str, Any]) -> str:
    words = f'by {claim["extractor"]}: "{one_line(claim["quote"])}"'
    return f"{short_id(claim['claim_id'])} {_when(claim['event_at'])} {words}"


def _when(instant: str | None) -> str:
    """An instant of ISO 8601 to the minute, empty for none."""
    return (instant or "")[:16].replace("T", " ")
