"""``swe-agent-traj``: ``.traj`` files of SWE-agent and mini-SWE-agent, one run or its attempts.

What the agent was told stands in ``history`` before its first answer, what it did in ``trajectory``. The
rest of the history says the same once more and is not read, but for the arguments of its tool calls.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from transforms.policy import IngestPolicy
from transforms.readers.batch import Collector
from transforms.readers.blocks import Call, Result, action_fields
from transforms.readers.each_record import EachRecord, ReadRecord
from transforms.readers.mini_swe import MARK, as_run
from transforms.readers.parts import content_of, metadata_of, scalars
from transforms.readers.runs import run_id
from transforms.readers.sniff import top_keys
from transforms.readers.swe_steps import as_object, is_answer, steps_of, written_calls
from transforms.readers.text import JsonFault, dump_json, text_or_none, type_name
from transforms.readers.times import iso_time

_COMPANIONS = frozenset({"history", "info", "environment", "replay_config", "attempts"})
_STEP_FIELDS = (
    "action", "observation", "response", "thought", "state", "query", "messages", "tool", "timestamp",
)  # fmt: skip
_SUFFIX = ".traj"
_SUBMITTED = "submitted"
_FAILED_STARTS = (
    "Your proposed edit has introduced new syntax error",
    "Your edit was not applied",
)
"""How the agent's own tools begin what they say when they did not do what was asked."""
_TIMED_OUT = re.compile(r"^((?:EXECUTION|COMMAND) TIMED OUT\b.*)(?:\n.*){0,2}\s*\Z", re.MULTILINE)
"""Behind what a command printed before it was stopped."""
_SHELL_FAULT = re.compile(
    r"\S[^\n]{0,300}: [^\n]{0,300}?\(?"
    r"(?:No such file(?: or directory)?|command not found|Permission denied|(?:Is|Not) a directory)\)?"
)
"""A line of a shell or of a program of its own that did nothing."""
_LINT_ERROR = re.compile(r"^- ([EF][0-9]+ .+)$", re.MULTILINE)


class SweAgentTraj(EachRecord):
    """Reader of SWE-agent trajectories."""

    name = "swe-agent-traj"
    about = "Runs of SWE-agent and mini-SWE-agent (.traj, .traj.json); a record is one run."

    def matches(self, head: bytes, file_name: str) -> bool:
        """A ``trajectory`` of steps, also beside a history or an info; or the mark of mini-SWE-agent."""
        keys = top_keys(head)
        if "trajectory" not in keys:
            return keys >= {"info", "messages"} and MARK in head
        return bool(keys & _COMPANIONS) or (b'"action"' in head and b'"observation"' in head)

    def told_by(self, file_name: str) -> str | None:
        """As ``batch.NameReading``: the task, as the file is called."""
        stem, suffix, _ = PurePosixPath(file_name).name.partition(_SUFFIX)
        return stem if suffix and stem else None

    def begin(self, collector: Collector, file_name: str, policy: IngestPolicy) -> ReadRecord:
        """See ``EachRecord``: a record is a run or several."""

        def read_one(record: dict[str, object], number: int, raw: object) -> None:
            for run in _runs(record, collector):
                _Run(collector, policy, number, _instance(record) or self.told_by(file_name)).read(run)

        return read_one


def _instance(record: Mapping[str, object]) -> str | None:
    """Which task was tried, as the replay configuration names it."""
    problem = as_object(as_object(record.get("replay_config")).get("problem_statement")).get("id")
    return problem if isinstance(problem, str) and problem else None


def _runs(record: Mapping[str, object], collector: Collector) -> Iterator[Mapping[str, object]]:
    """The attempts of a record; of what stands at its top, which is one of them again, nothing."""
    attempts = record.get("attempts")
    if "trajectory" not in record and "messages" in record:
        yield as_run(record)
        return
    if not isinstance(attempts, list) or not attempts:
        yield record
        return
    for attempt in attempts:
        if isinstance(attempt, dict):
            yield attempt
        else:
            raise JsonFault("bad_field_type", f"an attempt is {type_name(attempt)}, not an object")
    collector.leave_out("repeated_attempt", int(bool(record.get("trajectory"))))


