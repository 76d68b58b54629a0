"""The compliance report: right counts, nobody's data, one page that needs nothing, and an honest verdict."""

from __future__ import annotations

import html
import json
import re
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from flows import report_page
from flows.erase_certificate import HASH, hash_of
from flows.export import run_export
from flows.html_pages import count, duration, share
from flows.job import Job, exclusive
from flows.report_compliance import Report, compliance, run_report_compliance
from flows.report_page import compliance_html, compliance_markdown
from lake import tables
from lake.lake import open_lake
from lake.rights import audit, requests, standing
from lake.rights.subjects import salt, subject_hash, tenant_hash
from tests.flows.lakes import AS_OF, Command, job_on
from tests.lake.crypto.sealed import sealed_job
from tests.lake.made import frame
from transforms.errors import UsageError
from transforms.schemas import COLD, EPISODES, FACTS, QUARANTINE, RECALLS, REMOVALS
from transforms.standing import Standing
from transforms.subjects import Subject

HOSTILE = "=<b>um\"brella</b>' & /x"
TENANTS = ("acme", HOSTILE)
SECRETS = ("person-of-acme", "agent-of-acme", "session-of-acme", "what she said", "tenant-that-is-gone")
"""Words of people, agents and erased tenants; none of them may be in a report."""


def ago(days: float) -> datetime:
    return AS_OF - timedelta(days=days)


def episode(job: Job, tenant: str, name: str, at: datetime, **fields: Any) -> dict[str, Any]:
    return {
        "episode_id": name, "tenant_id": tenant, "tenant_bucket": job.lake.bucket(tenant),
        "user_id": SECRETS[0], "agent_id": SECRETS[1], "session_id": SECRETS[2], "content": SECRETS[3],
        "month": f"{at:%Y-%m}", "event_at": at, "ingested_at": at, "retention_tier": "session", **fields,
    }  # fmt: skip


def removal(job: Job, tenant: str, at: datetime, **fields: Any) -> dict[str, Any]:
    line = {"run_id": f"run-{at:%m%d}", "as_of_at": at, "tenant_hash": tenant_hash(salt(job.lake), tenant)}
    return {**line, "table": "episodes", "tier": "session", "reason": "expired", **fields}


def add_rows(job: Job) -> None:
    """Rows past their time in each way, and a ledger."""
    rows = [
        episode(job, "acme", "live", ago(0.5)),
        episode(job, "acme", "next", ago(1.5)),
        episode(job, "acme", "overdue", ago(9)),
        episode(job, "acme", "landed-late", ago(9), ingested_at=ago(0.2)),
        episode(job, "acme", "held", ago(9), user_id="held-person"),
        episode(job, "acme", "own-expiry", ago(20), retention_tier="permanent", expires_at=ago(10)),
        episode(job, HOSTILE, "others", ago(0.1), redactions=["email", "phone"]),
    ]
    tables.append(job.lake, EPISODES, frame(EPISODES, rows))
    cold = episode(job, HOSTILE, "cold", ago(400), retention_tier="long_term", redactions=["email"])
    tables.append(job.lake, COLD, frame(COLD, [{**cold, "cooled_at": ago(100)}]))
    scope = {"tenant_id": HOSTILE, "tenant_bucket": job.lake.bucket(HOSTILE)}
    fact = {**scope, "fact_id": "f", "owner": "user:x", "user_id": "x", "fact": SECRETS[3], "revision": 1}
    old = {"retention_tier": "long_term", "last_confirmed_at": ago(370), "recorded_at": ago(370)}
    tables.append(job.lake, FACTS, frame(FACTS, [{**fact, **old}]))
    refused = [
        {"quarantine_id": "q1", "reason": "no_content", "raw": SECRETS[3], "quarantined_at": ago(1)},
        {"quarantine_id": "q2", "reason": "no_content", "raw": SECRETS[3], "quarantined_at": ago(95)},
    ]
    tables.append(job.lake, QUARANTINE, frame(QUARANTINE, refused))
    held = Standing(Subject("acme", user="held-person"), is_held=True)
    standing.save(job.lake, held)
    ledger = [
        removal(job, "acme", ago(40), rows_removed=10, rows_waiting=4, rows_late=1, reason="stale"),
        removal(job, "acme", ago(2), rows_removed=6, rows_waiting=2, reason="stale"),
        removal(job, "acme", ago(2), rows_removed=3),
        removal(job, SECRETS[4], ago(2), rows_removed=8, table="facts", tier="long_term"),
    ]
    tables.append(job.lake, REMOVALS, frame(REMOVALS, ledger))
    recall = {**scope, "user_id": SECRETS[0], "agent_id": SECRETS[1], "query": SECRETS[3], "month": "2026-06"}
    calls = [(call, memory, days) for call, days in (("c1", 3), ("c2", 40)) for memory in ("m1", "m2")]
    traces = [{**recall, "call_id": c, "memory_id": m, "recalled_at": ago(days)} for c, m, days in calls]
    tables.append(job.lake, RECALLS, frame(RECALLS, traces))


