"""Precision and recall of merging two objects: ``python -m benchmarks.merge_pairs``.

``merge_pairs.tsv`` holds objects of one subject and predicate, labelled by hand to say the same or not,
hard ones mostly: numbers, ids, names, opposites, word order, other languages. The guards of
``transforms.facts.agreement`` were made with those of part ``first`` and mended with those of ``second``;
those of ``held_out`` were written after that, and nothing was changed to suit them.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from lake.embedders.local import LocalEmbedder
from lake.embedders.protocol import Embedder
from transforms.claims.keys import key_of
from transforms.claims.sentences import sentence_of
from transforms.facts.near import object_groups
from transforms.policy import Policy
from transforms.policy_sleep import FactsPolicy

PAIRS = Path(__file__).with_name("merge_pairs.tsv")
COSINES = (0.8, 0.84, 0.88, 0.9, 0.92, 0.94, 0.96, 0.98, 1.0)
"""At 1.0 only equal keys merge."""
PARTS = ("first", "second", "held_out")


@dataclass(frozen=True)
class Measured:
    """Precision and recall of one part at one cosine, with the guards and by the cosine alone."""

    part: str
    cosine: float
    merged: int
    precision: float
    recall: float
    bare_precision: float
    bare_recall: float


def read_pairs() -> pl.DataFrame:
    """Columns of the file, a row a pair."""
    with PAIRS.open(encoding="utf-8", newline="") as file:
        return pl.DataFrame(list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)))


def as_claims(pairs: pl.DataFrame) -> pl.DataFrame:
    """What ``object_groups`` reads of two claims a pair, each pair of an owner of its own."""
    numbered = pairs.with_row_index("pair")
    sides = [numbered.with_columns(object=side, side=pl.lit(side)) for side in ("left", "right")]
    claims = pl.concat(sides).with_columns(
        operation=pl.lit("assert"),
        polarity=pl.lit("positive"),
        subject=pl.lit("user"),
        subject_key=pl.lit("user"),
        speaker=pl.lit(None, pl.String),
        tenant_id=pl.lit("t"),
        owner="user:" + pl.col("pair").cast(pl.String),
        claim_id=pl.col("pair").cast(pl.String) + pl.col("side"),
    )
    return claims.with_columns(object_key=key_of(claims["object"]), fact=sentence_of(claims))


def vectors_of(claims: pl.DataFrame, embedder: Embedder) -> pl.DataFrame:
    """``fact`` and ``vector`` of the sentences."""
    facts = claims["fact"].unique().sort()
    made = embedder.embed(facts.to_list()).vectors
    return pl.DataFrame({"fact": facts, "vector": pl.Series(made.tolist(), dtype=pl.List(pl.Float32))})


def is_merged(claims: pl.DataFrame, vectors: pl.DataFrame, cosine: float) -> np.ndarray:
    """Whether the two objects of each pair are one group."""
    policy = Policy(facts=FactsPolicy(merge_cosine=cosine))
    group = object_groups(claims, vectors, policy)["object_group"]
    half = claims.height // 2
    return (group[:half] == group[half:]).to_numpy()


def measure(cosines: Iterable[float] = COSINES) -> list[Measured]:
    """Figures of each part at each cosine."""
    pairs = read_pairs()
    claims = as_claims(pairs)
    vectors = vectors_of(claims, LocalEmbedder())
    half = claims.height // 2
    joined = claims.join(vectors, on="fact", how="left", maintain_order="left")["vector"].to_list()
    made = np.array(joined, np.float64)
    bare = (made[:half] * made[half:]).sum(axis=1)
    key = claims["object_key"]
    is_equal = (key[:half] == key[half:]).to_numpy()
    same = (pairs["label"] == "same").to_numpy()
    found = []
    for part in PARTS:
        here = (pairs["part"] == part).to_numpy()
        for cosine in cosines:
            guarded = is_merged(claims, vectors, cosine)
            by_cosine = is_equal | (bare > cosine)
            found.append(
                Measured(
                    part,
                    cosine,
                    int((guarded & here).sum()),
                    *_scores(guarded[here], same[here]),
                    *_scores(by_cosine[here], same[here]),
                )
            )
    return found


def _scores(merged: np.ndarray, same: np.ndarray) -> tuple[float, float]:
    right = int((merged & same).sum())
    return round(right / max(1, int(merged.sum())), 3), round(right / int(same.sum()), 3)


def table(found: Iterable[Measured]) -> str:
    """The figures as a table of Markdown."""
    lines = [
        "| pairs | cosine | merged | precision | recall | precision by cosine alone | its recall |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for row in found:
        figures = (row.precision, row.recall, row.bare_precision, row.bare_recall)
        shown = " | ".join(f"{figure:.2f}" for figure in figures)
        lines.append(f"| {row.part.replace('_', ' ')} | {row.cosine} | {row.merged} | {shown} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table(measure()))
