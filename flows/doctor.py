"""Doctor: is the installation whole, the lake sound, the index what its manifest says?"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version

from flows.job import Job
from flows.keys import told_of
from flows.present import table
from flows.setup import Output, config_of, job_of
from lake import queries
from lake.data_files import faults
from lake.index import read_pointer
from lake.index_probe import probed
from lake.lake import VERSION, Lake, require_conditional_writes
from lake.migrations.columns import drifts
from lake.opened import open_table
from lake.rights import requests
from lake.rights.anchors import Anchor, anchor_of, examined
from lake.sharing import grants, teams
from lake.table_shape import remedy_of
from transforms.errors import CheckError, SlowwaveError
from transforms.schemas import STORED

PACKAGES = ("polars", "duckdb", "pyarrow", "deltalake", "lancedb", "pylance", "prefect", "openai", "tiktoken")

MOST_TOLD = 3


@dataclass(frozen=True)
class Finding:
    """One thing looked at."""

    name: str
    passed: bool
    detail: str


def examine(options: argparse.Namespace) -> Output:
    """Run every check; the exit code is that of a failed check where one failed."""
    kept = [anchor_of(options.anchor)] if options.anchor else []
    findings = [_packages(), _finding("tokens", _tokens)]
    try:
        job = job_of(options)
    except SlowwaveError as error:
        findings.append(Finding("lake", False, str(error)))
    else:
        findings += [
            _finding("embedder", lambda: _embedder(job)),
            _finding("reranker", lambda: _reranker(options)),
            _finding("language model", lambda: _language_model(options)),
            _finding("write", lambda: _write(job)),
            _finding("encryption", lambda: told_of(job.lake, datetime.now(UTC))),
            _finding("tables", lambda: _tables(job)),
            _finding("files", lambda: _files(job)),
            _finding("episodes", lambda: _no_rows(job, "check_episode_ids")),
            _finding("vectors", lambda: _no_rows(job, "check_vector_copies")),
            _finding("index", lambda: _index(job)),
            _finding("working memory", lambda: _working(job)),
            _finding("audit", lambda: _audit(job, kept)),
            _finding("requests", lambda: _requests(job)),
            _finding("sharing", lambda: shared_told(job.lake, datetime.now(UTC))),
        ]
    rows = [("ok" if f.passed else "FAILED", f.name, f.detail) for f in findings]
    failed = [f for f in findings if not f.passed]
    data = {"passed": not failed, "findings": [asdict(f) for f in findings]}
    return Output(
        data,
        table("", ("state", "check", "detail"), rows, wraps=("detail",)),
        CheckError.exit_code if failed else 0,
    )


def _finding(name: str, check: Callable[[], str]) -> Finding:
    try:
        return Finding(name, True, check())
    except SlowwaveError as error:
        return Finding(name, False, str(error))


def _packages() -> Finding:
    held, missing = [], []
    for name in PACKAGES:
        try:
            held.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            missing.append(name)
    detail = f"missing: {', '.join(missing)}" if missing else ", ".join(held)
    return Finding("packages", not missing, detail)


def _tokens() -> str:
    from lake.tokens import count_tokens

    return f"o200k_base counts offline ({count_tokens(['slow wave'], 'o200k_base')[0]} tokens in two words)"


def _embedder(job: Job) -> str:
    done = job.embedder.embed(["Does the model answer?"])
    if done.refused:
        raise CheckError(
            f"{job.space} refuses a plain sentence: {done.refused[0]}", "Check the embedder section."
        )
    return f"{job.space}, {job.embedder.dimensions} dimensions"


def _reranker(options: argparse.Namespace) -> str:
    """Whether the configured one scores two plain sentences."""
    from lake.rerankers.config import make_reranker

    config = config_of(options).reranker
    made = make_reranker(config)
    if made is None:
        return "none: memories are ordered by relevance"
    told = made.rerank("Does the model answer?", ["Yes, it answers.", "There is tea."])
    if told.failure is not None:
        raise CheckError(f"the reranker gives no scores: {told.failure}", "Check the reranker section.")
    where = f"{config.model} at {config.endpoint}" if config.provider == "openai" else config.folder
    return f"{config.provider}, {where}"


def _language_model(options: argparse.Namespace) -> str:
    """What is configured; a question would cost, and its answer be kept in the lake."""
    model = config_of(options).model
    if model is None:
        return "none: consolidation is by rule"
    prices = "" if model.input_price or model.output_price else ", no prices set"
    return f"{model.model} at {model.endpoint}, {model.mode}{prices}; not asked"


def _write(job: Job) -> str:
    require_conditional_writes(job.lake.storage)
    return "atomic and conditional writes work"


def _tables(job: Job) -> str:
    """Whether every table has the columns of this version."""
    found = drifts(job.lake)
    if found:
        raise CheckError("; ".join(f"table {drift}" for drift in found), remedy_of(found))
    return f"the lake has version {VERSION}, and every table its columns"


def _files(job: Job) -> str:
    """Whether every data file is there and of the size that was committed."""
    held, found = 0, list[str]()
    for made in STORED:
        state = open_table(job.lake, made)
        if state is not None:
            held += len(state.sizes)
            found += faults(job.lake, made, state.sizes)
    if found:
        more = f" and {len(found) - MOST_TOLD} more" if len(found) > MOST_TOLD else ""
        raise CheckError(f"{'; '.join(found[:MOST_TOLD])}{more}", "Restore them from a backup of the lake.")
    return f"{held:,} data files, each as large as it was written"


def _no_rows(job: Job, name: str) -> str:
    offending = queries.query(job.lake, name)
    if offending.height:
        ids = ", ".join(offending[:3].to_series(1).to_list())
        raise CheckError(
            f"{name}: {offending.height} offending rows, such as {ids}", "Report this: it is a fault."
        )
    return f"{name}: no offending rows"


def _index(job: Job) -> str:
    pointer = read_pointer(job.lake)
    if pointer is None:
        return "nothing published yet"
    generation, *twins = (probed(job.lake, name) for name in pointer.live())
    found = f"{pointer.generation}: {generation.manifest.rows:,} rows as its manifest says, and searchable"
    known = {side.space for side in job.sides}
    for twin in twins:
        space, name = twin.manifest.space, twin.manifest.generation
        ends = "" if space in known else ", no longer configured: the next night retires it"
        found += f"; {name}: the same for the model before, {space}{ends}"
    return found


def _working(job: Job) -> str:
    """Whether every session's file can be read; those of an encrypted lake only with its keys."""
    from lake.online import working_file, working_log

    names = [e.key for e in job.lake.storage.entries(working_file.PREFIX) if e.size_bytes]
    rows = 0
    for name in names:
        lines = working_file.read(job.lake, name)
        rows += len(working_log.parsed(job.lake, name, lines).rows) if lines else 0
    return f"{len(names):,} open sessions with {rows:,} rows, all readable"


