"""Retrieval metrics: places of relevant items in answers, and recall, nDCG and hits from them.

An answer is a list of rows, best first; a row points to one item (a turn is its own item) or, where it was
derived, to several (the turns it rests on). A row that points to one item takes one place. A row that
points to n items which no better row pointed to takes n places, and all n stand at the last of them, for
nobody can say which of the n the row was found for. So a summary of thirty turns is not thirty hits.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

Numbers = npt.NDArray[np.float64]

ANSWERS = {
    "question": pl.UInt32,
    "rank": pl.UInt32,
    "items": pl.List(pl.String),
}
"""Rows of answers: position of the question, 1-based rank in its answer, and the items the row points to."""
RELEVANT = {"question": pl.UInt32, "item": pl.String}
"""Labels: one relevant item of a question a row, each once."""


def places(answers: pl.DataFrame, relevant: pl.DataFrame, *, repeat_places: int = 1) -> pl.DataFrame:
    """The place of every relevant item in its question's answer.

    Args:
        answers: ``ANSWERS``; each rank of a question once.
        relevant: ``RELEVANT``.
        repeat_places: Places taken by a row all of whose items were pointed to before: 1 where the rows
            are ranked, 0 where the distinct items are (sessions, told by the rows in them).

    Returns:
        ``RELEVANT`` with ``place`` (UInt32, from 1; null where the item is not in the answer), in the
        order of ``relevant``.
    """
    firsts = (
        answers.lazy()
        .explode("items")
        .group_by("question", pl.col("items").alias("item"))
        .agg(pl.col("rank").min())
        .filter(pl.col("item").is_not_null())
    )
    added = firsts.group_by("question", "rank").agg(pl.len().alias("added"))
    blocks = (
        answers.lazy()
        .select("question", "rank")
        .join(added, on=["question", "rank"], how="left")
        .sort("question", "rank")
        .with_columns(pl.max_horizontal(pl.col("added").fill_null(0), pl.lit(repeat_places)).alias("taken"))
        .with_columns(pl.col("taken").cum_sum().over("question").cast(pl.UInt32).alias("place"))
    )
    found = firsts.join(blocks.select("question", "rank", "place"), on=["question", "rank"])
    return (
        relevant.lazy()
        .join(
            found.select("question", "item", "place"),
            on=["question", "item"],
            how="left",
            maintain_order="left",
        )
        .collect()
    )


def first_ranks(answers: pl.DataFrame, relevant: pl.DataFrame) -> pl.DataFrame:
    """As ``places``, but an item stands at the rank of the first row that points to it.

    However many others that row points to: what an agent that follows every source would find, and more
    than it reads.
    """
    firsts = (
        answers.lazy()
        .explode("items")
        .group_by("question", pl.col("items").alias("item"))
        .agg(pl.col("rank").min().alias("place"))
    )
    return relevant.lazy().join(firsts, on=["question", "item"], how="left", maintain_order="left").collect()


def scores(
    placed: pl.DataFrame, questions: int, cuts: Sequence[int], ndcg_at: int = 10
) -> dict[str, Numbers]:
    """Metrics of each question.

    ``recall@k`` is the share of relevant items with a place up to k; ``ndcg@n`` their sum of 1 / log2(1 +
    place) over that of the best possible answer (Jarvelin and Kekalainen 2002, gains 0 or 1); ``hit@1``
    whether one of them stands first.

    Args:
        placed: Output of ``places``.
        questions: How many there are; a question without relevant items is NaN throughout.
        cuts: The k of ``recall@k``.
        ndcg_at: The n of ``ndcg@n``.

    Returns:
        A float64 array over the questions by name.
    """
    of = placed["question"].to_numpy().astype(np.int64)
    place = placed["place"].cast(pl.Float64).fill_null(np.inf).to_numpy()
    count = np.bincount(of, minlength=questions).astype(np.float64)

    def mean(weights: Numbers, over: Numbers) -> Numbers:
        total = np.bincount(of, weights=weights, minlength=questions)
        shares: Numbers = np.divide(total, over, out=np.full(questions, np.nan), where=over > 0)
        return shares

    found = {f"recall@{k}": mean((place <= k).astype(np.float64), count) for k in cuts}
    gains = np.where(place <= ndcg_at, 1.0 / np.log2(1.0 + place), 0.0)
    found[f"ndcg@{ndcg_at}"] = mean(gains, _ideal(count, ndcg_at))
    firsts = np.bincount(of, weights=place <= 1, minlength=questions)
    found["hit@1"] = np.where(count > 0, np.minimum(firsts, 1.0), np.nan)
    return found


def _ideal(count: Numbers, ndcg_at: int) -> Numbers:
    """Gain of the best possible answer by question; 0 where it has no relevant item."""
    ladder = np.concatenate([[0.0], np.cumsum(1.0 / np.log2(1.0 + np.arange(1, ndcg_at + 1)))])
    gains: Numbers = ladder[np.minimum(count, ndcg_at).astype(np.int64)]
    return gains


def separation(positive: Numbers, negative: Numbers) -> float | None:
    """Chance that a positive's value is above a negative's, ties half: the area under the ROC curve.

    By ranks (Mann and Whitney 1947). None where one side is empty.
    """
    if not len(positive) or not len(negative):
        return None
    both = np.concatenate([positive, negative])
    ranks = pl.Series(both).rank("average").to_numpy()
    wins = ranks[: len(positive)].sum() - len(positive) * (len(positive) + 1) / 2
    return float(wins / (len(positive) * len(negative)))
