"""``langsmith-runs``: runs of LangSmith, as its API lists, its exports hold, or its SDKs send them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from transforms.policy import IngestPolicy
from transforms.readers.batch import Collector
from transforms.readers.broken_lists import BROKEN, BrokenLists
from transforms.readers.langsmith_span import run_key, span_of
from transforms.readers.memory_store import listed_keys, object_of
from transforms.readers.records import Record
from transforms.readers.text import JsonFault, type_name
from transforms.readers.trace_calls import key_of
from transforms.readers.trace_reading import Taking, TraceReader
from transforms.readers.trace_rows import TraceRows

_BATCH = ("post", "patch")
_OBJECTS = ("inputs", "outputs", "extra")
_PARTS_WAITED_FOR = 10_000
"""After which a run goes in without its end: an SDK sends it with one of its next batches."""
_RUNS_KNOWN = 50_000
"""Runs that are known when they are told again; what came before them is known by its messages."""


class LangsmithRuns(TraceReader):
    """Reader of LangSmith's runs."""

    name = "langsmith-runs"
    about = "Runs of LangSmith: listed, exported, or batches of its SDKs; a record is one run or batch."
    wrapper = "runs"

    def matches(self, head: bytes, file_name: str) -> bool:
        """Runs with a type, their inputs and their trace; or batches of them."""
        keys = listed_keys(head, "runs", *_BATCH)
        return {"run_type", "inputs"} <= keys or "dotted_order" in keys

    def begin(self, rows: TraceRows, collector: Collector, policy: IngestPolicy) -> Taking:
        """As ``TraceReader``."""
        return _Runs(rows, collector)


class _Part(NamedTuple):
    """What is known so far of a run: the item it began in, and the numbers of its parts."""

    run: dict[str, object]
    number: int
    places: list[int]


class _Runs(Taking):
    """Puts runs together that came in parts: how they began, and later how they ended."""

    def __init__(self, rows: TraceRows, collector: Collector) -> None:
        self._rows = rows
        self._collector = collector
        self._held: dict[str, _Part] = {}
        self._done: dict[str, int] = {}

    def take(self, record: Record) -> Iterator[None]:
        number, value, raw = record
        try:
            if isinstance(value, JsonFault):
                self._collector.refuse(value, self._salvage(value, raw, number), number)
            else:
                self._read(value, number)
        except JsonFault as fault:
            self._collector.refuse(fault, raw, number)
        yield

    def _read(self, record: Mapping[str, object], number: int) -> None:
        parts = [record[name] for name in _BATCH if isinstance(record.get(name), list)]
        if not parts:
            self._run(record, number, None)
            return
        for part in parts:
            for run in part if isinstance(part, list) else []:
                self._try(run, number, None)

    def _salvage(self, fault: JsonFault, raw: object, number: int) -> object:
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
        place = self._rows.places.take()
        self._let_go()
        name = run_key(run)
        given = {**run, **{field: object_of(run.get(field), field) for field in _OBJECTS}}
        if parent is not None and not given.get("parent_run_id"):
            given["parent_run_id"] = parent
        if place is not None:
            self._part(name, _Part(given, number, [place]))
        children = run.get("child_runs")
        for child in children if isinstance(children, list) else []:
            self._try(child, number, name)

    def _part(self, name: str, given: _Part) -> None:
        if key_of(name) in self._done:
            self._collector.leave_out("repeated_run")
            return
        before = self._held.pop(name, _Part({}, given.number, []))
        part = _Part(_merged(before.run, given.run), before.number, before.places + given.places)
        if part.run.get("end_time") and part.run.get("start_time"):
            self._add(name, part)
        else:
            self._held[name] = part

    def _let_go(self) -> None:
        """Take runs as they are whose end was not told for long."""
        while self._held:
            name, part = next(iter(self._held.items()))
            if part.places[-1] + _PARTS_WAITED_FOR >= self._rows.places.count:
                return
            self._add(name, self._held.pop(name))

    def _add(self, name: str, part: _Part) -> None:
        self._done[key_of(name)] = part.places[0]
        if len(self._done) > _RUNS_KNOWN:
            del self._done[next(iter(self._done))]
        try:
            self._rows.add(span_of(name, part.run, part.number), part.places)
        except JsonFault as fault:
            self._collector.refuse(fault, part.run, part.number)

    def finish(self) -> None:
        """Take the runs whose end was never told."""
        for name, part in self._held.items():
            self._add(name, part)
        self._held = {}

    def held(self) -> Iterator[int]:
        """As ``Taking``."""
        return (place for part in self._held.values() for place in part.places)

    def state(self, is_open: frozenset[int]) -> object:
        """As ``Taking``: digests of the runs that are done with."""
        return [key for key, place in self._done.items() if place not in is_open]

    def restore(self, state: list[str]) -> None:
        """As ``Taking``."""
        self._done = dict.fromkeys(state, -1)


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
