"""A model for a dry run: it answers from what is kept, sends nothing, and says what sending would cost."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from lake.lake import Lake
from lake.models.config import ModelConfig, make_model
from lake.models.live import LiveModel
from transforms.model_requests import ModelAnswer, ModelRequest, Spent


class DryModel:
    """See ``transforms.model_requests.Model``; ``spent`` is the estimate, at the most.

    Requests that depend on answers that are not there yet, such as the second round of a long summary,
    are not in it.
    """

    def __init__(self, config: ModelConfig, lake: Lake, as_of: datetime) -> None:
        """Connect to nothing, ever."""
        self._kept = LiveModel(config.model_copy(update={"budget_tokens": 0}), lake, as_of)
        self._model = make_model(config, lake, as_of)  # knows what a batch holds and what it costs
        self._spent = Spent()

    @property
    def key(self) -> str:
        """That of the model it stands for."""
        return self._kept.key

    @property
    def spent(self) -> Spent:
        """What all that was asked would cost."""
        return self._spent

    def ask(self, requests: Sequence[ModelRequest]) -> list[ModelAnswer]:
        """Kept answers; all else is pending."""
        more = self.estimate(requests)
        for name in ("input_tokens", "output_tokens", "money", "requests", "cached", "pending"):
            setattr(self._spent, name, getattr(self._spent, name) + getattr(more, name))
        return self._kept.ask(requests)

    def estimate(self, requests: Sequence[ModelRequest]) -> Spent:
        """See ``transforms.model_requests.Model``."""
        return self._model.estimate(requests)
