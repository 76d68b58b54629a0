"""Evaluation on scripted scenarios: nights, changes, erasures and questions in a lake made for them."""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flows.erase import run_erase
from flows.evaluate_lake import Built, land, landed, unlogged, workspace
from flows.nightly import run_nightly
from flows.setup import Output, config_of, progress
from lake.embedders.config import make_embedder
from lake.recall import Recall
from transforms.embedding import vector_space
from transforms.errors import CheckError
from transforms.evaluation.scenarios import Ask, Stage, Suite, read_suite
from transforms.evaluation.verdicts import Judge, Shown, Told
from transforms.policy import Policy
from transforms.subjects import Subject

if TYPE_CHECKING:
    from flows.job import Progress
    from lake.embedders.protocol import Embedder

SUITE = Path(__file__).parent / "scenarios" / "suite.toml"
BASIS = "gdpr-art-17"


def run_scenarios(options: argparse.Namespace) -> Output:
    """Run the suite; the exit code is that of a failed check where something leaked or came back."""
    from flows.present_scenarios import scenarios_text

    start = time.perf_counter()
    config = config_of(options)
    embedder = make_embedder(config.embedder)
    suite = read_suite(SUITE.read_text("utf-8"))
    with workspace() as folder:
        judge = run_suite(folder, suite, config.policy, embedder, progress(options))
    asked = sum(len(stage.fresh) + len(stage.ask) for stage in suite.stages)
    record: dict[str, Any] = {
        "set": "scenarios",
        "questions_asked": asked,
        "stages": [stage.name for stage in suite.stages],
        "k": suite.k,
        "policy_hash": config.policy.hash(),
        "model_key": vector_space(embedder.model_key),
        "is_kept": not judge.faults,
        "metrics": {name: measure.as_dict() for name, measure in judge.measures.items()},
        "faults": judge.faults,
        "missed": judge.missed,
        "run_seconds": round(time.perf_counter() - start, 1),
    }
    if options.out:
        from flows.evaluate_files import write_result
        from flows.evaluate_page import scenarios_html

        write_result(Path(options.out), scenarios_html(record), record, None)
    return Output(record, scenarios_text(record, options.out), CheckError.exit_code if judge.faults else 0)


def run_suite(folder: Path, suite: Suite, policy: Policy, embedder: Embedder, progress: Progress) -> Judge:
    """Play the stages one after the other, and judge every answer.

    Args:
        folder: For the lake.
        suite: What is played.
        policy: With the retention it has.
        embedder: The model.
        progress: Where to show how far it is.
    """
    judge, chosen = Judge(suite), unlogged(policy)
    erased: list[str] = []
    built = landed(folder / "lake", chosen, embedder, [], suite.stages[0].night)
    for stage in suite.stages:
        with progress.task("ask a stage", len(stage.fresh) + len(stage.ask), "rows and questions") as advance:
            built.job = replace(built.job, as_of=stage.night)
            land(built, list(stage.rows))
            reader = Recall(built.job.lake, policy=chosen, embedder=embedder)
            for is_fresh, questions in ((True, stage.fresh), (False, stage.ask)):
                if not is_fresh:
                    _night(built, judge)
                for ask in questions:
                    told = _told(reader, built, ask, stage, suite.k)
                    gone = frozenset() if ask.as_of else stage.gone
                    judge.judge(ask, told, erased=erased, gone=gone, is_fresh=is_fresh, stage=stage.name)
                    advance(1)
            erased += _erase(built, stage, judge)
    return judge


def _night(built: Built, judge: Judge) -> None:
    """A night; one whose check fails has done the rest of its work, and fails the suite."""
    try:
        run_nightly(built.job, [])
    except CheckError as error:
        judge.faults.append(f"a night failed its check: {error.message}")


def _told(reader: Recall, built: Built, ask: Ask, stage: Stage, k: int) -> Told:
    """What search, facts and context say."""
    scope: dict[str, Any] = {"tenant": ask.person.tenant, "user": ask.person.user}
    as_of: datetime = ask.as_of or stage.night
    found = reader.search(ask.query, k=k, as_of=as_of, **scope)
    rows = tuple(
        Shown(
            memory.text,
            tuple(built.names.get(name, name) for name in memory.source_refs),
            memory.source_refs != [memory.id],
            memory.user_id,
        )
        for memory in found
    )
    facts = tuple(fact.fact for fact in reader.facts(as_of=as_of, **scope))
    return Told(rows, facts, reader.context(ask.query, as_of=as_of, **scope).text)


def _erase(built: Built, stage: Stage, judge: Judge) -> list[str]:
    """Erase what the stage says, and return the words that are to be gone."""
    by_name = {name: row_id for row_id, name in built.names.items()}
    words: list[str] = []
    for erasure in stage.erasures:
        person = erasure.person
        subject = Subject(person.tenant, person.user)
        if erasure.row:
            subject = Subject(person.tenant, memory=by_name[erasure.row])
        fault = None
        try:
            run_erase(built.job, subject, basis=BASIS, requested_by="subject", canaries=erasure.words)
        except CheckError as error:  # its rows are gone all the same, and the suite goes on
            fault = error.message
        judge.erased(person, fault)
        words += erasure.words
    return words
