"""Reading the answer of ``/v1/embeddings``: nothing of it is believed unchecked."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from lake.embedders.protocol import Vectors
from transforms.errors import EndpointError


@dataclass(frozen=True)
class Answer:
    """Vectors in the order of the request.

    Attributes:
        raw: float32 (texts, dimensions) as the server gave them; may hold NaN.
        tokens: The server's own count; None when it gives none.
    """

    raw: Vectors
    tokens: int | None


def read_answer(body: bytes, texts: int, dimensions: int, endpoint: str) -> Answer:
    """Read one answer; a vector belongs to the text that its ``index`` names, wherever it stands.

    Raises:
        EndpointError: Not an embeddings answer, an index missing, twice or beyond the request, or a vector
            of another length.
    """
    rows, tokens = _parsed(body, endpoint)
    vectors = {row["index"]: row["vector"] for row in rows}
    known = len(vectors.keys() & set(range(texts)))
    if not len(rows) == len(vectors) == known == texts:
        raise EndpointError(
            f"model endpoint {endpoint} answered {len(rows)} vectors with {known} of {texts} indexes",
            "Lower max_inputs, or use another endpoint: vectors that cannot be told apart are not stored.",
        )
    lengths = {len(vector) for vector in vectors.values()}
    if lengths != {dimensions}:
        other = ", ".join(map(str, sorted(lengths - {dimensions})))
        raise EndpointError(
            f"model endpoint {endpoint} answered vectors of length {other}, not {dimensions}",
            "Set dimensions to what the model gives, or send_dimensions = true to have them shortened.",
        )
    return Answer(np.stack([vectors[i] for i in range(texts)]), tokens)


def _parsed(body: bytes, endpoint: str) -> tuple[list[dict[str, Any]], int | None]:
    try:
        answer = json.loads(body)  # takes NaN, which some servers write; the row is refused later
        rows = [{"index": _index(row), "vector": _vector(row["embedding"])} for row in answer["data"]]
        usage = answer.get("usage")
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
        failed = True
    else:
        failed = False
    if failed:  # raised here, unchained: the library's error may quote the answer
        raise EndpointError(
            f"model endpoint {endpoint} gave no embeddings answer ({len(body)} bytes)",
            "Check base_url: it usually ends in /v1.",
        )
    tokens = usage.get("total_tokens", usage.get("prompt_tokens")) if isinstance(usage, dict) else None
    return rows, tokens if type(tokens) is int and tokens >= 0 else None


def _index(row: dict[str, Any]) -> int:
    if type(row["index"]) is not int:
        raise TypeError("index is no integer")
    return int(row["index"])


def _vector(embedding: object) -> Vectors:
    """One vector: base64 of little-endian float32, or a list of numbers."""
    if isinstance(embedding, str):
        return np.frombuffer(base64.b64decode(embedding, validate=True), dtype="<f4").astype(np.float32)
    if not isinstance(embedding, list):
        raise TypeError("embedding is no list")
    with np.errstate(over="ignore"):  # beyond float32 is infinity, and refused as such
        vector = np.array(embedding, dtype=np.float64).astype(np.float32)
    if vector.ndim != 1:
        raise TypeError("embedding is not flat")
    return vector
