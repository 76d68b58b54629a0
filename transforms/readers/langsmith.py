"""``langsmith-runs``: runs of LangSmith, as its API lists, its exports hold, or its SDKs send them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import BinaryIO

from transforms.policy import IngestPolicy
from transforms.readers.batch import Batch, Collector
from transforms.readers.broken_lists import BROKEN, BrokenLists
from transforms.readers.langsmith_span import run_key, span_of
from transforms.readers.memory_store import listed_keys, object_of
from transforms.readers.records import json_records
from transforms.readers.text import JsonFault, type_name
from transforms.readers.trace_rows import TraceRows

_BATCH = ("post", "patch")
_OBJECTS = ("inputs", "outputs", "extra")


class LangsmithRuns:
    """Reader of LangSmith's runs."""

    name = "langsmith-runs"
    about = "Runs of LangSmith: listed, exported, or batches of its SDKs; a record is one run or batch."

    def matches(self, head: bytes, file_name: str) -> bool:
        """Runs with a type, their inputs and their trace; or batches of them."""
        keys = listed_keys(head, "runs", *_BATCH)
        return {"run_type", "inputs"} <= keys or "dotted_order" in keys

    def read(self, stream: BinaryIO, file_name: str, policy: IngestPolicy) -> Iterator[Batch]:
        """Batches; source_line is the line or the item number of the run, or of the batch it came in."""
        collector = Collector(file_name, policy)
        rows = TraceRows(collector, policy)
        runs = _Runs(rows, collector, policy)
        for number, value, raw in json_records(stream, policy, wrapper="runs"):
            try:
                if isinstance(value, JsonFault):
                    collector.refuse(value, runs.salvage(value, raw, number), number)
                else:
                    runs.take(value, number)
            except JsonFault as fault:
                collector.refuse(fault, raw, number)
            rows.settle()
            if collector.is_full:
                yield from collector.flush()
        runs.finish()
        rows.finish()
        yield from collector.flush()


class _Runs:
    """Puts runs together that came in parts: how they began, and later how they ended."""

    def __init__(self, rows: TraceRows, collector: Collector, policy: IngestPolicy) -> None:
        self._rows = rows
        self._collector = collector
        self._policy = policy
        self._held: dict[str, tuple[dict[str, object], int]] = {}
        self._done: set[str] = set()

    def take(self, record: Mapping[str, object], number: int) -> None:
        parts = [record[name] for name in _BATCH if isinstance(record.get(name), list)]
        if not parts:
            self._run(record, number, None)
            return
        for part in parts:
            for run in part if isinstance(part, list) else []:
                self._try(run, number, None)

    def salvage(self, fault: JsonFault, raw: object, number: int) -> object:
        """Take the whole runs of a broken batch; what of it remains to be refused."""
        if fault.reason not in BROKEN or not isinstance(raw, bytes):
            return raw
        broken = BrokenLists(raw, _BATCH, lambda run: "dotted_order" in run or "run_type" in run)
        for _, run in broken.read():
            self._try(run, number, None)
        return broken.rest

    def _try(self, run: object, number: int, parent: str | None) -> None:
        try:
            if not isinstance(run, dict):
                raise JsonFault("not_an_object", f"a run is {type_name(run)}, not an object")
            self._run(run, number, parent)
        except JsonFault as fault:
            self._collector.refuse(fault, run, number)

    def _run(self, run: Mapping[str, object], number: int, parent: str | None) -> None:
        name = run_key(run)
        if name in self._done:
            self._collector.leave_out("repeated_run")
            return
        given = {**run, **{field: object_of(run.get(field), field) for field in _OBJECTS}}
        if parent is not None and not given.get("parent_run_id"):
            given["parent_run_id"] = parent
        before, number = self._held.pop(name, ({}, number))
        whole = _merged(before, given)
        if whole.get("end_time") and whole.get("start_time"):
            self._add(name, whole, number)
        else:
            self._held[name] = (whole, number)
            self._let_go()
        children = run.get("child_runs")
        for child in children if isinstance(children, list) else []:
            self._try(child, number, name)

    def _let_go(self) -> None:
        """Take the longest waiting run as it is, where too many wait."""
        if len(self._held) > self._policy.batch_rows:
            oldest = next(iter(self._held))
            self._add(oldest, *self._held.pop(oldest))

    def _add(self, name: str, run: dict[str, object], number: int) -> None:
        self._done.add(name)
        try:
            self._rows.add(span_of(name, run, number))
        except JsonFault as fault:
            self._collector.refuse(fault, run, number)

    def finish(self) -> None:
        """Take the runs whose end was never told."""
        for name, (run, number) in self._held.items():
            self._add(name, run, number)
        self._held = {}


def _merged(before: Mapping[str, object], after: Mapping[str, object]) -> dict[str, object]:
    """A run by its parts: the later one counts where it says anything, ``extra`` field by field."""
    told = {field: value for field, value in after.items() if value not in (None, {}, [])}
    extras = [part.get("extra") for part in (before, after)]
    extra: dict[str, object] = {}
    for part in extras:
        extra |= _with_metadata(extra, part) if isinstance(part, dict) else {}
    return {**before, **told, "extra": extra}


def _with_metadata(held: Mapping[str, object], more: Mapping[str, object]) -> dict[str, object]:
    old, new = held.get("metadata"), more.get("metadata")
    both = {**(old if isinstance(old, dict) else {}), **(new if isinstance(new, dict) else {})}
    return {**more, "metadata": both}
