"""What a work unit can be asked to do: names of functions, looked up only where one runs."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flows.job import Job

Task = Callable[["Job", dict[str, Any]], dict[str, Any]]
"""Takes the job and the payload, gives counts; both JSON."""

TASKS: dict[str, str] = {
    "embed": "flows.embed_units:embed_unit",
    "consolidate": "flows.consolidate_units:consolidate_unit",
    "decay": "flows.decay_units:decay_unit",
    "retain": "flows.retain_units:retain_unit",
    "publish": "flows.publish_units:publish_unit",
}
"""``module:function`` of each task; nothing else can be called."""


def task_named(name: str) -> Task:
    """The function of a task."""
    module, _, function = TASKS[name].partition(":")
    found: Task = getattr(import_module(module), function)
    return found
