"""The command line's grammar. Imports nothing heavy: help must be quick."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from flows import (
    cli_backup,
    cli_erase,
    cli_evaluate,
    cli_forgetting,
    cli_keys,
    cli_quarantine,
    cli_recall,
    cli_report,
    cli_rights,
    cli_session,
    cli_share,
    cli_tune,
)
from flows.cli_engine import add_engine_flags
from flows.cli_recall import positive
from transforms.errors import UsageError

MODULES = (
    cli_recall,
    cli_forgetting,
    cli_rights,
    cli_erase,
    cli_report,
    cli_keys,
    cli_session,
    cli_share,
    cli_evaluate,
    cli_tune,
    cli_backup,
    cli_quarantine,
)


class _Version(argparse.Action):
    """Print the version and stop; looked up only when asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> NoReturn:
        print(f"slowwave {version()}")
        parser.exit()


def version() -> str:
    """The version of the checkout this runs from, else of the installed package."""
    project = Path(__file__).parent.parent / "pyproject.toml"
    if project.is_file():
        import tomllib

        table = tomllib.loads(project.read_text("utf-8")).get("project", {})
        if table.get("name") == "slowwave":
            return str(table["version"])
    from importlib import metadata

    return metadata.version("slowwave")


class _Parser(argparse.ArgumentParser):
    """argparse whose mistakes are slowwave errors, so that ``--json`` covers them too."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        # A shortened flag that works today means another one tomorrow.
        super().__init__(*arguments, **{**keywords, "allow_abbrev": False})

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, f"See {self.prog} --help.")


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Arguments of one call.

    Raises:
        UsageError: The call's words are off.
    """
    defaults = {"lake": None, "config": None, "json": False, "as_of": None, "progress": None}
    options = _parser().parse_args(argv)
    for name, value in defaults.items():
        if not hasattr(options, name):
            setattr(options, name, value)
    return options


def _shared() -> _Parser:
    """Flags that stand before or after the verb."""
    shared = _Parser(add_help=False, argument_default=argparse.SUPPRESS)
    group = shared.add_argument_group("everywhere")
    group.add_argument("--lake", metavar="URI", help="path or s3://bucket/prefix (also SLOWWAVE_LAKE)")
    group.add_argument(
        "--config", metavar="FILE", help="configuration; default ./slowwave.toml where it exists"
    )
    group.add_argument("--json", action="store_true", help="print one JSON document")
    group.add_argument(
        "--progress",
        choices=("auto", "bars", "lines", "none"),
        help="how far a long job is, on stderr (also SLOWWAVE_PROGRESS; default auto: bars on a terminal,"
        " else lines, with --json nothing)",
    )
    group.add_argument(
        "--as-of", metavar="ISO", help="reason at this instant instead of now, such as 2026-06-30T23:00:00Z"
    )
    return shared


def _scope(of: str = "id") -> _Parser:
    scope = _Parser(add_help=False)
    group = scope.add_argument_group("scope")
    for name, text in (
        ("tenant", "customer"),
        ("user", "person"),
        ("agent", "agent"),
        ("session", "conversation"),
    ):
        group.add_argument(f"--{name}", metavar="ID", help=f"{text} {of}")
    return scope


