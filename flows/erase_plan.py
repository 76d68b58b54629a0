"""A dry run of an erasure: what would go from where, who would be derived anew, what a hold would keep."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from flows.erase_held import held_rows
from flows.erase_index import index_rows
from flows.erase_recall_log import logged_rows
from flows.erase_rules import all_rules
from flows.erase_sharing import counts as sharing_counts
from flows.erase_targets import find
from flows.erase_work import Work
from flows.erase_working import count_working
from flows.job import Job
from lake import landed_lines, landing
from lake.erasure.removal import count
from lake.rights.requests import Request
from lake.rights.standing import load_all
from transforms.erasure import Aim
from transforms.standing import held
from transforms.subjects import Subject


def plan_erase(job: Job, subject: Subject, aliases: Sequence[str] = ()) -> dict[str, Any]:
    """What an erasure would take; nothing is written and nothing locked, so counts are of this moment.

    Returns:
        ``stores`` (rows by store, but for vectors), ``owners`` (``gone``, ``derived_anew``), ``held``
        (rows a legal hold keeps), ``rests_on`` (episodes that go with a derived memory) and ``is_known``.
    """
    now = datetime.now(UTC)
    request = Request("", "erase", subject, "", "operator", now, now)
    aim = Aim(subject, tuple(sorted(set(aliases))), tuple(held(load_all(job.lake))))
    work = Work(job, request, aim, {"stores": {}})
    find(work)
    stores = {rule.table.name: count(job.lake, rule).rows for rule in all_rules(work)}
    stores["landing"] = _landed(work)
    stores["recall_log"] = logged_rows(work)
    stores["working"] = count_working(work)
    stores["index"] = index_rows(work)
    stores["grants"], stores["teams"] = sharing_counts(work)
    kept = sum(held_rows(work).values())
    owners = {"gone": work.values("owner_gone").len(), "derived_anew": work.values("owner_stays").len()}
    return {
        "subject_kind": subject.kind,
        "stores": {name: rows for name, rows in stores.items() if rows},
        "rows": sum(stores.values()),
        "owners": owners,
        "published_rows": work.values("published").len(),
        "held": kept,
        "rests_on": work.values("wanted").len() if work.values("derived_named").len() else 0,
        "is_known": bool(sum(stores.values()) or kept),
    }


def _landed(work: Work) -> int:
    """Landed lines of the subject, as far as they can be seen without sealing a segment."""
    from flows.erase_landing import lines_that_go

    found = 0
    for bucket in sorted({*work.buckets, work.lake.bucket("")}):
        for entry in work.lake.storage.entries(f"{landing.PREFIX}/{bucket:03d}"):
            raw = work.lake.storage.read(entry.key) or b""
            found += sum(lines_that_go(work, landed_lines.lines_of(raw, is_sealed=False)))
    return found


def _owner_lines(owners: dict[str, int]) -> list[str]:
    """What becomes of derived rows, by whose they are; none where none are touched."""
    gone, anew = owners["gone"], owners["derived_anew"]
    told = [
        *([f"all derived rows of {_owners(gone)} would go"] if gone else []),
        *([f"those of {_owners(anew)} would be derived anew from what remains"] if anew else []),
    ]
    return [f"{', '.join(told)} (owner: the user or agent that rows belong to)"] if told else []


def _owners(number: int) -> str:
    return f"{number:,} {'owner' if number == 1 else 'owners'}"


def plan_text(plan: dict[str, Any]) -> str:
    """The plan for a person."""
    if not plan["is_known"]:
        return "nothing of this subject is held; with --yes the erasure is recorded and proved all the same"
    lines = [f"would erase {plan['rows']:,} rows, and their vectors:"]
    lines += [f"  {name}: {rows:,}" for name, rows in plan["stores"].items()]
    lines += _owner_lines(plan["owners"])
    if plan["rests_on"]:
        lines.append(f"the memory rests on {plan['rests_on']:,} episodes: these go with it")
    if plan["held"]:
        lines.append(
            f"{plan['held']:,} rows are under legal hold, or derived from such, and would stay; the request"
            " would stay open"
        )
    lines.append("nothing was changed; add --yes to erase")
    return "\n".join(lines)
