"""Answers that are kept: asked once in a tenant, never paid for again."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import polars as pl

from lake import tables
from lake.lake import Lake
from transforms import ids
from transforms.model_requests import ModelAnswer, ModelRequest
from transforms.schemas import INSTANT, MODEL_RESULTS

_ROWS_AT_ONCE = 64
_SECONDS_AT_ONCE = 10.0
"""A killed run loses the answers of so many seconds at most."""


@dataclass(frozen=True)
class Kept:
    """A final answer to be kept: text, or the reason why there is none."""

    text: str
    error: str | None
    input_tokens: int
    output_tokens: int


def result_id(request: ModelRequest, model_key: str) -> str:
    """Names a request by its tenant, the model and all that the model is shown."""
    shown = json.dumps(
        [request.system, request.user, request.answer_schema, request.max_output_tokens], sort_keys=True
    )
    return ids.row_id(request.tenant_id, model_key, request.task, request.prompt_version, ids.digest(shown))


class Answers:
    """The kept answers of one model. Used by one thread; close it, or its last answers are not kept."""

    def __init__(
        self, lake: Lake, model_key: str, as_of: datetime, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._lake = lake
        self._model_key = model_key
        self._as_of = as_of
        self._clock = clock
        self._waiting: list[dict[str, object]] = []
        self._flushed_at = clock()

    def held(self, requests: Mapping[str, ModelRequest]) -> dict[str, ModelAnswer]:
        """What is kept of the requests, by their result ids."""
        if not requests:
            return {}
        tenants = {request.tenant_id for request in requests.values()}
        rows = (
            tables.scan(self._lake, MODEL_RESULTS, buckets={self._lake.bucket(t) for t in tenants})
            .filter(
                pl.col("model_key") == self._model_key,
                pl.col("tenant_id").is_in(sorted(tenants)),
                pl.col("result_id").is_in(sorted(requests)),
            )
            .select("result_id", "answer", "error", "answered_at")
            .sort("result_id", "answered_at", "error", "answer")
            .unique("result_id", keep="first", maintain_order=True)
            .collect()
        )
        return {
            name: ModelAnswer("failed" if error else "answered", text, error, is_cached=True)
            for name, text, error in rows.select("result_id", "answer", "error").iter_rows()
        }

    def keep(self, name: str, request: ModelRequest, kept: Kept) -> None:
        """Keep an answer; it is written with others, within seconds or with ``flush``."""
        self._waiting.append(
            {
                "result_id": name,
                "tenant_id": request.tenant_id,
                "tenant_bucket": self._lake.bucket(request.tenant_id),
                "owner": request.owner,
                "task": request.task,
                "model_key": self._model_key,
                "prompt_version": request.prompt_version,
                "source_refs": sorted(request.source_refs),
                "answer": kept.text,
                "error": kept.error,
                "input_tokens": kept.input_tokens,
                "output_tokens": kept.output_tokens,
                "answered_at": self._as_of,
            }
        )
        is_late = self._clock() - self._flushed_at >= _SECONDS_AT_ONCE
        if is_late or len(self._waiting) >= _ROWS_AT_ONCE:
            self.flush()

    def flush(self) -> None:
        """Write what waits.

        Raises:
            StorageError: The disk is full or the store fails.
        """
        if self._waiting:
            rows = pl.DataFrame(self._waiting, schema=MODEL_RESULTS.polars).with_columns(
                pl.col("answered_at").cast(INSTANT)
            )
            tables.append(self._lake, MODEL_RESULTS, rows)
            self._waiting = []
        self._flushed_at = self._clock()


def named(requests: Sequence[ModelRequest], model_key: str) -> list[str]:
    """Result id of each request, in order."""
    return [result_id(request, model_key) for request in requests]
