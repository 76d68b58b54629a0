"""A request as the body of ``/v1/chat/completions``, and what is read from its answer."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from lake.embedders.protocol import well_formed
from lake.models.config import ModelConfig
from lake.tokens import EncodingName, count_tokens
from transforms.model_requests import ModelRequest

AnswerForm = Literal["json_schema", "plain_schema", "json_object", "none"]
"""How the form of the answer is asked for, strongest first; ``plain_schema`` leaves out bounds of size."""
FORMS: tuple[AnswerForm, ...] = get_args(AnswerForm)

ENCODING: EncodingName = "o200k_base"
"""What OpenAI's chat models count with; an estimate for others."""
_FRAME_TOKENS = 64
"""Roles, separators and names around the texts of a request, generously."""
_BOUNDS = frozenset({"maxItems", "minItems", "maxLength", "minLength", "minimum", "maximum", "pattern"})
"""Keywords that strict modes of some servers refuse."""
_ABOUT_FORM = re.compile(r"(?i)response[_ ]?format|json[_ ]?(?:schema|object)|\bschema\b|\bgrammar\b")
_CODE = re.compile(r"[A-Za-z][\w.-]{0,63}")

BAD_ANSWER = "bad_answer"
"""The server answered with success and something that is no completion."""


@dataclass(frozen=True)
class Completion:
    """What a model answered to one request.

    Attributes:
        text: What it wrote, whole or cut; well-formed.
        error: Why there is no text: ``refused``, ``content_filter``, ``cut_empty``, ``empty_answer``,
            ``bad_answer``.
        input_tokens: The server's count; None where it gives none.
        output_tokens: As above.
    """

    text: str
    error: str | None
    input_tokens: int | None
    output_tokens: int | None


def chat_body(request: ModelRequest, config: ModelConfig, form: AnswerForm) -> dict[str, Any]:
    """The body of the request."""
    system = well_formed(request.system)
    if form in ("json_object", "none"):
        shown = json.dumps(request.answer_schema, ensure_ascii=False)
        system = f"{system}\n\nAnswer with one JSON object of this JSON schema, and nothing else:\n{shown}"
    body: dict[str, Any] = {
        "model": config.model,
        "messages": [
            {"role": "system", "content": system},
            {"role": "user", "content": well_formed(request.user)},
        ],
        config.output_limit: output_tokens(request, config),
    }
    if form == "json_object":
        body["response_format"] = {"type": "json_object"}
    elif form != "none":
        schema = request.answer_schema if form == "json_schema" else _without_bounds(request.answer_schema)
        body["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": request.task, "strict": True, "schema": schema},
        }
    chosen = {"temperature": config.temperature, "seed": config.seed}
    return body | {name: value for name, value in chosen.items() if value is not None}


def _without_bounds(schema: Any) -> Any:
    """The schema without the keywords that not every strict mode knows; names of properties stay."""
    if isinstance(schema, Mapping):
        return {
            key: {name: _without_bounds(part) for name, part in value.items()}
            if key == "properties" and isinstance(value, Mapping)
            else _without_bounds(value)
            for key, value in schema.items()
            if key not in _BOUNDS
        }
    return [_without_bounds(part) for part in schema] if isinstance(schema, list | tuple) else schema


def weaker(form: AnswerForm) -> AnswerForm | None:
    """The next form to try where a server refuses this one."""
    place = FORMS.index(form) + 1
    return FORMS[place] if place < len(FORMS) else None


def is_about_form(message: str) -> bool:
    """Whether a server's refusal speaks of the form of the answer, not of the text."""
    return _ABOUT_FORM.search(message) is not None


def output_tokens(request: ModelRequest, config: ModelConfig) -> int:
    """Longest answer of a request, tokens."""
    return min(request.max_output_tokens, config.max_output_tokens)


def input_tokens(requests: list[ModelRequest]) -> list[int]:
    """Tokens that each request sends, at most and by our own count."""
    parts = [
        [well_formed(t) for t in (r.system, r.user, json.dumps(r.answer_schema, ensure_ascii=False))]
        for r in requests
    ]
    distinct = list({text: None for texts in parts for text in texts})  # instructions come thousands of times
    tokens = dict(zip(distinct, count_tokens(distinct, ENCODING), strict=True))
    return [sum(tokens[text] for text in texts) + _FRAME_TOKENS for texts in parts]


def text_tokens(text: str) -> int:
    """Tokens of an answer whose server does not count."""
    return count_tokens([text], ENCODING)[0]


def read_completion(body: bytes | Mapping[str, Any]) -> Completion:
    """Read one answer; nothing of it is believed unchecked."""
    try:
        answer = body if isinstance(body, Mapping) else json.loads(body)
        choice = answer["choices"][0]
        message = choice["message"]
        text, refusal = _text(message.get("content")), message.get("refusal")
        finish, usage = choice.get("finish_reason"), answer.get("usage")
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
        return Completion("", BAD_ANSWER, None, None)
    error = None
    if refusal:
        error = "refused"
    elif not text.strip():
        # Cut before the first word: a model that reasons first has used up its tokens.
        error = {"content_filter": "content_filter", "length": "cut_empty"}.get(str(finish), "empty_answer")
    usage = usage if isinstance(usage, Mapping) else {}
    counted = [_count(usage.get(name)) for name in ("prompt_tokens", "completion_tokens")]
    return Completion("" if error else text, error, counted[0], counted[1])


def _text(content: object) -> str:
    """The text of a message, which some servers give in parts."""
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, Mapping)]
        content = "".join(part for part in parts if isinstance(part, str))
    return well_formed(content) if isinstance(content, str) else ""


_MOST_TOKENS = 10**12
"""Of one answer; a count above it is none, and the ledger could not add it up."""


def _count(value: object) -> int | None:
    return value if type(value) is int and 0 <= value <= _MOST_TOKENS else None


def error_code(error: object) -> str:
    """The server's own name of an error, where it looks like a name; '' otherwise."""
    if isinstance(error, Mapping):
        for name in ("code", "type"):
            value = error.get(name)
            if isinstance(value, str) and _CODE.fullmatch(value):
                return value
    return ""
