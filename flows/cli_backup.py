"""Grammar of the verbs of backups."""

from __future__ import annotations

import argparse
from collections.abc import Callable

Verb = Callable[..., argparse.ArgumentParser]


def add(verb: Verb, scope: argparse.ArgumentParser) -> None:
    """Add the verbs."""
    del scope
    backup = verb(
        "backup",
        "Copy the lake to another place: what is not there yet, each file with its hash. With --as-of, the"
        " tables as they were committed then. Never the keys of an encrypted lake.",
        "slowwave --lake ./memory backup --to s3://backups/memory",
    )
    backup.add_argument("--to", metavar="URI", required=True, help="folder or s3://bucket/prefix of its own")
    backup.add_argument(
        "--keep",
        type=int,
        default=1,
        metavar="N",
        help="copies that stay, the new one among them (default 1)",
    )
    only = backup.add_mutually_exclusive_group()
    only.add_argument(
        "--erasures-only", action="store_true", help="only tell the backup who was erased; quick, after erase"
    )
    only.add_argument("--check", action="store_true", help="only read the newest copy back, every byte")
    restore = verb(
        "restore",
        "Make a lake of a copy, in an empty place (--lake). Who was erased after the copy is erased again.",
        "slowwave --lake ./restored restore --from s3://backups/memory --erasures ./memory",
    )
    restore.add_argument("--from", dest="source", metavar="URI", required=True, help="the backup")
    restore.add_argument("--copy", metavar="NAME", help="one of its copies (default: the newest)")
    restore.add_argument(
        "--erasures",
        metavar="PLACE",
        action="append",
        default=[],
        help="what tells of later erasures: the newer lake, another backup, certificates; may be repeated",
    )
