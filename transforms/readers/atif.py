"""``atif``: trajectories in the Agent Trajectory Interchange Format (ATIF 1.0 to 1.7).

A step is a message of the system, the user or the agent; the agent's tool calls and what came back of them
stand in the same step. Steps copied from an earlier trajectory are left out: they stand there.
"""

from __future__ import annotations

from collections.abc import Mapping

from transforms.policy import IngestPolicy
from transforms.readers.batch import Collector
from transforms.readers.blocks import Result, action_fields, result_fields
from transforms.readers.each_record import EachRecord, ReadRecord
from transforms.readers.message_parts import call_of, result_of
from transforms.readers.parts import content_of, metadata_of, scalars
from transforms.readers.sniff import json_lines, top_keys
from transforms.readers.text import JsonFault, id_or_none, text_or_none, type_name
from transforms.readers.times import iso_time

_MARK = b'"ATIF-v'
_ROLES = {"agent": "assistant"}
_SUBAGENTS = "subagent_trajectories"
_STEP_FIELDS = ("step_id", "timestamp", "source", "message", "reasoning_content", "model_name")
_AGENT_FIELDS = ("name", "version", "model_name")
_TRAJECTORY_FIELDS = ("steps", "session_id", "trajectory_id", "agent", "notes")


class Atif(EachRecord):
    """Reader of ATIF trajectories."""

    name = "atif"
    about = "Trajectories in the Agent Trajectory Interchange Format; a record is one trajectory."

    def matches(self, head: bytes, file_name: str) -> bool:
        """A ``schema_version`` that names ATIF."""
        records = json_lines(head)
        if records:
            return any(str(record.get("schema_version")).startswith("ATIF-v") for record in records)
        return _MARK in head and "schema_version" in top_keys(head)

    def begin(self, collector: Collector, file_name: str, policy: IngestPolicy) -> ReadRecord:
        """See ``EachRecord``: a record is a trajectory."""

        def read_one(record: dict[str, object], number: int, raw: object) -> None:
            _Trajectory(collector, policy, number).read(record)

        return read_one


