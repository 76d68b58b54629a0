"""What consolidation did, facts, and the chain behind a row, for a person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from flows.job import StepResult
from flows.present import table
from lake.beliefs import Fact

DIFF_LINES = 40
"""Lines of a diff on a terminal; ``--json`` has all of it."""
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


def consolidation_text(result: StepResult) -> str:
    """Counts of a consolidation; of a dry one also each change of a fact, and a model's cost."""
    if result.state == "unchanged":
        return "consolidate unchanged: no new episodes since the last run"
    detail = result.detail
    rows = [("episodes looked at", result.rows_in), ("claims read", detail["claims"])]
    rows += [("claims refused", result.rejected)]
    rows += [(f"facts {name}", count) for name, count in detail["facts"].items()]
    rows += [(told, detail[name]) for name, told in _NAMES.items() if detail[name]]
    if detail["pending"]:
        rows.append(("waiting for the model", detail["pending"]))
    told = [table("", ("consolidate", "count"), rows), *_refused(detail), *_model(detail)]
    return "\n".join([*told, *_diff(detail.get("diff", []))])


def _refused(detail: Mapping[str, Any]) -> list[str]:
    reasons = detail["claims_refused"]
    return [f"refused: {', '.join(f'{name} {count}' for name, count in reasons.items())}"] if reasons else []


def _model(detail: Mapping[str, Any]) -> list[str]:
    spent = detail.get("model")
    if spent is None:
        return []
    sent, received = spent["input_tokens"], spent["output_tokens"]
    word = "would cost at most" if "diff" in detail else "cost"
    asked = f"{spent['requests']:,} requests, {sent:,} tokens sent, {received:,} received"
    return [f"model {word}: {asked}, {spent['money']:.4f} in money; {spent['cached']:,} answers were held"]


def _diff(diff: Sequence[Mapping[str, Any]]) -> list[str]:
    lines = [f"{_SIGNS[row['change']]} {row['owner']}: {row['fact']}" for row in diff[:DIFF_LINES]]
    more = len(diff) - DIFF_LINES
    return [*lines, f"... and {more:,} more (--json has all)"] if more > 0 else lines


def facts_table(found: Sequence[Fact]) -> str:
    """Facts with their validity; ids below, for ``explain``."""
    if not found:
        return "no facts in this scope"
    rows = [
        (
            fact.fact,
            fact.values["predicate"],
            fact.values["confidence"],
            fact.values["support"],
            _day(fact.values["valid_from"]),
            _day(fact.values["valid_until"]),
            fact.values["retired_reason"] or "-",
            fact.id,
        )
        for fact in found
    ]
    return table("", ("fact", "predicate", "conf", "support", "from", "until", "retired", "id"), rows)


def _day(instant: Any) -> str:
    return "-" if instant is None else f"{instant:%Y-%m-%d}"


def chain_text(chain: Mapping[str, Any]) -> str:
    """The chain behind a row, from the row back to the words."""
    row = chain["row"]
    said = row.get("fact") or row.get("text") or row.get("policy") or row.get("title") or row.get("content")
    lines = [f"{chain['table']} {chain['id']}{', removed' if chain['is_removed'] else ''}: {said or '-'}"]
    lines += [f"  {name}: {row[name]}" for name in _TOLD if row.get(name) not in (None, [], "")]
    for fact in chain["history"]:
        until = fact["valid_until"] or "now"
        lines.append(f"  history {fact['valid_from']} to {until}: {fact['fact']} ({fact['fact_id']})")
    for claim in chain["claims"]:
        lines.append(f'  claim {claim["event_at"]} by {claim["extractor"]}: "{_line(claim["quote"])}"')
    for made in chain["decisions"]:
        figures = ", ".join(f"{name} {value}" for name, value in made["evidence"].items())
        lines.append(f"  decision {made['operation']} {made['reason']} ({figures}) on {made['item_id']}")
    for source in chain["sources"]:
        place = f"{source['source_file'] or '-'}:{source['source_line'] or '-'}"
        who = source["speaker"] or source["role"] or "-"
        lines.append(f"  source {source['event_at']} {place} {who}: {_line(source['content'])}")
    if chain["source_count"] > len(chain["sources"]):
        lines.append(f"  ... {chain['source_count']} sources in all")
    for name, found in chain["built_on_it"].items():
        lines.append(f"  {name} built on it: {', '.join(found)}")
    return "\n".join(lines)


_TOLD = (
    "confidence",
    "trust",
    "source",
    "support",
    "session_count",
    "valid_from",
    "valid_until",
    "retired_reason",
    "success_count",
    "failure_count",
    "label",
    "size",
    "sentiment_label",
)


def _line(text: str, width: int = 160) -> str:
    line = " ".join(text.split())
    return line if len(line) <= width else f"{line[: width - 1]}…"
