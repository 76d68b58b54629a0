"""A run of LangSmith as a span."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from transforms.readers.blocks import Call, Result
from transforms.readers.message_parts import output_text, written
from transforms.readers.message_shapes import turns_of
from transforms.readers.parts import scalars
from transforms.readers.text import JsonFault, id_or_none, text_or_none
from transforms.readers.times import iso_time
from transforms.readers.trace import Span, SpanKind, Turn

_KINDS: dict[str, SpanKind] = {"llm": "llm", "tool": "tool"}
_SESSION = ("session_id", "thread_id", "conversation_id")
"""Fields of the metadata that LangSmith groups traces into threads by."""
_MODEL = ("ls_model_name", "model", "model_name")
_MAPPED = (
    "id", "trace_id", "parent_run_id", "parent_run_ids", "child_runs", "child_run_ids",
    "direct_child_run_ids", "dotted_order", "name", "run_type", "start_time", "end_time", "inputs", "outputs",
    "error", "extra", "tags", "events", "serialized", "session_id", "session_name", "execution_order",
    "manifest_id", "inputs_preview", "outputs_preview", "attachments", "s3_urls", "inputs_s3_urls",
    "outputs_s3_urls", "app_path",
)  # fmt: skip
"""Fields that have a place of their own, or none in a memory (where the files lie, what the SDK is)."""


def run_key(run: Mapping[str, object]) -> str:
    """The id of a run, or what its place in the trace ends with: a patch may name nothing else.

    Raises:
        JsonFault: ``no_id`` or ``bad_field_type``.
    """
    own = id_or_none(run.get("id"), "id")
    path = _path(run)
    if own or path:
        return own or path[-1]
    raise JsonFault("no_id", "the run has neither an id nor a dotted_order")


def _path(run: Mapping[str, object]) -> list[str]:
    """Ids of the runs from the root down to this one."""
    order = text_or_none(run.get("dotted_order"), "dotted_order")
    return [part.partition("Z")[2] or part for part in order.split(".")] if order else []


def span_of(name: str, run: Mapping[str, object], number: int) -> Span:
    """The span of a run whose inputs, outputs and extra are objects.

    Raises:
        JsonFault: ``bad_field_type`` or ``bad_time``.
    """
    path = _path(run)
    metadata = _mapping(_mapping(run.get("extra")).get("metadata"))
    kind = _KINDS.get(text_or_none(run.get("run_type"), "run_type") or "", "other")
    parent = id_or_none(run.get("parent_run_id"), "parent_run_id") or (path[-2] if len(path) > 1 else None)
    trace = id_or_none(run.get("trace_id"), "trace_id") or (path[0] if path else parent or name)
    error = run.get("error")
    span = Span(
        span_id=name,
        trace_id=trace,
        kind=kind,
        name=text_or_none(run.get("name"), "name"),
        parent_id=parent,
        session_id=_first(metadata, _SESSION),
        user_id=_first(metadata, ("user_id",)),
        agent_id=_first(metadata, ("agent_id", "assistant_id")),
        tenant_id=_first(metadata, ("tenant_id",)),
        started_at=iso_time(run.get("start_time"), "start_time"),
        ended_at=iso_time(run.get("end_time"), "end_time"),
        error=written(error) or None,
        metadata=_kept(run, metadata),
        number=number,
    )
    inputs, outputs = _mapping(run.get("inputs")), _mapping(run.get("outputs"))
    if kind == "tool":
        span.call, span.result = _call(span.name, inputs, outputs), _result(outputs)
        return span
    is_root = parent is None or kind == "llm"
    span.inputs = _prompts(inputs) or turns_of(inputs, "user", or_text=is_root)
    span.outputs = turns_of(outputs, "assistant", or_text=is_root)
    return span


def _mapping(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _first(metadata: Mapping[str, object], names: Sequence[str]) -> str | None:
    """The first field that is an id."""
    found = (metadata.get(name) for name in names)
    return next((str(v) for v in found if isinstance(v, str | int) and v != "" and v is not True), None)


def _prompts(inputs: Mapping[str, object]) -> list[Turn]:
    """Prompts of a model that knows no roles."""
    prompts = inputs.get("prompts")
    texts = [p for p in prompts if isinstance(p, str)] if isinstance(prompts, list) else []
    return [turn for text in texts for turn in turns_of(text, "user")]


def _call(name: str | None, inputs: Mapping[str, object], outputs: Mapping[str, object]) -> Call:
    given = inputs.get("input") if set(inputs) == {"input"} else inputs
    message = _answer(outputs)
    call_id = next((r.call_id for r in message if r.call_id is not None), None)
    return Call(call_id, name or "unknown", written(given) if given else None)


def _result(outputs: Mapping[str, object]) -> Result | None:
    """What came back: a tool message of LangChain, or the output as it is."""
    if not outputs:
        return None
    message = _answer(outputs)
    if message:
        return message[0]
    given = outputs.get("output") if set(outputs) == {"output"} else outputs
    return Result(None, None, output_text(given), is_error=None)


def _answer(outputs: Mapping[str, object]) -> list[Result]:
    output = outputs.get("output")
    turns = turns_of(output, "tool", or_text=False) if isinstance(output, dict | list) else []
    return [result for turn in turns for result in turn.results]


def _kept(run: Mapping[str, object], metadata: Mapping[str, object]) -> dict[str, object]:
    """Model, project, tags and all else that is said of a run."""
    extra = _mapping(run.get("extra"))
    sources = (metadata, _mapping(extra.get("invocation_params")), _mapping(run.get("inputs")))
    model = next((m for source in sources for m in _texts(source, _MODEL)), None)
    rest = scalars(extra, ()) | {k: v for k, v in run.items() if k not in _MAPPED}
    own = {k: v for k, v in metadata.items() if k not in (*_SESSION, "ls_model_name", "user_id", "tenant_id")}
    return {**rest, **own, "model": model, "project": run.get("session_name"), "tags": run.get("tags")}


def _texts(source: Mapping[str, object], names: Sequence[str]) -> Iterator[str]:
    yield from (value for name in names if isinstance(value := source.get(name), str) and value)
