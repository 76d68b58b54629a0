"""What-if on a lake: right counts now and in the past, nothing written, one page that needs nothing."""

from __future__ import annotations

import html
import json
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from flows import what_if_page
from flows.__main__ import main
from flows.html_pages import count, share, size
from flows.job import Job
from flows.retain import run_retain
from flows.what_if import WhatIf, asked_what_if
from flows.what_if_page import what_if_html
from flows.what_if_read import memories_in, recalls_in
from lake import tables
from lake.rights import standing, tombstones
from tests.flows.lakes import Command, job_on
from tests.flows.test_report_compliance import numbers_of, parsed
from tests.lake.crypto.sealed import sealed_job
from tests.lake.made import frame
from tests.lake.online.recalls import ME, job_now, logging, published
from tests.transforms.forgetting.plain import recall
from transforms.errors import ConfigError, UsageError
from transforms.forgetting.due import Wishes
from transforms.policy import Policy
from transforms.replay.changes import changed
from transforms.replay.lives import SEEN_SCHEMA
from transforms.replay.survival import Past
from transforms.schemas import EPISODES, FACTS, RECALLS, REMOVALS, SUMMARIES
from transforms.standing import Standing, pins
from transforms.subjects import Subject

NIGHT = datetime(2026, 6, 30, tzinfo=UTC)
"""A midnight."""
HOSTILE = "=<b>um\"brella</b>' & /x"
SPOKEN = "the <script>harbour</script> office"
BRIEF = changed(
    Policy(), {"retention.by_kind_seconds": {"conversation": 10 * 86_400}, "staleness.is_enabled": False}
)


def ago(days: float) -> datetime:
    return NIGHT - timedelta(days=days)


def episode(job: Job, name: str, days: float, **fields: Any) -> dict[str, Any]:
    at, tenant = ago(days), fields.get("tenant_id", "acme")
    text = fields.get("content", name)
    return {
        "episode_id": name, "tenant_id": tenant, "tenant_bucket": job.lake.bucket(tenant), "user_id": "ana",
        "kind": "conversation", "content": text, "content_chars": len(text), "importance": 0.5,
        "month": f"{at:%Y-%m}", "event_at": at, "ingested_at": at, "retention_tier": "medium_term", **fields,
    }  # fmt: skip


def shown(job: Job, number: int, name: str, days: float, born: float, **fields: Any) -> dict[str, Any]:
    """The log of one call that gave one memory."""
    tenant = fields.get("tenant_id", "acme")
    given = {"event_at": ago(born), "session_id": f"s{number}", "tenant_bucket": job.lake.bucket(tenant)}
    return recall(number, name, ago(days), **{**given, **fields})


def fill(job: Job) -> None:
    """Old and young episodes of two tenants, a fact, and calls that were given some of them."""
    rows = [
        episode(job, "old", 40, content=SPOKEN),
        episode(job, "older", 60, content="é"),
        episode(job, "young", 5, content="new"),
        episode(job, "action", 40, kind="action"),
        episode(job, "shown", 40, is_injected=True),
        episode(job, "other", 40, tenant_id=HOSTILE),
    ]
    tables.append(job.lake, EPISODES, frame(EPISODES, rows))
    scope = {"tenant_id": "acme", "tenant_bucket": job.lake.bucket("acme"), "user_id": "ana"}
    fact = {**scope, "fact_id": "f", "owner": "user:ana", "kind": "fact", "fact": "says", "revision": 1}
    dates = dict.fromkeys(("last_confirmed_at", "recorded_at", "valid_from"), ago(40))
    tables.append(job.lake, FACTS, frame(FACTS, [{**fact, **dates, "retention_tier": "long_term"}]))
    calls = [
        shown(job, 1, "old", 35, 40, is_used=True),
        shown(job, 2, "old", 20, 40, is_used=True),
        shown(job, 3, "old", 15, 40),
        shown(job, 4, "young", 2, 5),
        shown(job, 5, "gone", 70, 71),
        shown(job, 6, "gone", 50, 71),
        shown(job, 7, "other", 20, 40, tenant_id=HOSTILE),
        shown(job, 8, "old", 14, 40, is_returned=False),
        shown(job, 9, "f", 14, 40, kind="fact", tier="semantic"),
    ]
    tables.append(job.lake, RECALLS, pl.DataFrame(calls, schema=RECALLS.polars, orient="row"))
    ledger = {"run_id": "r", "as_of_at": ago(3), "table": "episodes", "reason": "expired", "rows_removed": 7}
    tables.append(job.lake, REMOVALS, frame(REMOVALS, [ledger]))


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Job:
    made = job_on(tmp_path_factory.mktemp("what-if") / "lake", as_of=NIGHT)
    fill(made)
    return made


