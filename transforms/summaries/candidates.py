"""Sentences that a summary may quote, each with its role and score; all topics at once."""

from __future__ import annotations

import numpy as np
import polars as pl

from transforms.injection import injection_reason
from transforms.policy import Policy
from transforms.summaries.material import CANDIDATES, worth
from transforms.summaries.roles import DETAIL, ROLES, with_roles
from transforms.summaries.sentences import split

ROLE_WEIGHT = {
    "decision": 0.30,
    "preference": 0.30,
    "lesson": 0.30,
    "error": 0.24,
    "outcome": 0.22,
    DETAIL: 0.0,
}
"""What a summary is for comes first: a plain sentence needs all of the rest to match a bare role."""
IMPORTANCE_WEIGHT, CENTRAL_WEIGHT, PLACE_WEIGHT, SPECIFIC_WEIGHT = 0.25, 0.2, 0.05, 0.1
"""With the best role and ``material.RECENT_WEIGHT`` they add up to 1."""
QUESTION_COST = 0.25
UNTRUSTED_COST = 1.0
"""As much as the whole scale: what a tool or a page said comes after all that was said by people."""
_POOL = 3
"""Candidates kept for each sentence of a summary; more were never among those chosen on the samples."""
_POOL_OF_ROLE = 3
_SPECIFIC = r"\d[\d.,:/-]*|`[^`]+`|\b[A-Z]{2,}[A-Z\d_-]*\b|\b\w+[_./]\w[\w./]*|[^.!?]\s\p{Lu}\p{Ll}+"
"""Numbers, code, upper-case codes, paths, and names: capitals that begin no sentence."""
_SPECIFIC_FULL = 3
_LETTERS = r"\p{L}"
_UNSPACED = r"[\u{0e00}-\u{0eff}\u{3040}-\u{30ff}\u{3400}-\u{9fff}]"
_MIN_WORDS, _MIN_UNSPACED, _MIN_LETTER_SHARE = 3, 6, 0.5
_TOLD_SHORTLY = ("decision", "preference", "lesson")
_MIN_QUESTION, _MIN_QUESTION_UNSPACED = 7, 14
"""A short question lives of what stands around it."""
_COURTESY = (
    r"(?i)^\W*(?:you(?:'|’)?(?:re| are) (?:very |most )?welcome|(?:many )?thank(?:s| you)\b.{0,40}"
    r"|no problem.{0,20}|my pleasure|good (?:morning|evening|night|luck).{0,20}|(?:have|enjoy) (?:a|an|the"
    r"|your)\b.{0,30}|sleep well|see you.{0,20}|how can i help.{0,20}|let me know.{0,40}|i (?:will|'ll"
    r"|can) (?:do that|help).{0,20}|shall i.{0,60}|no harm done|gern geschehen|vielen dank.{0,20}|de nada"
    r"|con gusto|avec plaisir|je vous en prie|di niente|пожалуйста|不客气|不客氣|どういたしまして.{0,10}"
    r"|承知しました|お気をつけて.{0,20}|천만에요.{0,5})\W*$"
)
_WORD = r"\p{L}{3,}|[\u{3400}-\u{9fff}]"


