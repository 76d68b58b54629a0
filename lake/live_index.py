"""The live generation of the index, opened once and again after each switch."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lake.candidates import Candidates, index_candidates
from lake.index import Generation, Pointer, load_manifest, read_pointer
from lake.lake import Lake
from lake.scope import Filters, Scope
from transforms.embedding import vector_space
from transforms.errors import LakeError, ModelMismatchError

if TYPE_CHECKING:
    from lake.embedders.protocol import Embedder

ATTEMPTS = 5
"""Openings of an index that is switched and removed while it is read."""


class LiveIndex:
    """Searches whatever generation is live. Safe between threads.

    Args:
        lake: Whose index.
        model: Gives the model that embeds queries.
    """

    def __init__(self, lake: Lake, model: Callable[[], Embedder]) -> None:
        self._lake = lake
        self._model = model
        self._lock = threading.Lock()
        self._generation: Generation | None = None
        self._pool = ThreadPoolExecutor(4, thread_name_prefix="slowwave-recall")

    def candidates(
        self, query: str, vector: NDArray[np.float32], scope: Scope, filters: Filters, candidates: int
    ) -> tuple[int, Candidates | None]:
        """Version of episodes the live generation holds (-1: none), and candidates from it.

        Raises:
            LakeError: The index cannot be read.
        """
        failed: Generation | None = None
        for _ in range(ATTEMPTS):
            generation = self._live(failed)
            if generation is None:
                return -1, None
            try:
                found = index_candidates(generation, self._pool, query, vector, scope, filters, candidates)
            except (OSError, ValueError, RuntimeError) as error:
                if failed is not None and failed.manifest.generation == generation.manifest.generation:
                    raise LakeError(
                        f"generation {generation.manifest.generation} of the index cannot be read",
                        "Run slowwave publish --force, or roll back (slowwave publish --rollback).",
                    ) from error
                failed = generation  # it may have been removed between pointer and read
            else:
                return int(generation.manifest.inputs["episodes"]), found
        raise LakeError("the index is switched faster than it can be read", "Keep more generations.")

    def _live(self, failed: Generation | None) -> Generation | None:
        """The live generation, opened again after a switch or a failure; None before the first publish.

        Raises:
            ModelMismatchError: It holds vectors of another space than this reader's model.
        """
        pointer = read_pointer(self._lake)
        if pointer is None:
            return None
        with self._lock:
            held = self._generation
            if held is None or held is failed or held.manifest.generation != pointer.generation:
                held = self._opened(pointer)
                self._generation = held
        space = vector_space(self._model().model_key)
        if held.manifest.space != space:
            raise ModelMismatchError(
                f"the index holds vectors of {held.manifest.space}, the query was embedded by {space}",
                "Configure the index's model, or run slowwave embed and publish with this one.",
            )
        return held

    def _opened(self, pointer: Pointer) -> Generation:
        """The generation pointed to, or the one pointed to by now where it has gone meanwhile.

        Raises:
            LakeError: The live generation has no manifest.
        """
        while True:
            try:
                return Generation(self._lake, load_manifest(self._lake, pointer.generation))
            except LakeError:
                now = read_pointer(self._lake)
                if now is None or now.generation == pointer.generation:
                    raise
                pointer = now