def erasure(job: Job, asked: datetime, took: timedelta | None, name: str) -> str:
    """A request to erase, and where it is done its audit event and certificate."""
    subject, key = Subject("acme", user=name), salt(job.lake)
    request = requests.open_request(
        job.lake, "erase", subject, "gdpr-art-17", "subject", asked, asked + timedelta(days=30)
    )
    if took is not None:
        entry = audit.append(
            job.lake, "erase_done", at=asked + took, request_id=request.request_id, counts={"rows": 4}
        )
        data = {
            "kind": "erasure", "request_id": request.request_id, "outcome": "complete",
            "subject_kind": "user", "subject_hash": subject_hash(key, subject), "seconds": 12.5,
            "completed_at": (asked + took).isoformat(), "verification": {"files": 412, "leaks": 0},
            "audit": {"seq": entry.seq, "hash": entry.hash},
        }  # fmt: skip
        signed = json.dumps({**data, HASH: hash_of(data)})
        job.lake.storage.write(f"certificates/{request.request_id}.json", signed.encode())
        requests.update(job.lake, request, "done", {"rows": 4}, asked + took)
    return request.request_id


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return job_on(tmp_path / "lake")


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Job:
    """A lake in which something of everything is amiss but chain and certificates; not to be written."""
    made = job_on(tmp_path_factory.mktemp("report") / "lake")
    add_rows(made)
    erasure(made, ago(50), timedelta(seconds=20), "one")
    erasure(made, ago(45), timedelta(days=35), "two")
    erasure(made, ago(40), None, SECRETS[0])
    return made


@pytest.fixture(scope="module")
def report(full: Job) -> Report:
    return compliance(full)


