"""One thin function a verb: options in, output out."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace

from flows import (
    verbs_backup,
    verbs_erase,
    verbs_evaluate,
    verbs_forgetting,
    verbs_keys,
    verbs_quarantine,
    verbs_recall,
    verbs_report,
    verbs_rights,
    verbs_session,
    verbs_share,
    verbs_tune,
)
from flows.job import Job
from flows.setup import (
    Output,
    config_of,
    configured_sources,
    defaults_of,
    job_of,
    lake_uri,
)
from lake.lake import VERSION, init_lake
from lake.sources import STDIN, Source, open_sources
from transforms.validate import Defaults

Pairs = Iterator[tuple[Source, Defaults]]
NO_SOURCES = "no sources configured: name one on the call, or add [[sources]] to slowwave.toml"


def run(options: argparse.Namespace) -> Output:
    """Run the verb of a parsed call."""
    return VERBS[options.verb](options)


def init(options: argparse.Namespace) -> Output:
    """Make a lake."""
    from flows.keys import encrypted

    config = config_of(options)
    make = encrypted(config, is_asked=options.encrypt)
    lake = make(init_lake(lake_uri(options, config), options.buckets))
    is_encrypted = lake.encryption is not None
    data = {"lake": lake.uri, "version": VERSION, "lake_id": lake.lake_id, "buckets": lake.buckets}
    told = f"{lake.buckets} tenant buckets{', encrypted' if is_encrypted else ''}"
    return Output({**data, "is_encrypted": is_encrypted}, f"lake ready at {lake.uri} ({told})")


def named_sources(options: argparse.Namespace, job: Job) -> Pairs:
    """Sources of the call's arguments, with the flags' scope."""
    defaults = defaults_of(options)
    for name in options.source:
        for source in _opened(name, options.format, job):
            yield source, defaults


def _opened(name: str, form: str, job: Job) -> Iterator[Source]:
    """The sources of a name; standard input is taken in whole first."""
    from flows.ingest_progress import received

    if name != STDIN:
        return open_sources(name, form, policy=job.policy.ingest, on_skip=told_skipped)
    with received(job.progress, sys.stdin.buffer) as stdin:
        return open_sources(name, form, policy=job.policy.ingest, on_skip=told_skipped, stdin=stdin)


def told_skipped(name: str, why: str) -> None:
    """Say that a file was passed over, and why."""
    from flows.present import plain

    print(f"slowwave: skipped {plain(name)}: {why}".replace("\n", " "), file=sys.stderr)


def ingest(options: argparse.Namespace) -> Output:
    """Land traces as episodes."""
    from flows.explain import explain
    from flows.ingest import run_ingest
    from flows.job import exclusive
    from flows.present_night import ingest_table

    if options.watch:
        from flows.watch import watch

        return watch(options)
    if options.explain:
        return explain(options)
    job = job_of(options)
    with exclusive(job):
        result, tally = run_ingest(job, named_sources(options, job))
    folded = {"recall_log": result.detail["recall_log"]} if "recall_log" in result.detail else {}
    data = {**tally.as_dict(), **folded, "seconds": round(result.seconds, 3)}
    return Output(data, ingest_table(tally.as_dict()))


def embed(options: argparse.Namespace) -> Output:
    """Give new texts their vectors."""
    from flows.embed import run_embed
    from flows.job import exclusive

    job = job_of(options)
    with exclusive(job):
        result = run_embed(job)
    text = f"embed {result.state}: {result.rows_out:,} vectors of {job.space}, {result.rejected:,} refused"
    return Output(result.as_dict(), text)


def consolidate(options: argparse.Namespace) -> Output:
    """Derive what new episodes change."""
    from flows.consolidate import run_consolidate
    from flows.job import exclusive
    from flows.present_sleep import consolidation_text

    config = config_of(options)
    job = replace(job_of(options, config), is_dry=options.dry_run)
    with exclusive(job):
        result = run_consolidate(job, complete=options.complete)
    return Output(result.as_dict(), consolidation_text(result, config.model))


def publish(options: argparse.Namespace) -> Output:
    """Build, check and switch to a new index, or go back to the one before."""
    from flows.job import exclusive
    from flows.present_night import withheld
    from flows.publish import run_publish, run_rollback

    job = job_of(options)
    with exclusive(job):
        if options.rollback:
            moved = run_rollback(job)
            data = {"generation": moved.generation, "rolled_back": moved.rolled_back}
            return Output(data, f"live: {moved.generation} (back from {moved.rolled_back})")
        result = run_publish(job, force=options.force)
    checks = [f"  {name}: {detail}" for name, detail in result.detail.get("checks", {}).items()]
    text = f"publish {result.state}: {result.rows_out:,} rows, live: {result.generation}"
    return Output(
        {**result.as_dict(), "generation": result.generation}, "\n".join([text, *checks, *withheld(result)])
    )


def nightly(options: argparse.Namespace) -> Output:
    """Ingest, embed, consolidate and publish."""
    from flows.nightly import UnfinishedError, run_nightly
    from flows.present_night import night_table, steps_table
    from flows.present_sleep import DRY, changes_lines
    from flows.scratch import scratch

    config = config_of(options)
    job = job_of(options, config)

    def configured() -> Pairs:
        only = {"only_tenant": options.only_tenant}
        for path, form, defaults in configured_sources(config.sources, only):
            for source in open_sources(path, form, policy=job.policy.ingest, on_skip=told_skipped):
                yield source, defaults

    sources = named_sources(options, job) if options.source else configured()
    if options.dry_run:
        with scratch(job) as trial:
            night = run_nightly(trial, sources, publish=False)
    else:
        try:
            night = run_nightly(job, sources, publish=not options.no_publish)
        except UnfinishedError as error:
            if not options.json:
                print(f"{steps_table(error.night)}\n\n{night_table(error.night)}", file=sys.stderr)
            raise
    if not (options.source or config.sources or night.steps[0].rows_in):
        print(f"slowwave: {NO_SOURCES}", file=sys.stderr)
    told = changes_lines(night.consolidated.detail, config.model)
    if options.dry_run and DRY not in told:
        told.append(DRY)
    return Output(night.as_dict(), "\n".join([steps_table(night), "", night_table(night), *told]))


def status(options: argparse.Namespace) -> Output:
    """What the lake holds."""
    from flows.status import status_of

    return status_of(job_of(options))


def doctor(options: argparse.Namespace) -> Output:
    """Check installation, lake and index."""
    from flows.doctor import examine

    return examine(options)


def formats(options: argparse.Namespace) -> Output:
    """List the input formats."""
    from flows.present import table
    from transforms.readers.registry import READERS

    del options
    told = sorted((reader.name, reader.about) for reader in READERS)
    data = {"formats": [{"name": name, "description": about} for name, about in told]}
    rows = [(name, *about.rstrip(".").partition("; a record is ")[::2]) for name, about in told]
    return Output(data, table("", ("format", "what it reads", "a record is"), rows, wraps=_TOLD))


_TOLD = ("what it reads", "a record is")
"""Columns of ``formats`` whose cells may be broken over lines."""


def migrate(options: argparse.Namespace) -> Output:
    """Bring a lake of an earlier version to this one."""
    from flows.migrate import migrate as run

    return run(options)


def demo(options: argparse.Namespace) -> Output:
    """Consolidate the samples and recall three questions."""
    from flows.demo import run_demo

    return run_demo(options)


VERBS: dict[str, Callable[[argparse.Namespace], Output]] = {
    "init": init,
    "ingest": ingest,
    "embed": embed,
    "consolidate": consolidate,
    "publish": publish,
    "nightly": nightly,
    "status": status,
    "doctor": doctor,
    "migrate": migrate,
    "formats": formats,
    "demo": demo,
    **verbs_recall.VERBS,
    **verbs_forgetting.VERBS,
    **verbs_rights.VERBS,
    **verbs_erase.VERBS,
    **verbs_report.VERBS,
    **verbs_keys.VERBS,
    **verbs_session.VERBS,
    **verbs_share.VERBS,
    **verbs_evaluate.VERBS,
    **verbs_tune.VERBS,
    **verbs_backup.VERBS,
    **verbs_quarantine.VERBS,
}
