"""Configuration of the reranker, and the reranker it names."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator

from lake.addresses import header_key, plain_http_url, shown
from lake.rerankers.protocol import Reranker


class RerankerConfig(BaseModel):
    """The ``[reranker]`` section of ``slowwave.toml``: a model that reads query and memory together.

    It reorders the best ``recall.rerank_rows`` of each search. A failure or a time-out leaves the order as it
    was, and the answer says so.
    """

    # Input values stay out of validation errors: one of them is a key.
    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, allow_inf_nan=False, hide_input_in_errors=True
    )

    provider: Literal["none", "onnx", "openai"] = "none"
    """``onnx`` is a cross-encoder on disk; ``openai`` an endpoint, whose ``form`` says how it is asked. The
    endpoint is sent the query and the texts of the best memories."""
    form: Literal["rerank", "tei", "chat"] = "rerank"
    """openai: ``rerank`` posts ``documents`` to ``/rerank`` (Jina, Cohere, vLLM), ``tei`` posts ``texts``
    there (text-embeddings-inference), ``chat`` asks a language model for ratings."""
    base_url: str = "https://api.openai.com/v1"
    """openai: root of the API; ``/rerank`` or ``/chat/completions`` is put after it."""
    api_key: SecretStr | None = None
    """openai: sent as a bearer token; never taken from the environment by the client itself."""
    model: str = ""
    """openai: model name as the endpoint knows it."""
    timeout_seconds: float = Field(2.0, gt=0, le=600)
    """Time of one call, whatever it is spent on; after it the search goes on without."""
    max_text_chars: int = Field(1_000, ge=16, le=1_000_000)
    """Of the query and of each memory, no more than this is read."""
    budget_tokens: int | None = Field(None, ge=0, le=10**15)
    """openai: tokens that one process sends in an hour (o200k_base); after them, searches go on without."""
    max_failures: int = Field(3, ge=1, le=1_000_000)
    """So many failures in a row, and the model is not asked for ``rest_seconds``."""
    rest_seconds: float = Field(30.0, ge=0, le=86_400)
    """Pause after them, in which no search waits for the model."""
    concurrency: int = Field(8, ge=1, le=256)
    """openai: requests in flight at once."""
    folder: str = ""
    """onnx: folder that holds ``tokenizer.json`` and ``model.onnx`` or ``onnx/model.onnx``."""
    package: str = ""
    """onnx: installed package that ``folder`` lies in; it is located, never imported."""
    file: str = ""
    """onnx: the graph, below ``folder``, where it has another name."""
    window_tokens: int = Field(256, ge=8, le=65_536)
    """onnx: tokens of a query and a memory together; a longer pair is cut at its longer half."""
    threads: int = Field(0, ge=0, le=1_024)
    """onnx: threads of one run of the model; 0 takes every core."""
    batch_texts: int = Field(8, ge=1, le=4_096)
    """onnx: memories of one run; the time is looked at between runs."""

    _base_url = field_validator("base_url")(plain_http_url)
    _api_key = field_validator("api_key")(header_key)

    @model_validator(mode="after")
    def _fits_provider(self) -> Self:
        if self.provider == "onnx" and not self.folder:
            raise ValueError("provider onnx needs the folder of a cross-encoder")
        if self.provider == "openai" and not self.model and self.form != "tei":
            raise ValueError("provider openai needs model")
        return self

    @property
    def max_attempts(self) -> int:
        """One: a search waits for it."""
        return 1

    @property
    def max_total_seconds(self) -> float:
        """Time of a request."""
        return self.timeout_seconds

    @property
    def endpoint(self) -> str:
        """Host, port if any, and path of ``base_url``: what may be shown."""
        return shown(self.base_url)


def make_reranker(config: RerankerConfig) -> Reranker | None:
    """The configured reranker, None where there is none; nothing heavy is loaded before its first use.

    Raises:
        ConfigError: The files of the model are not there.
    """
    if config.provider == "none":
        return None
    if config.provider == "onnx":
        from lake.rerankers.onnx_cross_encoder import OnnxReranker

        return OnnxReranker(config)
    from lake.rerankers.endpoint import EndpointReranker

    return EndpointReranker(config)
