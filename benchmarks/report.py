"""``python -m benchmarks.report``: RESULTS.md from the newest line of each measurement in results.jsonl."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
NOT_SHOWN = {
    "name",
    "rows",
    "cores",
    "memory_gib",
    "load_1min",
    "machine",
    "python",
    "versions",
    "checks",
    "of_rows",
    "errors_by_table",
    "shares_by_table",
}
HEAD = """# Results

Made by `python -m benchmarks.report` from `results.jsonl`, which `make bench` appends to: the newest line
of each measurement. Every measurement runs in a process of its own. Wall times were taken on a machine shared
with other work (`load` is its one-minute load average on {cores} cores when the step began), so compare lines
of one run, and CPU seconds before wall seconds.

Machine: {machine}, {cores} cores, {memory_gib} GiB; Python {python}; {packages}.
"""
GROUPS = {
    "fleet": "Whole nights: the first, one with one percent more, one with nothing new; how they grow",
    "night": "The night: each step, and its floor in the same run",
    "recall": "Recall, warm, end to end, the index on disk",
    "landing": "Landing one row at a time",
    "sleep": "Consolidation: all of it, a night with one percent more, nothing new",
    "topics": "Topics: found among planted vectors and conversations; floor: k-means told the number",
    "forgetting": "Forgetting: scores beside one numpy pass; retain with 1 % due, with nothing, with months",
    "erase": "Erasure of one user over twelve months, beside a full rewrite, with its verification",
    "readback": "Reading everything back, and taking rows out of an index, beside their floors",
    "encryption": "Encryption at rest: a plain and a sealed lake in one run",
    "concurrency": "Readers of many threads and processes while writers publish, retain and erase",
    "capacity": "Capacity: a lake predicted from one of a tenth of its rows",
    "publish": "Publish: whole and with one percent more, beside LanceDB given the same rows and indexes",
    "workers": "The embedding stage on one worker and on two",
    "segments": "Landed segments of one row each, into the tables",
    "peers": "slowwave, mem0 and LangGraph's SQLite store: bulk add without a model call, and search",
    "soak": "A hundred small nights in a row",
    "billion": "A billion episodes: log and scans are real, the rows repeat",
    "formats": "Reading each format, beside the fastest plain parser of it (its CPU seconds: `times_plain`)",
    "replay": "Replay of 1,000 policies on logged calls, beside a loop over policies in Polars",
    "reconcile": "Claims to facts, beside a plain Python loop and pandas; near objects",
}


def newest() -> dict[tuple[str, int], dict[str, Any]]:
    """The last line of each name and size."""
    lines = (FOLDER / "results.jsonl").read_text("utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    return {(record["name"], record["rows"]): record for record in records}


def report() -> str:
    """The page."""
    records = newest()
    last = list(records.values())[-1]
    packages = ", ".join(f"{name} {number}" for name, number in last["versions"].items())
    parts = [HEAD.format(**last, packages=packages)]
    for group, title in GROUPS.items():
        parts.append(f"## {title}\n\n| what | rows | figures | load |\n|---|--:|---|--:|")
        held = [record for (name, _), record in records.items() if re.split("[. ]", name)[0] == group]
        parts += [_line(record) for record in sorted(held, key=lambda r: r["rows"])]
        parts.append("")
    return "\n".join(parts)


def _line(record: dict[str, Any]) -> str:
    figures = ", ".join(f"{key} {_number(value)}" for key, value in record.items() if key not in NOT_SHOWN)
    return f"| {record['name']} | {record['rows']:,} | {figures} | {record['load_1min']} |"


def _number(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,}" if isinstance(value, int) or value >= 1000 else f"{value:g}"


if __name__ == "__main__":
    (FOLDER / "RESULTS.md").write_text(report(), "utf-8")