class _Trajectory:
    def __init__(self, collector: Collector, policy: IngestPolicy, number: int) -> None:
        self._collector = collector
        self._policy = policy
        self._number = number
        self._id: str | None = None
        self._session_id: str | None = None
        self._metadata: dict[str, object] = {}
        self._agent: str | None = None
        self._model: object = None
        self._called: set[str] = set()
        self._turn = 0

    def read(self, record: Mapping[str, object], parent: str | None = None) -> None:
        """Read one trajectory and those of its subagents, each a session of its own.

        Raises:
            JsonFault: The trajectory as a whole cannot be read.
        """
        steps = record.get("steps")
        if not isinstance(steps, list):
            raise JsonFault("bad_field_type", f"steps is {type_name(steps)}, not a list")
        own = id_or_none(record.get("trajectory_id"), "trajectory_id")
        session = id_or_none(record.get("session_id"), "session_id")
        self._id = own if own is not None else session
        self._session_id = self._id if parent is not None or session is None else session
        agent = _object(record.get("agent"))
        self._agent = text_or_none(agent.get("name"), "agent name")
        self._model = agent.get("model_name")
        self._metadata = {
            **scalars(agent, _AGENT_FIELDS),
            **scalars(record, _TRAJECTORY_FIELDS),
            "trajectory_id": own,
            "parent_trajectory_id": parent,
            "agent_version": agent.get("version"),
        }
        if not steps:
            self._collector.leave_out("empty_conversation")
        for index, step in enumerate(steps):
            try:
                self._read_step(step, index)
            except JsonFault as fault:
                self._collector.refuse(fault, step, self._number)
        self._read_subagents(record.get(_SUBAGENTS))

    def _draft(self, **fields: object) -> None:
        self._collector.draft(**fields, turn_index=self._turn)
        self._turn += 1

    def _read_subagents(self, found: object) -> None:
        for trajectory in found if isinstance(found, list) else []:
            try:
                if not isinstance(trajectory, dict):
                    raise JsonFault(
                        "bad_field_type", f"a trajectory is {type_name(trajectory)}, not an object"
                    )
                _Trajectory(self._collector, self._policy, self._number).read(trajectory, self._id or "")
            except JsonFault as fault:
                self._collector.refuse(fault, trajectory, self._number)

    def _read_step(self, step: object, index: int) -> None:
        if not isinstance(step, dict):
            raise JsonFault("bad_field_type", f"a step is {type_name(step)}, not an object")
        if step.get("is_copied_context") is True:
            self._collector.leave_out("copied_context")
            return
        source = text_or_none(step.get("source"), "source")
        step_id = id_or_none(step.get("step_id"), "step_id")
        own_id = self._child(step_id if step_id is not None else str(index))
        content = content_of(step.get("message"), "message")
        model = step.get("model_name")
        extra = {
            **self._metadata,
            **scalars(_object(step.get("extra")), ()),
            **scalars(step, _STEP_FIELDS),
            "model": (self._model if model is None else model) if source == "agent" else None,
            "other_parts": content.other_types,
        }
        scope: dict[str, object] = {
            "session_id": self._session_id,
            "event_at": iso_time(step.get("timestamp"), "timestamp"),
            "source_line": self._number,
            "metadata": metadata_of(extra),
        }
        reasoning = step.get("reasoning_content")
        self._collector.leave_out("thinking", int(isinstance(reasoning, str) and bool(reasoning.strip())))
        has_text = bool(content.text.strip())
        if has_text:
            self._draft(
                **scope,
                natural_id=own_id,
                role=_ROLES.get(source or "", source),
                speaker=self._agent if source == "agent" else None,
                content=content.text,
                is_injected=True if source == "system" else None,
            )
        drafted = self._draft_calls(step, scope, own_id if has_text else None, own_id)
        if not has_text and not drafted and not reasoning:
            self._collector.leave_out("no_text_part" if content.other_types else "empty_message")

    def _draft_calls(
        self, step: Mapping[str, object], scope: dict[str, object], parent: str | None, step_id: str | None
    ) -> bool:
        """Calls with the results that name them; results without a call as observations."""
        calls = step.get("tool_calls") or []
        results = _object(step.get("observation")).get("results") or []
        if not isinstance(calls, list) or not isinstance(results, list):
            raise JsonFault("bad_field_type", "tool_calls or the results of the observation are no list")
        left = [_result(result) for result in results]
        for position, item in enumerate(calls):
            call = call_of(_renamed(item))
            result = next((r for r in left if r.call_id is not None and r.call_id == call.call_id), None)
            if result is not None:
                left.remove(result)
            is_first = call.call_id is not None and call.call_id not in self._called
            self._called.add(call.call_id or "")
            self._draft(
                **(scope | {"parent_id": parent}),
                natural_id=self._child(str(call.call_id)) if is_first else _join(step_id, f"call/{position}"),
                **action_fields(call, result, self._policy),
            )
        for position, result in enumerate(left):
            if not result.text.strip():
                self._collector.leave_out("empty_result")
                continue
            self._draft(
                **(scope | {"parent_id": parent}),
                natural_id=_join(step_id, f"result/{position}"),
                **result_fields(result, self._policy),
            )
        return bool(calls or results)

    def _child(self, part: str) -> str | None:
        return _join(self._id, part)


def _renamed(call: object) -> object:
    """A call under the names that every other format uses."""
    if not isinstance(call, dict):
        return call
    return {
        "id": call.get("tool_call_id"),
        "name": call.get("function_name"),
        "arguments": call.get("arguments"),
    }


def _result(result: object) -> Result:
    if not isinstance(result, dict):
        raise JsonFault("bad_field_type", f"a result is {type_name(result)}, not an object")
    known = {**scalars(_object(result.get("extra")), ()), "call_id": result.get("source_call_id")}
    return result_of({**known, "output": result.get("content"), "name": None})


def _object(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _join(parent: str | None, part: str) -> str | None:
    return None if parent is None else f"{parent}/{part}"
