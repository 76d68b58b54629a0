"""The running summary of a session: sentences of what left its window, chosen as a topic's are.

It is made of the sentences that stand and of the rows that leave, by the same rule as summaries of topics
(``transforms.summaries``), so the same rows leaving in the same order give the same summary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import polars as pl

from transforms.policy import Policy
from transforms.schemas import EPISODES, SENSITIVITIES
from transforms.summaries.candidates import candidates
from transforms.summaries.choose import choose
from transforms.summaries.material import CANDIDATES
from transforms.working.rows import Row, most_private

_TOKEN_BYTES = 4
_INSTANTS = ("event_at", "expires_at")
Until = Callable[[Row], datetime]
"""When a row is no longer shown."""


@dataclass(frozen=True)
class Sentence:
    """One sentence.

    Attributes:
        line: As it is shown.
        until: First instant at which it is no longer shown: that of its row.
        fields: As ``CANDIDATES`` has it, instants as ISO text.
    """

    line: str
    until: datetime
    fields: Mapping[str, Any]

    @property
    def sources(self) -> list[str]:
        """Episodes it is from."""
        return list(self.fields["sources"])

    def as_dict(self) -> dict[str, Any]:
        """As it is kept."""
        return {"line": self.line, "until": self.until.isoformat(), "fields": dict(self.fields)}


@dataclass(frozen=True)
class Summary:
    """What stands for the rows that left the window.

    Attributes:
        sentences: By time.
        rows: How many rows it stands for.
        sensitivity: Of the most private of these rows.
    """

    sentences: tuple[Sentence, ...] = ()
    rows: int = 0
    sensitivity: str = SENSITIVITIES[0]

    @property
    def text(self) -> str:
        """The sentences as lines; empty where there are none."""
        return "\n".join(sentence.line for sentence in self.sentences)

    def live(self, now: datetime) -> Summary:
        """What is still shown of it."""
        return replace(self, sentences=tuple(one for one in self.sentences if one.until > now))

    def without(self, ids: set[str]) -> Summary:
        """The sentences that are from none of some episodes."""
        kept = tuple(one for one in self.sentences if ids.isdisjoint(one.sources))
        return replace(self, sentences=kept)

    def of(self, rows: Iterable[Row]) -> Summary:
        """The summary, as private as some more rows that it stands for, whoever made it."""
        return replace(self, sensitivity=most_private([self.sensitivity, *(r.sensitivity for r in rows)]))

    def as_dict(self) -> dict[str, Any]:
        """As it is kept."""
        told = {"rows": self.rows, "sensitivity": self.sensitivity}
        return {"sentences": [one.as_dict() for one in self.sentences], **told}


def summary_of(told: Mapping[str, Any]) -> Summary:
    """A summary from what ``as_dict`` gave.

    Raises:
        ValueError: It is none.
        KeyError: A part is missing.
    """
    sentences = tuple(
        Sentence(one["line"], datetime.fromisoformat(one["until"]).astimezone(UTC), one["fields"])
        for one in told["sentences"]
    )
    # Of one that an older version made it is not known.
    sensitivity = told.get("sensitivity", SENSITIVITIES[-1])
    if sensitivity not in SENSITIVITIES:
        raise ValueError("a summary of an unknown sensitivity")
    return Summary(sentences, int(told["rows"]), sensitivity)


def summed_up(before: Summary, rows: Sequence[Row], policy: Policy, until: Until) -> Summary:
    """The summary once some rows have left the window.

    Args:
        before: What stood.
        rows: Rows that leave, by time. Calls of tools and injected context say nothing in it.
        policy: Sections working, summaries and trust.
        until: When each row is no longer shown; its sentences go with it.
    """
    limits = {
        "max_tokens": policy.working.summary_tokens,
        "max_sentences": policy.working.summary_sentences,
    }
    narrowed = policy.model_copy(update={"summaries": policy.summaries.model_copy(update=limits)})
    told = [row for row in rows if not (row.raw["is_injected"] or (row.is_call and not row.is_answered))]
    pool = pl.concat([candidates(_frame(told, until), narrowed), _standing(before)])
    chosen = choose(pool, narrowed.summaries, _count)
    sentences = tuple(_sentence(one) for one in chosen.iter_rows(named=True))
    return Summary(sentences, before.rows + len(rows), before.sensitivity).of(rows)


def _frame(rows: Sequence[Row], until: Until) -> pl.DataFrame:
    raws = [{**row.raw, "expires_at": until(row)} for row in rows]
    frame = pl.DataFrame(raws, schema=EPISODES.polars) if raws else EPISODES.empty()
    return frame.with_columns(summary_id=pl.lit(""), vector=pl.lit(None, pl.List(pl.Float32))).sort(
        "event_at", "episode_id"
    )


def _standing(before: Summary) -> pl.DataFrame:
    fields = [
        {**one.fields, **{name: datetime.fromisoformat(one.fields[name]) for name in _INSTANTS}}
        for one in before.sentences
    ]
    return pl.DataFrame(fields, schema=CANDIDATES).with_columns(recent=pl.lit(0.0))


def _sentence(row: dict[str, Any]) -> Sentence:
    fields = {name: row[name] for name in CANDIDATES.names()}
    fields |= {name: row[name].isoformat() for name in _INSTANTS}
    return Sentence(row["line"], row["expires_at"], fields)


def _count(texts: list[str]) -> list[int]:
    """About how many tokens each text has, rather too many: see ``rows``."""
    return [-(-len(text.encode()) // _TOKEN_BYTES) for text in texts]
