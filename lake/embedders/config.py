"""Configuration of the embedder, and the embedder it names."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator

from lake.addresses import header_key, plain_http_url, shown
from lake.embedders.protocol import Embedder

LOCAL_DIMENSIONS = (256, 128, 64)


class EmbedderConfig(BaseModel):
    """The ``[embedder]`` section of ``slowwave.toml``; all but ``dimensions`` concerns ``openai`` only."""

    # Input values stay out of validation errors: one of them is a key.
    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, allow_inf_nan=False, hide_input_in_errors=True
    )

    provider: Literal["local", "openai"] = "local"
    """``local`` needs no network; ``openai`` is any endpoint that speaks its embeddings API."""
    base_url: str = "https://api.openai.com/v1"
    """Root of the API, usually ending in ``/v1``."""
    api_key: SecretStr | None = None
    """Sent as a bearer token; never taken from the environment by the client itself."""
    model: str = ""
    """Model name as the endpoint knows it."""
    dimensions: int | None = Field(None, ge=1, le=65_536)
    """Length of a vector; local: 256 (default), 128 or 64."""
    send_dimensions: bool = False
    """Ask the endpoint to shorten its vectors to ``dimensions``; many servers refuse the parameter."""
    revision: str = ""
    """Names the weights. Empty: the endpoint's address does, so the same name elsewhere is another model."""
    max_batch_tokens: int = Field(250_000, ge=1, le=1_000_000_000)
    """Tokens of one request (OpenAI takes 300,000, and counts a little differently)."""
    max_inputs: int = Field(2_048, ge=1, le=1_000_000)
    """Texts of one request."""
    max_input_tokens: int = Field(8_191, ge=1, le=10_000_000)
    """Tokens of one text (cl100k_base); a longer one is cut. Set it to the model's own limit."""
    timeout_seconds: float = Field(60.0, gt=0, le=86_400)
    """Time of one attempt: to connect, and between two parts of the answer."""
    max_attempts: int = Field(6, ge=1, le=1_000)
    """Attempts of one request, the first included."""
    max_total_seconds: float = Field(300.0, gt=0, le=86_400)
    """Time of one request with all its attempts and pauses; no attempt starts after it."""
    concurrency: int = Field(4, ge=1, le=64)
    """Requests in flight at once."""

    _base_url = field_validator("base_url")(plain_http_url)
    _api_key = field_validator("api_key")(header_key)

    @model_validator(mode="after")
    def _fits_provider(self) -> Self:
        if self.provider == "local":
            if self.dimensions not in {None, *LOCAL_DIMENSIONS}:
                raise ValueError(f"dimensions of the local embedder are one of {LOCAL_DIMENSIONS}")
        elif not self.model or self.dimensions is None:
            raise ValueError("provider openai needs model and dimensions")
        return self

    @property
    def endpoint(self) -> str:
        """Host, port if any, and path of ``base_url``: what may be shown."""
        return shown(self.base_url)


def make_embedder(config: EmbedderConfig) -> Embedder:
    """The configured embedder; nothing heavy is imported or loaded before its first use.

    Raises:
        ConfigError: The local weights are not installed (when first used).
    """
    if config.provider == "local":
        from lake.embedders.local import LocalEmbedder

        return LocalEmbedder(config.dimensions or LOCAL_DIMENSIONS[0])
    from lake.embedders.openai_compatible import OpenAIEmbedder

    return OpenAIEmbedder(config)