@pytest.fixture(scope="module")
def answer(full: Job) -> WhatIf:
    return asked_what_if(full, BRIEF)


@pytest.fixture(scope="module")
def written(full: Job, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the verb, asked on the command line."""
    folder = tmp_path_factory.mktemp("asked")
    toml = "[retention.by_kind_seconds]\nconversation = 864000\n[staleness]\nis_enabled = false\n"
    (folder / "new.toml").write_text(toml, "utf-8")
    before = everything(Path(full.lake.uri))
    assert (
        main([*verb(full.lake.uri, folder / "new.toml", folder / "out"), "--as-of", NIGHT.isoformat()]) == 0
    )
    assert everything(Path(full.lake.uri)) == before
    return folder / "out"


def verb(lake: str, policy: Path, out: Path, *more: str) -> list[str]:
    return ["--lake", lake, "what-if", "--policy", str(policy), "--out", str(out), *more]


def everything(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_what_goes_now_is_what_retain_would_take(full: Job, answer: WhatIf) -> None:
    """Conversations older than ten days go; text is counted in bytes."""
    now = answer.figures["now"]
    assert (now["goes_current"], now["goes_new"], now["more"], now["fewer"]) == (0, 4, 4, 0)
    assert now["goes_bytes_new"] == len(SPOKEN) + len("é".encode()) + len("shown") + len("other")
    assert answer.tables["reasons"].rows() == [("episodes", "expired", 0, 4, 0, now["goes_bytes_new"])]
    tenants = answer.tables["rows_by_tenant"].select("tenant", "goes_new").rows()
    assert tenants == [(HOSTILE, 1), ("acme", 3)]
    assert answer.figures["index"]["rows"] == {"current": 6, "new": 3}
    dry = run_retain(replace(full, policy=BRIEF, is_dry=True))
    assert dry.rows_out == now["goes_new"]


def test_uses_after_the_memory_would_have_gone_are_regretted(answer: WhatIf) -> None:
    regret = answer.tables["regret"]
    columns = (
        "use",
        "tenant_id",
        "kind",
        "uses",
        "lost_new",
        "memories",
        "lost_memories_new",
        "lost_current",
    )
    assert regret.select(columns).rows() == [
        ("given", HOSTILE, "conversation", 1, 1, 1, 1, 0),
        ("given", "acme", "conversation", 6, 3, 3, 2, 0),
        ("given", "acme", "fact", 1, 0, 1, 0, 0),
        ("used", "acme", "conversation", 2, 1, 1, 1, 0),
    ]
    assert answer.figures["regret"]["used"]["lost_ratio_new"] == 0.5
    assert answer.figures["regret"]["given"]["lost_new"] == 4
    assert answer.figures["uses_not_in_lake"] == 2
    assert answer.figures["removed_before"] == 7


def test_examples_name_the_used_first_and_show_what_the_lake_still_has(answer: WhatIf) -> None:
    found = answer.tables["examples"].select("memory_id", "is_used", "lost_uses", "lost_new", "text").rows()
    assert found == [
        ("old", True, 2, "expired", SPOKEN),
        ("other", False, 1, "expired", "other"),
        ("gone", False, 1, "expired", None),
    ]


def test_what_comes_after_the_as_of_is_not_looked_at(full: Job) -> None:
    early = asked_what_if(job_on(Path(full.lake.uri), as_of=ago(18)), BRIEF)
    assert early.figures["regret"]["given"]["uses"] == 5
    assert early.figures["removed_before"] == 0


def test_a_scope_narrows_rows_and_uses(full: Job) -> None:
    one = asked_what_if(full, BRIEF, Subject(HOSTILE))
    assert one.figures["now"]["goes_new"] == 1
    assert one.figures["regret"]["given"]["uses"] == 1
    nobody = asked_what_if(full, BRIEF, Subject("acme", user="ben"))
    assert (nobody.figures["now"]["rows"], nobody.figures["regret"]["given"]["uses"]) == (0, 0)
    person, tenant = (asked_what_if(full, BRIEF, Subject("acme", user=user)) for user in ("ana", None))
    assert person.figures["regret"] == tenant.figures["regret"]


def test_the_current_policy_changes_nothing(full: Job) -> None:
    same = asked_what_if(full, full.policy)
    assert (same.figures["now"]["more"], same.figures["now"]["fewer"]) == (0, 0)
    assert same.changes == []
    assert same.figures["regret"]["given"]["lost_new"] == 0


def test_an_empty_lake_has_an_answer(tmp_path: Path) -> None:
    none = asked_what_if(job_on(tmp_path / "lake"), BRIEF)
    assert none.figures["now"]["rows"] == 0
    assert none.figures["regret"]["given"]["lost_ratio_new"] is None
    assert any("No recall is on record" in note for note in none.notes)
    assert "Nothing is known" in what_if_html(none)


def test_recalls_that_no_night_has_folded_count(tmp_path: Path) -> None:
    lake = published(tmp_path)
    reader = logging(lake)
    found = reader.search("violin", **ME, k=2)
    reader.used([found[0].id], tenant="t", call_id=found.call_id)
    reader.flush()
    regret = asked_what_if(job_now(lake), BRIEF).figures["regret"]
    assert (regret["given"]["uses"], regret["used"]["uses"]) == (2, 1)


def test_folded_uses_of_who_opted_out_since_are_not_shown(tmp_path: Path) -> None:
    made = job_on(tmp_path / "lake", as_of=NIGHT)
    fill(made)
    tombstones.place(made.lake, Subject("acme", user="ana"), None, "1" * 32, mark="opted_out")
    found = asked_what_if(made, BRIEF)
    assert found.figures["regret"]["given"]["uses"] == 1, "that of the other tenant"
    assert "old" not in found.tables["examples"]["memory_id"]


def test_an_encrypted_lake_gives_the_same_answer(tmp_path: Path, answer: WhatIf) -> None:
    sealed = replace(sealed_job(tmp_path), as_of=NIGHT)
    fill(sealed)
    found = asked_what_if(sealed, BRIEF)
    for name, rows in answer.tables.items():
        assert found.tables[name].equals(rows), name


def test_the_page_is_one_file_that_fetches_nothing_and_escapes_all(written: Path) -> None:
    text = (written / "what-if.html").read_text("utf-8")
    page = parsed(text)
    assert page.addresses == []
    assert not page.tags & {"script", "link", "img", "iframe", "object", "embed"}
    assert not re.search(r"https?:|url\(|@import|@font-face", text)
    assert HOSTILE not in text
    assert HOSTILE in "".join(page.text)
    assert html.escape(SPOKEN) in text
    assert text.count("<svg") == 7


def test_every_number_of_the_page_is_in_the_json(written: Path) -> None:
    page = parsed((written / "what-if.html").read_text("utf-8"))
    record = json.loads((written / "what-if.json").read_text("utf-8"))
    held = numbers_of(record)
    told = {form(number) for number in held for form in (count, share, size)} | {"–"}
    told |= {f"{number:.1f}" for number in held}
    assert len(page.numbers) > 60
    assert [number for number in page.numbers if number not in told] == []


def test_csv_parquet_and_json_say_the_same(written: Path, answer: WhatIf) -> None:
    record = json.loads((written / "what-if.json").read_text("utf-8"))
    for name, rows in answer.tables.items():
        assert pl.read_parquet(written / "parquet" / f"{name}.parquet").equals(rows)
        assert len(record["tables"][name]) == rows.height
    tenants = pl.read_csv(written / "csv" / "rows_by_tenant.csv")["tenant"].to_list()
    assert f"'{HOSTILE}" in tenants, "a spreadsheet must not run a tenant's name"


def test_long_tables_are_cut_and_say_so(answer: WhatIf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(what_if_page, "MOST_ROWS", 1)
    text = what_if_html(answer)
    assert "1 of 2 rows; all are in <code>csv/regret_by_tenant.csv" not in text
    assert "csv/rows_by_kind.csv" in text


def test_bad_input_is_refused(full: Job, tmp_path: Path, command: Command) -> None:
    root = Path(full.lake.uri)
    good, bad, out = tmp_path / "good.toml", tmp_path / "bad.toml", tmp_path / "out"
    good.write_text("[staleness]\nafter_days = 9\n", "utf-8")
    bad.write_text("[staleness]\nafter_daze = 9\n", "utf-8")
    for policy, folder, more, code, word in (
        (bad, out, (), ConfigError.exit_code, "after_days"),
        (tmp_path / "none.toml", out, (), ConfigError.exit_code, "no configuration file"),
        (good, root / "report", (), UsageError.exit_code, "inside the lake"),
        (good, good, (), UsageError.exit_code, "no folder"),
        (good, out, ("--user", "ana"), UsageError.exit_code, "--tenant"),
    ):
        said = command(*verb(str(root), policy, folder, *more))
        assert (said.code, word in said.err) == (code, True), said
    assert not out.exists()


def test_the_screen_says_it_in_counts(full: Job, tmp_path: Path, command: Command) -> None:
    (tmp_path / "new.toml").write_text("[retention.by_kind_seconds]\nconversation = 864000\n", "utf-8")
    said = command(
        *verb(full.lake.uri, tmp_path / "new.toml", tmp_path / "out", "--as-of", NIGHT.isoformat())
    )
    assert said.code == 0
    assert "4 rows go now" in said.out
    assert "given to a caller: 4 of 8 uses (50.00%) would have been lost" in said.out
    assert "harbour" not in said.out


def test_who_would_be_left_is_who_real_nights_leave(tmp_path: Path) -> None:
    """Nights run on the lake for eight days: what stands then is what survival says of the lake before."""
    policy = changed(
        Policy(),
        {
            "staleness.after_days": 9.0,
            "staleness.below_importance": 0.35,
            "decay.forget_below": 0.42,
            "decay.half_life_days.action": 3.0,
            "cold.after_days": 20.0,
            "retention.short_term_seconds": 16 * 86_400,
            "capacity.episodes": 14,
            "capacity.facts": 3,
        },
    )
    job = job_on(tmp_path / "lake", policy=policy, as_of=ago(8), buckets=1)
    plant_for_nights(job)
    recalls = recalls_in(job_on(tmp_path / "lake", as_of=NIGHT, buckets=1), 0, ["acme"])
    memories = memories_in(job, ["acme"], recalls)
    wishes = Wishes(pins=pins(standing.load_all(job.lake)))
    for days in range(8, -1, -1):
        run_retain(job_on(tmp_path / "lake", policy=policy, as_of=ago(days), buckets=1))
    left = {
        *tables.scan(job.lake, EPISODES).collect()["episode_id"],
        *tables.scan(job.lake, FACTS).collect()["fact_id"],
    }
    past = Past.made(pl.DataFrame(schema=SEEN_SCHEMA), memories, recalls, wishes, until=NIGHT)
    known = past.lives.memories.filter(pl.Series(past.standing(policy)), pl.col("stored_in") != "summaries")
    reasons = tables.scan(job.lake, REMOVALS).filter(pl.col("rows_removed") > 0).collect()["reason"]
    assert set(reasons) == {"expired", "stale", "decayed", "cold", "over_capacity"}
    assert set(known["memory_id"]) == left
    assert 8 < len(left) < 30


def plant_for_nights(job: Job) -> None:
    """Forty episodes that landed just before the first night, six facts, a summary of most, and recalls."""
    landed = ago(8) - timedelta(hours=1)
    kinds, tiers = ("conversation", "action", "outcome"), ("short_term", "medium_term", "permanent")
    rows = [
        episode(
            job, f"e{n:02d}", 8.5 + n * 0.61, kind=kinds[n % 3], importance=(n * 7 % 10) / 10,
            retention_tier=tiers[n % 5 % 3], ingested_at=landed, user_id="ben" if n % 4 == 0 else "ana",
            agent_id=None,
        )
        for n in range(40)
    ]  # fmt: skip
    tables.append(job.lake, EPISODES, frame(EPISODES, rows))
    scope = {"tenant_id": "acme", "tenant_bucket": 0, "user_id": "ana", "owner": "user:ana", "revision": 1}
    facts = []
    for n in range(6):
        dates = dict.fromkeys(("last_confirmed_at", "valid_from"), ago(10 + n))
        named = {"fact_id": f"f{n}", "kind": "fact", "fact": f"f{n}", "importance": 0.2 * (n % 3)}
        facts.append({**scope, **named, **dates, "recorded_at": landed, "retention_tier": "long_term"})
    tables.append(job.lake, FACTS, frame(FACTS, facts))
    covered = [f"e{n:02d}" for n in range(40) if n % 5]
    summary = {**scope, "summary_id": "sum", "source_refs": covered, "recorded_at": landed}
    tables.append(
        job.lake,
        SUMMARIES,
        frame(SUMMARIES, [{**summary, "last_event_at": ago(9), "retention_tier": "long_term"}]),
    )
    calls = [
        shown(job, n, f"e{n * 3 % 40:02d}", 12 - n * 0.37, 8.5 + (n * 3 % 40) * 0.61, is_returned=n % 4 != 0)
        for n in range(1, 30)
    ]
    tables.append(job.lake, RECALLS, pl.DataFrame(calls, schema=RECALLS.polars, orient="row"))
    standing.save(job.lake, Standing(Subject("acme", user="ana"), pinned=("e01", "e13", "f0")))
