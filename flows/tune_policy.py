"""The policy file of a search: only the keys that change, under a comment on what they were measured on."""

from __future__ import annotations

from typing import Any

from flows.config import amended_policy
from transforms.errors import CheckError
from transforms.policy import Policy
from transforms.replay.changes import differences
from transforms.tuning.knobs import WEIGHTS, value_of
from transforms.tuning.result import Tuning
from transforms.tuning.toml_text import toml_text
from transforms.weights import Weights

FILE = "policy.toml"


def policy_text(result: Tuning, best: Policy, config: str | None) -> str:
    """The text of ``policy.toml``, read back and compared before it is given out.

    Args:
        result: The search.
        best: The policy to be had.
        config: File of the current policy; None: the usual one.

    Raises:
        CheckError: Set in that file, the keys do not come to the best policy.
    """
    text = toml_text(_values(result, best), _comments(result))
    wrong = differences(amended_policy(config, text), best)
    if wrong:
        raise CheckError(
            f"the policy file does not read back as the policy that was found: {', '.join(wrong)}",
            "Set these keys by hand from tune.json, and report it.",
        )
    return text


def _values(result: Tuning, best: Policy) -> dict[str, Any]:
    """What changes; all weights where one does, as a table of weights counts what it leaves out as 0."""
    values = dict(result.best.changes)
    if any(key.startswith(WEIGHTS) for key in values):
        values |= {f"{WEIGHTS}{name}": value_of(best, f"{WEIGHTS}{name}") for name in Weights.model_fields}
    return values


def _comments(result: Tuning) -> list[str]:
    gain, test, train = result.gain, result.test, result.train
    ends = "" if gain.low is None or gain.high is None else f" [{gain.low:+.4f}, {gain.high:+.4f}]"
    return [
        "Found by slowwave tune. Copy these keys into slowwave.toml, into the sections that are there.",
        "",
        f"{result.metric_name} {gain.mean:+.4f}{ends} over the policy as it was ({gain.level:.0%}),",
        f"on {test.calls:,} recalls from {test.from_at:%Y-%m-%d} to {test.to_at:%Y-%m-%d} that it was not "
        "chosen on.",
        f"Chosen among {result.trials.height:,} policies on {train.calls:,} recalls from "
        f"{train.from_at:%Y-%m-%d} to {train.to_at:%Y-%m-%d},",
        f"where it gained {gain.train:+.4f}. Memories of use by: {result.label}.",
    ]
