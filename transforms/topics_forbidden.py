"""Topics that a person has forbidden: which rows mention one.

Text and topic are brought to one form: NFKC, case folded, dashes, underscores and white space as one blank,
and without invisible characters, the vowel marks of Arabic and Hebrew, and the dot of a folded Turkish
capital. A topic is then met as whole words. Its last word also in the plural or singular (-s, -es, -y and
-ies) and in the possessive; other inflections, and Arabic or Hebrew words with a particle before them, need
a topic of their own. Between letters of scripts that are written without blanks, or attach particles to a
word (Han, kana, Thai, Lao, Khmer, Burmese, Hangul), no word boundary is asked for.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

import numpy as np
import polars as pl

from transforms.errors import UsageError
from transforms.standing import Standing

TEXT_COLUMNS = (
    "content",
    "tool_arguments",
    "failure_reason",
    "feedback",
    "metadata",
    "speaker",
    "tool_name",
    "tags",
    "raw",
)
"""Texts of an episode or a quarantined row that are looked at."""
DERIVED_TEXT_COLUMNS = (
    "fact",
    "subject",
    "aspect",
    "object",
    "text",
    "trigger",
    "policy",
    "title",
    "topics",
    "task_type",
    "fix",
    "failure_reason",
    "tags",
    "query",
    "raw",
)
"""Texts of rows that are no episodes."""
MOST_TOPIC_CHARS = 200
MOST_TOPICS = 1_000
"""Of one subject."""
_BLANKS = dict.fromkeys(map(ord, "-_\u058a\u2010\u2011\u2012\u2013\u2014\u2015\u2043\u2212\u30a0"), " ")
"""Dashes and underscores, as NFKC leaves them."""
_UNWRITTEN = re.compile(
    "(?<=i)\u0307|[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0640\u064b-\u0652\u0670]"
)
"""What one writer of a word writes and another leaves out."""
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3040-\u30ff\u3130-\u318f\u31a0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff]"
)


def plain(text: str) -> str:
    """The form in which topics and texts are compared."""
    if text.isascii():
        folded = text.lower()
    else:
        # Folding can undo composition and the other way round; twice comes to rest.
        folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold()).casefold()
        folded = _UNWRITTEN.sub("", folded).replace("\u2019", "'")
        folded = "".join(c for c in folded if unicodedata.category(c) != "Cf")
    return " ".join(folded.translate(_BLANKS).split())


def topic_of(words: str) -> str:
    """A topic as it is kept.

    Raises:
        UsageError: There is no letter or digit in it, or it is too long.
    """
    topic = plain(words)
    if not any(map(_is_wordy, topic)) or len(topic) > MOST_TOPIC_CHARS:
        raise UsageError(
            f"a topic has 1 to {MOST_TOPIC_CHARS} characters, some of them letters or digits",
            'Write one word or phrase, such as forbid-topic "my divorce".',
        )
    return topic


def is_mentioned(text: str | None, topics: Iterable[str]) -> bool:
    """Whether a text mentions one of the topics (as ``topic_of`` gives them)."""
    if not text:
        return False
    read = plain(text)
    return any(_is_met(form, read) for topic in topics for form in _forms(topic))


@lru_cache(maxsize=4096)
def _forms(topic: str) -> tuple[str, ...]:
    """The topic with its last word in singular, plural and possessive."""
    found = {topic}
    if unicodedata.name(topic[-1], "").startswith("LATIN SMALL"):
        found |= {topic + "s", topic + "es"}
        if topic.endswith("y"):
            found.add(topic[:-1] + "ies")
        if topic.endswith("ies") and len(topic) > _SHORT:
            found.add(topic[:-3] + "y")
        if topic.endswith("s") and not topic.endswith("ss") and len(topic) >= _SHORT:
            found.add(topic[:-1])
            if topic.endswith(("shes", "ches", "xes", "sses", "zes")):
                found.add(topic[:-2])
    return tuple(sorted(found, key=lambda form: (len(form), form)))


_SHORT = 4
"""A shorter word may end in -s without being a plural: gas, bus."""


def _is_met(form: str, text: str) -> bool:
    """Whether the form stands in the text with a word boundary on either side."""
    start = text.find(form)
    while start >= 0:
        end = start + len(form)
        left = start == 0 or _is_boundary(text[start - 1], form[0])
        if left and (end == len(text) or _is_boundary(text[end], form[-1])):
            return True
        start = text.find(form, start + 1)
    return False


def _is_boundary(outside: str, inside: str) -> bool:
    if not (_is_wordy(outside) and _is_wordy(inside)):
        return True
    return bool(_UNSPACED.match(outside) or _UNSPACED.match(inside))


def _is_wordy(char: str) -> bool:
    """Letters, marks and digits: marks belong to the letter before them."""
    return unicodedata.category(char)[0] in "LMN"


def forbidden(
    frame: pl.DataFrame, standing: Iterable[Standing], texts: Sequence[str] = TEXT_COLUMNS
) -> pl.Series:
    """Which rows mention a topic that their own tenant, user, agent or session has forbidden.

    Args:
        frame: Rows with ``tenant_id`` and the other scope columns they have.
        standing: Everything that stands.
        texts: Columns to look at, strings or lists of them; those the frame lacks are passed over.

    Returns:
        ``is_forbidden``, Boolean, never null. Only rows of subjects with topics are read.
    """
    verdict = np.zeros(frame.height, np.bool_)
    concerned = list(_concerned(frame, standing))
    if concerned:
        rows = [row for row, _ in concerned]
        for name in (name for name in texts if name in frame.columns):
            for (row, topics), text in zip(concerned, frame[name].gather(rows), strict=True):
                if text is not None and not verdict[row]:
                    parts = [text] if isinstance(text, str) else text
                    verdict[row] = any(is_mentioned(part, topics) for part in parts)
    return pl.Series("is_forbidden", verdict, dtype=pl.Boolean)


def is_forbidden(row: Mapping[str, object], standing: Iterable[Standing]) -> bool:
    """``forbidden`` of one row as plain values, for the online path."""
    for one in standing:
        wanted = one.subject.columns()
        if one.subject.kind == "memory" or any(row.get(name) != value for name, value in wanted.items()):
            continue
        for text in map(row.get, TEXT_COLUMNS):
            parts = text if isinstance(text, list) else [text]
            if any(isinstance(part, str) and is_mentioned(part, one.forbidden_topics) for part in parts):
                return True
    return False


def _concerned(frame: pl.DataFrame, standing: Iterable[Standing]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Number of each row of a subject with topics, and those topics; a row of two subjects comes twice."""
    held = [one for one in standing if one.forbidden_topics and one.subject.kind != "memory"]
    for shape in sorted({tuple(one.subject.columns()) for one in held}):
        if not set(shape) <= set(frame.columns):
            continue
        alike = [one for one in held if tuple(one.subject.columns()) == shape]
        keys = pl.DataFrame(
            [(*one.subject.columns().values(), number) for number, one in enumerate(alike)],
            schema={**dict.fromkeys(shape, pl.String()), "number": pl.Int64()},
            orient="row",
        )
        rows = frame.select(shape).with_row_index("row").join(keys, on=list(shape), how="inner")
        for row, number in rows.select("row", "number").iter_rows():
            yield row, alike[number].forbidden_topics
