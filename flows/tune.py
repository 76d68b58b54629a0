"""Tune: logged recalls replayed under other policies, and a policy file where one of them serves better."""

from __future__ import annotations

import argparse
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from flows.present_tune import tune_text
from flows.report_files import require_folder, write_files
from flows.setup import Output, config_of, progress
from flows.tune_changes import Ranking, changed_answers
from flows.tune_page import tune_html
from flows.tune_policy import FILE, policy_text
from flows.tune_record import tune_record
from flows.tune_traces import Traces, traces_of
from flows.what_if_read import covered_in, index_of
from lake.faults import wrapped
from lake.lake import Lake
from lake.rights.standing import load_all
from lake.storage import LocalStorage
from transforms.errors import ConfigError, InputError, UsageError
from transforms.forgetting.due import Wishes
from transforms.policy import Policy
from transforms.replay.access import told_accesses
from transforms.replay.lives import with_cover
from transforms.tuning.bench import World
from transforms.tuning.result import Tuning
from transforms.tuning.run import Later, Wanted, tuned
from transforms.tuning.space import Space, space_of, usual_space

NAME = "tune"


def tune_output(options: argparse.Namespace) -> Output:
    """Search, write what was found, and say it.

    Raises:
        UsageError: Options that do not go together, or a folder that may not be written to.
        InputError: A file cannot be read.
        ConfigError: The grid names what cannot be tuned.
        CheckError: Too few labelled recalls.
        StorageError: The folder cannot be written.
    """
    config, out = config_of(options), Path(options.out)
    grid = _grid(options)
    traces = traces_of(options, config)
    _require(traces.lake, out)
    world = _world(traces, config.policy)
    wanted = _wanted(options, grid, traces, world, config.policy)
    total = None if wanted.search == "grid" else wanted.trials
    with progress(options).task("try policies", total, "trials") as advance:
        result, later = tuned(traces.calls, world, config.policy, wanted, advance)
    if result.is_recommended:
        result = replace(result, policy_file=policy_text(result, later.policies[1], options.config))
    answers = _answers(later, traces)
    record = tune_record(result, answers)
    write_files(out, NAME, tune_html(result, answers), record, _tables(result))
    _write_policy(out, result.policy_file)
    return Output(_said(result, record), tune_text(result, options.out))


def _grid(options: argparse.Namespace) -> dict[str, Any] | None:
    """The parsed grid file; None where none is named."""
    if options.grid is None:
        if options.search == "grid":
            raise UsageError("a grid search needs its values", "Name the file: --grid FILE.")
        return None
    try:
        return tomllib.loads(Path(options.grid).read_text("utf-8"))
    except OSError as error:
        raise InputError(f"{options.grid}: {error.strerror}", "Name a file that can be read.") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{options.grid} is not TOML: {error}", "Mend the line it names.") from error


def _require(lake: Lake | None, out: Path) -> None:
    if lake is not None:
        require_folder(lake, out)
    elif out.exists() and not out.is_dir():
        raise UsageError(f"{out.name} is no folder", "Name a folder to write to.")


def _world(traces: Traces, policy: Policy) -> World:
    """What is known besides the calls: memories, what people asked for, and the size of a row."""
    lake = traces.lake
    wishes = Wishes.of([] if lake is None else load_all(lake))
    row_bytes = None if lake is None else _row_bytes(lake)
    memories = traces.memories
    if lake is not None and memories.height:
        refs = covered_in(lake, sorted(memories["tenant_id"].unique()))
        memories = with_cover(memories, refs, policy.summaries.after_seconds)
    accesses = pl.concat([traces.accesses, told_accesses(traces.recalls, traces.accesses)])
    return World(accesses, memories, wishes, traces.as_of, row_bytes)


def _row_bytes(lake: Lake) -> float | None:
    """Bytes of the live generation a row, as it lies there; None where nothing is published."""
    rows, size = index_of(lake) or (0, 0)
    return size / rows if rows and size else None


def _wanted(
    options: argparse.Namespace, grid: dict[str, Any] | None, traces: Traces, world: World, policy: Policy
) -> Wanted:
    space: Space = usual_space(traces.calls.rows["kind"].unique()) if grid is None else space_of(grid, policy)
    search = options.search or ("guided" if grid is None else "grid")
    if options.trials is not None and search == "grid":
        raise UsageError("a grid tries all that is in it", "Leave out --trials, or take --search guided.")
    if options.max_index_bytes is not None and world.row_bytes is None:
        raise UsageError(
            "no live index says how many bytes a memory takes",
            "Name a lake that was published, or leave out --max-index-bytes.",
        )
    limits = {"tokens": options.max_tokens, "index_bytes": options.max_index_bytes}
    kept = {name: float(most) for name, most in limits.items() if most is not None}
    return Wanted(search, space, options.trials or policy.tune.trials, kept, traces.label, traces.notes)


def _answers(later: Later, traces: Traces) -> list[dict[str, Any]]:
    """Ten queries of the later span before and after."""
    bench = later.bench

    def rank(call: int) -> tuple[Ranking, Ranking]:
        before, after = (bench.ranked(policy, call) for policy in later.policies)
        return before, after

    every = np.ones(len(bench.calls), np.bool_)
    return changed_answers(bench.calls, later.current, later.best, rank, traces.texts, is_later=every)


def _tables(result: Tuning) -> dict[str, pl.DataFrame]:
    return {
        "trials": result.trials,
        "finalists": result.finalists,
        "sweep": result.sweep,
        "knobs": result.knobs,
        "heat": result.heat,
        "weeks": result.weeks,
        "slices": result.slices,
    }


def _write_policy(out: Path, text: str | None) -> None:
    """Put the policy file in place; where nothing is recommended, an earlier one goes."""
    with wrapped(f"writing {out.name}"):
        storage = LocalStorage(out)
        if text is None:
            storage.delete(FILE)
        else:
            storage.write(FILE, text.encode())


def _said(result: Tuning, record: dict[str, Any]) -> dict[str, Any]:
    """What ``--json`` prints: the record's figures without its tables."""
    gain = result.gain
    return {
        "recommended": result.is_recommended,
        "verdict": result.verdict,
        "metric": result.metric_name,
        "gain": gain.mean,
        "interval": None if gain.low is None else [gain.low, gain.high],
        "level": gain.level,
        "train_gain": gain.train,
        "clusters": gain.clusters,
        "clustered_by": gain.clustered_by,
        "tried": result.trials.height,
        "search": result.search,
        "labels": result.label,
        **{name: record[name] for name in ("best", "current", "spans", "constraints", "warnings", "notes")},
    }
