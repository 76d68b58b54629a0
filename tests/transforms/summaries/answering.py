"""A model that answers by a function, and remembers what it was asked."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from transforms.model_requests import ModelAnswer, ModelRequest, Spent

LINE = re.compile(r"^\[(e\d+)\] (\d+ \w+ \d+)(?:, (\w+))?(?:, (\w+))?: (.*)$", re.MULTILINE)


def said(**answer: Any) -> ModelAnswer:
    return ModelAnswer("answered", json.dumps(answer, ensure_ascii=False))


class Answering:
    """``transforms.model_requests.Model``."""

    key = "made@1"

    def __init__(self, answer: Callable[[ModelRequest], ModelAnswer]) -> None:
        self.answer = answer
        self.spent = Spent()
        self.calls: list[list[ModelRequest]] = []

    @property
    def asked(self) -> list[ModelRequest]:
        return [request for call in self.calls for request in call]

    def ask(self, requests: Sequence[ModelRequest]) -> list[ModelAnswer]:
        self.calls.append(list(requests))
        return [self.answer(request) for request in requests]

    def estimate(self, requests: Sequence[ModelRequest]) -> Spent:
        return Spent(requests=len(requests))


def shown(request: ModelRequest) -> list[tuple[str, str]]:
    """Alias and text of each note of a request for a summary."""
    return [(alias, text) for alias, _, _, _, text in LINE.findall(request.user)]


def every_second(request: ModelRequest) -> ModelAnswer:
    """Each second note, word for word."""
    notes = shown(request)[::2]
    return said(sentences=[{"text": text, "role": "decision", "sources": [alias]} for alias, text in notes])
