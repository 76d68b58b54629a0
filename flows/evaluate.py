"""Evaluate: recall measured on a labelled set or on scripted scenarios, in lakes that are made for it."""

from __future__ import annotations

import argparse
import hashlib
import time
from pathlib import Path
from typing import Any

from flows.evaluate_lake import workspace
from flows.setup import Output, config_of, progress
from lake.embedders.config import make_embedder
from transforms.embedding import vector_space
from transforms.errors import InputError, UsageError
from transforms.evaluation.labelled import LabelledSet, parse_numbers

MOST_CUT = 100


def run_evaluate(options: argparse.Namespace) -> Output:
    """Run the set that the options name; see ``docs/evaluation.md``.

    Raises:
        UsageError: Options that do not go together.
        InputError: The data, or the earlier result, cannot be read.
    """
    if options.lake or options.as_of:
        raise UsageError(
            "evaluate makes lakes of its own and asks at the instants of its data",
            "Leave out --lake and --as-of.",
        )
    if options.set_name == "scenarios":
        from flows.evaluate_scenarios import run_scenarios

        if options.data or options.conversations or options.preset or options.against:
            raise UsageError(
                "scenarios bring their own data and weights", "Leave out --data and what belongs to it."
            )
        return run_scenarios(options)
    return _labelled(options)


def _labelled(options: argparse.Namespace) -> Output:
    from flows.evaluate_against import compared, read_earlier
    from flows.evaluate_labelled import figures, run_labelled
    from flows.present_evaluate import labelled_text

    start = time.perf_counter()
    wishes = _wishes(options)
    config = config_of(options)
    raw = _read(options)
    data = _set_of(options, raw)
    earlier = read_earlier(Path(options.against)) if options.against else None
    embedder = make_embedder(config.embedder)
    with workspace() as folder:
        done = run_labelled(folder, data, config.policy, embedder, wishes, progress(options))
        record = {
            "set": options.set_name,
            "data": _data(data, raw, done.refused),
            "policy_hash": config.policy.hash(),
            "model_key": vector_space(embedder.model_key),
            "k": list(wishes.cuts),
            "seed": wishes.seed,
            "resamples": wishes.resamples,
            "main": done.main,
            **figures(data, done, wishes),
        }
    if earlier is not None:
        record["against"] = compared(record, earlier, resamples=wishes.resamples, seed=wishes.seed)
    record["run_seconds"] = round(time.perf_counter() - start, 1)
    if options.out:
        _write(options, record, done, data)
    return Output(record, labelled_text(record, options.out))


def _write(options: argparse.Namespace, record: dict[str, Any], done: Any, data: LabelledSet) -> None:
    from flows.evaluate_files import question_rows, write_result
    from flows.evaluate_page import labelled_html

    write_result(Path(options.out), labelled_html(record), record, question_rows(data, done))


def _wishes(options: argparse.Namespace) -> Any:
    from flows.evaluate_labelled import INDEXES, WEIGHTS, Wishes

    presets = tuple(dict.fromkeys(name.strip() for name in (options.preset or "").split(",") if name.strip()))
    unknown = [name for name in presets if name not in WEIGHTS]
    if unknown:
        raise UsageError(f"there is no preset {unknown[0]}", f"Known are {', '.join(WEIGHTS)}.")
    cuts = parse_numbers(options.k)
    if cuts[-1] > MOST_CUT:
        raise UsageError(f"--k goes up to {MOST_CUT}", "Such as 5,10,20.")
    indexes = INDEXES if options.index == "both" else (options.index,)
    return Wishes(
        cuts, presets, indexes, not options.no_price, options.context, options.resamples, options.seed
    )


def _read(options: argparse.Namespace) -> bytes:
    if not options.data:
        raise UsageError(f"--set {options.set_name} needs its data", "Name the file: --data FILE.")
    try:
        return Path(options.data).read_bytes()
    except OSError as error:
        raise InputError(
            f"{options.data}: {error.strerror}", "Check that it is there and may be read."
        ) from error


def _set_of(options: argparse.Namespace, raw: bytes) -> LabelledSet:
    if options.set_name == "locomo":
        from transforms.evaluation.locomo import read_locomo

        return read_locomo(raw, parse_numbers(options.conversations) if options.conversations else ())
    if options.conversations:
        raise UsageError("--conversations are those of LoCoMo", "Leave it out.")
    from transforms.evaluation.rows_set import read_rows

    return read_rows(raw)


def _data(data: LabelledSet, raw: bytes, refused: dict[str, int]) -> dict[str, Any]:
    return {
        "sha256": hashlib.sha256(raw).hexdigest(),
        "episodes": len(data.rows),
        "sessions": len(set(data.sessions().values())),
        "groups": len({q.group for q in data.questions}),
        "answerable": len(data.answerable),
        "unanswerable": len(data.unanswerable),
        "remarks": data.remarks,
        "refused": dict(sorted(refused.items())),
    }
