"""What every reader hands over, and the protocol it follows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import BinaryIO, Protocol, runtime_checkable

import polars as pl

from transforms.policy import IngestPolicy
from transforms.readers.injected import split_recalled
from transforms.readers.lines import Point
from transforms.readers.text import JsonFault, clean_columns, dump_json
from transforms.schemas import DRAFTS, REFUSALS
from transforms.validate import ROLES

ID_COLUMNS = ("natural_id", "tenant_id", "agent_id", "user_id", "session_id", "parent_id")
CLEANED_COLUMNS = ("content", "speaker", "tool_name", "tool_arguments", "failure_reason", "feedback")
"""Free text: control characters go. Ids stay as given, or two of them could become one."""

_USER_ROLES = frozenset(name for name, role in ROLES.items() if role == "user")
_CARRIED = ("tenant_id", "user_id", "source_file", "source_line")


@dataclass(frozen=True)
class Batch:
    """One portion of a source.

    Args:
        drafts: Rows in the schema ``DRAFTS``; ``content`` is never null, and empty only for a
            tool call without a result.
        refusals: Rows in the schema ``REFUSALS``.
        rows_in: Rows found: drafts, refusals and what was left out. A tool call and its result
            are one row.
        left_out: Reason -> count of rows the format itself marks as not part of the record, such
            as abandoned branches.
        point: Where ``Resumable.read_on`` goes on after it; None: nowhere, rows before wait for rows after.
        pause: To be called before the next batch is asked for: what else has to go in for the reading to go
            on here, with a point. It gives None where that is not possible.
        source_bytes: Read for it; told where a source has far more of them than its rows.
    """

    drafts: pl.DataFrame
    refusals: pl.DataFrame
    rows_in: int
    left_out: dict[str, int] = field(default_factory=dict)
    point: Point | None = None
    pause: Callable[[], Batch | None] | None = None
    source_bytes: int = 0


class Reader(Protocol):
    """One input format."""

    name: str
    about: str
    """One line: which tool writes it, and what a record is."""

    def matches(self, head: bytes, file_name: str) -> bool:
        """Whether a source that begins with ``head`` (UTF-8) is of this format."""

    def read(self, stream: BinaryIO, file_name: str, policy: IngestPolicy) -> Iterator[Batch]:
        """Batches of at most about ``policy.batch_rows`` rows; bad rows become refusals."""


@runtime_checkable
class Resumable(Protocol):
    """A reader that can go on in the middle of a source: one killed on the way is not read from its start."""

    def read_on(
        self, stream: BinaryIO, file_name: str, policy: IngestPolicy, point: Point
    ) -> Iterator[Batch]:
        """As ``Reader.read``, of a stream that stands at a point that a batch of the same source gave."""


@runtime_checkable
class Leaning(Protocol):
    """A reader that can go on, but whose records lean on others of their source: none is read alone."""

    leans: bool


@runtime_checkable
class NameReading(Protocol):
    """A reader to which the name of a source says something of its rows, such as their session."""

    def told_by(self, file_name: str) -> str | None:
        """What it says; None: nothing."""


def refusals_frame(rows: Sequence[dict[str, object]]) -> pl.DataFrame:
    """Rows (keys of ``REFUSALS``, absent ones null) as a frame of that schema."""
    return pl.DataFrame(rows, schema=REFUSALS.polars) if rows else REFUSALS.empty()


def settle(frame: pl.DataFrame, raws: Sequence[str] | None = None) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Clean the text of drafts and split off those that cannot stand.

    Args:
        frame: Schema ``DRAFTS``, rows of one batch.
        raws: Source text of each row; by default a refusal quotes the draft as JSON.

    Returns:
        Drafts and refusals: ``no_content`` (no text and no tool called) and ``invalid_id`` (an id
        with bytes that are no text: replacing them could make two ids one).
    """
    frame = clean_columns(frame, CLEANED_COLUMNS).with_columns(
        pl.col("natural_id").replace("", None), pl.col("content").fill_null("")
    )
    is_blank = (pl.col("content").str.strip_chars() == "") & pl.col("tool_name").is_null()
    is_bad_id = pl.any_horizontal(
        pl.col(c).str.contains("\ufffd", literal=True).fill_null(False) for c in ID_COLUMNS
    )
    reason = pl.when(is_bad_id).then(pl.lit("invalid_id")).when(is_blank).then(pl.lit("no_content"))
    reasons = frame.select(reason.otherwise(None).alias("reason")).to_series()
    if reasons.null_count() == frame.height:
        return frame, REFUSALS.empty()
    bad = reasons.is_not_null()
    quoted = [raws[i] for i in bad.arg_true()] if raws is not None else _quotes(frame.filter(bad))
    details = {
        "invalid_id": "an id holds bytes that are not valid text",
        "no_content": "the row has neither text nor a tool call",
    }
    refused = frame.filter(bad).select(
        reasons.filter(bad).alias("reason"),
        reasons.filter(bad).replace_strict(details, return_dtype=pl.String).alias("detail"),
        pl.Series("raw", quoted, dtype=pl.String),
        *_CARRIED,
    )
    return frame.filter(~bad), refused


