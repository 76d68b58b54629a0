"""Attempts as slow, plain Python makes them: row by row, one session after the other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from typing import Any

import polars as pl

from transforms.skills import lexicons
from transforms.skills.fixes import difference

Row = dict[str, Any]
FIX_TAGS = {"fix", "fixed", "solution", "workaround"}
RANKS = ("normal", "personal", "restricted")


@cache
def reads(rule: str, text: str | None) -> Any:
    """A rule of the lexicons on one text."""
    return (
        pl.DataFrame({"x": [text]}, schema={"x": pl.String})
        .select(getattr(lexicons, rule)(pl.col("x")))
        .item()
    )


def flags(rows: Sequence[Row]) -> list[Row]:
    """Rows of one session in order, with what each means."""
    marked: list[Row] = []
    for source in rows:
        r = dict(source)
        last = marked[-1] if marked else None
        r["is_tool"] = r["kind"] in ("action", "observation") or (
            r["tool_name"] is not None and r["kind"] != "outcome"
        )
        r["answers"] = bool(
            r["kind"] == "observation"
            and last
            and last["is_tool"]
            and last["kind"] != "observation"
            and r["tool_name"] in (None, last["tool_name"])
        )
        if r["answers"] and r["tool_name"] is None:
            r["tool_name"] = last["tool_name"]  # type: ignore[index]
        is_said = r["role"] in ("user", "assistant", "system") and not r["is_tool"]
        r["is_fix"] = is_said and bool(FIX_TAGS & {t.lower() for t in r["tags"]})
        r["is_result"] = r["role"] == "tool" or r["kind"] == "observation"
        is_fault = r["failure_reason"] is not None or (
            r["is_tool"] and r["is_result"] and reads("is_error", r["content"])
        )
        by_rule = "success" if r["is_fix"] else None
        if by_rule is None and is_fault and (r["is_tool"] or r["kind"] == "outcome"):
            by_rule = "failure"
        r["ended"] = r["outcome"] or by_rule
        r["feedback"] = reads("feedback_word", r["feedback"])
        r["is_done"] = r["is_tool"] and (r["ended"] == "success" or (r["ended"] is None and r["is_result"]))
        r["step_end"] = (r["ended"] or ("success" if r["is_done"] else None)) if r["is_tool"] else None
        marked.append(r)
    for i, r in enumerate(marked):
        waits = [x["is_tool"] and x["ended"] == "failure" for x in marked]
        follows = i + 1 < len(marked) and marked[i + 1]["answers"]
        was_put_off = i > 0 and waits[i - 1] and r["answers"]
        r["is_closing"] = (
            r["kind"] == "outcome"
            or (not r["is_tool"] and r["ended"] is not None)
            or (waits[i] and not follows)
            or was_put_off
        )
        last = marked[i - 1] if i else None
        asked = last and last["role"] == "assistant" and last["content"].rstrip(".! ").endswith("?")
        stays = (
            (len(r["content"]) <= 80 and reads("goes_on", r["content"])) or r["feedback"] is not None or asked
        )
        r["asks"] = bool(
            last and r["role"] == "user" and not r["is_tool"] and not stays and not r["is_closing"]
        )
        r["says"] = (
            r["role"] == "assistant"
            and not r["is_tool"]
            and not r["is_closing"]
            and r["content"].strip() != ""
        )
        r["at"] = i
    return marked


def split(rows: Sequence[Row]) -> list[list[Row]]:
    """Tries of one session, before ends that are told later are put to their steps."""
    tries: list[list[Row]] = []
    for r in rows:
        if not tries or r["asks"] or tries[-1][-1]["is_closing"]:
            tries.append([])
        given = [x["arguments"] for x in tries[-1] if x["tool_name"] == r["tool_name"] and x["arguments"]]
        r["arguments"] = r["tool_arguments"] or (given[-1] if given else None)
        tries[-1].append(r)
    return tries


def told(part: Sequence[Row]) -> str | None:
    ends = [r["ended"] for r in part if r["is_closing"] and not r["is_tool"] and r["ended"]]
    return ends[-1] if ends else None


def folded(rows: Sequence[Row]) -> list[list[Row]]:
    """The rows that are steps or ends of each attempt."""
    found: list[list[Row]] = []
    head: list[Row] | None = None
    came_to = run_told = None
    is_open = False
    for part in split(rows):
        own = [r for r in part if r["is_tool"] or r["is_closing"]]
        has_steps = any(r["is_tool"] or r["tool_name"] for r in part)
        if has_steps:
            steps = [r["step_end"] for r in part if r["step_end"]]
            head, came_to, run_told, is_open = own, steps[-1] if steps else None, told(part), True
            found.append(own)
        elif any(r["is_closing"] and not r["is_tool"] for r in part):
            end = told(part)
            run_told = run_told or end
            known = came_to or run_told
            fits = end is None or (
                end == run_told
                and not (came_to == "failure" and end == "success")
                and not (part[0]["asks"] and known != end)
            )
            is_open = is_open and fits
            if head is not None and is_open:
                head.extend(own)
            else:
                found.append(own)
    return found


def sequence(own: Sequence[Row]) -> list[str]:
    tools: list[str] = []
    called: set[str] = set()
    for r in own:
        name = r["tool_name"]
        if name is None or (r["kind"] == "observation" and name in called):
            continue
        if r["kind"] != "observation":
            called.add(name)
        if not tools or tools[-1] != name:
            tools.append(name)
    return tools


def attempt(own: Sequence[Row]) -> Row:
    """What one attempt comes to, without feedback and fix."""
    steps = [r["step_end"] for r in own if r["step_end"]]
    outcome = told(own) or (steps[-1] if steps else None)
    bad = [r for r in own if r["ended"] in ("failure", "partial")]
    heard = [r for r in bad if r["is_result"] or not r["is_tool"]]
    reasons = [r["failure_reason"] for r in bad if r["failure_reason"] is not None]
    error = (heard or bad or [{"content": None}])[0]["content"]
    why = reasons[-1] if reasons else error
    results = [r["content"] for r in heard if r["is_tool"]]
    tools = sequence(own)
    is_passing = reads("is_passing", why) or reads("is_passing", results[-1] if results else None)
    return {
        "first": own[0]["episode_id"],
        "first_at": own[0]["at"],
        "last_at": own[-1]["at"],
        "tools": tools,
        "task": tools[-1] if tools else "unnamed",
        "outcome": outcome,
        "reason": why if outcome in ("failure", "partial") else None,
        "is_transient": outcome == "failure" and is_passing,
        "refs": {r["episode_id"] for r in own},
        "own": own,
        "feedback": None,
        "fix": None,
    }


def cure(failed: Row, found: Sequence[Row], rows: Sequence[Row]) -> tuple[str, int | None, list[int]] | None:
    """The fix of a failure: its text, the row marked as it, and the rows it rests on."""
    later = [a for a in found if a["first_at"] > failed["last_at"]]
    good = [a for a in later if a["outcome"] == "success"]
    tool = failed["tools"][-1] if failed["tools"] else None
    calls = [
        (r, a) for a in found for r in a["own"]
        if r["is_done"] and r["tool_name"] is not None and r["tool_name"] == tool
        and r["at"] > failed["last_at"]
    ]  # fmt: skip
    call, by_tool = min(calls, key=lambda pair: pair[0]["at"]) if calls else (None, None)
    by_task = next((a for a in good if a["task"] == failed["task"] != "unnamed"), None)
    by_next = good[0] if good else None

    def ends(a: Row | None) -> list[Row]:
        if a is None:
            return []
        return [
            r for r in a["own"]
            if r["is_closing"] and not r["is_tool"] and r["ended"] == "success" and r["role"] != "tool"
        ]  # fmt: skip

    def is_near(mark: Row) -> bool:
        span = rows[failed["last_at"] + 1 : mark["at"] + 1]
        return not any(r["asks"] for r in span)

    for a in (by_tool, by_task, by_next):
        marks = [
            r for r in ends(a) if r["is_fix"] and (a is not by_next or a in (by_tool, by_task) or is_near(r))
        ]
        if marks:
            return marks[0]["content"], marks[0]["at"], [marks[0]["at"]]
    if failed["is_transient"]:
        return None
    for a in (by_tool, by_task):
        if ends(a):
            return ends(a)[-1]["content"], None, [ends(a)[-1]["at"]]
    return changed(failed, call, rows) if call else None


def changed(failed: Row, call: Row, rows: Sequence[Row]) -> tuple[str, None, list[int]] | None:
    last = failed["own"][-1]
    between = [r for r in rows[last["at"] + 1 : call["at"] + 1] if r["is_tool"]]
    old, new = last["arguments"], call["arguments"]
    if old is not None and old == new and len(between) <= 1:
        return None
    said = [r for r in rows[last["at"] + 1 : call["at"]] if r["says"] and not r["content"].endswith("?")]
    parts = [p for p in (difference(old, new), said[-1]["content"] if said else None) if p]
    return (": ".join(parts), None, [call["at"], *(r["at"] for r in said[-1:])]) if parts else None


def attempts(rows: Sequence[Row], gain: float) -> dict[str, Row]:
    """Attempts by their first episode."""
    sessions = defaultdict(list)
    for r in rows:
        owner = (
            f"user:{r['user_id']}" if r["user_id"] else f"agent:{r['agent_id']}" if r["agent_id"] else None
        )
        if owner and not r["is_injected"] and r["kind"] != "summary":
            sessions[r["tenant_id"], owner, r["agent_id"], r["session_id"]].append(r)
    made = {}
    for held in sessions.values():
        held.sort(key=lambda r: (r["event_at"], r["turn_index"], r["episode_id"]))
        marked = flags(held)
        if any(r["is_tool"] or r["kind"] == "outcome" or r["outcome"] for r in marked):
            made.update({a["first"]: a for a in of_session(marked, gain)})
    return made


def of_session(rows: Sequence[Row], gain: float) -> list[Row]:
    found = [attempt(own) for own in folded(rows)]
    by_at = {r["at"]: a for a in found for r in a["own"]}
    last = None
    for r in rows:
        last = by_at.get(r["at"], last)
        if r["feedback"] and last:
            last["feedback"] = r["feedback"]
            last["refs"].add(r["episode_id"])
    for a in found:
        if a["outcome"] == "failure" and (fix := cure(a, found, rows)):
            a["fix"], mark, by = fix
            a["fix_id"] = None if mark is None else rows[mark]["episode_id"]
            a["refs"] |= {rows[i]["episode_id"] for i in by}
        start = {"success": 1.0, "partial": 0.5, "failure": 0.0, None: None}[a["outcome"]]
        moved = {"helpful": lambda s: s + gain * (1 - s), "wrong": lambda s: s * (1 - gain)}
        a["reward"] = start if start is None else moved.get(a["feedback"], lambda s: s)(start)
        refs = [r for r in rows if r["episode_id"] in a["refs"]]
        a["trust"] = min(r["trust"] for r in refs)
        a["sensitivity"] = max((r["sensitivity"] for r in refs), key=RANKS.index)
    return found
