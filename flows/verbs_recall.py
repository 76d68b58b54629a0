"""Verbs of recall: options in, output out."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from flows.setup import Output, as_of, config_of, lake_of
from transforms.errors import LakeError, UsageError

_LOG_REMEDY = "Check section recall_log of the configuration, and that the lake may be written."


def recall(options: argparse.Namespace) -> Output:
    """Find memories."""
    from flows.present import memories_table

    reader, scope = reader_of(options)
    kinds = None if options.kinds is None else options.kinds.split(",")
    how = {"k": options.k, "kinds": kinds, "weights": options.weights, **_past(options)}
    found = reader.search(options.query, **how, **scope)
    data: dict[str, Any] = {"results": [memory.as_dict() for memory in found], "call_id": found.call_id}
    if found.route is not None:
        data["route"] = found.route.as_dict()
    text = memories_table(found, is_explained=options.explain)
    if found.reranked is not None:
        data |= {"reranked": found.reranked}
        if found.reranked != "answered":
            text += f"\nnot reranked: {found.reranked}"
    reader.close()
    return Output(data, text)


def context(options: argparse.Namespace) -> Output:
    """Pack memories for a prompt."""
    from flows.present import context_text

    reader, scope = reader_of(options)
    room = {name: getattr(options, name) for name in ("budget", "preset", "model_context", "reserve")}
    packed = reader.context(options.query, **room, **_past(options), **scope)
    reader.close()
    return Output(packed.as_dict(), context_text(packed))


def hints(options: argparse.Namespace) -> Output:
    """Say what past attempts suggest for a task."""
    from flows.present import one_line

    reader, scope = reader_of(options)
    found = reader.experience(options.query, k=options.k, as_of=as_of(options), **scope)
    told = [f"{hint.kind.replace('_', ' ')}: {hint.text}  ({hint.why})" for hint in found]
    lines = [f"{hint.score:.2f}  {one_line(line)}" for hint, line in zip(found, told, strict=True)]
    text = "\n".join(lines) or "nothing in this scope was tried that is like it"
    return Output({"hints": [hint.as_dict() for hint in found]}, text)


def used(options: argparse.Namespace) -> Output:
    """Note which memories were of use.

    Raises:
        LakeError: It cannot be noted.
    """
    options.tenant_wide = False
    reader, scope = reader_of(options)
    del scope["tenant_wide"]
    reader.used(options.ids, call_id=options.call, **scope)
    reader.close()
    told = reader.log_stats()
    if told.failed or told.state == "off":
        raise LakeError(f"nothing was noted: {told.note or 'the log cannot be written'}", _LOG_REMEDY)
    count = len(set(options.ids))
    noted = f"noted {count} memor{'y' if count == 1 else 'ies'}; the next night marks their recalls"
    return Output({"ids": options.ids, "call_id": options.call, "refused": told.refused}, noted)


def facts(options: argparse.Namespace) -> Output:
    """What is held to be true."""
    from flows.present_sleep import facts_table

    reader, scope = reader_of(options)
    asked = {"recorded_by": options.recorded_by, **_past(options)}
    found = reader.facts(history=options.history, **asked, **scope)
    data = {"facts": [fact.as_dict() for fact in found]}
    return Output(data, facts_table(found, has_owner=scope["user"] is None) if found else _no_facts(options))


def _no_facts(options: argparse.Namespace) -> str:
    from lake.arguments import instant
    from lake.beliefs import scope_of, why_none

    scope = scope_of(options.tenant, options.user, options.agent, options.session, options.tenant_wide)
    lake = lake_of(options, config_of(options))
    return why_none(lake, scope, as_of(options), instant(options.recorded_by))


def _past(options: argparse.Namespace) -> dict[str, Any]:
    return {"as_of": as_of(options), "partial": options.partial}


def explain(options: argparse.Namespace) -> Output:
    """Why a row is there."""
    from flows.present_sleep import chain_text

    reader, scope = reader_of(options)
    chain = reader.explain(options.id, **scope).as_dict()
    return Output({"chain": chain}, chain_text(chain))


def reader_of(options: argparse.Namespace) -> tuple[Any, dict[str, Any]]:
    """The lake's reader and the call's scope.

    Raises:
        UsageError: No tenant.
    """
    from lake.embedders.config import make_embedder
    from lake.recall import Recall
    from lake.rerankers.config import make_reranker

    if not options.tenant:
        more = "--user or --agent" if options.verb == "facts" else "--user, --agent or --session"
        raise UsageError(f"{options.verb} needs a tenant", f"Pass --tenant, and {more}.")
    config = config_of(options)
    lake = lake_of(options, config)
    reader = Recall(
        lake,
        policy=config.policy,
        embedder=make_embedder(config.embedder),
        reranker=make_reranker(config.reranker),
    )
    names = ("tenant", "user", "agent", "session", "tenant_wide")
    scope = {name: getattr(options, name) for name in names}
    also = getattr(options, "also", None)
    return reader, scope | ({"also": also} if also else {})


VERBS: dict[str, Callable[[argparse.Namespace], Output]] = {
    "recall": recall,
    "context": context,
    "hints": hints,
    "used": used,
    "facts": facts,
    "explain": explain,
}
