"""The live generation of the index, opened once and again after each switch."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from lake.index import Generation, Pointer, load_manifest, read_pointer
from lake.lake import Lake
from transforms.embedding import vector_space
from transforms.errors import LakeError, ModelMismatchError

if TYPE_CHECKING:
    from lake.embedders.protocol import Embedder

ATTEMPTS = 5
"""Openings of an index that is switched and removed while it is read."""


def unreadable(generation: Generation) -> LakeError:
    """What is said of a live generation that cannot be read."""
    return LakeError(
        f"generation {generation.manifest.generation} of the index cannot be read",
        "Run slowwave publish --force, or roll back (slowwave publish --rollback).",
    )


class LiveIndex:
    """Opens whatever generation is live. Safe between threads.

    Args:
        lake: Whose index.
        model: Gives the model that embeds queries.
    """

    def __init__(self, lake: Lake, model: Callable[[], Embedder]) -> None:
        self._lake = lake
        self._model = model
        self._lock = threading.Lock()
        self._generation: Generation | None = None

    def live(self, failed: Generation | None) -> Generation | None:
        """The live generation, opened again after a switch or a failure; None before the first publish.

        Raises:
            ModelMismatchError: It holds vectors of another space than this reader's model.
        """
        pointer = read_pointer(self._lake)
        if pointer is None:
            return None
        space = vector_space(self._model().model_key)
        with self._lock:
            held = self._generation
            if held is None or held is failed or held.manifest.generation != _named(pointer, space):
                held = self._opened(pointer, space)
                self._generation = held
        if held.manifest.space != space:
            raise ModelMismatchError(
                f"the index holds vectors of {held.manifest.space}, the query was embedded by {space}",
                "Configure the index's model, or run slowwave embed and publish with this one; keep the other"
                " as [embedder.previous] while readers of both are to be served.",
            )
        return held

    def _opened(self, pointer: Pointer, space: str) -> Generation:
        """The generation of a space pointed to, or what is pointed to by now where it has gone meanwhile.

        Raises:
            LakeError: The live generation has no manifest.
        """
        while True:
            try:
                return Generation(self._lake, load_manifest(self._lake, _named(pointer, space)))
            except LakeError:
                now = read_pointer(self._lake)
                if now is None or now == pointer:
                    raise
                pointer = now


def _named(pointer: Pointer, space: str) -> str:
    """The live generation's twin of a space, where it has one, else itself."""
    return pointer.twin(space) or pointer.generation
