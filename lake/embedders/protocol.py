"""What an embedder is, and what it returns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

NO_TOKENS = "no_tokens"
"""Refused: the text is empty or blank."""
NOT_FINITE = "not_finite"
"""Refused: the model's vector holds NaN or infinity."""
ZERO_VECTOR = "zero_vector"
"""Refused: the model's vector has no direction."""

Vectors = NDArray[np.float32]


@dataclass(frozen=True)
class Embedded:
    """Vectors of a sequence of texts, in its order.

    Attributes:
        vectors: float32 (texts, dimensions), L2-normalised, finite; a refused row is zeros, not to be stored.
        refused: Reason by position. A reason is a short code and never holds content.
        tokens: Tokens the model read: its own count where it gives one.
        truncated: Positions of texts of which only a beginning was embedded.
    """

    vectors: Vectors
    refused: dict[int, str] = field(default_factory=dict)
    tokens: int = 0
    truncated: tuple[int, ...] = ()


class Embedder(Protocol):
    """Turns texts into vectors of one space. Safe to share between threads."""

    @property
    def model_key(self) -> str:
        """Names the vector space: any change of weights, dimensions or form of the text changes it.

        Form: ``model @ revision / dimensions / text form``, without the blanks; the model may hold slashes.
        """

    @property
    def dimensions(self) -> int:
        """Length of a vector."""

    def embed(self, texts: Sequence[str]) -> Embedded:
        """Embed the texts; the vector of a text does not depend on the texts beside it."""


@runtime_checkable
class QueryEmbedder(Protocol):
    """An embedder that reads a query in another way than a text, by a prefix, say."""

    def embed_queries(self, texts: Sequence[str]) -> Embedded:
        """Embed queries into the space of the texts."""


@runtime_checkable
class Priced(Protocol):
    """An embedder that is somebody's service: its tokens are sent there, and may cost money."""

    @property
    def input_price(self) -> float:
        """Of a million tokens."""


def embed_queries(embedder: Embedder, texts: Sequence[str]) -> Embedded:
    """Embed queries the way the model expects them."""
    # Not ``isinstance``, which goes through all of the protocol: 0.2 ms of each search.
    own: Callable[[Sequence[str]], Embedded] | None = getattr(embedder, "embed_queries", None)
    return embedder.embed(texts) if own is None else own(texts)


def well_formed(text: str) -> str:
    """The text with each lone surrogate replaced by U+FFFD, so that it has a UTF-8 form."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def normalised(raw: Vectors) -> tuple[Vectors, dict[int, str]]:
    """Rows scaled to length 1, and the reason by position of those that cannot be.

    Args:
        raw: float32 (rows, dimensions).

    Returns:
        float32 of the same shape, refused rows zeros; the reasons.
    """
    # In float64: the squares of float32 numbers overflow and underflow.
    lengths = np.linalg.norm(raw.astype(np.float64), axis=1)
    is_good = np.isfinite(lengths) & (lengths > 0)
    vectors = np.zeros_like(raw)
    vectors[is_good] = raw[is_good] / lengths[is_good, None]
    reasons = {int(i): ZERO_VECTOR if lengths[i] == 0 else NOT_FINITE for i in np.flatnonzero(~is_good)}
    return vectors, reasons
