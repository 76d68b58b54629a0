"""What an erasure has at hand, and what it keeps on disk so that a killed one goes on where it was."""

from __future__ import annotations

import io
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from flows.job import Job
from lake.crypto.objects import open_object, seal_object
from lake.lake import Lake
from lake.rights import requests
from lake.rights.requests import Request
from lake.rights.standing import load_all
from transforms.erasure import Aim
from transforms.standing import held

TARGETS_SCHEMA = pl.Schema({"kind": pl.String, "value": pl.String, "more": pl.String})
"""What was found of the subject: ids, owners, sessions and sentences. Personal; gone with the request."""


@dataclass
class Work:
    """One erasure on its way.

    Attributes:
        job: The run.
        request: As recorded; its details hold aliases, canaries and evidence.
        aim: Whose rows go.
        evidence: Counts and figures so far; goes into the certificate.
        targets: ``TARGETS_SCHEMA``.
        is_resumed: Whether an earlier run worked on it.
    """

    job: Job
    request: Request
    aim: Aim
    evidence: dict[str, Any]
    targets: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=TARGETS_SCHEMA))
    is_resumed: bool = False

    @property
    def lake(self) -> Lake:
        """Where."""
        return self.job.lake

    @property
    def tenant(self) -> str:
        """Whose lake rows they are."""
        return self.aim.subject.tenant

    @property
    def buckets(self) -> list[int]:
        """Tenant buckets that the subject's rows lie in."""
        return [self.lake.bucket(self.tenant)]

    @property
    def canaries(self) -> tuple[str, ...]:
        """Planted texts that must be nowhere afterwards."""
        return tuple(self.request.details.get("canaries", ()))

    def values(self, *kinds: str) -> pl.Series:
        """Distinct values of the targets of some kinds."""
        found = self.targets.filter(pl.col("kind").is_in(kinds))["value"]
        return found.unique().sort()

    def rows(self, kind: str) -> pl.DataFrame:
        """``value`` and ``more`` of the targets of a kind."""
        return self.targets.filter(pl.col("kind") == kind).select("value", "more").unique()

    def add(self, kind: str, values: Collection[str], more: str | None = None) -> None:
        """Note further targets."""
        frame = pl.DataFrame({"value": list(values)}, schema={"value": pl.String})
        self.add_frame(
            frame.select(pl.lit(kind).alias("kind"), "value", pl.lit(more, pl.String).alias("more"))
        )

    def add_frame(self, frame: pl.DataFrame) -> None:
        """Note further targets, as ``TARGETS_SCHEMA``."""
        self.targets = pl.concat([self.targets, frame.select(TARGETS_SCHEMA.names())]).unique()

    def save(self) -> None:
        """Keep the evidence; durable when it returns."""
        self.request = requests.keep_details(
            self.lake, self.request, {**self.request.details, "evidence": self.evidence}
        )

    def save_targets(self) -> None:
        """Keep the targets; durable when it returns."""
        sink = io.BytesIO()
        self.targets.sort("kind", "value", "more").write_parquet(sink)
        key = targets_key(self.request.request_id)
        self.lake.storage.write(key, seal_object(self.lake, key, sink.getvalue()))


def targets_key(request_id: str) -> str:
    """Where the targets of an open request lie."""
    return f"{requests.PREFIX}/{request_id}.targets"


def work_of(job: Job, request: Request) -> Work:
    """The erasure of a request, as far as it has come."""
    details: Mapping[str, Any] = request.details
    holds = held(load_all(job.lake))
    aim = Aim(request.subject, tuple(details.get("aliases", ())), tuple(holds))
    key = targets_key(request.request_id)
    kept = job.lake.storage.read(key)
    raw = None if kept is None else open_object(job.lake, key, kept)
    evidence = dict(details.get("evidence", {}))
    work = Work(job, request, aim, evidence, is_resumed=bool(evidence))
    if raw is not None:
        work.targets = pl.read_parquet(io.BytesIO(raw)).select(TARGETS_SCHEMA.names())
    return work
