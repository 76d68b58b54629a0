"""Rows that agents write online: durable when ``append`` returns, recalled at once, ingested later.

A process appends to one open segment a tenant bucket, under the kernel's file lock, and syncs it
before returning. Ingest seals a segment by renaming it under the same lock, so no writer adds to a
sealed one. On an object store every append is one object. Rows are validated, redacted and tagged
before they touch the disk.

Whether a row may be kept at all (``lake.rights.admission``) is looked up under that lock, so an erasure
that has placed its tombstone and then sealed the segments is never outrun. On an object store it is looked
up before the object is put and again after it.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from os import PathLike
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import orjson
import polars as pl

from lake import segments
from lake.faults import wrapped
from lake.forks import require_threads
from lake.lake import Lake, as_lake
from lake.landing_rows import SOURCE, Rows, normalised, quarantine_rows
from lake.online.working_feed import deliver
from lake.rights.admission import DETAILS, Admission, admission
from lake.sharing.writing import sorted_out
from lake.storage import LocalStorage
from transforms.errors import UsageError
from transforms.policy import Policy
from transforms.readers.batch import refusals_frame
from transforms.schemas import EPISODES, QUARANTINE, Table
from transforms.scopes import require_source
from transforms.validate import Defaults

PREFIX = "landing"
_FEW = 64
"""Up to so many rows are looked at one by one."""
_TABLES = {table.name: table for table in (EPISODES, QUARANTINE)}


@dataclass(frozen=True)
class Refused:
    """One row that may not land: its position in the call, and why."""

    index: int
    reason: str
    detail: str


@dataclass(frozen=True)
class Receipt:
    """What ``append`` did: ids of the rows that landed, in input order, and what was refused.

    Refused rows are kept too; they reach quarantine with the next ingest. Nothing is kept of those of an
    erased (``erased_subject``) or opted-out subject (``opted_out``) or on a ``forbidden_topic``.
    """

    landed: list[str]
    refused: list[Refused] = field(default_factory=list)


def append(
    lake: Lake | str | PathLike[str],
    rows: Sequence[Mapping[str, Any]],
    *,
    policy: Policy | None = None,
    now: datetime | None = None,
    source: str = SOURCE,
    scope: str | None = None,
    **defaults: str,
) -> Receipt:
    """Land rows. Durable when it returns: killed or powered off afterwards, they are still there.

    Args:
        lake: A lake or its address.
        rows: Mappings in the documented row shape (``content``, ``role``, ``tenant_id``,
            ``user_id``, ``agent_id``, ``session_id``, ``event_at``, ...). A row without
            ``event_at`` happened now.
        policy: Limits and redaction; the default policy where None.
        now: The instant of landing; the clock where None.
        source: What the rows name as their source.
        scope: Where rows are written that have no field ``scope``: ``tenant``, ``system`` or
            ``team:<id>``, whose rows name no user, agent or session (the call's are who writes them);
            ``user``, ``agent`` or ``session``, which must be named. None: where their ids say.
        **defaults: For rows that name none: ``tenant_id``, ``user_id``, ``agent_id``, ``session_id``,
            ``timezone``.

    Returns:
        Ids and refusals.

    Raises:
        StorageError: The disk is full; none of the call's rows of that bucket landed.
        LakeError: There is no lake, or it cannot be written.
        UsageError: A default is unknown, or this process was forked too late (``lake.forks``).
    """
    require_threads()
    lake, policy, now = as_lake(lake), policy or _default_policy(), now or datetime.now(UTC)
    require_source(source)
    episodes, refusals, unwanted = _made(lake, rows, policy, now, source, _defaults(defaults), scope)
    refused = quarantine_rows(lake, refusals, policy, now, source)
    kept, turned_away = _land(lake, {EPISODES.name: episodes, QUARANTINE.name: refused})
    told = {r["source_line"] or 1: (r["reason"], r["detail"] or "") for r in refusals.to_dicts()}
    turned_away |= unwanted
    told |= {line: (reason, DETAILS[reason]) for line, reason in turned_away.items()}
    landed = [row["episode_id"] for row in sorted(kept, key=lambda row: row["source_line"])]
    return Receipt(landed, [Refused(line - 1, *told[line]) for line in sorted(told)])


def check(
    lake: Lake, row: Mapping[str, Any], policy: Policy, now: datetime, source: str = SOURCE
) -> Refused | None:
    """Why ``append`` would refuse a row; None where it would land. Writes nothing."""
    episodes, refusals = normalised(lake, [row], policy, now, source, Defaults())
    for told in refusals.to_dicts():
        return Refused(0, told["reason"], told["detail"] or "")
    reason = admission(lake).reason(episodes[0])
    return None if reason is None else Refused(0, reason, DETAILS[reason])


def land(
    lake: Lake, episodes: pl.DataFrame, guard: Callable[[Mapping[str, Any]], str | None]
) -> dict[int, str]:
    """Land episodes that were made elsewhere; durable when it returns.

    Args:
        lake: Where.
        episodes: ``schemas.EPISODES``, each with a ``source_line``.
        guard: Why a row may not land, None where it may; asked under the lock, as ``admission`` is.

    Returns:
        The reason of each row that did not, by ``source_line``.
    """
    require_threads()
    return _land(lake, {EPISODES.name: episodes.to_dicts(), QUARANTINE.name: []}, guard)[1]


def _made(
    lake: Lake,
    rows: Sequence[Mapping[str, Any]],
    policy: Policy,
    now: datetime,
    source: str,
    defaults: Defaults,
    scope: str | None,
) -> tuple[Rows, pl.DataFrame, dict[int, str]]:
    """Episodes of the rows of one call, each in its scope; refusals; reasons of rows nothing is kept of."""
    found = sorted_out(lake, rows, scope, defaults, now)
    if found is None:
        return *normalised(lake, rows, policy, now, source, defaults), {}
    episodes: Rows = []
    refusals = [refusals_frame(found.refused)]
    for part, named, is_shared in ((found.own, defaults, False), (found.shared, found.defaults, True)):
        made, refused = normalised(
            lake, [row for _, row in part], policy, now, source, named, is_shared=is_shared
        )
        places = dict(enumerate((place for place, _ in part), 1))
        episodes += [{**row, "source_line": places[row["source_line"]]} for row in made]
        refusals.append(
            refused.with_columns(pl.col("source_line").replace_strict(places, return_dtype=pl.Int64))
        )
    return episodes, pl.concat(refusals).sort("source_line"), found.turned_away


_DEFAULTS = ("tenant_id", "user_id", "agent_id", "session_id", "timezone", "event_at")


@cache
def _default_policy() -> Policy:
    return Policy()


def _defaults(scope: Mapping[str, str]) -> Defaults:
    unknown = sorted(set(scope) - set(_DEFAULTS))
    if unknown:
        raise UsageError(
            f"append has no argument {', '.join(unknown)}",
            f"Defaults are {', '.join(_DEFAULTS)}.",
        )
    defaults = Defaults(*(scope.get(name) for name in _DEFAULTS))
    if defaults.timezone is not None:
        try:
            ZoneInfo(defaults.timezone)
        except (ZoneInfoNotFoundError, ValueError, OSError) as error:
            raise UsageError(
                f"no time zone {defaults.timezone}", "Use an IANA name such as Europe/Berlin or UTC."
            ) from error
    return defaults


def _land(
    lake: Lake, rows: Mapping[str, Rows], guard: Callable[[Mapping[str, Any]], str | None] | None = None
) -> tuple[Rows, dict[int, str]]:
    """Write what may be kept. Returns the episodes kept, and the reason of each row that may not be, by line.

    Args:
        lake: Where.
        rows: By table.
        guard: As for ``land``.
    """
    turned_away: dict[int, str] = {}
    kept: Rows = []
    for bucket in sorted({row["tenant_bucket"] for held in rows.values() for row in held}):
        mine = {name: [r for r in held if r["tenant_bucket"] == bucket] for name, held in rows.items()}
        part = _Part(lake, mine, turned_away, guard)
        _write(lake, bucket, part)
        kept += part.rows[EPISODES.name]
        deliver(lake, part.rows[EPISODES.name], part.episode_lines)
    return kept, turned_away


@dataclass
class _Part:
    """The rows of one call for one bucket, by table, and the reasons of rows of all of them turned away."""

    lake: Lake
    rows: dict[str, Rows]
    turned_away: dict[int, str]
    guard: Callable[[Mapping[str, Any]], str | None] | None = None
    episode_lines: list[bytes] = field(default_factory=list)

    @property
    def height(self) -> int:
        """Rows that may be kept, as of the last look."""
        return sum(map(len, self.rows.values()))

    def lines(self) -> bytes:
        """JSON lines of the rows that may be kept now; the others are left out from here on."""
        held = admission(self.lake)
        if not held.is_open:
            self.rows = {name: self._admitted(held, name, rows) for name, rows in self.rows.items()}
        if self.guard is not None:
            episodes = self.rows[EPISODES.name]
            self.rows[EPISODES.name] = self._kept(episodes, [self.guard(row) for row in episodes])
        found = {table.name: self._lines(table) for table in (EPISODES, QUARANTINE)}
        self.episode_lines = found[EPISODES.name]
        return b"".join(line for lines in found.values() for line in lines)

    def _lines(self, table: Table) -> list[bytes]:
        rows = self.rows[table.name]
        if self.lake.encryption is not None and rows:
            from lake.crypto.frames import seal  # only where a lake is encrypted

            rows = seal(self.lake, table, pl.DataFrame(rows, schema=table.polars)).to_dicts()
        return [orjson.dumps({table.name: row}, option=orjson.OPT_APPEND_NEWLINE) for row in rows]

    def _admitted(self, held: Admission, name: str, rows: Rows) -> Rows:
        if len(rows) <= _FEW:
            reasons: Iterable[str | None] = [held.reason(row) for row in rows]
        else:
            reasons = held.reasons(pl.DataFrame(rows, schema=_TABLES[name].polars))
        return self._kept(rows, reasons)

    def _kept(self, rows: Rows, reasons: Iterable[str | None]) -> Rows:
        told = list(zip(rows, reasons, strict=True))
        self.turned_away |= {row["source_line"] or 1: reason for row, reason in told if reason is not None}
        return [row for row, reason in told if reason is None]


def _write(lake: Lake, bucket: int, part: _Part) -> None:
    if isinstance(lake.storage, LocalStorage):
        with wrapped("landing rows"):
            segments.segment(lake.storage.root / PREFIX / f"{bucket:03d}").append(part.lines)
        return
    data = part.lines()
    while data:
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
        key = f"{PREFIX}/{bucket:03d}/{segments.SEALED}{stamp}-{secrets.token_hex(6)}.jsonl"
        lake.storage.write(key, data)
        # An erasure may have looked for landed rows between the look-up and the put: it has placed its
        # tombstone by then, and what it missed goes here.
        put, data = part.height, part.lines()
        if part.height == put:  # not the bytes: sealed anew, the same text looks another way
            return
        lake.storage.delete(key)


def seal(lake: Lake) -> list[str]:
    """Close every open segment to its writers. Returns the keys of all sealed ones, by name."""
    return segments.seal_all(lake.storage, PREFIX, "sealing landed rows")


def read(lake: Lake, keys: Sequence[str]) -> list[bytes | None]:
    """Bytes of segments; None of one that another ingest had."""
    return segments.read_all(lake.storage, keys)


def remove(lake: Lake, keys: Sequence[str]) -> None:
    """Remove sealed segments whose rows are committed and on disk."""
    segments.delete_all(lake.storage, keys)
