"""A person whose words came in every format is erased: no byte of the lake names them, or holds a key."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from flows.ingest import run_ingest
from flows.nightly import run_nightly
from lake.sources import open_sources
from tests.flows.erasing import erase, holding
from tests.flows.lakes import content, job_on
from tests.transforms.readers.every import as_json, samples
from transforms.schemas import EPISODES, QUARANTINE
from transforms.validate import Defaults

NAME = "Zorvath Quillmere"
SECRET = "sk-proj-" + "Zq7" * 16
GIVEN = Defaults(tenant_id="acme", user_id="u-victim", timezone="UTC", event_at="2026-06-01T10:00:00Z")


def planted(data: bytes) -> bytes:
    """A source in which every sentence names the person and a key, and which breaks off."""
    found = as_json(data)
    if found is None:
        return data
    documents, is_lines = found
    lines = [json.dumps(_named(one)) for one in documents]
    cut = json.dumps({"text": f"{NAME} keeps {SECRET} here"})[:-1]
    return "\n".join([*lines, *([cut] if is_lines else [])]).encode()


def _named(value: Any, key: str = "") -> Any:
    if isinstance(value, dict):
        return {name: _named(one, name) for name, one in value.items()}
    if isinstance(value, list):
        return [_named(one, key) for one in value]
    if isinstance(value, str) and value.startswith(("{", "[")):
        try:
            return json.dumps(_named(json.loads(value)))
        except ValueError:
            return value
    is_sentence = isinstance(value, str) and " " in value
    is_time = key.lower().endswith(("time", "date", "_at", "dates")) or "date_time" in key
    return f"{value} {NAME} has {SECRET}." if is_sentence and not is_time else value


def test_a_person_of_every_format_is_erased_and_no_key_is_kept(tmp_path: Path) -> None:
    job = job_on(tmp_path / "lake")
    for name, (file_name, data) in samples().items():
        path = tmp_path / "in" / name / file_name
        path.parent.mkdir(parents=True)
        path.write_bytes(planted(data))

    def sources() -> Any:
        for name in samples():
            yield from ((one, GIVEN) for one in open_sources(str(tmp_path / "in" / name), name))

    run_ingest(job, sources())
    rows = content(job)
    named = rows.filter(rows["content"].str.contains(NAME))
    # Two hold no JSON to plant in; rows of an export are of the format that they first came in.
    unseen = {"slowwave-csv", "slowwave-parquet", "slowwave-export"}
    assert set(samples()) - set(named["source"]) == unseen
    assert content(job, QUARANTINE)["raw"].str.contains(NAME).any()
    run_nightly(job, ())
    assert holding(tmp_path / "lake", [SECRET, SECRET[8:40]]) == {}
    tenants = rows.select("tenant_id", "user_id").unique().rows()
    later = replace(job, as_of=job.as_of + timedelta(days=1))
    for tenant, user in sorted(tenants):
        erase(later, tenant=tenant, user=user, aliases=[NAME])
    assert content(job, EPISODES).filter(content(job)["content"].str.contains(NAME)).is_empty()
    assert holding(tmp_path / "lake", [NAME, "Quillmere"]) == {}