def _parser() -> argparse.ArgumentParser:
    shared, scope = _shared(), _scope()
    parser = _Parser(
        prog="slowwave",
        parents=[shared],
        description="Batch memory consolidation for AI agents over files you own.",
        epilog="example: slowwave --lake ./memory nightly traces/",
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and stop")
    verbs = parser.add_subparsers(dest="verb", metavar="COMMAND", required=True)

    def verb(name: str, text: str, example: str, *parents: _Parser) -> argparse.ArgumentParser:
        return verbs.add_parser(
            name, help=text, description=text, epilog=f"example: {example}", parents=[shared, *parents]
        )

    for add in (_add_lake_verbs, _add_run_verbs, _add_sleep_verbs):
        add(verb, scope)
    for module in MODULES:
        module.add(verb, scope)
    return parser


Verb = Callable[..., argparse.ArgumentParser]


def _add_lake_verbs(verb: Verb, scope: _Parser) -> None:
    del scope
    init = verb("init", "Make a lake.", "slowwave --lake ./memory init")
    init.add_argument(
        "--buckets", type=positive, default=None, help="tenant partitions, fixed for life (default 16)"
    )
    init.add_argument(
        "--encrypt", action="store_true", help="encrypt its text, for life, as [encryption] says"
    )
    verb("status", "What the lake holds, what is published, what is due.", "slowwave --lake ./memory status")
    doctor = verb(
        "doctor",
        "Check the installation, the lake, the index, the audit chain and open requests.",
        "slowwave --lake ./memory doctor",
    )
    doctor.add_argument(
        "--anchor",
        metavar="SEQ:HASH",
        help="a head of the audit chain, kept elsewhere, that must still stand",
    )
    migrate = verb(
        "migrate",
        "Bring a lake of an earlier version to this one, in place; its metadata is copied first.",
        "slowwave --lake ./memory migrate --dry-run",
    )
    migrate.add_argument("--dry-run", action="store_true", help="say what would be done; change nothing")
    verb("formats", "List the input formats.", "slowwave formats")
    demo = verb("demo", "Consolidate the samples and recall three questions.", "slowwave demo")
    demo.add_argument("--dir", default=".demo", help="where its lake goes (default .demo)")
    demo.add_argument("--samples", default=None, help="folder of samples (default: the project's own)")


def _add_run_verbs(verb: Verb, _: _Parser) -> None:
    scope = _scope("of rows that name none; others keep what they name")
    ingest = verb(
        "ingest",
        "Land traces as episodes.",
        "slowwave --lake ./memory ingest chat.jsonl --tenant acme",
        scope,
    )
    ingest.add_argument(
        "source", nargs="*", help="file, folder, glob, s3:// prefix or - ; none: landed rows only"
    )
    _add_source_flags(ingest)
    ingest.add_argument(
        "--explain", action="store_true", help="show the format, three rows and three refusals; write nothing"
    )
    ingest.add_argument(
        "--watch", action="store_true", help="stay, and take files of the folder as they arrive whole"
    )
    embed = verb("embed", "Give new texts their vectors.", "slowwave --lake ./memory embed --workers 2")
    publish = verb("publish", "Build, check and switch to a new index.", "slowwave --lake ./memory publish")
    publish.add_argument(
        "--rollback", action="store_true", help="go back to the generation before the live one"
    )
    publish.add_argument("--force", action="store_true", help="build even where nothing changed")
    nightly = verb(
        "nightly",
        "Complete open erasures, ingest, embed, consolidate, take out what is due (retain deletes), publish.",
        "slowwave --lake ./memory nightly traces/ --tenant acme",
        scope,
    )
    nightly.add_argument(
        "source", nargs="*", help="as for ingest; none: the [[sources]] of the configuration"
    )
    _add_source_flags(nightly)
    nightly.add_argument("--no-publish", action="store_true", help="stop before publishing")
    nightly.add_argument(
        "--dry-run", action="store_true", help="run the night on a copy of the lake, show what it does"
    )
    for parser in (ingest, embed, publish, nightly):
        add_engine_flags(parser)


def _add_source_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--format", default="auto", help="input format (default auto; see slowwave formats)")
    parser.add_argument(
        "--timezone", metavar="ZONE", help="zone of times that name none, such as Europe/Berlin"
    )
    parser.add_argument(
        "--event-at",
        metavar="TIME",
        help="when rows happened that bear no time, ISO 8601; without it they are quarantined",
    )
    parser.add_argument(
        "--only-tenant",
        action="store_true",
        help="refuse rows that name another tenant than --tenant, or than their source has",
    )


def _add_sleep_verbs(verb: Verb, scope: _Parser) -> None:
    consolidate = verb(
        "consolidate",
        "Derive topics, summaries, facts, conversations and skills from new episodes.",
        "slowwave --lake ./memory consolidate --dry-run",
    )
    consolidate.add_argument(
        "--dry-run", action="store_true", help="show what would change, and a model's cost; write nothing"
    )
    consolidate.add_argument(
        "--complete", action="store_true", help="derive everything anew, not only what is new"
    )
    add_engine_flags(consolidate)


def known_flags() -> dict[str, Any]:
    """Verbs and their option strings, for the docs and tests."""
    actions = next(a for a in _parser()._actions if isinstance(a, argparse._SubParsersAction))
    return {n: sorted(s for a in p._actions for s in a.option_strings) for n, p in actions.choices.items()}
