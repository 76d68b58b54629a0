"""What became of an ingest and of a night, for a person; the same figures go out as JSON elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flows.job import StepResult
from flows.nightly import Night
from flows.present import folded, table
from transforms.health.thresholds import verdict


def night_table(night: Night) -> str:
    """The summary of a night: one row a step, then what it means in a line."""
    ingested = night.steps[0].as_dict()
    by_name = {step.name: step for step in night.steps}
    embedded, published = by_name["embed"], by_name.get("publish")
    rows = [
        *_outcomes(ingested, has_reasons=False),
        ("embedded", embedded.rows_out),
        *_learned(by_name["consolidate"]),
        *_retained(by_name.get("retain")),
        *_publication(published),
        ("seconds", sum(step.seconds for step in night.steps)),
        ("peak memory, MB", round(max(step.peak_bytes for step in night.steps) / 1e6)),
    ]
    reasons = ingested["reasons"]
    told = (
        [f"quarantined: {', '.join(f'{name} {count}' for name, count in reasons.items())}"] if reasons else []
    )
    if embedded.rows_out + embedded.rejected < embedded.rows_in:
        told.append("embedded counts texts: identical texts share a vector")
    if embedded.rejected:
        told.append(f"{embedded.rejected:,} texts refused by the model, tried again with the next run")
    told += withheld(published)
    told += night.erasures.lines() if night.erasures else []
    if night.is_unchanged:
        told.append("nothing new since the last night")
    elif published and published.state == "done":
        told.append(f"live: {published.generation}, checked ({', '.join(published.detail['checks'])})")
    told += [folded(verdict(night.health))] if night.health else []
    told += [folded(line) for line in gone_again(ingested, by_name.get("retain"))]
    return "\n".join([table("", ("night", "count"), rows), *told])


def steps_table(night: Night) -> str:
    """Time and rows of each step."""
    rows = [(s.name, s.state, s.rows_in, s.rows_out, s.seconds) for s in night.steps]
    return table("", ("step", "state", "rows in", "rows out", "seconds"), rows)


def ingest_table(tally: Mapping[str, Any]) -> str:
    """What became of the rows of an ingest, and why."""
    files = [("files", tally["files"]), ("unchanged files", tally["unchanged_files"])]
    shown = table("", ("ingest", "count"), [*files, *_outcomes(tally, has_reasons=True)])
    return "\n".join([shown, *(folded(line) for line in _advice(tally))])


_LACKED = {"missing_time": "--event-at TIME", "naive_time": "--timezone ZONE", "no_tenant": "--tenant ID"}
"""What a retry gives refused rows, by the reason why they were refused."""
_KEEPS = 'preset = "archive" in slowwave.toml keeps a history whole (docs/forgetting.md)'


def _advice(tally: Mapping[str, Any]) -> list[str]:
    """What to do about refused rows, and about rows that the next night takes out."""
    told = []
    if tally["quarantined"]:
        told.append("refused rows are kept: slowwave quarantine list")
    told += [
        f"to land them: slowwave quarantine retry --reason {reason} {flag}"
        for reason, flag in _LACKED.items()
        if reason in tally["reasons"]
    ]
    if tally.get("past_time"):
        count = _rows(tally["past_time"])
        told.append(f"{count} past their time to live, and go with the next night; {_KEEPS}")
    return told


def gone_again(ingested: Mapping[str, Any], retained: StepResult | None) -> list[str]:
    """That a night took out what it had landed, because it is old or too much of one person."""
    removed = retained.detail.get("removed", {}).get("episodes", {}) if retained else {}
    old, above = ingested.get("past_time", 0), removed.get("over_capacity", 0) if ingested["landed"] else 0
    told = []
    if old and removed.get("expired"):
        told.append(f"{old:,} of the rows that landed were past their time to live, and were taken out")
    if above:
        told.append(f"{above:,} episodes were above capacity.episodes of their person, and were taken out")
    return [*told, f"{_KEEPS}; then ingest again"] if told else []


def _outcomes(tally: Mapping[str, Any], *, has_reasons: bool) -> list[tuple[str, int]]:
    """Rows in, and the four counts that add up to them; with reasons, indented below two of them."""
    left_out, edited = sum(tally["left_out"].values()), tally.get("versions", 0)
    parts: list[tuple[str, int, Mapping[str, int]]] = [
        ("rows in", tally["rows_in"], {}),
        ("landed", tally["landed"], {"new versions": edited} if edited else {}),
        ("already held", tally["duplicates"], {}),
        ("quarantined", tally["quarantined"], tally["reasons"]),
        ("left out", left_out, tally["left_out"]),
    ]
    rows = []
    for name, count, reasons in parts:
        rows.append((name, count))
        if has_reasons or name == "landed":
            rows += [(f"  {reason}", its) for reason, its in reasons.items()]
    return rows


_DERIVED = {"facts": "facts served", "summaries": "summaries served", "procedures": "skills served"}


def _learned(consolidated: StepResult) -> list[tuple[str, int]]:
    """What consolidation changed; nothing where it had nothing to do, or failed."""
    detail = consolidated.detail
    if not detail or consolidated.state == "failed":
        return []
    facts = [(f"facts {name}", count) for name, count in detail["facts"].items() if count]
    waiting = [("waiting for the model", detail["pending"])] if detail["pending"] else []
    return [*facts, *((name, detail[name]) for name in ("summaries", "conversations", "skills")), *waiting]


def _retained(retained: StepResult | None) -> list[tuple[str, int]]:
    """Episodes that retention took out, by reason, and what it kept although it was due."""
    detail = retained.detail if retained else {}
    gone = detail.get("removed", {}).get("episodes", {})
    kept = [(told, sum(detail.get(name, {}).values())) for name, told in _KEPT.items()]
    removed = [(f"episodes {reason}", count) for reason, count in gone.items()]
    return [*removed, *((told, count) for told, count in kept if count)]


_KEPT = {"held": "under legal hold", "waiting": "waiting for a summary"}


def _publication(published: StepResult | None) -> list[tuple[str, int]]:
    """Rows published and, where a generation was built, those that were not."""
    rows = [("published", published.rows_out if published else 0)]
    if published:
        rows += [
            (told, published.detail[name]) for name, told in _DERIVED.items() if published.detail.get(name)
        ]
        rows += [
            (name, published.detail[name]) for name in ("expired", "injected") if name in published.detail
        ]
    return rows


def withheld(published: StepResult | None) -> list[str]:
    """Why landed rows were not published, a line a reason."""
    detail = published.detail if published else {}
    told = [expired_line(detail["expired"])] if detail.get("expired") else []
    if detail.get("injected"):
        count = _rows(detail["injected"])
        told.append(f"{count} injected context, or replaced by an edit: held, never served")
    return told


def expired_line(count: int) -> str:
    """That rows are past their time to live, and where that is told."""
    return f"{_rows(count)} past their time to live (see retention in docs/data-engineers.md)"


def _rows(count: int) -> str:
    return "1 row is" if count == 1 else f"{count:,} rows are"
