"""Files of an evaluation: a page, the result, and what became of every question."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from lake.faults import wrapped
from lake.storage import LocalStorage
from transforms.errors import UsageError
from transforms.evaluation.labelled import LabelledSet

if TYPE_CHECKING:
    from flows.evaluate_labelled import Results

RESULT, PAGE, QUESTIONS = "result.json", "evaluation.html", "questions.parquet"


def write_result(out: Path, page: str, record: Mapping[str, Any], questions: pl.DataFrame | None) -> None:
    """Write them into a folder, each put in place whole.

    Raises:
        UsageError: The folder is a file.
        StorageError: It cannot be written.
    """
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out.name} is no folder", "Name a folder to write to.")
    with wrapped(f"writing {out.name}"):
        out.mkdir(parents=True, exist_ok=True)
        storage = LocalStorage(out)
    told = json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n"
    storage.write(RESULT, told.encode("utf-8", "replace"))
    storage.write(PAGE, page.encode("utf-8", "replace"))
    if questions is not None:
        parquet = io.BytesIO()
        questions.write_parquet(parquet)
        storage.write(QUESTIONS, parquet.getvalue())


def question_rows(data: LabelledSet, done: Results) -> pl.DataFrame:
    """A row a question and system: what was asked, what would have answered it, what came, every metric.

    Questions that nothing answers are there too, with null metrics.
    """
    asked = pl.DataFrame(
        {
            "question": pl.Series(range(len(data.questions)), dtype=pl.UInt32),
            "question_id": [q.name for q in data.questions],
            "category": [q.category for q in data.questions],
            "group": [q.group for q in data.questions],
            "part": [q.part for q in data.questions],
            "query": [q.query for q in data.questions],
            "as_of": [q.as_of for q in data.questions],
            "relevant": pl.Series([list(q.relevant) for q in data.questions], dtype=pl.List(pl.String)),
        }
    )
    parts = []
    for name, answers in done.answers.items():
        found = (
            answers.shown()
            .sort("question", "rank")
            .group_by("question", maintain_order=True)
            .agg(pl.col("items").alias("answer"), pl.col("is_derived"))
        )
        metrics = pl.DataFrame(done.values[name]).with_columns(pl.all().fill_nan(None))
        held = pl.concat([asked, metrics], how="horizontal").join(found, on="question", how="left")
        parts.append(held.select(pl.lit(name).alias("system"), pl.exclude("question")))
    return pl.concat(parts, how="diagonal")  # sessions are not ranked for every system
