"""The vector of a query: embedded by the reader's model, or the caller's own, which is looked at first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lake.embedders.protocol import embed_queries, normalised
from transforms.embedding import vector_space
from transforms.errors import ModelMismatchError, UsageError

if TYPE_CHECKING:
    from lake.embedders.protocol import Embedder

OwnVector = Sequence[float] | NDArray[np.floating[Any]]


def query_vector(
    model: Embedder, text: str, own: OwnVector | None = None, space: str | None = None
) -> NDArray[np.float32]:
    """A query's vector, float32 (dimensions,), of length 1.

    Args:
        model: The reader's.
        text: The query.
        own: The caller's own vector of it, of any length above 0; None: the model embeds the text. Zeros
            where it refuses that, whose words then still find rows.
        space: The vector space of ``own``, as ``Recall.space`` names it; always with it.

    Raises:
        ModelMismatchError: The space is not that of the reader's model.
        UsageError: One of vector and space without the other, or a vector that is not of numbers, not
            finite, without direction or not of the model's dimensions.
    """
    if own is None:
        if space is not None:
            raise UsageError("a space is named, and no vector", "Pass vector too, or neither.")
        embedded: NDArray[np.float32] = embed_queries(model, [text]).vectors[0]
        return embedded
    mine = vector_space(model.model_key)
    if space is None:
        raise UsageError(
            "a vector is passed, and its space is not named", f"Pass space too, such as {mine!r}."
        )
    if space != mine:
        raise ModelMismatchError(
            f"the query's vector is of {ascii(space)[:200]}, this reader is of {mine}",
            "Embed the query with the reader's model, or make a Recall with the model that embedded it.",
        )
    return _checked(own, model.dimensions)


def _checked(own: OwnVector, dimensions: int) -> NDArray[np.float32]:
    try:
        with np.errstate(over="ignore"):  # too large a number is infinite, which is told below
            vector = np.asarray(own, dtype=np.float32)
    except (TypeError, ValueError, OverflowError) as error:
        raise UsageError("the vector is not of numbers", "Pass a list or array of floats.") from error
    if vector.shape != (dimensions,):
        raise UsageError(f"the vector is of shape {vector.shape}", f"Pass {dimensions} numbers.")
    if not np.isfinite(vector).all():
        raise UsageError("the vector holds NaN or infinity", "Pass finite numbers.")
    unit, refused = normalised(vector[None, :])
    if refused:
        raise UsageError("the vector is of length 0", "Pass one with a direction, or none at all.")
    direction: NDArray[np.float32] = unit[0]
    return direction
