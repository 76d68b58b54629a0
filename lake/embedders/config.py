"""Configuration of the embedder, and the embedder it names."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator

from lake.addresses import header_key, plain_http_url, shown
from lake.embedders.protocol import Embedder

LOCAL_DIMENSIONS = (256, 128, 64)


class EmbedderConfig(BaseModel):
    """The ``[embedder]`` section of ``slowwave.toml``. Keys that concern one provider only say which."""

    # Input values stay out of validation errors: one of them is a key.
    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, allow_inf_nan=False, hide_input_in_errors=True
    )

    provider: Literal["local", "onnx", "openai"] = "local"
    """``local`` and ``onnx`` (a sentence model on disk) need no network; ``openai`` is any endpoint that
    speaks its embeddings API."""
    base_url: str = "https://api.openai.com/v1"
    """openai: root of the API, usually ending in ``/v1``."""
    api_key: SecretStr | None = None
    """openai: sent as a bearer token; never taken from the environment by the client itself."""
    model: str = ""
    """openai: model name as the endpoint knows it. onnx: a name to show, nothing else."""
    dimensions: int | None = Field(None, ge=1, le=65_536)
    """Length of a vector. local: 256 (default), 128 or 64. onnx: the model's own where unset."""
    send_dimensions: bool = False
    """openai: ask the endpoint to shorten its vectors to ``dimensions``; many servers refuse it."""
    revision: str = ""
    """openai: names the weights. Empty: the endpoint's address does, so the same name elsewhere is another
    model."""
    max_batch_tokens: int = Field(250_000, ge=1, le=1_000_000_000)
    """openai: tokens of one request (OpenAI takes 300,000, and counts a little differently)."""
    max_inputs: int = Field(2_048, ge=1, le=1_000_000)
    """openai: texts of one request."""
    max_input_tokens: int = Field(8_191, ge=1, le=10_000_000)
    """openai: tokens of one text (cl100k_base); a longer one is cut. Set it to the model's own limit."""
    timeout_seconds: float = Field(60.0, gt=0, le=86_400)
    """openai: time of one attempt: to connect, and between two parts of the answer."""
    max_attempts: int = Field(6, ge=1, le=1_000)
    """openai: attempts of one request, the first included."""
    max_total_seconds: float = Field(300.0, gt=0, le=86_400)
    """openai: time of one request with all its attempts and pauses; no attempt starts after it."""
    input_price: float = Field(0.0, ge=0, le=1e9)
    """openai: of a million tokens, in the currency of ``[model]``; for the report of costs."""
    concurrency: int = Field(4, ge=1, le=64)
    """openai: requests in flight at once."""
    folder: str = ""
    """onnx: folder that holds ``tokenizer.json`` and ``model.onnx`` or ``onnx/model.onnx``. Empty: the
    weights of the extra ``quality``."""
    package: str = ""
    """onnx: installed package that ``folder`` lies in; it is located, never imported."""
    file: str = ""
    """onnx: the graph, below ``folder``, where it has another name."""
    pooling: Literal["mean", "cls"] = "mean"
    """onnx: what of the last layer is the sentence, as the model was trained; unread where the graph has an
    output ``sentence_embedding``."""
    query_prefix: str = ""
    """onnx: put before a query, such as ``query: ``."""
    passage_prefix: str = ""
    """onnx: put before a text, such as ``passage: ``; another one is another vector space."""
    window_tokens: int = Field(256, ge=8, le=65_536)
    """onnx: tokens of one text; a longer one is cut. No more than the model was trained with."""
    threads: int = Field(0, ge=0, le=1_024)
    """onnx: threads of one run of the model; 0 takes every core."""
    batch_texts: int = Field(16, ge=1, le=4_096)
    """onnx: texts of one run; more help a machine with many cores only."""
    previous: EmbedderConfig | None = None
    """The model that this one replaces, as section ``[embedder.previous]``: nights keep vectors and index of
    both until it is taken out again, so that readers of either are served."""

    _base_url = field_validator("base_url")(plain_http_url)
    _api_key = field_validator("api_key")(header_key)

    @model_validator(mode="after")
    def _fits_provider(self) -> Self:
        if self.provider == "local":
            if self.dimensions not in {None, *LOCAL_DIMENSIONS}:
                raise ValueError(f"dimensions of the local embedder are one of {LOCAL_DIMENSIONS}")
        elif self.provider == "openai" and (not self.model or self.dimensions is None):
            raise ValueError("provider openai needs model and dimensions")
        if self.previous is not None and self.previous.previous is not None:
            raise ValueError("one previous model at a time: previous has a previous of its own")
        if self.package and not self.folder:
            raise ValueError("package needs the folder of the model inside it")
        return self

    @property
    def endpoint(self) -> str:
        """Host, port if any, and path of ``base_url``: what may be shown."""
        return shown(self.base_url)


def make_embedder(config: EmbedderConfig) -> Embedder:
    """The configured embedder; nothing heavy is imported or loaded before its first use.

    Raises:
        ConfigError: The weights are not there (local: when first used).
    """
    if config.provider == "local":
        from lake.embedders.local import LocalEmbedder

        return LocalEmbedder(config.dimensions or LOCAL_DIMENSIONS[0])
    if config.provider == "onnx":
        from lake.embedders.onnx_sentences import OnnxEmbedder

        return OnnxEmbedder(config)
    from lake.embedders.openai_compatible import OpenAIEmbedder

    return OpenAIEmbedder(config)
