"""``tau-bench``: results of tau-bench and tau2-bench runs, and few-shot dialogues.

A result is one try at a task: the conversation in ``traj`` or ``messages``, and a reward. A few-shot dialogue
is one text of ``role: words`` lines without the calls, only their results. Each has a customer of its own:
the user that the task names, else one named by the conversation, so that what several people say of
themselves does not mix.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from transforms.policy import IngestPolicy
from transforms.readers.batch import Collector
from transforms.readers.each_record import EachRecord, ReadRecord
from transforms.readers.openai_conversation import Conversation
from transforms.readers.parts import metadata_of, scalars
from transforms.readers.runs import reward_outcome, run_id
from transforms.readers.sniff import json_lines, top_keys
from transforms.readers.text import JsonFault, id_or_none, text_or_none, type_name
from transforms.readers.times import iso_time

_RESULT_KEYS = frozenset({"task_id", "reward", "traj"})
_SIMULATION_KEYS = frozenset({"task_id", "reward_info", "messages"})
_SIMULATIONS = "simulations"
_HEAD_KEYS = frozenset({"info", "tasks"})
_STOPS = frozenset({"user_stop", "agent_stop"})
_DISPLAY = "messages_display"
_SPEECH = re.compile(r"^(user|assistant|system|tool): ", re.MULTILINE)
_STOP = "###STOP###"
"""The simulated user's sign that it has nothing more to say."""
_UNSHOWN = "None"
"""What a dialogue shows of a message that only calls a tool."""


class TauBench(EachRecord):
    """Reader of tau-bench results and dialogues."""

    name = "tau-bench"
    about = "Results and dialogues of tau-bench and tau2-bench; a record is one try at a task."
    wrapper = _SIMULATIONS

    def matches(self, head: bytes, file_name: str) -> bool:
        """Tries at tasks, ``simulations`` beside their tasks, or ``messages_display``."""
        records = json_lines(head)
        return any(_is_ours(set(record), head) for record in records or [dict.fromkeys(top_keys(head))])

    def begin(self, collector: Collector, file_name: str, policy: IngestPolicy) -> ReadRecord:
        """See ``EachRecord``: a record is a try at a task."""

        def read_one(record: dict[str, object], number: int, raw: object) -> None:
            conversation = Conversation(collector, policy, number)
            if _DISPLAY in record:
                _read_dialogue(record, raw, conversation, collector)
            else:
                _read_try(record, raw, conversation, collector, number)

        return read_one


def _is_ours(keys: set[str], head: bytes) -> bool:
    if keys >= _RESULT_KEYS or keys >= _SIMULATION_KEYS or _DISPLAY in keys:
        return True
    return keys >= _HEAD_KEYS and (_SIMULATIONS in keys or b'"user_scenario"' in head)


def _read_dialogue(
    record: Mapping[str, object], raw: object, conversation: Conversation, collector: Collector
) -> None:
    text = text_or_none(record[_DISPLAY], _DISPLAY) or ""
    marks = list(_SPEECH.finditer(text))
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    if not marks or text[: marks[0].start()].strip():
        raise JsonFault("unknown_record", "the dialogue does not begin with a speaker")
    said = [(mark[1], text[mark.end() : end].strip()) for mark, end in zip(marks, ends, strict=True)]
    shown = [(role, words) for role, words in said if words not in ("", _UNSHOWN)]
    collector.leave_out("unshown_call", len(said) - len(shown))
    messages = [{"role": role, "content": words} for role, words in shown]
    session = run_id(text)
    about = {"id": session, "user_id": session, "messages": messages}
    conversation.read({**scalars(record, (_DISPLAY,)), **about}, raw)


class _Try(NamedTuple):
    """One try at a task, whichever version of the benchmark wrote it down."""

    session_id: str
    user_id: str
    messages: list[object]
    reward: object
    fault: str | None
    ended_at: str | None
    rest: dict[str, object]


def _try_of(record: Mapping[str, object]) -> _Try:
    """A result of tau-bench: a list of them is its file.

    Raises:
        JsonFault: It cannot be read as a whole.
    """
    messages = _messages(record, "traj")
    session = run_id(record.get("task_id"), record.get("trial"), messages)
    info = _object(record.get("info"))
    task = _object(info.get("task"))
    user, error = task.get("user_id"), info.get("error")
    rest = {**scalars(record, ("task_id", "trial", "traj")), "task": task}
    return _Try(
        session,
        user if isinstance(user, str) and user else session,
        messages,
        record.get("reward"),
        error if isinstance(error, str) else None,
        None,
        rest,
    )


def _simulation_of(record: Mapping[str, object]) -> _Try:
    """A simulation of tau2-bench; its tool messages name their call by their own id.

    Raises:
        JsonFault: It cannot be read as a whole.
    """
    messages: list[object] = []
    for message in _messages(record, "messages"):
        inner = _object(message).get("tool_messages")
        messages.extend(inner if isinstance(inner, list) else [message])
    own = id_or_none(record.get("id"), "id")
    session = own if own is not None else run_id(record.get("task_id"), record.get("trial"), messages)
    why = record.get("termination_reason")
    return _Try(
        session,
        session,
        [_renamed(message) for message in messages],
        _object(record.get("reward_info")).get("reward"),
        why if isinstance(why, str) and why not in _STOPS else None,
        iso_time(record.get("end_time"), "end_time"),
        scalars(record, ("id", "task_id", "trial")),
    )


def _renamed(message: object) -> object:
    fields = _object(message)
    if fields.get("role") != "tool":
        return message
    named = {"tool_call_id": fields.get("id"), "is_error": fields.get("error")}
    return {**{name: value for name, value in fields.items() if name not in ("id", "error")}, **named}


def _messages(record: Mapping[str, object], name: str) -> list[object]:
    messages = record.get(name)
    if not isinstance(messages, list):
        raise JsonFault("bad_field_type", f"{name} is {type_name(messages)}, not a list")
    return messages


def _read_try(
    record: Mapping[str, object],
    raw: object,
    conversation: Conversation,
    collector: Collector,
    number: int,
) -> None:
    """The conversation of one try, and how it was rewarded."""
    found = _simulation_of(record) if "reward_info" in record else _try_of(record)
    known = {name: record.get(name) for name in ("task_id", "trial")}
    messages = found.messages
    said = messages[:-1] if messages and _is_stop(messages[-1]) else messages
    collector.leave_out("stop_mark", len(messages) - len(said))
    scope = {"id": found.session_id, "user_id": found.user_id, "metadata": known}
    conversation.read({**scope, "messages": said}, raw)
    outcome = reward_outcome(found.reward)
    if outcome is None:
        return
    collector.draft(
        session_id=found.session_id,
        user_id=found.user_id,
        natural_id=f"{found.session_id}/reward",
        kind="outcome",
        role="evaluator",
        content=f"Task {record.get('task_id')}: reward {found.reward}",
        outcome=outcome,
        failure_reason=found.fault if outcome != "success" else None,
        event_at=found.ended_at,
        steps=len(messages),
        turn_index=len(messages),
        source_line=number,
        metadata=metadata_of({**known, **found.rest}),
    )


def _is_stop(message: object) -> bool:
    content = _object(message).get("content")
    return isinstance(content, str) and content.strip() == _STOP


def _object(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}
