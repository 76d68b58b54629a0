"""Sources that may hold rows of one tenant only: what names another is refused, and gets in no other way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from flows.config import SourceConfig
from flows.job import Job
from flows.prefect_steps import options_of
from flows.quarantine import Chosen, retry
from flows.setup import configured_sources, defaults_of, scope_of
from tests.flows.lakes import Command, content, ingest, job_on, reasons, row, write
from transforms.errors import UsageError
from transforms.few_rows import episodes_of
from transforms.schemas import EPISODES, QUARANTINE
from transforms.validate import Defaults

ACME = Defaults(tenant_id="acme", only_tenant=True)
MINE = row(1, tenant_id=None)
FOREIGN: list[dict[str, Any]] = [
    row(2, tenant_id="globex"),
    row(3, tenant_id="globex", user_id="gus", event_at=None),
    row(4, tenant_id="system"),
    row(5, tenant_id="Acme"),
]
BROKEN = row(6, tenant_id="globex", content=7)
"""Refused by the reader, before anybody looks at whose it is."""


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return job_on(tmp_path / "lake")


def test_rows_of_other_tenants_wait_in_the_quarantine_of_this_one(tmp_path: Path, job: Job) -> None:
    file = write(tmp_path / "a.jsonl", [MINE, row(7), *FOREIGN, BROKEN])
    tally = ingest(job, file, defaults=ACME)
    assert (tally["landed"], tally["reasons"]) == (2, {"other_tenant": 4, "bad_field_type": 1})
    assert content(job)["tenant_id"].unique().to_list() == ["acme"]
    held = content(job, QUARANTINE)
    assert held["tenant_id"].unique().to_list() == ["acme"]
    assert held["tenant_bucket"].unique().to_list() == [job.lake.bucket("acme")]
    again = ingest(job, file, defaults=ACME)
    assert again["unchanged_files"] == 1


def test_a_second_reading_lets_none_of_them_out(tmp_path: Path, job: Job) -> None:
    strayed = row(8, tenant_id="globex", session_id={"no": "text"})
    ingest(job, write(tmp_path / "a.jsonl", [*FOREIGN, BROKEN, strayed]), defaults=ACME)
    mended = content(job, QUARANTINE).with_columns(
        raw=pl.col("raw").str.replace('"content":7', '"content":"seven"').str.replace(": 7", ': "seven"')
    )
    assert mended["raw"].str.contains("seven").sum() == 1
    from lake import tables

    files = sorted(tables.data_files(job.lake, QUARANTINE))
    tables.rewrite(job.lake, QUARANTINE, files, mended)
    done = retry(job, Chosen(), Defaults(timezone="UTC", event_at="2026-06-01T10:00:00Z"))
    assert (done.landed, done.refused) == (0, {"bad_field_type": 1, "other_tenant": 5})
    assert content(job).is_empty()


def test_what_a_confined_row_lacked_lands_it_in_its_tenant(tmp_path: Path, job: Job) -> None:
    ingest(job, write(tmp_path / "a.jsonl", [row(1, tenant_id=None, event_at=None)]), defaults=ACME)
    done = retry(job, Chosen(), Defaults(tenant_id="globex", event_at="2026-06-01T10:00:00Z"))
    assert (done.landed, content(job)["tenant_id"].to_list()) == (1, ["acme"])


def test_without_it_a_row_keeps_the_tenant_that_it_names(tmp_path: Path, job: Job) -> None:
    ingest(job, write(tmp_path / "a.jsonl", [MINE, FOREIGN[0]]), defaults=Defaults(tenant_id="acme"))
    assert content(job)["tenant_id"].sort().to_list() == ["acme", "globex"]
    assert reasons(job) == {}
    # Other settings: the file is read again, and says what the lake holds against them.
    assert ingest(job, tmp_path / "a.jsonl", defaults=ACME)["reasons"] == {"other_tenant": 1}


def test_an_export_of_another_tenant_is_refused_whole(tmp_path: Path, job: Job) -> None:
    ingest(job, write(tmp_path / "a.jsonl", [row(1, tenant_id="globex"), row(2)]))
    rows = content(job).with_columns(pl.col(pl.Datetime).dt.strftime("%Y-%m-%dT%H:%M:%S%.6f%:z"))
    export = write(tmp_path / "export.jsonl", rows.drop("tenant_bucket", "month").to_dicts())
    here = job_on(tmp_path / "here")
    tally = ingest(here, export, defaults=ACME, form="slowwave-export")
    assert (tally["landed"], tally["reasons"]) == (1, {"other_tenant": 1})


def test_the_quick_way_of_a_few_rows_does_not_pass_it(job: Job) -> None:
    told = {"source": "x", "file_name": "x", "policy": job.policy, "as_of": job.as_of, "buckets": 2}
    assert episodes_of([row(1)], defaults=Defaults(tenant_id="acme"), **told)
    assert episodes_of([FOREIGN[0]], defaults=ACME, **told) is None


def test_each_source_is_confined_to_its_own_tenant() -> None:
    entries = [
        SourceConfig(path="a", tenant="acme", only_tenant=True),
        SourceConfig(path="b", tenant="globex"),
    ]
    assert [one.confined_to for *_, one in configured_sources(entries)] == ["acme", None]
    confined = [one.confined_to for *_, one in configured_sources(entries, {"only_tenant": True})]
    assert confined == ["acme", "globex"]
    given = scope_of(options_of(None, None, None, tenant="initech", only_tenant=True))
    plain = [SourceConfig(path="c"), *entries]
    assert [one.confined_to for *_, one in configured_sources(plain, given)] == ["initech", "acme", "globex"]
    with pytest.raises(UsageError, match="needs a tenant"):
        list(configured_sources([SourceConfig(path="c")], {"only_tenant": True}))
    with pytest.raises(UsageError, match="needs a tenant"):
        defaults_of(options_of(None, None, None, only_tenant=True))


def test_the_flag_and_the_configuration(tmp_path: Path, command: Command) -> None:
    lake = tmp_path / "lake"
    command("--lake", lake, "init", "--buckets", "2")
    path = write(tmp_path / "a.jsonl", [MINE, FOREIGN[0]])
    words = ("--lake", lake, "--json", "--as-of", "2026-06-30T23:00:00Z")
    shown = command(*words, "ingest", path, "--explain", "--tenant", "acme", "--only-tenant").json
    assert [one["reason"] for one in shown["sources"][0]["refused"]] == ["other_tenant"]
    told = command(*words, "ingest", path, "--tenant", "acme", "--only-tenant").json
    assert (told["landed"], told["reasons"]) == (1, {"other_tenant": 1})
    config = tmp_path / "slowwave.toml"
    config.write_text(f'[[sources]]\npath = "{path}"\ntenant = "acme"\nonly_tenant = true\n', "utf-8")
    other = tmp_path / "other"
    command("--lake", other, "init", "--buckets", "2")
    night = command("--lake", other, "--config", config, "--as-of", "2026-06-30T23:00:00Z", "nightly")
    assert night.code == 0
    assert content(job_on(other), EPISODES)["tenant_id"].to_list() == ["acme"]