def candidates(episodes: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    """The best sentences of each topic.

    Args:
        episodes: Of ``material.Material``, sorted by ``summary_id``, ``event_at`` and ``episode_id``.
        policy: Sections summaries and trust.

    Returns:
        ``CANDIDATES``, sorted by ``summary_id`` and best first, of each topic at most three times as
        many as a summary has sentences, and three of each role. System prompts, and what reads as an
        instruction, are not among them.
    """
    if episodes.is_empty():
        return pl.DataFrame(schema=CANDIDATES)
    fields = episodes.select(
        "summary_id", "episode_id", "event_at", "expires_at", "kind", "outcome", "failure_reason", "tags",
        "trust", "importance", "content", author="role", tool_name="tool_name",
    ).with_row_index("row")  # fmt: skip
    fields = fields.with_columns(recent=_recency(), vector_centrality=_vector_centrality(episodes))
    sentences = split(episodes["content"], policy.summaries.max_sentence_chars)
    told = with_roles(sentences.join(fields.drop("content"), on="row", how="left", maintain_order="left"))
    is_said = (pl.col("author") != "system").fill_null(True)
    usable = told.filter(is_said & _is_usable()).with_columns(is_trusted=_is_trusted(policy))
    scored = _scored(usable.with_columns(word_centrality=_word_centrality(usable)))
    return _best(_uninstructed(scored, fields["content"]), policy)


def _recency() -> pl.Expr:
    """From 0 for the first episode of a topic to 1 for its last."""
    place = pl.int_range(pl.len()).over("summary_id").cast(pl.Float64)
    return place / pl.max_horizontal(pl.len().over("summary_id") - 1, pl.lit(1))


def _is_trusted(policy: Policy) -> pl.Expr:
    return (pl.col("trust") > pl.lit(policy.trust.tool, pl.Float32)) & pl.col("tool_name").is_null()


def _is_usable() -> pl.Expr:
    """Whether it says something: words rather than signs, and enough of them where it has no role."""
    text = pl.col("sentence")
    letters = text.str.count_matches(_LETTERS)
    words = text.str.count_matches(r"\S+")
    unspaced = text.str.count_matches(_UNSPACED)
    least, least_unspaced = (
        pl.when(pl.col("is_question")).then(_MIN_QUESTION).otherwise(_MIN_WORDS),
        pl.when(pl.col("is_question")).then(_MIN_QUESTION_UNSPACED).otherwise(_MIN_UNSPACED),
    )
    is_long = (words >= least) | (unspaced >= least_unspaced)
    is_told = pl.col("role").is_in(_TOLD_SHORTLY)
    is_text = letters >= _MIN_LETTER_SHARE * text.str.replace_all(r"\s+", "").str.len_chars()
    return (letters > 0) & is_text & (is_long | is_told) & ~text.str.contains(_COURTESY)


def _vector_centrality(episodes: pl.DataFrame) -> pl.Series:
    """Cosine of each episode's vector with the mean of its topic's, 0 to 1; null where a topic lacks some."""
    lengths = episodes["vector"].list.len()
    none = pl.Series("vector_centrality", [None], dtype=pl.Float64).new_from_index(0, episodes.height)
    dimensions = int(lengths.max() or 0)  # type: ignore[arg-type]
    whole = pl.DataFrame({"summary_id": episodes["summary_id"], "is_held": lengths == dimensions})
    is_held = whole.select(pl.col("is_held").fill_null(False).all().over("summary_id")).to_series()
    if dimensions == 0 or not is_held.any():
        return none
    rows = is_held.arg_true()
    whole_rows = episodes["vector"].gather(rows).list.to_array(dimensions)
    matrix = np.nan_to_num(whole_rows.to_numpy().astype(np.float64))
    groups = episodes["summary_id"].gather(rows)
    starts = np.flatnonzero(np.append(True, (groups != groups.shift(1)).to_numpy()[1:]))
    means = np.repeat(np.add.reduceat(matrix, starts, axis=0), np.diff(np.append(starts, len(rows))), axis=0)
    norms = np.linalg.norm(matrix, axis=1) * np.linalg.norm(means, axis=1)
    cosines = np.einsum("ij,ij->i", matrix, means) / np.where(norms > 0, norms, 1.0)
    return none.scatter(rows, np.clip(cosines, 0.0, 1.0))


def _word_centrality(sentences: pl.DataFrame) -> pl.Series:
    """How much of the topic's talk a sentence holds, 0 to 1, relative to the best of the topic.

    The weight of a word is ln(1 + episodes of the topic that hold it); a sentence has the mean weight of
    its words, so that length wins nothing. Words of a single episode weigh little, those of all most.
    """
    lacking = sentences.with_row_index("at").filter(pl.col("vector_centrality").is_null())
    blank = pl.Series("word_centrality", [0.0], dtype=pl.Float64).new_from_index(0, sentences.height)
    if lacking.is_empty():
        return blank
    words = lacking.select(
        "at", "summary_id", "row", word=pl.col("sentence").str.to_lowercase().str.extract_all(_WORD)
    ).explode("word", empty_as_null=False)
    words = words.unique(["at", "word"])
    weights = words.group_by("summary_id", "word").agg(weight=pl.col("row").n_unique())
    weighed = words.join(weights, on=["summary_id", "word"])
    # Whole numbers are summed: their sum does not depend on the order of the words.
    sums = weighed.group_by("at").agg(pl.col("weight").sum(), pl.len())
    mean = (1 + pl.col("weight") / pl.col("len")).log()
    found = lacking.select("at", "summary_id").join(sums, on="at", how="left", maintain_order="left")
    found = found.with_columns(mean=mean.fill_null(0.0))
    top = pl.max_horizontal(pl.col("mean").max().over("summary_id"), pl.lit(1e-9))
    return blank.scatter(found["at"], found.select(pl.col("mean") / top).to_series())


def _scored(sentences: pl.DataFrame) -> pl.DataFrame:
    specific = pl.col("sentence").str.count_matches(_SPECIFIC).clip(0, _SPECIFIC_FULL) / _SPECIFIC_FULL
    score = (
        pl.col("role").replace_strict(ROLE_WEIGHT, return_dtype=pl.Float64)
        + IMPORTANCE_WEIGHT * pl.col("importance").cast(pl.Float64)
        + CENTRAL_WEIGHT * pl.coalesce("vector_centrality", "word_centrality")
        + PLACE_WEIGHT / (1 + pl.col("number"))
        + SPECIFIC_WEIGHT * specific
        - QUESTION_COST * pl.col("is_question")
        - UNTRUSTED_COST * ~pl.col("is_trusted")
    )
    return sentences.with_columns(score=score.round(6))


def _uninstructed(sentences: pl.DataFrame, contents: pl.Series) -> pl.DataFrame:
    """Sentences that read as no instruction, nor stand in a text that does.

    A user's own words are theirs to give: those are left out sentence by sentence, and a preference
    ("from now on, always answer in German") stays.
    """
    none = pl.Series([None], dtype=pl.String).new_from_index(0, contents.len())
    instructs = injection_reason(contents, none, none).is_not_null()
    if not instructs.any():
        return sentences
    suspects = sentences.select("row").to_series()
    is_suspect = instructs.gather(suspects)
    blank = none.new_from_index(0, sentences.height) if sentences.height else none.clear()
    by_sentence = injection_reason(sentences["sentence"], blank, blank).is_not_null()
    own = (pl.col("author") == "user").fill_null(False) & pl.col("tool_name").is_null()
    flagged = sentences.with_columns(is_suspect=is_suspect, says_so=by_sentence)
    is_out = pl.when(own).then(pl.col("says_so") & (pl.col("role") != "preference")).otherwise("is_suspect")
    return flagged.filter(~is_out).drop("is_suspect", "says_so")


def _best(sentences: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    ordered = sentences.sort(
        "summary_id", worth(), "event_at", "episode_id", "start", descending=[False, True, True, False, False]
    )
    # The same words again and again must not crowd out the rest of the topic.
    words = pl.col("sentence").str.to_lowercase().str.replace_all(r"[^\p{L}\p{N}]+", " ").str.strip_chars()
    ordered = ordered.with_columns(words=words).unique(
        ["summary_id", "words"], keep="first", maintain_order=True
    )
    place = pl.int_range(pl.len())
    is_kept = (place.over("summary_id") < _POOL * policy.summaries.max_sentences) | (
        (place.over("summary_id", "role") < _POOL_OF_ROLE) & pl.col("role").is_in(ROLES)
    )
    return ordered.filter(is_kept).select(
        "summary_id", "role", "episode_id", "event_at", "start", "end", "is_cut", "trust", "importance",
        "score", "expires_at", "recent", text="sentence", by="author", sources=pl.concat_list("episode_id"),
    ).select(CANDIDATES.names()).cast(CANDIDATES)  # fmt: skip
