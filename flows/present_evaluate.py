"""An evaluation's figures for a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flows.present import folded, table
from transforms.evaluation.measures import ALL, NDCG_AT

HEADLINE = "recall@10"


def labelled_text(record: Mapping[str, Any], out: str | None) -> str:
    """Tables and sentences on a labelled set."""
    data = record["data"]
    parts = [
        folded(
            f"{record['set']}: {data['episodes']:,} episodes in {data['sessions']:,} sessions, "
            f"{data['answerable']:,} questions with an answer, {data['unanswerable']:,} without; "
            f"model {record['model_key']}, retention off"
        ),
        _overview(record),
        _by_slice(record),
        *_notes(record),
    ]
    if "against" in record:
        parts.append(against_text(record["against"]))
    if out:
        parts.append(f"page, result and questions: {out}")
    parts.append(f"{record['run_seconds']:,.0f} seconds")
    return "\n\n".join(part for part in parts if part)


def headline_of(record: Mapping[str, Any]) -> str:
    """The metric that is shown with its interval: recall@10 where it was asked for."""
    metrics = record["metrics"][record["main"]][ALL]
    return HEADLINE if HEADLINE in metrics else f"recall@{record['k'][0]}"


def _overview(record: Mapping[str, Any]) -> str:
    """A row a system, on all answerable questions."""
    head = headline_of(record)
    others = [f"recall@{k}" for k in record["k"] if f"recall@{k}" != head]
    shown = [*others, f"ndcg@{NDCG_AT}", "hit@1", f"session_{head}", f"cited_{head}"]
    shown = [metric for metric in shown if metric in record["metrics"][record["main"]][ALL]]
    rows = []
    for name, slices in record["metrics"].items():
        values = slices[ALL]
        span = record["intervals"][name][ALL][head]
        times = record["seconds"].get(name)
        rows.append(
            (
                name,
                with_interval(values[head], span["by_question"]),
                *(f"{values[metric]:.3f}" if metric in values else "-" for metric in shown),
                f"{record['derived_ratio'][name]:.0%}",
                "-" if times is None else f"{times['p50_ms']:.1f}",
            )
        )
    heads = ("system", f"{head} (95 %)", *map(short, shown), "derived", "p50 ms")
    return table("all answerable questions", heads, rows, wraps=("system",), drops=("p50 ms", "derived"))


def short(metric: str) -> str:
    """A metric's name in a head of a column."""
    return metric.replace("session_recall", "sess").replace("cited_recall", "cited").replace("recall", "r")


def with_interval(value: float, ends: list[float] | None) -> str:
    """``0.694 [0.671, 0.716]``."""
    return f"{value:.3f}" if ends is None else f"{value:.3f} [{ends[0]:.3f}, {ends[1]:.3f}]"


def _by_slice(record: Mapping[str, Any]) -> str:
    """Recall by category and part: a row a slice, a column a system."""
    head = headline_of(record)
    systems = list(record["metrics"])
    names = [name for name in record["metrics"][systems[0]] if "," not in name]
    rows = [
        (
            name,
            record["metrics"][systems[0]][name]["questions"],
            *(f"{record['metrics'][system][name][head]:.3f}" for system in systems),
        )
        for name in names
    ]
    return table(f"{head} by kind of question and part", ("slice", "questions", *systems), rows)


def _notes(record: Mapping[str, Any]) -> list[str]:
    """The price of forgetting, abstention, and what was left out of the data."""
    notes = []
    head = headline_of(record)
    price = record["price"]
    if price is not None:
        change = price["differences"][head]
        notes.append(
            f"default retention keeps {price['episodes_kept']:,} of {price['episodes']:,} episodes; what "
            f"that costs {price['of']}: {head} {signed(change['difference'], change['by_question'])}"
        )
    for name, told in record["abstention"].items():
        if name == record["main"]:
            notes.append(_abstained(told))
    if record["context"] is not None:
        notes.append(_packed(record, head))
    data = record["data"]
    notes += [f"{name}: {count:,}" for name, count in data["remarks"].items()]
    if data["refused"]:
        told = ", ".join(f"{reason} {count:,}" for reason, count in data["refused"].items())
        notes.append(f"episodes that did not land: {told}")
    return [folded(note) for note in notes]


def _packed(record: Mapping[str, Any], head: str) -> str:
    """What contexts hold of the answers, and what the relevance floor keeps out of them."""
    held = record["metrics"][record["main"]][ALL]["context_recall"]
    span = record["intervals"][record["main"]][ALL]["context_recall"]["by_question"]
    parts = [
        f"contexts hold {with_interval(held, span)} of the labelled turns ({head} is of {record['main']})"
    ]
    parts += [
        f"{name}: {told['mean_tokens']:,.0f} tokens, {told['mean_rows']:.1f} rows besides facts, "
        f"{told['mean_below_floor']:.1f} below the relevance floor, nothing left for {told['empty']:,} of "
        f"{told['questions']:,}"
        for name, told in record["context"].items()
    ]
    return "; ".join(parts)


def _abstained(told: Mapping[str, Any]) -> str:
    without, answered = told["unanswerable"], told["answerable"]
    text = (
        f"found nothing for {answered['abstained']:,} of {answered['questions']:,} questions with an answer"
    )
    if without["questions"]:
        text = f"found nothing for {without['abstained']:,} of {without['questions']:,} without, {text}"
    if told["separation"] is not None:
        text += (
            f"; best relevance tells the two apart with chance {told['separation']:.2f} (0.50: not at all)"
        )
    return text


def signed(difference: float, ends: list[float] | None) -> str:
    """``-0.021 [-0.030, -0.012]``."""
    return f"{difference:+.3f}" + ("" if ends is None else f" [{ends[0]:+.3f}, {ends[1]:+.3f}]")


def against_text(found: Mapping[str, Any]) -> str:
    """Differences to an earlier run, by system."""
    rows = [
        (name, metric, signed(change["difference"], change["by_question"]), told_of(change["by_question"]))
        for name, changes in found["differences"].items()
        for metric, change in changes.items()
        if not metric.startswith(("cited", "row_session")) and change["by_question"] != [0, 0]
    ]
    warnings = [
        text
        for is_same, text in (
            (found["is_same_data"], "the data is another"),
            (found["is_same_policy"], "the policy is another"),
            (found["is_same_model"], "the model is another"),
        )
        if not is_same
    ]
    if found["only_now"] or found["only_then"]:
        warnings.append(f"asked only now {found['only_now']:,}, only then {found['only_then']:,}")
    if not rows:
        rows = [("all of both", "all", "none", "")]
    shown = table(
        f"now less then, on the {found['questions']:,} questions of both",
        ("system", "metric", "difference (95 %)", ""),
        rows,
    )
    return "\n".join([shown, *(folded(text) for text in warnings)])


def told_of(ends: list[float] | None) -> str:
    """Whether an interval of a difference lies on one side of 0."""
    if ends is None or ends[0] <= 0 <= ends[1]:
        return ""
    return "better" if ends[0] > 0 else "worse"
