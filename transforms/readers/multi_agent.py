"""``who-and-when``: logs of agents that work together, with who made the mistake and when.

One log is one task: what each agent said in ``history``, and what the annotator found. Two writers are
known: AutoGen (``role``, and the agent as ``name``) and Magentic-One (the agent in ``role``, with what it
did in brackets). Neither notes a time.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from transforms.policy import IngestPolicy
from transforms.readers.batch import Collector
from transforms.readers.blocks import Call, Result, action_fields
from transforms.readers.each_record import EachRecord, ReadRecord
from transforms.readers.parts import content_of, metadata_of, reason_line, scalars
from transforms.readers.runs import run_id
from transforms.readers.sniff import top_keys
from transforms.readers.text import JsonFault, dump_json, id_or_none, text_or_none, type_name

_TASK_KEYS = frozenset({"question", "ground_truth", "mistake_agent", "mistake_step", "question_ID"})
_HISTORY = re.compile(rb'"history"\s*:\s*\[\s*')
_MESSAGE_KEYS = frozenset({"content", "role"})
_FIELDS = ("history", "question", "system_prompt", "question_ID", "mistake_reason")

_SPEAKER = re.compile(r"(.+?)\s*\((.+)\)")
"""``Orchestrator (-> WebSurfer)``: who, and to whom or what."""
_LONGEST_ROLE = 300
"""Longer text is no name; the pattern takes the square of its length."""
_LONGEST_STEP = 10
_HUMANS = frozenset({"human", "user"})
_THOUGHT = "thought"
_PLAN = re.compile(r"(initial|new) plan:", re.IGNORECASE)
"""Noted as a thought, but written for the whole team: who does what, and what is known."""
_NEXT = re.compile(r"next speaker \S+[ \t]*(?:\n|\Z)", re.IGNORECASE)
_TOOL_AGENTS = re.compile(r"terminal|executor|interpreter|surfer", re.IGNORECASE)
"""Agents that run a tool and hand on what it gave: code, files, web pages are nobody's words."""
_EXIT_CODE = re.compile(r"exit ?code:?\s*(-?[0-9]{1,9})", re.IGNORECASE)
_OUTPUT = re.compile(r"\A.*exit ?code.*\n(?:(?:Code output|Its output was):[ \t]*\n?)?", re.IGNORECASE)
_CODE = re.compile(r"^```[ \t]*([\w+-]*)[^\n]*\n(.*?)^```", re.DOTALL | re.MULTILINE)


class WhoAndWhen(EachRecord):
    """Reader of multi-agent failure logs."""

    name = "who-and-when"
    about = "Multi-agent logs with the mistake marked (Who&When); a record is one task."

    def matches(self, head: bytes, file_name: str) -> bool:
        """A ``history`` of messages with role and content, beside a question or an annotated mistake."""
        keys = top_keys(head)
        if "history" not in keys or "trajectory" in keys:
            return False
        if keys & _TASK_KEYS:
            return True
        start = _HISTORY.search(head)
        return bool(start) and top_keys(head[start.end() :]) >= _MESSAGE_KEYS if start else False

    def begin(self, collector: Collector, file_name: str, policy: IngestPolicy) -> ReadRecord:
        """See ``EachRecord``: a record is a log."""

        def read_one(record: dict[str, object], number: int, raw: object) -> None:
            _Log(collector, policy, number).read(record)

        return read_one


