from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from lake import tables
from lake.lake import Lake, init_lake
from lake.rights import requests
from lake.rights.requests import Request
from lake.rights.subjects import salt, subject_hash, tenant_hash
from tests.lake.made import NOON
from transforms.errors import LakeError
from transforms.schemas import REQUESTS
from transforms.subjects import Subject

ANA = Subject("acme", user="ana")
DUE = NOON + timedelta(days=30)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return init_lake(f"{tmp_path}/lake", 2)


def opened(lake: Lake, kind: str = "erase", **more: Any) -> Request:
    asked = {"basis": "gdpr-art-17", "requested_by": "subject", "at": NOON, "due_at": DUE, **more}
    return requests.open_request(lake, kind, ANA, **asked)


def log(lake: Lake) -> list[tuple[Any, ...]]:
    names = ("kind", "state", "closed_at", "evidence", "revision")
    return requests.standing_requests(lake).select(names).rows()


def test_a_request_lives_until_it_is_done(lake: Lake) -> None:
    request = opened(lake, details={"aliases": ["Ana"]})
    assert requests.open_requests(lake) == [request]
    assert log(lake) == [("erase", "open", None, "{}", 1)]
    failed = requests.update(lake, request, "failed", {"error": "storage"}, NOON, {"aliases": [], "step": 2})
    assert requests.open_requests(lake) == [failed]
    assert log(lake) == [("erase", "failed", None, '{"error": "storage"}', 2)]
    done = requests.update(lake, failed, "done", {"rows": 3}, NOON + timedelta(days=1))
    assert (done.state, done.revision) == ("done", 3)
    assert requests.open_requests(lake) == []
    assert log(lake) == [("erase", "done", NOON + timedelta(days=1), '{"rows": 3}', 3)]
    assert lake.storage.entries(requests.PREFIX) == []


def test_the_log_holds_hashes_only(lake: Lake) -> None:
    opened(lake, details={"aliases": ["Ana Lima"]})
    (row,) = tables.scan(lake, REQUESTS).collect().to_dicts()
    key = salt(lake)
    assert row["subject_hash"] == subject_hash(key, ANA)
    assert row["tenant_hash"] == tenant_hash(key, "acme")
    assert not any("ana" in str(value).lower() or "acme" in str(value) for value in row.values())


def test_progress_is_kept_without_a_revision(lake: Lake) -> None:
    request = requests.keep_details(lake, opened(lake), {"step": 2})
    assert requests.open_requests(lake) == [request]
    assert request.details == {"step": 2}
    assert tables.scan(lake, REQUESTS).collect().height == 1


def test_killed_between_log_and_clean_up_a_done_request_stays_done(lake: Lake) -> None:
    request = opened(lake)
    raw = lake.storage.read(requests.key_of(request.request_id))
    assert raw is not None
    requests.update(lake, request, "done", {}, NOON)
    lake.storage.write(requests.key_of(request.request_id), raw)
    assert requests.open_requests(lake) == []
    assert lake.storage.entries(requests.PREFIX) == []


def test_killed_before_the_log_an_open_request_is_open(lake: Lake) -> None:
    request = opened(lake)
    raw = lake.storage.read(requests.key_of(request.request_id)) or b""
    other = init_lake(f"{lake.uri}-2", 2)
    other.storage.write(requests.key_of(request.request_id), raw)
    assert [one.request_id for one in requests.open_requests(other)] == [request.request_id]
    requests.update(other, requests.open_requests(other)[0], "done", {}, NOON)
    assert log(other) == [("erase", "done", NOON, "{}", 2)]


def test_open_ones_come_in_the_order_they_were_made(lake: Lake) -> None:
    later = opened(lake, at=NOON + timedelta(hours=1))
    first = opened(lake, kind="export")
    assert [one.request_id for one in requests.open_requests(lake)] == [first.request_id, later.request_id]


def test_overdue_is_what_is_not_done_after_its_day(lake: Lake) -> None:
    late, done = opened(lake), opened(lake)
    opened(lake, due_at=DUE + timedelta(days=1))
    requests.update(lake, done, "done", {}, NOON)
    rows = requests.standing_requests(lake)
    assert requests.overdue(rows, DUE).is_empty()
    found = requests.overdue(rows, DUE + timedelta(microseconds=1))
    assert found["request_id"].to_list() == [late.request_id]


@pytest.mark.parametrize("odd", [{"kind": "wish"}, {"requested_by": "ana"}])
def test_kinds_and_requesters_are_closed_lists(lake: Lake, odd: dict[str, str]) -> None:
    with pytest.raises(LakeError):
        opened(lake, **odd)
    assert requests.open_requests(lake) == []


def test_a_damaged_request_is_told(lake: Lake) -> None:
    lake.storage.write(requests.key_of("ab"), b"{}")
    with pytest.raises(LakeError, match="damaged"):
        requests.open_requests(lake)
