"""Verbs of working memory: options in, output out."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from flows.setup import Output, job_of
from transforms.errors import InputError, UsageError

if TYPE_CHECKING:
    from lake.landing import Refused
    from lake.online.working import Session

_APPENDED = ("sub_task", "complete", "error", "note", "ask", "decide")


def session(options: argparse.Namespace) -> Output:
    """Show, add to, update or close an open session."""
    _check(options)
    return _ACTIONS[options.action](_session(options), options)


def _check(options: argparse.Namespace) -> None:
    """Refuse what an action has no use for: a message given to ``update`` must not vanish.

    Raises:
        UsageError: It has none, or lacks what it needs.
    """
    missing = [f"--{name}" for name in ("tenant", "agent", "session") if not getattr(options, name)]
    if missing:
        raise UsageError("which session?", f"Name it: {' '.join(missing)}.")
    is_added = options.text is not None or options.tool_call or options.tool_result or options.id
    if is_added and options.action != "add":
        raise UsageError(f"session {options.action} takes no message", "Use session add.")
    if options.action == "add" and options.text is None and not options.tool_call:
        raise UsageError("nothing to add", 'Say what: session add "Book it".')
    if options.tool_call and options.tool_result:
        raise UsageError("a message is no call and result at once", "Add them one after the other.")
    given = [options.goal, options.current_action, *(getattr(options, name) for name in _APPENDED)]
    if any(given) != (options.action == "update"):
        is_update = options.action == "update"
        told = "nothing to update" if is_update else f"session {options.action} takes no state of a task"
        raise UsageError(told, "Say what: session update --goal ..." if is_update else "Use session update.")
    if options.budget is not None and (options.action != "show" or options.budget < 1):
        raise UsageError("a budget is a number of tokens to show", "Use session show --budget 500.")


def _session(options: argparse.Namespace) -> Session:
    from lake.online.working import Session
    from lake.online.working_log import SessionName, utc
    from transforms.scopes import require_plain

    job = job_of(options)
    require_plain(options.tenant, options.agent)
    name = SessionName(options.tenant, options.agent, options.session, options.user)
    at = job.as_of if options.as_of else None
    return Session(job.lake, name, job.policy, clock=lambda: utc(at))


def _show(held: Session, options: argparse.Namespace) -> Output:
    from transforms.working.messages import messages
    from transforms.working.rendering import as_text

    window = held.window(opens=False)
    rows = [
        {
            "id": row.id,
            "at": row.at.isoformat(),
            "role": row.role,
            "content": row.content,
            "tool_name": row.tool_name,
            "tool_arguments": row.arguments,
            "tool_call_id": row.link,
        }
        for row in window.rows
    ]
    data = {
        "state": window.state.as_dict(),
        "summary": window.summary,
        "rows": rows,
        "messages": [*window.preface(), *messages(window.rows)],
    }
    text = as_text(window.parts())
    if options.budget is not None:
        text = held.fitted(window, options.budget)
        data["text"] = text
    return Output(data, text or "nothing is in this session, or it has expired")


def _add(held: Session, options: argparse.Namespace) -> Output:
    data: dict[str, Any]
    if options.tool_call:
        added, link = held.call_tool(options.tool_call, options.text, id=options.id)
        data = {"id": added.id, "tool_call_id": link}
    elif options.tool_result:
        added = held.add_tool_result(options.tool_result, options.text, id=options.id)
        data = {"id": added.id}
    else:
        added = held.add(options.role, options.text, id=options.id)
        data = {"id": added.id}
    _require(added.refused)
    held.settle()
    told = f" as call {data['tool_call_id']}" if "tool_call_id" in data else ""
    return Output(data, f"added {added.id}{told}")


def _update(held: Session, options: argparse.Namespace) -> Output:
    values = {"goal": options.goal, "current_action": options.current_action}
    if given := {name: value for name, value in values.items() if value is not None}:
        _require(held.update(**given))
    actions = (
        (held.plan, options.sub_task),
        (held.complete, options.complete),
        (held.error, options.error),
        (held.note, options.note),
        (held.ask, options.ask),
        (held.decide, options.decide),
    )
    for act, texts in actions:
        for text in texts:
            _require(act(text))
    state = held.state()
    return Output({"state": state.as_dict()}, "updated")


def _close(held: Session, options: argparse.Namespace) -> Output:
    del options
    held.close()
    return Output({"closed": True}, "closed: its rows stay in the lake until their time")


def _require(refused: Refused | None) -> None:
    if refused is not None:
        raise InputError(f"refused: {refused.reason}", refused.detail)


_ACTIONS: dict[str, Callable[[Session, argparse.Namespace], Output]] = {
    "show": _show,
    "add": _add,
    "update": _update,
    "close": _close,
}
VERBS: dict[str, Callable[[argparse.Namespace], Output]] = {"session": session}
