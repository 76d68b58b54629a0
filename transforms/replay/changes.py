"""Policies that differ in some keys: the dotted names of ``slowwave.toml`` and their values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from transforms.errors import ConfigError
from transforms.policy import Policy

Changes = Mapping[str, Any]
"""Value by dotted key, such as ``decay.half_life_days.conversation``."""


def changed(policy: Policy, changes: Changes) -> Policy:
    """The policy with some values changed, checked like a file.

    Args:
        policy: To begin with.
        changes: ``None`` is "never". A factor's weight alone (``recall.weights.recency``) changes its own
            share; the other weights keep their proportions, so that they sum to 1.

    Raises:
        ConfigError: A key does not exist, or a value is none that it may have.
    """
    tree = policy.model_dump()
    weights = {key.rpartition(".")[2]: v for key, v in changes.items() if key.startswith("recall.weights.")}
    for key, value in changes.items():
        if not key.startswith("recall.weights."):
            _set(tree, key, value)
    if weights:
        tree["recall"]["weights"] = _weights(policy.recall.weights_for(None).model_dump(), weights)
    try:
        return Policy.model_validate(tree)
    except ValidationError as error:
        fault = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(str(part) for part in fault["loc"])
        raise ConfigError(f"{where}: {fault['msg']}", "See docs/configuration.md for every key.") from error


def told_apart(policy: Policy) -> str:
    """JSON that two policies share only where none of their values differs; weights as five numbers."""
    return json.dumps(_resolved(policy), sort_keys=True, default=str)


def differences(policy: Policy, other: Policy) -> dict[str, tuple[Any, Any]]:
    """Keys in which two policies differ, with the value of each; weights as five numbers."""
    one, two = _flat(_resolved(policy)), _flat(_resolved(other))
    names = sorted({*one, *two})
    return {name: (one.get(name), two.get(name)) for name in names if one.get(name) != two.get(name)}


def _set(tree: dict[str, Any], key: str, value: Any) -> None:
    *parents, last = key.split(".")
    place: Any = tree
    for depth, name in enumerate(parents):
        if not isinstance(place, dict) or name not in place:
            raise ConfigError(
                f"no policy key {'.'.join(parents[: depth + 1])}", "See docs/configuration.md for every key."
            )
        place = place[name]
    if not isinstance(place, dict):
        raise ConfigError(f"no policy key {key}", "See docs/configuration.md for every key.")
    place[last] = value


def _weights(held: Mapping[str, float], given: Mapping[str, float]) -> dict[str, float]:
    unknown = sorted(set(given) - set(held))
    if unknown:
        raise ConfigError(f"no factor is called {', '.join(unknown)}", f"Known are {', '.join(held)}.")
    rest = {name: value for name, value in held.items() if name not in given}
    left, total = 1.0 - sum(given.values()), sum(rest.values())
    if left < -1e-9 or (not rest and abs(left) > 1e-6):
        raise ConfigError("the weights of recall do not sum to 1", "Give weights that leave room for others.")
    scale = max(left, 0.0) / total if total else 0.0
    even = max(left, 0.0) / len(rest) if rest and not total else 0.0
    return {n: float(given[n]) if n in given else held[n] * scale + even for n in held}


def _resolved(policy: Policy) -> dict[str, Any]:
    tree = policy.model_dump()
    tree["recall"]["weights"] = policy.recall.weights_for(None).model_dump()
    return tree


def _flat(tree: Any, prefix: str = "") -> dict[str, Any]:
    if isinstance(tree, BaseModel):
        tree = tree.model_dump()
    if not isinstance(tree, dict):
        return {prefix: tree}
    found: dict[str, Any] = {}
    for name, value in tree.items():
        found |= _flat(value, f"{prefix}.{name}" if prefix else str(name))
    return found
