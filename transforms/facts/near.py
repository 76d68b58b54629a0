"""Which claims name the same object: equal keys first, then near vectors under guards."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import polars as pl

from transforms.errors import UsageError
from transforms.facts.agreement import agree, signature
from transforms.facts.linkage import complete_groups
from transforms.facts.ordering import Floats, Ints
from transforms.facts.slots import BASE
from transforms.policy import Policy
from transforms.predicates import REMEMBERED

GROUPS = pl.Schema({"claim_id": pl.String, "object_group": pl.String, "similarity": pl.Float32})
_BLOCK = 1_024
_LARGE = 256
"""Sentences of a group that are compared at once; of more, only those whose numbers agree."""
_SLACK = 1e-4
"""By how much a product of float32 matrices may miss the cosine; what it finds is computed again."""


def object_groups(claims: pl.DataFrame, vectors: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    """Object group of each claim, inside one tenant, owner, subject, predicate and aspect.

    Equal object keys are one group whatever the polarity. Different keys are, where the sentences of two
    of their claims of one polarity are nearer than ``facts.merge_cosine`` and their objects agree in
    all that a vector misses (``transforms.facts.agreement``). Any two keys of a group fulfil that. A claim
    without object, or whose sentence has no vector, is near to none.

    Args:
        claims: ``schemas.CLAIMS``.
        vectors: ``fact``, the sentence, and ``vector``, list of float32 of one vector space, each once.
        policy: Section facts.

    Returns:
        ``GROUPS``, a row a claim in its order: the group is named by the smallest key in it;
        ``similarity`` is the least cosine of the claim's key to the other keys, null where it has none.
    """
    merged = _merged_keys(claims, vectors, policy.facts.merge_cosine)
    if merged.is_empty():
        alone = claims.select("claim_id", object_group="object_key")
        return alone.with_columns(similarity=pl.lit(None, pl.Float32)).cast(GROUPS)
    joined = claims.select("claim_id", *BASE, "object_key").join(
        merged, on=[*BASE, "object_key"], how="left", nulls_equal=True, maintain_order="left"
    )
    group = pl.coalesce("object_group", "object_key")
    return joined.select("claim_id", group, "similarity").cast(GROUPS)


def near_pairs(claims: pl.DataFrame, vectors: pl.DataFrame, cosine: float) -> pl.DataFrame:
    """Pairs of keys that may be one group.

    Args:
        claims: ``schemas.CLAIMS``.
        vectors: As for ``object_groups``.
        cosine: Pairs above it are near.

    Returns:
        Columns of ``slots.BASE``, ``left`` and ``right`` (keys, the smaller first), ``similarity`` (float64,
        the greatest of their sentences), sorted by these.

    Raises:
        UsageError: The vectors are not of one length.
    """
    unit = _unit(vectors)
    place = vectors.select("fact", place=pl.int_range(pl.len())).unique("fact")
    sentences = _sentences(claims, place)
    left, right = _close_pairs(sentences, unit, cosine)
    at = sentences["place"].to_numpy()
    # Row by row in float64: the cosine of two sentences does not depend on those beside them.
    cosines = np.minimum(np.einsum("nd,nd->n", unit[at[left]], unit[at[right]], dtype=np.float64), 1)
    shown = sentences["object"].to_list()
    kept = [
        n
        for n, (i, j, near) in enumerate(zip(left.tolist(), right.tolist(), cosines > cosine, strict=True))
        if near and agree(signature(shown[i]), signature(shown[j]))
    ]
    keys = sentences["object_key"]
    pairs = sentences[left[kept]].select(
        *BASE, left="object_key", right=keys.gather(right[kept]), similarity=pl.Series(cosines[kept])
    )
    return pairs.group_by(*BASE, "left", "right").agg(pl.col("similarity").max()).sort(*BASE, "left", "right")


def _unit(vectors: pl.DataFrame) -> Floats:
    """Vectors of length 1, float32 (rows, dimensions); one without direction is zeros."""
    if vectors.is_empty():
        return np.zeros((0, 1), np.float32)
    lengths = vectors["vector"].list.len()
    if lengths.min() != lengths.max() or not lengths.max():
        raise UsageError("vectors of sentences differ in length", "Give those of one vector space.")
    flat = vectors["vector"].list.explode(keep_nulls=False, empty_as_null=False).to_numpy()
    raw: Floats = flat.reshape(vectors.height, -1).astype(np.float32, copy=False)
    norms = np.sqrt(np.einsum("nd,nd->n", raw, raw, dtype=np.float64))
    scale = np.divide(1, norms, out=np.zeros_like(norms), where=np.isfinite(norms) & (norms > 0))
    unit: Floats = np.where(np.isfinite(raw), raw, 0) * scale[:, None].astype(np.float32)
    return unit


def _sentences(claims: pl.DataFrame, place: pl.DataFrame) -> pl.DataFrame:
    """Distinct sentences that have a vector, of subjects and predicates that name several objects."""
    key = pl.col("object_key")
    order = [*BASE, "polarity", "object_key", "object", "fact"]
    # Two versions of an imported memory differ on purpose, however near they are.
    named = claims.select(order).filter(key != "", pl.col("predicate") != REMEMBERED.name)
    several = (
        named.group_by(BASE).agg(first=key.min(), last=key.max()).filter(pl.col("first") != pl.col("last"))
    )
    held = named.join(several, on=BASE, how="semi", nulls_equal=True).unique()
    return held.join(place, on="fact").sort(order)


def _close_pairs(sentences: pl.DataFrame, unit: Floats, cosine: float) -> tuple[Ints, Ints]:
    """Rows of two sentences of one polarity and different keys that are near, or nearly so."""
    if sentences.is_empty():
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    runs = sentences.select(pl.struct(*BASE, "polarity").rle_id().alias("run"))["run"].to_numpy()
    key = sentences.select(pl.struct(*BASE, "object_key").rle_id().alias("key"))["key"].to_numpy()
    bounds = np.append(np.flatnonzero(np.diff(runs, prepend=runs[0] + 1)), len(runs))
    at = sentences["place"].to_numpy()
    found: list[tuple[Ints, Ints]] = []
    for start, end in itertools.pairwise(bounds.tolist()):
        if key[start] == key[end - 1]:
            continue
        rows = np.arange(start, end)
        for part in [rows] if end - start <= _LARGE else _parts(sentences["object"], rows):
            found += [(part[i], part[j]) for i, j in _near(unit[at[part]], key[part], cosine - _SLACK)]
    pairs = [np.concatenate([pair[n] for pair in found] or [np.zeros(0, np.int64)]) for n in (0, 1)]
    return pairs[0], pairs[1]


def _parts(shown: pl.Series, rows: Ints) -> list[Ints]:
    """Rows of a large group in parts that cannot agree with each other, as their numbers differ."""
    parts: dict[tuple[object, ...], list[int]] = {}
    for row, text in zip(rows.tolist(), shown.gather(rows).to_list(), strict=True):
        made = signature(text)
        parts.setdefault((made.codes, made.negations), []).append(row)
    return [np.array(part) for part in parts.values()]


def _near(unit: Floats, key: Ints, least: float) -> Iterator[tuple[Ints, Ints]]:
    """Pairs of rows above ``least`` whose keys differ, by blocks of rows against all."""
    for start in range(0, len(unit), _BLOCK):
        block = unit[start : start + _BLOCK]
        is_near = block @ unit[start:].T > least
        is_near &= key[start : start + _BLOCK, None] < key[None, start:]
        left, right = np.nonzero(is_near)
        if len(left):
            yield left + start, right + start


def _merged_keys(claims: pl.DataFrame, vectors: pl.DataFrame, cosine: float) -> pl.DataFrame:
    """Keys that stand in a group with others: columns of ``BASE``, object_key, object_group, similarity."""
    pairs = near_pairs(claims, vectors, cosine)
    keys = pl.concat([pairs.select(*BASE, object_key=side) for side in ("left", "right")]).unique()
    keys = keys.sort(*BASE, "object_key").with_columns(number=pl.int_range(pl.len()))
    numbered = pairs
    for side in ("left", "right"):
        named = keys.rename({"object_key": side, "number": f"{side}_number"})
        numbered = numbered.join(named, on=[*BASE, side], how="left", nulls_equal=True, maintain_order="left")
    # Numbers follow the order of keys inside a base, so the smallest number is the smallest key.
    links = list(numbered.select("similarity", "left_number", "right_number").iter_rows())
    group = complete_groups(links)
    least: dict[int, float] = {}
    for similarity, left, right in links:
        if group[left] == group[right]:
            for item in (left, right):
                least[item] = min(similarity, least.get(item, 1.0))
    numbers = sorted(least)
    return keys[numbers].select(
        *BASE,
        "object_key",
        object_group=keys["object_key"].gather([group[n] for n in numbers]),
        similarity=pl.Series([least[n] for n in numbers], dtype=pl.Float32),
    )
