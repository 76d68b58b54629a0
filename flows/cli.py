"""The command line's grammar. Imports nothing heavy: help must be quick."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from flows import (
    cli_erase,
    cli_evaluate,
    cli_forgetting,
    cli_keys,
    cli_report,
    cli_rights,
    cli_session,
    cli_share,
)
from transforms.errors import UsageError

MODULES = (
    cli_forgetting,
    cli_rights,
    cli_erase,
    cli_report,
    cli_keys,
    cli_session,
    cli_share,
    cli_evaluate,
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
    defaults = {"lake": None, "config": None, "json": False, "as_of": None}
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
        "--as-of", metavar="ISO", help="reason at this instant instead of now, such as 2026-06-30T23:00:00Z"
    )
    return shared


def _scope() -> _Parser:
    scope = _Parser(add_help=False)
    group = scope.add_argument_group("scope")
    for name, text in (
        ("tenant", "customer"),
        ("user", "person"),
        ("agent", "agent"),
        ("session", "conversation"),
    ):
        group.add_argument(f"--{name}", metavar="ID", help=f"{text} id")
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

    for add in (_add_lake_verbs, _add_run_verbs, _add_sleep_verbs, _add_recall_verbs):
        add(verb, scope)
    for module in MODULES:
        module.add(verb, scope)
    return parser


Verb = Callable[..., argparse.ArgumentParser]


def _add_lake_verbs(verb: Verb, scope: _Parser) -> None:
    del scope
    init = verb("init", "Make a lake.", "slowwave --lake ./memory init")
    init.add_argument(
        "--buckets", type=_positive, default=None, help="tenant partitions, fixed for life (default 16)"
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
    verb("formats", "List the input formats.", "slowwave formats")
    demo = verb("demo", "Consolidate the samples and recall three questions.", "slowwave demo")
    demo.add_argument("--dir", default=".demo", help="where its lake goes (default .demo)")
    demo.add_argument("--samples", default=None, help="folder of samples (default: the project's own)")


def _add_run_verbs(verb: Verb, scope: _Parser) -> None:
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
    verb("embed", "Give new texts their vectors.", "slowwave --lake ./memory embed")
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


def _add_source_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--format", default="auto", help="input format (default auto; see slowwave formats)")
    parser.add_argument(
        "--timezone", metavar="ZONE", help="zone of times that name none, such as Europe/Berlin"
    )


def _add_recall_verbs(verb: Verb, scope: _Parser) -> None:
    recall = verb(
        "recall", "Find memories.", 'slowwave --lake ./memory recall "seat" --tenant acme --user u1', scope
    )
    recall.add_argument("query", help="what to look for")
    recall.add_argument("-k", type=_positive, default=None, help="how many (default 10)")
    recall.add_argument("--kinds", metavar="KIND,...", help="only these kinds")
    recall.add_argument("--explain", action="store_true", help="show ids and sources too")
    context = verb(
        "context",
        "Pack memories for a prompt.",
        'slowwave --lake ./memory context "seat" --tenant acme --user u1',
        scope,
    )
    context.add_argument("query", help="what the prompt is about")
    context.add_argument(
        "--budget", type=_positive, default=None, metavar="TOKENS", help="most tokens (default 2000)"
    )
    for parser in (recall, context):
        _add_tenant_wide(parser)


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
    facts = verb(
        "facts",
        "What is held to be true; with --as-of, what was at that instant.",
        "slowwave --lake ./memory facts --tenant acme --user u1",
        scope,
    )
    facts.add_argument("--history", action="store_true", help="facts that no longer hold, too")
    facts.add_argument(
        "--recorded-by", metavar="ISO", help="only by what the lake held at this instant, whatever came since"
    )
    explain = verb(
        "explain",
        "Why a row is there: its words, its claims and every decision.",
        "slowwave --lake ./memory explain ID --tenant acme",
        scope,
    )
    explain.add_argument("id", help="of a memory, fact, claim, topic, conversation or attempt")
    for parser in (facts, explain):
        _add_tenant_wide(parser)


def _add_tenant_wide(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--tenant-wide", action="store_true", help="search the whole tenant, not one user, agent or session"
    )


def _positive(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text[:19]) < 1 << 31):
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return int(text)


def known_flags() -> dict[str, Any]:
    """Verbs and their option strings, for the docs and tests."""
    actions = next(a for a in _parser()._actions if isinstance(a, argparse._SubParsersAction))
    return {n: sorted(s for a in p._actions for s in a.option_strings) for n, p in actions.choices.items()}
