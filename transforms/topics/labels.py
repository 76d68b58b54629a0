"""Distinctive terms of topics against the owner's other topics."""

from __future__ import annotations

import polars as pl

from transforms.declarations import TEXTS
from transforms.topics.frames import OWNER
from transforms.topics.stop_words import HAN_FUNCTION, STOP_WORDS

_PLACEHOLDER = r"\[redacted:[a-z_]+\]"
_HAN = r"[\p{Han}々]{2,}"
_KATAKANA = r"[\p{Katakana}ー]{2,}"
_WORD = r"[\p{L}\p{M}][\p{L}\p{M}\p{N}]*(?:['’_-][\p{L}\p{M}\p{N}]+)*"
_ENDING = r"['’](?:s|re|ve|ll|d|m)$"
_ARTICLE = r"^(?:[cdjlmnst]|qu)['’]"
_NO_SPACES = r"[\p{Han}\p{Hiragana}\p{Katakana}々ー]+"
_MIN_LETTERS, _MAX_LETTERS = 3, 30
_CANDIDATES = 4
"""Best terms looked at for each term of a label: some repeat a better one in another form."""
_SAME_STEM = 4
_PLAIN = 0.1


def terms(texts: pl.DataFrame) -> pl.DataFrame:
    """The terms of each text, each once: words of three letters and more, pairs of Han characters.

    Args:
        texts: ``content``; other columns are kept.

    Returns:
        The other columns and ``term``, one row a text and term.
    """
    plain = pl.col("content").str.normalize("NFKC").str.to_lowercase()
    held = texts.with_columns(plain.str.replace_all(_PLACEHOLDER, " "))
    spaced = pl.col("content").str.replace_all(_NO_SPACES, " ")
    words = held.select(pl.exclude("content"), term=spaced.str.extract_all(_WORD))
    has_cjk = held.filter(pl.col("content").str.contains(_NO_SPACES))
    katakana = has_cjk.select(pl.exclude("content"), term=pl.col("content").str.extract_all(_KATAKANA))
    runs = has_cjk.select(pl.exclude("content"), term=pl.col("content").str.extract_all(_HAN))
    runs = runs.explode("term", empty_as_null=False, keep_nulls=False)
    starts = pl.int_ranges(pl.col("term").str.len_chars().cast(pl.Int64) - 1)
    pairs = runs.with_columns(at=starts).explode("at", empty_as_null=False, keep_nulls=False)
    pairs = pairs.with_columns(term=pl.col("term").str.slice(pl.col("at"), 2)).drop("at")
    pairs = pairs.filter(~pl.col("term").str.contains(f"[{HAN_FUNCTION}]"))
    found = pl.concat([words, katakana]).explode("term", empty_as_null=False, keep_nulls=False)
    bare = pl.col("term").str.replace(_ENDING, "").str.replace(_ARTICLE, "")
    return pl.concat([found.with_columns(term=bare).filter(_is_term()), pairs]).unique()


def _is_term() -> pl.Expr:
    term = pl.col("term")
    letters = term.str.len_chars()
    is_short = (letters < _MIN_LETTERS) & term.str.contains(r"^\p{Latin}")
    bare = term.str.replace_all("['’]", "")
    stop = list(STOP_WORDS)
    return ~is_short & (letters <= _MAX_LETTERS) & ~term.is_in(stop) & ~bare.is_in(stop)


def labels(episodes: pl.DataFrame, others: pl.DataFrame, count: int) -> pl.DataFrame:
    """Label of each topic that has episodes here: its most distinctive terms, best first.

    A term's score is the share of the topic's episodes that have it, times 0.1 + ln((1 + N) / (1 + n)): N
    episodes of the owner's other topics, n of them with the term. (Where there are no others the 0.1 leaves
    the share alone to decide.) A topic whose episodes are not here
    counts as one episode that has the terms of its label. Equal scores: the term first in code points.

    Args:
        episodes: tenant_id, owner, topic_id, episode_id, content.
        others: tenant_id, owner, topic_id, label of the owners' topics whose episodes are not here.
        count: Terms of a label.

    Returns:
        topic_id, label (list of text); empty where no text has a term.
    """
    topic = [*OWNER, "topic_id"]
    sizes = episodes.group_by(topic).agg(size=pl.len())
    known = others.select(*topic, term="label").explode("term", empty_as_null=False, keep_nulls=False)
    used = terms(episodes.select(*topic, "episode_id", "content")).group_by(*topic, "term").agg(held=pl.len())
    everywhere = pl.concat(
        [used.select(*OWNER, "term", "held"), known.select(*OWNER, "term", held=pl.lit(1, pl.UInt32))]
    )
    everywhere = everywhere.group_by(*OWNER, "term").agg(owner_held=pl.col("held").sum())
    rows = pl.concat([sizes.select(*OWNER, "size"), others.select(*OWNER, size=pl.lit(1, pl.UInt32))])
    rows = rows.group_by(OWNER).agg(owner_rows=pl.col("size").sum())
    scored = used.join(sizes, on=topic).join(everywhere, on=[*OWNER, "term"]).join(rows, on=OWNER)
    elsewhere = 1 + pl.col("owner_held") - pl.col("held")
    rarity = _PLAIN + ((1 + pl.col("owner_rows") - pl.col("size")) / elsewhere).log()
    scored = scored.with_columns(score=(pl.col("held") / pl.col("size") * rarity).round(9))
    best = scored.sort("score", "term", descending=[True, False]).group_by("topic_id", maintain_order=True)
    picked = best.agg(pl.col("term", "held").head(count * _CANDIDATES))
    named = [(name, _distinct(found, held, count)) for name, found, held in picked.iter_rows()]
    made = pl.DataFrame(named, schema={"topic_id": pl.String, "label": TEXTS}, orient="row")
    return (
        sizes.select("topic_id")
        .join(made, on="topic_id", how="left")
        .with_columns(pl.col("label").fill_null(pl.lit([], TEXTS)))
    )


def _distinct(found: list[str], held: list[int], count: int) -> list[str]:
    """The first terms that do not repeat one before them; pairs of Han characters that go on are joined."""
    kept: list[str] = []
    shares: list[int] = []
    for term, share in zip(found, held, strict=True):
        if len(kept) >= count and not any(map(_is_han, kept[:count])):
            break  # no term to come changes those
        at = next(
            (i for i, before in enumerate(kept) if _goes_on(before, term) and share * 2 > shares[i]), None
        )
        if at is not None:
            before = kept[at]
            kept[at] = before + term[1:] if before.endswith(term[0]) else term[:-1] + before
        elif not any(_repeats(before, term) for before in kept):
            kept.append(term)
            shares.append(share)
    return kept[:count]


def _is_han(term: str) -> bool:
    return "一" <= term[0] <= "鿿"


def _goes_on(before: str, term: str) -> bool:
    if not (_is_han(before) and _is_han(term)) or term in before or len(before) > 3:
        return False
    return before.endswith(term[0]) or before.startswith(term[-1])


def _repeats(before: str, term: str) -> bool:
    """Whether a term is another form of one before it: invoice, invoices."""
    if term in before and _is_han(term):
        return True
    short, long = sorted((before, term), key=len)
    return (
        len(short) >= _SAME_STEM and len(long) - len(short) <= 2 and long.startswith(short[: len(short) - 1])
    )