class _Run:
    def __init__(
        self, collector: Collector, policy: IngestPolicy, number: int, instance_id: str | None
    ) -> None:
        self._collector = collector
        self._policy = policy
        self._number = number
        self._instance_id = instance_id
        self._scope: dict[str, object] = {}
        self._metadata: dict[str, object] = {}
        self._id = ""
        self._turn = 0
        self._time: str | None = None

    def read(self, run: Mapping[str, object]) -> None:
        """Read one run; its faults and those of each message and step are refused one by one.

        Raises:
            JsonFault: The run as a whole cannot be read.
        """
        history, steps = _items(run, "history"), _items(run, "trajectory")
        start = next((i for i, m in enumerate(history) if is_answer(m)), len(history))
        answers = history[start:]
        steps = steps or steps_of(answers)
        first = steps[0].get("response") if steps and isinstance(steps[0], dict) else None
        self._id = run_id(history[:start], first)
        self._scope = {"session_id": self._id, "source_line": self._number}
        self._metadata = {
            **scalars(run, _COMPANIONS),
            "instance_id": self._instance_id,
            "environment": run.get("environment"),
            "model": _model(run),
        }
        if not steps and not history:
            self._collector.leave_out("empty_conversation")
        for index, message in enumerate(history[:start]):
            try:
                self._read_told(message, index)
            except JsonFault as fault:
                self._collector.refuse(fault, message, self._number)
        for index, (step, call) in enumerate(zip(steps, written_calls(answers, steps), strict=True)):
            try:
                self._read_step(step, call, index)
            except JsonFault as fault:
                self._collector.refuse(fault, step, self._number)
        self._read_end(run, steps)

    def _draft(self, part: str, extra: Mapping[str, object], **fields: object) -> None:
        self._collector.draft(
            **self._scope,
            event_at=self._time,
            natural_id=f"{self._id}/{part}",
            turn_index=self._turn,
            metadata=metadata_of({**self._metadata, **extra}),
            **fields,
        )
        self._turn += 1

    def _read_told(self, message: object, index: int) -> None:
        """What stands before the first answer: system prompt, demonstrations, the task."""
        if not isinstance(message, dict):
            raise JsonFault("bad_field_type", f"a message is {type_name(message)}, not an object")
        self._time = iso_time(message.get("timestamp"), "timestamp")
        content = content_of(message.get("content"))
        role = text_or_none(message.get("role"), "role")
        if not content.text.strip():
            self._collector.leave_out("empty_message")
            return
        is_injected = role == "system" or message.get("is_demo") is True
        extra = {**scalars(message, ("role", "content", "timestamp")), "other_parts": content.other_types}
        self._draft(
            str(index), extra, role=role, content=content.text, is_injected=True if is_injected else None
        )

    def _read_step(self, step: object, call: Call | None, index: int) -> None:
        """What the agent said, and what it did as one action."""
        if not isinstance(step, dict):
            raise JsonFault("bad_field_type", f"a step is {type_name(step)}, not an object")
        self._time = iso_time(step.get("timestamp"), "timestamp") or self._time
        thought = text_or_none(step.get("thought"), "thought")
        said = thought if thought is not None else text_or_none(step.get("response"), "response") or ""
        action = text_or_none(step.get("action"), "action") or ""
        observation = content_of(step.get("observation"), "observation").text
        parent = None
        if not (said.strip() or action.strip() or observation.strip()):
            self._collector.leave_out("empty_message")
            return
        if said.strip():
            self._draft(f"step/{index}", {}, role="assistant", content=said)
            parent = f"{self._id}/step/{index}"
        extra = {
            **scalars(step, _STEP_FIELDS),
            "state": step.get("state"),
            "call_id": call and call.call_id,
        }
        if action.strip():
            done = call or _call_of(step.get("tool"), action)
            fields = action_fields(done, _result(observation, step.get("returncode")), self._policy)
            if fields.get("outcome") == "failure" and (found := _told_fault(observation)):
                fields["failure_reason"] = found[: self._policy.max_reason_chars]
            self._draft(f"action/{index}", extra, parent_id=parent, **fields)
        elif observation.strip():
            fields = {"kind": "observation", "role": "tool", "content": observation}
            self._draft(f"action/{index}", extra, parent_id=parent, **fields)

    def _read_end(self, run: Mapping[str, object], steps: Sequence[object]) -> None:
        """How the run ended: its exit status, and what it handed in if no step shows that."""
        info = as_object(run.get("info"))
        status = info.get("exit_status")
        if not isinstance(status, str) or not status.strip():
            return
        submission = info.get("submission")
        said = submission if isinstance(submission, str) and submission.strip() else status
        shown = steps[-1].get("observation") if steps and isinstance(steps[-1], dict) else None
        if isinstance(shown, str) and shown.strip() == said.strip():
            said = status
        outcome = _outcome(status)
        extra = {**scalars(info, ("submission",)), "model_stats": info.get("model_stats")}
        self._draft(
            "end",
            extra,
            kind="outcome",
            role="assistant",
            content=said,
            outcome=outcome,
            failure_reason=None if outcome == "success" else status,
            steps=len(steps),
        )


def _call_of(tool: object, action: str) -> Call:
    """A command, of a named tool its arguments; else its first word is the tool."""
    if isinstance(tool, str) and tool:
        return Call(None, tool, action)
    return Call(None, action.split(maxsplit=1)[0], dump_json({"command": action}))


def _told_fault(observation: str) -> str | None:
    """The line that says why it failed, where that is not the first one."""
    found = _TIMED_OUT.search(observation) or _LINT_ERROR.search(observation)
    return found[1].strip() if found else None


def _result(observation: str, code: object) -> Result:
    if isinstance(code, int) and not isinstance(code, bool):
        return Result(None, None, observation, is_error=code != 0)
    lines = [line.strip() for line in observation.splitlines() if line.strip()]
    has_failed = (
        observation.lstrip().startswith(_FAILED_STARTS)
        or _TIMED_OUT.search(observation) is not None
        or (bool(lines) and all(_SHELL_FAULT.fullmatch(line) for line in lines))
    )
    return Result(None, None, observation, is_error=True if has_failed else None)


def _outcome(status: str) -> str:
    """``submitted`` is a success, ``submitted (exit_cost)`` and its like partial, else a failure."""
    if status.lower() == _SUBMITTED:
        return "success"
    return "partial" if status.startswith(_SUBMITTED) else "failure"


def _items(run: Mapping[str, object], name: str) -> list[object]:
    value = run.get(name)
    if value is None:
        return []
    if not isinstance(value, list):
        raise JsonFault("bad_field_type", f"{name} is {type_name(value)}, not a list")
    return value


def _model(run: Mapping[str, object]) -> object:
    agent = as_object(as_object(run.get("replay_config")).get("agent"))
    return as_object(agent.get("model")).get("name")