class _Log:
    def __init__(self, collector: Collector, policy: IngestPolicy, number: int) -> None:
        self._collector = collector
        self._policy = policy
        self._number = number
        self._id = ""
        self._task: dict[str, object] = {}
        self._turn = 0
        self._code: list[dict[str, str]] = []
        self._asked_by: str | None = None
        self._mistake: int | None = None

    def read(self, record: Mapping[str, object]) -> None:
        """Read one log; the faults of its messages are refused one by one.

        Raises:
            JsonFault: The log as a whole cannot be read.
        """
        history = record.get("history")
        if not isinstance(history, list):
            raise JsonFault("bad_field_type", f"history is {type_name(history)}, not a list")
        question = text_or_none(record.get("question"), "question") or ""
        task_id = id_or_none(record.get("question_ID"), "question_ID")
        self._id = run_id(task_id, question, history[:1])
        self._task = {"task_id": task_id}
        self._mistake = _step_of(record.get("mistake_step"), history)
        self._read_prompts(record.get("system_prompt"))
        if question.strip() and not _is_asked(history[:1]):
            self._draft("question", {}, role="user", content=question)
        for index, message in enumerate(history):
            try:
                self._read_message(message, index)
            except JsonFault as fault:
                self._collector.refuse(fault, message, self._number)
        self._read_mistake(record)

    def _draft(self, part: str, extra: Mapping[str, object], **fields: object) -> None:
        self._collector.draft(
            session_id=self._id,
            natural_id=f"{self._id}/{part}",
            source_line=self._number,
            turn_index=self._turn,
            metadata=metadata_of({**self._task, **extra}),
            **fields,
        )
        self._turn += 1

    def _read_prompts(self, prompts: object) -> None:
        """What each agent was told to be."""
        for name, prompt in prompts.items() if isinstance(prompts, dict) else []:
            if isinstance(prompt, str) and prompt.strip():
                self._draft(
                    f"prompt/{name}", {}, role="system", speaker=name, content=prompt, is_injected=True
                )

    def _read_message(self, message: object, index: int) -> None:
        if not isinstance(message, dict):
            raise JsonFault("bad_field_type", f"a message is {type_name(message)}, not an object")
        text = content_of(message.get("content")).text
        speaker, act = _speaker_of(message)
        if not text.strip():
            self._collector.leave_out("empty_message")
            return
        if act == _THOUGHT and index != self._mistake and not _PLAN.match(text):
            self._collector.leave_out("bookkeeping" if _NEXT.match(text) else "thinking")
            return
        extra = {**scalars(message, ("role", "name", "content")), "step": index, "act": act}
        if speaker is None or speaker.lower() in _HUMANS:
            self._draft(str(index), extra, role="user", content=text)
        elif _TOOL_AGENTS.search(speaker) and act is None:
            self._read_answer(speaker, text, extra, str(index))
            return
        else:
            self._draft(str(index), extra, role="assistant", speaker=speaker, content=text)
        self._code = [{"language": kind, "code": code} for kind, code in _CODE.findall(text)]
        self._asked_by = f"{self._id}/{index}"

    def _read_answer(self, speaker: str, text: str, extra: Mapping[str, object], part: str) -> None:
        """What a tool gave: with its exit code the action that ran the code of the message before it."""
        code = _EXIT_CODE.search(text.split("\n", 1)[0])
        given: dict[str, object] = {"speaker": speaker, "parent_id": self._asked_by}
        if code is None:
            self._draft(part, extra, kind="observation", role="tool", content=text, **given)
            return
        arguments = dump_json({"blocks": self._code}) if self._code else None
        call = Call(None, speaker, arguments)
        result = Result(None, None, text, is_error=int(code[1]) != 0)
        fields = action_fields(call, result, self._policy)
        if result.is_error:
            reason = reason_line(_OUTPUT.sub("", text, count=1)) or f"exit code {code[1]}"
            fields["failure_reason"] = reason[: self._policy.max_reason_chars]
        self._draft(part, extra, **given, **fields)

    def _read_mistake(self, record: Mapping[str, object]) -> None:
        """What the annotator found of the whole: right or wrong, whose mistake, and why."""
        reason = text_or_none(record.get("mistake_reason"), "mistake_reason") or ""
        verdict = record.get("is_correct", record.get("is_corrected"))
        if not reason.strip() and not isinstance(verdict, bool):
            return
        outcome = "success" if verdict is True else "failure"
        answer = record.get("ground_truth")
        self._draft(
            "end",
            {**scalars(record, _FIELDS), "labels": record.get("labels")},
            parent_id=None if self._mistake is None else f"{self._id}/{self._mistake}",
            kind="outcome",
            role="annotator",
            content=reason if reason.strip() else f"Expected answer: {answer}",
            outcome=outcome,
            failure_reason=reason if reason.strip() and outcome == "failure" else None,
        )


def _speaker_of(message: Mapping[str, object]) -> tuple[str | None, str | None]:
    """Who speaks, and what the brackets behind the name say."""
    name = text_or_none(message.get("name"), "name")
    if name is not None and name.strip():
        return name, None
    role = text_or_none(message.get("role"), "role")
    marked = _SPEAKER.fullmatch(role) if role is not None and len(role) <= _LONGEST_ROLE else None
    return (marked[1], marked[2]) if marked else (role, None)


def _step_of(value: object, history: Sequence[object]) -> int | None:
    """The place in the history that an annotator names, as a number or as text."""
    text = str(value)
    step = int(text) if text.isdecimal() and len(text) < _LONGEST_STEP else len(history)
    return step if step < len(history) else None


def _is_asked(first: list[object]) -> bool:
    """Whether the log begins with the person's own question."""
    message = first[0] if first else None
    if not isinstance(message, dict):
        return False
    role, name = message.get("role"), message.get("name")
    return name is None and isinstance(role, str) and role.lower() in _HUMANS