@pytest.fixture(scope="module")
def written(full: Job, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the report."""
    folder = tmp_path_factory.mktemp("written")
    run_report_compliance(full, folder)
    return folder


def by(rows: pl.DataFrame, *names: str) -> dict[Any, dict[str, Any]]:
    return {tuple(row[n] for n in names): row for row in rows.iter_rows(named=True)}


def test_what_was_due_and_what_became_of_it(report: Report) -> None:
    shown = ("done", "late", "waiting", "held", "pending", "overdue")
    found = by(report.tables["retention"], "tenant", "table", "tier")
    gone = next(name for name, _, _ in found if name.startswith("erased:"))
    assert {key: tuple(row[n] for n in shown) for key, row in found.items()} == {
        ("acme", "episodes", "session"): (19, 1, 2, 1, 2, 1),
        ("acme", "episodes", "permanent"): (0, 0, 0, 0, 0, 1),
        (HOSTILE, "cold", "long_term"): (0, 0, 0, 0, 0, 1),
        (HOSTILE, "facts", "long_term"): (0, 0, 0, 0, 0, 1),
        ("(no tenant)", "quarantine", ""): (0, 0, 0, 0, 0, 1),
        (gone, "facts", "long_term"): (8, 0, 0, 0, 0, 0),
    }
    assert found["acme", "episodes", "session"]["kept_ratio"] == pytest.approx(18 / 20)
    assert report.figures["retention"]["overdue"] == 5
    assert not report.is_kept


def test_requests_certificates_and_the_rest(report: Report) -> None:
    assert report.tables["requests_by_kind"].rows() == [
        ("erase", "done in time", 1), ("erase", "done late", 1), ("erase", "overdue", 1)
    ]  # fmt: skip
    assert report.figures["time_to_erase"] == {
        "requests": 2, "median": 35 * 86_400, "p90": 35 * 86_400, "longest": 35 * 86_400
    }  # fmt: skip
    assert report.figures["certificates"] == {"all": 2, "whole": 2}
    assert report.tables["holds"].select("tenant", "subject_kind").rows() == [("acme", "user")]
    assert by(report.tables["redactions"], "month", "kind")["2026-06", "email"]["found"] == 1
    assert report.tables["redactions"]["found"].sum() == 3
    assert report.tables["quarantine"].select("reason", "rows").rows() == [("no_content", 2)]
    (access,) = report.tables["access"].to_dicts()
    assert (access["tenant"], access["calls"], access["memories"], access["users"]) == (HOSTILE, 2, 4, 1)
    assert report.figures["audit"]["length"] == 2
    assert report.figures["audit"]["broken"] is None
    assert {f.name for f in report.findings} == {
        "rows_overdue", "requests_overdue", "rows_went_late", "requests_done_late"
    }  # fmt: skip
    rules = dict(report.tables["policy"].iter_rows())
    assert rules["tier session"] == 86_400
    assert rules["an erasure is due after"] == 30 * 86_400


def test_what_came_after_the_as_of_is_not_told(full: Job) -> None:
    early = compliance(job_on(Path(full.lake.uri), as_of=ago(41)))
    assert early.figures["retention"]["done"] == 0
    states = dict(early.tables["requests"].select("state", "is_late").iter_rows())
    assert states == {"done": False, "open": False}
    assert early.figures["certificates"]["all"] == 1
    assert early.tables["access"].is_empty()
    assert early.tables["quarantine"]["rows"].to_list() == [1]
    later = compliance(job_on(Path(full.lake.uri), as_of=ago(20)))
    assert later.figures["retention"]["done"] == 10
    assert later.tables["access"]["memories"].to_list() == [2]


def everything(folder: Path) -> dict[str, str]:
    """Text of every file of a report; Parquet decoded."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.suffix == ".parquet":
            found[path.name] = pl.read_parquet(path).write_json()
            assert not any(word.encode() in path.read_bytes() for word in SECRETS)
        elif path.is_file():
            found[path.name] = path.read_text("utf-8")
    return found


def test_no_file_says_anything_of_a_person(written: Path) -> None:
    found = everything(written)
    assert len(found) >= 20
    for name, text in found.items():
        for word in (*SECRETS, "held-person", "live", "own-expiry"):
            assert not re.search(rf"\b{re.escape(word)}\b", html.unescape(text)) or word == "live", (
                name,
                word,
            )
    assert html.escape(HOSTILE, quote=False)[:8] in found["compliance.html"]


class _Page(HTMLParser):
    """Tags, addresses, numbers in cells and tiles, and text of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.addresses: list[str] = []
        self.numbers: list[str] = []
        self.text: list[str] = []
        self._within: list[bool] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.add(tag)
        self.addresses += [v or "" for n, v in attrs if n in ("src", "href", "xlink:href", "srcset", "data")]
        if tag in ("td", "b", "tr", "table"):
            self._within.append(tag == "b" or (tag == "td" and "n" in (given.get("class") or "").split()))

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "b", "tr", "table") and self._within:
            self._within.pop()

    def handle_data(self, text: str) -> None:
        self.text.append(text)
        if self._within and self._within[-1] and text.strip():
            self.numbers.append(text.strip())


def parsed(text: str) -> _Page:
    page = _Page()
    page.feed(text)
    return page


def test_the_page_is_one_file_that_fetches_nothing_and_escapes_all(written: Path) -> None:
    text = (written / "compliance.html").read_text("utf-8")
    page = parsed(text)
    assert page.addresses == []
    assert not page.tags & {"script", "link", "img", "iframe", "object", "embed"}
    assert not re.search(r"https?:|url\(|@import|@font-face", text)
    assert "default-src 'none'" in text
    assert HOSTILE not in text
    assert HOSTILE in "".join(page.text)
    assert text.count("<svg") == 6
    assert "prefers-color-scheme: dark" in text
    assert "size: A4" in text


def numbers_of(record: Any) -> set[float]:
    if isinstance(record, dict):
        return {n for part in record.values() for n in numbers_of(part)}
    if isinstance(record, list):
        return {n for part in record for n in numbers_of(part)}
    return {record} if isinstance(record, int | float) and not isinstance(record, bool) else set()


def test_every_number_of_the_page_is_in_the_json(written: Path) -> None:
    page = parsed((written / "compliance.html").read_text("utf-8"))
    record = json.loads((written / "compliance.json").read_text("utf-8"))
    held = numbers_of(record) | {len(rows) for rows in record["tables"].values()}
    told = {form(number) for number in held for form in (count, share, duration)} | {"–", "broken"}
    whole, checked = record["certificates"]["whole"], record["certificates"]["all"]
    told.add(f"{count(whole)} of {count(checked)}")
    assert len(page.numbers) > 60
    assert [number for number in page.numbers if number not in told] == []


def test_csv_parquet_and_json_say_the_same(report: Report, written: Path) -> None:
    record = json.loads((written / "compliance.json").read_text("utf-8"))
    for name, rows in report.tables.items():
        held = pl.read_parquet(written / "parquet" / f"{name}.parquet")
        assert held.equals(rows)
        assert len(record["tables"][name]) == rows.height
        lines = (written / "csv" / f"{name}.csv").read_text("utf-8").splitlines()
        assert len(lines) == rows.height + 1
        assert lines[0].split(",") == rows.columns
    tenants = pl.read_csv(written / "csv" / "retention.csv")["tenant"].to_list()
    assert f"'{HOSTILE}" in tenants, "a spreadsheet must not run a tenant's name"
    assert HOSTILE in [row["tenant"] for row in record["tables"]["retention"]]


def test_long_tables_are_cut_worst_first(report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report_page, "MOST_ROWS", 1)
    text = compliance_html(report)
    page = parsed(text)
    assert "csv/retention.csv" in text
    assert "1 of 6 rows" in "".join(page.text).replace("\u202f", " ")


@pytest.mark.parametrize(
    ("harm", "says"),
    [
        (lambda raw: raw.replace(b'"leaks": 0', b'"leaks": 1'), "its hash is another"),
        (lambda raw: b"{", "cannot be read"),
        (lambda raw: b"[]", "cannot be read"),
        (lambda raw: b"", "cannot be read"),
    ],
)
def test_a_certificate_that_was_changed_is_found(job: Job, harm: Any, says: str) -> None:
    request_id = erasure(job, ago(9), timedelta(seconds=9), "one")
    assert compliance(job).is_kept
    key = f"certificates/{request_id}.json"
    job.lake.storage.write(key, harm(job.lake.storage.read(key)))
    found = compliance(job)
    assert not found.is_kept
    assert found.tables["certificates"]["fault"].str.contains(says).to_list() == [True]
    assert found.findings[0].where == (request_id,)


def test_a_changed_certificate_is_told_at_every_instant(job: Job) -> None:
    """Whoever dates it into the future hides it from no report."""
    request_id = erasure(job, ago(9), timedelta(seconds=9), "one")
    key = f"certificates/{request_id}.json"
    data = {**json.loads(job.lake.storage.read(key) or b""), "completed_at": "2090-01-01T00:00:00+00:00"}
    job.lake.storage.write(key, json.dumps(data).encode())
    assert not compliance(job).is_kept


def test_a_certificate_under_another_name_or_entry_is_found(job: Job) -> None:
    first = erasure(job, ago(9), timedelta(seconds=9), "one")
    raw = job.lake.storage.read(f"certificates/{first}.json") or b""
    job.lake.storage.write("certificates/ffff.json", raw)
    data = {**json.loads(raw), "audit": {"seq": 1, "hash": "0" * 64}}
    del data[HASH]
    job.lake.storage.write(f"certificates/{first}.json", json.dumps({**data, HASH: hash_of(data)}).encode())
    faults = dict(compliance(job).tables["certificates"].select("request_id", "fault").iter_rows())
    assert "another request" in faults["ffff"]
    assert "audit entry 1" in faults[first]


def test_a_broken_chain_is_told_and_sets_the_exit_code(job: Job, tmp_path: Path, command: Command) -> None:
    words = ("--lake", job.lake.uri, "report", "compliance", "--out", tmp_path / "out")
    nameless = command("--json", "--lake", job.lake.uri, "report", "--out", tmp_path / "out")
    assert (nameless.code, nameless.error["message"]) == (
        2,
        "which report: compliance, capacity, health, cost, quality",
    )
    erasure(job, ago(9), timedelta(seconds=9), "one")
    erasure(job, ago(8), timedelta(seconds=9), "two")
    as_of = ("--as-of", AS_OF.isoformat())
    assert command(*words, *as_of).code == 0
    job.lake.storage.delete("audit/000000000001.json")
    said = command("--json", *words, *as_of)
    assert said.code == 7
    assert said.json["is_kept"] is False
    assert said.json["audit"]["broken"]
    assert "Not all obligations are met" in (tmp_path / "out" / "compliance.html").read_text("utf-8")


def test_an_empty_lake_has_a_report(job: Job, tmp_path: Path) -> None:
    done = run_report_compliance(job, tmp_path / "deep" / "out")
    assert done.is_kept
    assert (tmp_path / "deep" / "out" / "compliance.html").is_file()
    assert "<svg" not in compliance_html(done)


def test_places_that_are_refused(job: Job, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine", "utf-8")
    with pytest.raises(UsageError, match="no folder"):
        run_report_compliance(job, tmp_path / "file")
    with pytest.raises(UsageError, match="inside the lake"):
        run_report_compliance(job, Path(job.lake.storage.uri) / "report")
    assert (tmp_path / "file").read_text("utf-8") == "mine"


def test_markdown_tells_verdict_findings_and_tiers(report: Report) -> None:
    text = compliance_markdown(report)
    assert text.startswith("**Not all obligations are met.**")
    assert "| session | 25 | 19 | 1 | 2 | 1 | 2 | 1 |" in text
    assert all(finding.text.split(":")[0] in text for finding in report.findings)
    assert not any(word in text for word in SECRETS)


def test_an_encrypted_lake_needs_no_keys_to_be_reported_on(tmp_path: Path) -> None:
    job = sealed_job(tmp_path / "lake")
    add_rows(job)
    with exclusive(job):
        run_export(job, Subject("acme", user=SECRETS[0]), tmp_path / "person.zip")
    plain = open_lake(job.lake.uri)
    assert plain.keys is None
    report = compliance(Job(plain, job.policy, datetime.now(UTC), job.make_embedder))
    assert report.figures["encryption"] == {"is_encrypted": True, "cipher": "AES-256-GCM"}
    assert by(report.tables["requests"], "kind")["export",]["state"] == "done"
    assert report.figures["retention"]["overdue"] >= 5
    page = compliance_html(report)
    assert "AES-256-GCM" in page
    assert not any(word in page for word in SECRETS)
