"""The demo: the samples through a whole night, then three questions."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import flows
from flows.job import Job
from flows.nightly import run_nightly
from flows.present import LEGEND, context_text, memories_table
from flows.present_night import night_table, steps_table
from flows.setup import Output, config_of, job_of, progress
from lake.embedders.config import make_embedder
from lake.lake import init_lake
from lake.recall import Recall
from lake.sources import Source, open_sources
from transforms.errors import InputError
from transforms.validate import Defaults

CONTEXT_TOKENS = 400
SHOWN_ROWS = 3


def run_demo(options: argparse.Namespace) -> Output:
    """Land the samples, run the night, recall three questions, print what each step did.

    Raises:
        InputError: The samples are not there.
    """
    samples = Path(options.samples) if options.samples else Path(flows.__file__).parent.parent / "samples"
    expected = _read(samples / "expected.json")
    config = config_of(options)
    lake = init_lake(options.lake or str(Path(options.dir) / "lake"))
    base = job_of(options, config, lake)
    instant = base.as_of if options.as_of else datetime.fromisoformat(expected["as_of"])
    job = Job(lake, config.policy, instant, lambda: make_embedder(config.embedder), progress(options))
    _say(options, f"lake {lake.uri}, samples {samples}, as of {instant:%Y-%m-%d %H:%M} UTC")
    night = run_nightly(job, sample_sources(samples, job))
    reader = Recall(lake, policy=config.policy, embedder=job.embedder)
    questions = [question for question in expected["questions"] if question.get("is_demo")]
    answers = [_ask(reader, question, instant) for question in questions]
    parts = [steps_table(night), night_table(night), *(answer["shown"] for answer in answers), LEGEND]
    data = {**night.as_dict(), "answers": [answer["data"] for answer in answers]}
    return Output(data, "\n\n".join(parts))


def sample_sources(samples: Path, job: Job) -> Iterator[tuple[Source, Defaults]]:
    """Every sample of the manifest, with the scope of rows that name none."""
    for entry in _read(samples / "manifest.json"):
        defaults = Defaults(entry["tenant_id"], entry["user_id"], entry["agent_id"])
        for source in open_sources(str(samples / entry["file"]), entry["format"], policy=job.policy.ingest):
            yield source, defaults


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise InputError(
            f"no samples at {path}", "Run the demo from a checkout, or name --samples."
        ) from error


def _say(options: argparse.Namespace, text: str) -> None:
    if not options.json:
        print(text, file=sys.stderr)


def _ask(reader: Recall, question: dict[str, Any], as_of: datetime) -> dict[str, Any]:
    """One question: the rows found with every factor, and the packed context."""
    scope = {"tenant": question["tenant"], "user": question["user"]}
    found = reader.search(question["query"], k=SHOWN_ROWS, as_of=as_of, **scope)
    packed = reader.context(question["query"], budget=CONTEXT_TOKENS, as_of=as_of, **scope)
    title = f'recall "{question["query"]}" for {question["user"]} of {question["tenant"]}'
    shown = "\n".join([title, memories_table(found, has_legend=False), context_text(packed)])
    data = {
        "query": question["query"],
        **scope,
        "results": [m.as_dict() for m in found],
        "context": packed.as_dict(),
    }
    return {"shown": shown, "data": data}
