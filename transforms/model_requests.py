"""What a language model is asked and what it answers, apart from how it is reached."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

Task = Literal["claims", "summary", "conversation", "rerank"]


@dataclass(frozen=True)
class ModelRequest:
    """One question to a language model, of one tenant.

    Args:
        tenant_id: Whose; an answer is kept and reused inside this tenant only.
        task: What for.
        prompt_version: Changes with the prompt or the schema.
        system: Instructions; ours, never text from a trace.
        user: The material as delimited data.
        answer_schema: JSON schema of the answer, an object; strict, every property required.
        source_refs: Episodes whose text stands in ``user``, sorted.
        max_output_tokens: Cut after so many.
        owner: Whose text stands in ``user``, as in ``transforms.owners``; None where that is not known.
    """

    tenant_id: str
    task: Task
    prompt_version: str
    system: str
    user: str
    answer_schema: Mapping[str, Any]
    source_refs: Sequence[str]
    max_output_tokens: int
    owner: str | None = None


@dataclass(frozen=True)
class ModelAnswer:
    """The answer to one request.

    Attributes:
        state: ``answered``; ``failed`` for good, with ``error``; ``pending``: ask again in a later run
            (a batch still runs, or the budget is used up).
        text: What the model wrote, whole or cut; empty where it did not.
        error: Machine-readable, snake_case.
        is_cached: Whether it was asked in an earlier run.
    """

    state: Literal["answered", "failed", "pending"]
    text: str = ""
    error: str | None = None
    is_cached: bool = False


@dataclass
class Spent:
    """What a run spent on the model: tokens and money; cached answers cost nothing."""

    input_tokens: int = 0
    output_tokens: int = 0
    money: float = 0.0
    requests: int = 0
    cached: int = 0
    failed: int = 0
    pending: int = 0
    errors: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Spending:
    """What one tenant and task cost at one model.

    Attributes:
        tenant_id: Whose text was sent; its salted hash where ``is_hashed``.
        model_key: Of the model.
        task: What for: a ``Task``, or ``embedding``.
        mode: ``live``, ``batch`` or ``local``.
        requests: Requests or texts sent.
        cached: Requests answered from what is kept.
        input_tokens: Sent.
        output_tokens: Received.
        money: In the currency of the configured prices.
        is_hashed: It comes from a worker, which tells nobody's id.
    """

    tenant_id: str
    model_key: str
    task: str
    mode: str
    requests: int = 0
    cached: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    money: float = 0.0
    is_hashed: bool = False


@runtime_checkable
class Itemised(Protocol):
    """A model that tells its spending apart."""

    def take_spending(self) -> list[Spending]:
        """What was spent since it was last taken, by tenant and task: each is given once."""


class Model(Protocol):
    """A language model: requests in, answers in the same order out. A failing item fails alone."""

    @property
    def key(self) -> str:
        """Names the model and what changes its answers."""
        ...

    @property
    def spent(self) -> Spent:
        """Since it was made."""
        ...

    def ask(self, requests: Sequence[ModelRequest]) -> list[ModelAnswer]:
        """Answers in the order of the requests."""
        ...

    def estimate(self, requests: Sequence[ModelRequest]) -> Spent:
        """What asking would cost at most, without asking: uncached requests only."""
        ...
