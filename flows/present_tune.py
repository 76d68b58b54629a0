"""A search's outcome for a terminal."""

from __future__ import annotations

from flows.present import folded, table
from flows.tune_policy import FILE
from transforms.tuning.knobs import told
from transforms.tuning.result import Measured, Tuning

_KNOBS = 5
"""Knobs that are named; the page shows all."""


def tune_text(result: Tuning, out: str) -> str:
    """The verdict, both policies, what changes, which knobs matter, and what to know."""
    parts = [folded(result.verdict), _measures(result)]
    if result.best.changes:
        parts.append(_changes(result))
    parts.append(_knobs(result))
    parts += [folded(warning) for warning in result.warnings]
    parts += [folded(note) for note in result.notes]
    files = f"{out}/{FILE}, page, figures and every trial: {out}" if result.policy_file else out
    parts.append(files if result.policy_file else f"page, figures and every trial: {files}; no policy file")
    return "\n\n".join(part for part in parts if part)


def _measures(result: Tuning) -> str:
    spans = {"earlier": result.train, "later": result.test}
    title = "; ".join(
        f"{name}: {span.calls:,} recalls, {span.from_at:%Y-%m-%d} to {span.to_at:%Y-%m-%d}"
        for name, span in spans.items()
    )
    rows = [_measured(name, result, policy) for name, policy in _policies(result)]
    heads = (
        "policy",
        f"{result.metric_name} earlier",
        "later",
        "tokens",
        "lost",
        "index rows",
        "index bytes",
    )
    return table(title, heads, rows, drops=("index rows", "lost"), wraps=("policy",))


def _policies(result: Tuning) -> list[tuple[str, Measured]]:
    current = [("current", result.current)]
    return [*current, (f"trial {result.best.trial}", result.best)] if result.best.trial else current


def _measured(name: str, result: Tuning, policy: Measured) -> tuple[object, ...]:
    return (
        name,
        _number(policy.train.get(result.metric), "{:.4f}"),
        _number(policy.test.get(result.metric), "{:.4f}"),
        _number(policy.test.get("tokens"), "{:,.0f}"),
        _number(policy.test.get("lost"), "{:.1%}"),
        _number(policy.index_rows, "{:,}"),
        _number(policy.index_bytes, "{:,}"),
    )


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else form.format(value)


def _changes(result: Tuning) -> str:
    now = result.trials.row(0, named=True)
    rows = [
        (key, told(now[key]) if key in now else "-", told(value))
        for key, value in sorted(result.best.changes.items())
    ]
    return table("what it changes", ("key", "now", "then"), rows)


def _knobs(result: Tuning) -> str:
    rows = [
        (row["key"], f"{row['range']:.4f}", row["held"], row["at_most"])
        for row in result.knobs.head(_KNOBS).iter_rows(named=True)
    ]
    head = f"what matters: each key moved alone on the earlier recalls, range of {result.metric_name}"
    return table(head, ("key", "range", "at", "best at"), rows)
