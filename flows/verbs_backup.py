"""Verbs of backups: options in, output out."""

from __future__ import annotations

import argparse
from typing import Any

from flows.setup import Output, as_of, config_of, job_of, lake_of, lake_uri, progress
from lake.copies.record import Copy


def backup(options: argparse.Namespace) -> Output:
    """Copy the lake, tell a backup of erasures, or read a copy back."""
    from flows import backup as jobs

    config = config_of(options)
    if options.check:
        copy = jobs.checked(options.to, None, progress(options, config.policy))
        return Output(_told(copy), f"copy {copy.copy_id} is whole: {_size(copy)}")
    if options.erasures_only:
        count = jobs.run_tell_erasures(lake_of(options, config), options.to)
        return Output(
            {"tombstones": count}, f"the backup knows of {count:,} tombstone{'' if count == 1 else 's'}"
        )
    made = jobs.run_backup(job_of(options, config), options.to, as_of=as_of(options), keep=options.keep)
    data = {
        **_told(made.copy),
        "files_copied": made.files_copied,
        "bytes_copied": made.bytes_copied,
        "copies_removed": made.copies_removed,
        "files_removed": made.files_removed,
    }
    text = (
        f"copy {made.copy.copy_id}: {_size(made.copy)}; new files: {made.files_copied:,}"
        f" ({made.bytes_copied:,} bytes); older copies removed: {made.copies_removed:,}"
    )
    return Output(data, text + _keys(made.copy))


def restore(options: argparse.Namespace) -> Output:
    """Make a lake of a copy."""
    from flows import backup as jobs

    config = config_of(options)
    target = lake_uri(options, config)
    copy, again = jobs.run_restore(
        options.source,
        options.copy,
        target,
        options.erasures,
        progress(options, config.policy),
        lambda: job_of(options, config),
    )
    data = {**_told(copy), "lake": target, "erased_again": again}
    text = (
        f"lake restored at {target} from copy {copy.copy_id}: {_size(copy)};"
        f" {again:,} subject{'' if again == 1 else 's'} erased again"
    )
    if copy.generation is None:
        text += "; it has no index: run slowwave publish"
    return Output(data, text + _keys(copy))


def _told(copy: Copy) -> dict[str, Any]:
    return {
        "copy": copy.copy_id,
        "made_at": copy.made_at,
        "as_of": copy.as_of,
        "files": len(copy.items),
        "bytes": copy.size_bytes,
        "generation": copy.generation,
        "is_encrypted": copy.is_encrypted,
    }


def _size(copy: Copy) -> str:
    return f"{len(copy.items):,} files, {copy.size_bytes:,} bytes"


def _keys(copy: Copy) -> str:
    return "; its text needs the keyring, which is in no backup" if copy.is_encrypted else ""


VERBS = {"backup": backup, "restore": restore}
