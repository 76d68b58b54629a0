"""Configuration of the language model, and the client it names."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator

from lake.addresses import header_key, plain_http_url, shown
from lake.lake import Lake
from transforms.model_requests import Model

REQUEST_FORM = "v1"
"""Counts up when the same request is put to the model in another way."""


class ModelConfig(BaseModel):
    """The ``[model]`` section of ``slowwave.toml``; without one, nothing is asked of any model."""

    # Input values stay out of validation errors: one of them is a key.
    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, allow_inf_nan=False, hide_input_in_errors=True
    )

    base_url: str = "https://api.openai.com/v1"
    """Root of the API, usually ending in ``/v1``."""
    api_key: SecretStr | None = None
    """Sent as a bearer token; never taken from the environment by the client itself."""
    model: str = Field(min_length=1)
    """Model name as the endpoint knows it."""
    revision: str = ""
    """Names the weights. Empty: the endpoint's address does, so the same name elsewhere is another model."""
    mode: Literal["live", "batch"] = "live"
    """``live`` answers within the run; ``batch`` (the Batch API) within a day, at a lower price."""
    structured: Literal["json_schema", "plain_schema", "json_object", "none"] = "json_schema"
    """How the form of the answer is asked for; where a server refuses one, the next is tried."""
    output_limit: Literal["max_completion_tokens", "max_tokens"] = "max_completion_tokens"
    """What the endpoint calls the limit of an answer's tokens."""
    temperature: float | None = Field(None, ge=0, le=2)
    """Not sent where unset: some models refuse it."""
    seed: int | None = Field(None, ge=0, le=2**63 - 1)
    """Not sent where unset."""
    context_tokens: int = Field(128_000, ge=512, le=100_000_000)
    """What the model can read and write in one request; a larger request is not sent."""
    max_output_tokens: int = Field(16_384, ge=16, le=10_000_000)
    """Longest answer, whatever a request asks for."""
    max_concurrency: int = Field(4, ge=1, le=256)
    """Requests in flight at once."""
    timeout_seconds: float = Field(180.0, gt=0, le=86_400)
    """Time of one attempt: to connect, and between two parts of the answer."""
    max_attempts: int = Field(6, ge=1, le=1_000)
    """Attempts of one request, the first included."""
    max_total_seconds: float = Field(900.0, gt=0, le=86_400)
    """Time of one request with all its attempts and pauses; no attempt starts after it."""
    budget_tokens: int | None = Field(None, ge=0, le=10**15)
    """Tokens of one run, sent and received; what does not fit waits for the next run."""
    budget_money: float | None = Field(None, ge=0, le=1e12)
    """Money of one run, in the currency of the prices."""
    budget_money_month: float | None = Field(None, ge=0, le=1e12)
    """Money of one calendar month (UTC, by as-of) at this model, over all runs, as the table costs has it."""
    input_price: float = Field(0.0, ge=0, le=1e9)
    """Of a million tokens sent."""
    output_price: float = Field(0.0, ge=0, le=1e9)
    """Of a million tokens received."""
    batch_price_ratio: float = Field(0.5, ge=0, le=1)
    """What a batch costs, as a part of the prices above."""
    batch_window: str = Field("24h", pattern=r"^[0-9]{1,4}[hd]$")
    """Within which the endpoint must answer a batch."""
    batch_poll_seconds: float = Field(30.0, gt=0, le=86_400)
    """Pause between two looks at a running batch."""
    batch_wait_seconds: float = Field(0.0, ge=0, le=30 * 86_400)
    """How long a run waits for its batches; 0 sends them and leaves, and a later run collects."""
    max_batch_requests: int = Field(10_000, ge=1, le=50_000)
    """Requests of one batch (OpenAI takes 50,000)."""
    max_batch_bytes: int = Field(100_000_000, ge=1_000, le=1_000_000_000)
    """Size of its file (OpenAI takes 200 MB)."""

    _base_url = field_validator("base_url")(plain_http_url)
    _api_key = field_validator("api_key")(header_key)

    @property
    def endpoint(self) -> str:
        """Host, port if any, and path of ``base_url``: what may be shown."""
        return shown(self.base_url)

    @property
    def key(self) -> str:
        """Model, revision (or the endpoint's address) and the settings that change answers."""
        settings = [
            f"{name}={value}"
            for name, value in (("temperature", self.temperature), ("seed", self.seed))
            if value is not None
        ]
        return "/".join([f"{self.model}@{self.revision or self.endpoint}", *settings, REQUEST_FORM])


def make_model(config: ModelConfig, lake: Lake, as_of: datetime) -> Model:
    """The configured model, live or by batches; it connects to nothing before it is asked.

    Args:
        config: Section ``[model]``.
        lake: Keeps the answers, and what is known of running batches.
        as_of: The run's instant, at which answers are recorded.
    """
    if config.mode == "batch":
        from lake.models.batch import BatchModel

        return BatchModel(config, lake, as_of)
    from lake.models.live import LiveModel

    return LiveModel(config, lake, as_of)
