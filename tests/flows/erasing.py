"""What the tests of erasure share: lakes with several people, and a slow search of every byte."""

from __future__ import annotations

import io
import json
import shutil
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from flows.consolidate import run_consolidate
from flows.embed import run_embed
from flows.erase import run_erase
from flows.erase_certificate import Certificate
from flows.job import Job
from flows.publish import run_publish
from tests.flows.lakes import ingest, row, write
from transforms.subjects import Subject

PERSONAL = ("state/requests/",)
"""Where an open request itself lies."""


def said(number: int, content: str, **fields: Any) -> dict[str, Any]:
    """A row of March, old enough to be summarised."""
    return row(number, content, **{"event_at": f"2026-03-05T10:{number % 60:02d}:00Z", **fields})


def people() -> list[dict[str, Any]]:
    """ana, ben and ana2 of acme, ana of umbrella, and a group chat kept under an agent."""
    return [
        said(1, "I live in Graz, in the yellow house by the old mill."),
        said(2, "I always take an aisle seat on night trains to Vienna."),
        said(3, "The password of the shed is painted under the third step.", metadata={"hidden": CANARY}),
        said(4, "Please send the parcel to the yellow house by the old mill.", session_id="s2"),
        said(11, "I live in Cork and keep seven bees in the attic.", user_id="ben", session_id="b1"),
        said(12, "I always take an aisle seat on night trains to Vienna.", user_id="ben", session_id="b1"),
        said(21, "I live in Oslo and ski to the office every winter.", user_id="ana2", session_id="a2"),
        said(31, "I live in Turku and paint boats in the summer months.", tenant_id="umbrella"),
        *group_chat(),
    ]


CANARY = "zx-canary-7f31-harbour"
ANA_IN_GROUP = "Ana here: the cellar of the boathouse is full of blue barrels."


GROUP_SENTENCES = [ANA_IN_GROUP, "Nobody but me has the key"]


def group_chat() -> list[dict[str, Any]]:
    """Three people in one session of an agent; no row names a user."""
    lines = [
        ("ana", ANA_IN_GROUP),
        ("ben", "The boathouse roof was mended with tar last Tuesday."),
        ("cleo", "We should sell the boathouse barrels before the autumn storms."),
        ("ana", "Nobody but me has the key to the boathouse cellar door."),
        ("ben", "The boathouse barrels were filled with cider in spring."),
        ("cleo", "The harbour master wants the boathouse cellar inspected."),
    ]
    common = {"user_id": None, "agent_id": "club", "session_id": "group"}
    return [said(40 + i, text, speaker=who, **common) for i, (who, text) in enumerate(lines)]


def lake_of(job: Job, folder: Path, rows: list[dict[str, Any]], *, publish: bool = True) -> Job:
    """The job's lake after a night with these rows."""
    ingest(job, write(folder / "rows.jsonl", rows))
    run_embed(job)
    run_consolidate(job)
    if publish:
        run_publish(job)
    return job


def erase(job: Job, **named: Any) -> Certificate:
    """Erase a subject of acme, with everything as a person asked for."""
    keywords = {k: named.pop(k) for k in ("aliases", "canaries", "request") if k in named}
    subject = Subject(**{"tenant": "acme", **named})
    return run_erase(job, subject, basis="gdpr_art_17", requested_by="subject", **keywords)


def before(certificate: Certificate) -> dict[str, int]:
    """Rows of each store before, where there were any."""
    return {s["store"]: s["before"] for s in certificate.data["stores"] if s["before"]}


def holding(root: Path, needles: Iterable[str]) -> dict[str, list[str]]:
    """Files below a lake that hold a text, in raw bytes or in any decoded value: slow and plain."""
    wanted = list(needles)
    found: dict[str, list[str]] = {}
    for path in sorted(p for p in root.rglob("*") if p.is_file()):
        key = path.relative_to(root).as_posix()
        if key.startswith(PERSONAL):
            continue
        text = _text(path)
        hits = [needle for needle in wanted if needle in text]
        if hits:
            found[key] = hits
    for path in sorted(root.rglob("*.lance")):
        if path.is_dir():
            text = _lance(path)
            hits = [needle for needle in wanted if needle in text]
            if hits:
                found[path.relative_to(root).as_posix()] = hits
    return found


def _text(path: Path) -> str:
    raw = path.read_bytes()
    text = raw.decode("utf-8", "replace")
    if path.suffix == ".parquet" or raw[:4] == b"PAR1":
        text += json.dumps(pq.read_table(io.BytesIO(raw)).to_pylist(), default=str, ensure_ascii=False)
    elif zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            text += "".join(archive.read(name).decode("utf-8", "replace") for name in archive.namelist())
    return text


def _lance(path: Path) -> str:
    import lance

    table = lance.dataset(str(path))
    texts = [
        json.dumps(lance.dataset(str(path), version=v["version"]).to_table().to_pylist(), default=str)
        for v in table.versions()
    ]
    return "".join(texts)


def copied(template: Path, target: Path) -> Path:
    """A copy of a lake."""
    shutil.copytree(template, target)
    return target
