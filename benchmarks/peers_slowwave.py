"""slowwave's side of ``benchmarks.peers``: ``python -m benchmarks.peers_slowwave FOLDER``, JSON on stdout."""

from __future__ import annotations

import json
import shutil
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.facts import cpu_seconds, peak_mb
from benchmarks.peers import WARM_UP
from benchmarks.peers_stores import asked_in, bytes_below, percentiles, share_of
from benchmarks.recall import _recall_at_10
from benchmarks.recall_data import AS_OF, MadeScope
from flows.embed import run_embed
from flows.ingest import run_ingest
from flows.job import Job
from flows.publish import run_publish
from lake.embedders.config import EmbedderConfig, make_embedder
from lake.lake import init_lake
from lake.recall import Recall
from lake.sources import open_sources
from transforms.policy import Policy
from transforms.validate import Defaults


def main(folder: Path) -> None:
    """Add the rows, ask the questions, print what it took."""
    uri = folder / "lake"
    shutil.rmtree(uri, ignore_errors=True)
    job = Job(init_lake(str(uri)), Policy(), AS_OF, lambda: make_embedder(EmbedderConfig()))
    began, busy = time.perf_counter(), cpu_seconds()
    sources = open_sources(str(folder / "traces" / "rows.jsonl"))
    added, _ = run_ingest(job, ((source, Defaults()) for source in sources))
    run_embed(job)
    published = run_publish(job)
    seconds, cpu = time.perf_counter() - began, cpu_seconds() - busy
    told: dict[str, Any] = {
        "rows_added": added.rows_out,
        "rows_searchable": published.rows_out,
        "add_seconds": round(seconds, 1),
        "add_cpu_seconds": round(cpu, 1),
        "rows_per_second": round(added.rows_out / seconds),
        "peak_rss_mb": round(peak_mb()),
        "disk_mb": round(bytes_below(uri) / 1e6),
        "index_mb": round(bytes_below(uri / "index") / 1e6),
    }
    sys.stdout.write(json.dumps({**told, **_asked(str(uri), folder)}) + "\n")


def _asked(uri: str, folder: Path) -> dict[str, Any]:
    recall, asked = Recall(uri), asked_in(folder)
    times, busy, shares = [], [], []
    for question in asked:
        began, cpu = time.perf_counter(), time.process_time()
        found = recall.search(
            question["text"], tenant=question["tenant"], user=question["user"], k=10, as_of=AS_OF
        )
        times.append((time.perf_counter() - began) * 1e3)
        busy.append((time.process_time() - cpu) * 1e3)
        shares.append(share_of([memory.text for memory in found], question["nearest_plain"]))
    scopes = [(MadeScope(one["tenant"], one["user"], 0), one["text"]) for one in asked[WARM_UP:]]
    return {
        **percentiles(times[WARM_UP:], busy[WARM_UP:]),
        "recall_at_10": _recall_at_10(recall, scopes),
        "in_answer_at_10": round(sum(shares) / len(shares), 4),
    }


if __name__ == "__main__":
    main(Path(sys.argv[1]))