def _quotes(frame: pl.DataFrame) -> list[str]:
    return [dump_json({k: v for k, v in row.items() if v is not None}) for row in frame.to_dicts()]


class Collector:
    """Gathers the rows of a message format one by one and hands them over as batches."""

    def __init__(self, file_name: str, policy: IngestPolicy) -> None:
        """Start empty."""
        self._file_name = file_name
        self._policy = policy
        self._point: Point | None = None
        self._clear()

    def _clear(self) -> None:
        self._drafts: list[dict[str, object]] = []
        self._refusals: list[dict[str, object]] = []
        self._left_out: Counter[str] = Counter()
        self._chars = 0

    def draft(self, **fields: object) -> None:
        """Add one draft; names are columns of ``DRAFTS``, absent ones null.

        Memories that were recalled into a user's message become a row of their own: they are not
        the user's words.
        """
        content = fields.get("content")
        self._chars += len(str(content or ""))
        own = {**fields, "source_file": self._file_name}
        if fields.get("role") in _USER_ROLES and isinstance(content, str) and not fields.get("is_injected"):
            said, recalled = split_recalled(content)
            if recalled:
                own_id = fields.get("natural_id")
                injected_id = f"{own_id}/injected" if said and own_id is not None else own_id
                aside = {"content": recalled, "natural_id": injected_id, "is_injected": True}
                self._drafts.append({**own, **aside})
                own["content"] = said
                if not said:
                    return
        self._drafts.append(own)

    def refuse(self, fault: JsonFault, raw: object, line: int) -> None:
        """Add one refusal; ``raw`` is the source text (str or UTF-8), or a JSON value to be quoted."""
        text = raw.decode("utf-8", "replace") if isinstance(raw, bytes) else quote(raw)
        self._chars += len(text)
        self._refusals.append(
            {
                "reason": fault.reason,
                "detail": fault.detail,
                "raw": text,
                "source_file": self._file_name,
                "source_line": line,
            }
        )

    def leave_out(self, reason: str, count: int = 1) -> None:
        """Count rows that the format marks as not part of the record."""
        if count:
            self._left_out[reason] += count

    def reached(self, point: Point | None) -> None:
        """Note where the source can be read on from after all that was added; None: nowhere."""
        self._point = point

    def drop(self) -> None:
        """Forget what was gathered: it was handed over before, when the source was read up to here."""
        self._clear()

    @property
    def is_full(self) -> bool:
        """Whether the batch has reached the policy's rows or bytes."""
        return self._is_above(1)

    @property
    def is_overfull(self) -> bool:
        """Whether it has reached twice that: then it cannot wait for the end of a record."""
        return self._is_above(2)

    def _is_above(self, times: int) -> bool:
        rows = len(self._drafts) + len(self._refusals)
        return rows >= times * self._policy.batch_rows or self._chars >= times * self._policy.batch_bytes

    def flush(
        self, pause: Callable[[], Batch | None] | None = None, source_bytes: int = 0
    ) -> Iterator[Batch]:
        """Hand over what is gathered, if anything."""
        if self._drafts or self._refusals or self._left_out:
            yield replace(self.batch(), pause=pause, source_bytes=source_bytes)

    def batch(self) -> Batch:
        """What is gathered, be it nothing."""
        rows = len(self._drafts) + len(self._refusals) + sum(self._left_out.values())
        frame = pl.DataFrame(self._drafts, schema=DRAFTS.polars) if self._drafts else DRAFTS.empty()
        drafts, refused = settle(frame)
        refusals = pl.concat([refusals_frame(self._refusals), refused])
        left_out = dict(sorted(self._left_out.items()))
        self._clear()
        return Batch(drafts, refusals, rows, left_out, self._point)


def quote(value: object) -> str:
    """A parsed JSON value as text again, for a refusal; nesting too deep to write is said so."""
    if isinstance(value, str):
        return value
    try:
        return dump_json(value)
    except JsonFault as fault:
        return f"({fault.detail})"
