"""An earlier result beside a new one: differences question by question."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from transforms.errors import InputError
from transforms.evaluation.measures import paired

_REMEDY = "Give the JSON that slowwave evaluate printed with --json, or wrote with --out."


def read_earlier(path: Path) -> dict[str, Any]:
    """The result of an earlier run.

    Raises:
        InputError: It is missing, or no such result.
    """
    try:
        found = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}", _REMEDY) from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not JSON", _REMEDY) from error
    if not isinstance(found, dict) or not _is_result(found):
        raise InputError(f"{path} is no result of an evaluation on a labelled set", _REMEDY)
    return found


def _is_result(found: Mapping[str, Any]) -> bool:
    asked = found.get("questions")
    if not isinstance(asked, dict) or not isinstance(asked.get("values"), dict):
        return False
    names = asked.get("name")
    return isinstance(names, list) and all(
        isinstance(of, dict) and all(isinstance(v, list) and len(v) == len(names) for v in of.values())
        for of in asked["values"].values()
    )


def compared(new: Mapping[str, Any], old: Mapping[str, Any], *, resamples: int, seed: int) -> dict[str, Any]:
    """Differences, new less old, of every system that both have, over the questions that both asked.

    Args:
        new: Record of this run.
        old: Of an earlier one.
        resamples: Of the bootstrap.
        seed: Of the bootstrap.
    """
    mine, theirs = new["questions"], old["questions"]
    places = {name: at for at, name in enumerate(theirs["name"])}
    both = [(at, places[name]) for at, name in enumerate(mine["name"]) if name in places]
    here, there = [a for a, _ in both], [b for _, b in both]
    groups = np.unique(np.array([mine["group"][at] for at in here], np.str_), return_inverse=True)[1]
    systems = {}
    for name, (now_name, then_name) in _pairs(new, old).items():
        if both:
            now = {m: np.array(v, np.float64)[here] for m, v in mine["values"][now_name].items()}
            then = {m: np.array(v, np.float64)[there] for m, v in theirs["values"][then_name].items()}
            systems[name] = paired(now, then, groups.astype(np.int64), resamples=resamples, seed=seed)
    return {
        "questions": len(both),
        "only_now": len(mine["name"]) - len(both),
        "only_then": len(theirs["name"]) - len(both),
        "is_same_data": new["data"]["sha256"] == old.get("data", {}).get("sha256"),
        "is_same_policy": new["policy_hash"] == old.get("policy_hash"),
        "is_same_model": new["model_key"] == old.get("model_key"),
        "differences": systems,
    }


def _pairs(new: Mapping[str, Any], old: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """Systems of one name in both runs, and their main systems whatever they are called."""
    mine, theirs = new["questions"]["values"], old["questions"]["values"]
    pairs = {name: (name, name) for name in mine if name in theirs}
    main, former = new["main"], old.get("main")
    if main != former and former in theirs:
        pairs[f"{main}, then {former}"] = main, former
    return pairs
