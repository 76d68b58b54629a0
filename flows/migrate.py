"""Migrate: a lake of an earlier version brought to this one, in place."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from typing import Any

from flows.commit import COMMIT_LOCK, COMMIT_WAIT_SECONDS
from flows.job import LOCK
from flows.setup import Output, config_of, lake_uri
from lake import locks
from lake.lake import VERSION, opened_at_any_version
from lake.migrations.run import Planned, planned
from lake.migrations.run import migrate as migrated


def migrate(options: argparse.Namespace) -> Output:
    """Bring the lake to this version, or say what that would do.

    Raises:
        LakeError: There is none, a newer slowwave made it, or it cannot be migrated in place.
        BusyError: Another run holds the lake.
    """
    config = config_of(options)
    uri = lake_uri(options, config)
    lake, version = opened_at_any_version(uri)
    if options.dry_run:
        return _told(uri, version, planned(lake, version), None, is_dry=True)
    run = config.policy.run
    wait = run.busy_wait_seconds if run.on_busy == "wait" else 0.0
    with locks.hold(lake, LOCK, wait), locks.hold(lake, COMMIT_LOCK, COMMIT_WAIT_SECONDS):
        lake, version = opened_at_any_version(uri)  # it may have been migrated while this call waited
        done, folder = migrated(lake, version, datetime.now(UTC))
    return _told(uri, version, done, folder, is_dry=False)


def _told(uri: str, version: int, steps: list[Planned], folder: str | None, *, is_dry: bool) -> Output:
    data: dict[str, Any] = {
        "lake": uri,
        "dry_run": is_dry,
        "from_version": version,
        "to_version": VERSION,
        "steps": [
            {
                "from_version": one.step.from_version,
                "to_version": one.step.to_version,
                "does": one.step.does,
                "changes": list(one.changes),
            }
            for one in steps
        ],
        "backup": folder,
    }
    return Output(data, "\n".join(_lines(uri, version, steps, folder, is_dry=is_dry)))


def _lines(uri: str, version: int, steps: list[Planned], folder: str | None, *, is_dry: bool) -> list[str]:
    if not steps:
        return [f"the lake at {uri} has version {version}, and nothing is to be migrated"]
    lines = [f"the lake at {uri}: version {version} to {VERSION}"]
    for one in steps:
        lines.append(f"  {one.step.from_version} to {one.step.to_version}: {one.step.does}")
        lines += [f"    {change}" for change in one.changes]
    if is_dry:
        return [*lines, "nothing was changed; run it without --dry-run"]
    return [*lines, f"done; the metadata as it was lies in {folder}"]
