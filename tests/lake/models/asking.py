"""Requests, configurations and frozen time for the tests of the language-model client."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from typing import Any

from pydantic import SecretStr

from lake.models.config import ModelConfig
from transforms.model_requests import ModelRequest

KEY = "sk-verysecretkey-0123456789"
AS_OF = datetime(2026, 3, 14, 12, tzinfo=UTC)
SCHEMA = {
    "type": "object",
    "properties": {"said": {"type": "string", "maxLength": 100}},
    "required": ["said"],
    "additionalProperties": False,
}


class Clock:
    """Time that passes only in sleeps."""

    def __init__(self) -> None:
        self.now = 0.0
        self.sleeps: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        self.now += seconds


class HighDice(random.Random):
    """Jitter at its longest."""

    def uniform(self, a: float, b: float) -> float:
        return b


def request(text: str, tenant: str = "t", **change: Any) -> ModelRequest:
    """One request that says a text."""
    plain = {
        "tenant_id": tenant,
        "task": "claims",
        "prompt_version": "1",
        "system": "Repeat.",
        "user": text,
        "answer_schema": SCHEMA,
        "source_refs": (f"episode-{text}",),
        "max_output_tokens": 50,
    }
    return ModelRequest(**{**plain, **change})


def requests(*texts: str, tenant: str = "t") -> list[ModelRequest]:
    """A request for each text."""
    return [request(text, tenant) for text in texts]


def config(base_url: str, **change: Any) -> ModelConfig:
    """A configuration of the test server, one request at a time."""
    plain = {"base_url": base_url, "model": "m", "api_key": SecretStr(KEY), "max_concurrency": 1}
    return ModelConfig(**{**plain, **change})