def _audit(job: Job, kept: list[Anchor]) -> str:
    """Whether the audit chain holds; its head is shown so that it can be kept elsewhere."""
    found = examined(job.lake, kept)
    if found.broken is not None:
        raise CheckError(
            f"the audit chain is broken: {found.broken}; {found.length:,} events hold together",
            "Compare with a backup of audit/: somebody changed or lost events.",
        )
    if found.head is None:
        return "no events yet"
    return (
        f"{found.length:,} events hold together; keep the head elsewhere: {found.head.seq}:{found.head.hash}"
    )


def shared_told(lake: Lake, at: datetime) -> str:
    """What is shared between agents; nothing is while one of the records is damaged."""
    held, members = grants.load_all(lake), teams.load_all(lake)
    ended = len(grants.run_out(held, at))
    return f"{len(held) - ended:,} grants in force, {ended:,} run out, {len(members):,} members of teams"


def _requests(job: Job) -> str:
    """Whether every request of a person is in time."""
    late = requests.overdue(requests.standing_requests(job.lake), job.as_of)
    if late.height:
        ids = ", ".join(name[:8] for name in late["request_id"][:3])
        raise CheckError(f"{late.height} requests are overdue, such as {ids}", "See slowwave requests.")
    waiting = len(requests.open_requests(job.lake))
    return f"none is overdue, {waiting:,} open"
