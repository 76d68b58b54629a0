from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest

from lake.lake import Lake, init_lake
from lake.rights import audit, requests
from lake.rights.anchors import Anchor, anchor_of, anchors, certificate_hash, examined
from tests.lake.made import NOON
from transforms.errors import UsageError
from transforms.subjects import Subject


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """Ten events, the eighth of which a request names."""
    lake = init_lake(f"{tmp_path}/lake", 2)
    told = [audit.append(lake, "pin_done", at=NOON, counts={"n": n}) for n in range(10)]
    asked = requests.open_request(
        lake, "pin", Subject("acme", memory="e1"), "consent", "subject", NOON, NOON + timedelta(days=1)
    )
    evidence = {"audit_seq": told[7].seq, "audit_hash": told[7].hash}
    requests.update(lake, asked, "done", evidence, NOON)
    return lake


def cut(lake: Lake, length: int) -> None:
    """Truncate the chain and set HEAD back, so that the chain itself looks whole."""
    for seq in range(length + 1, 11):
        (Path(lake.uri) / audit.key_of(seq)).unlink()
    last = audit.entries(lake)[-1]
    (Path(lake.uri) / audit.HEAD).write_text(json.dumps({"seq": last.seq, "hash": last.hash}))
    assert audit.verify(lake).broken is None


def test_a_whole_chain_holds(lake: Lake) -> None:
    head = audit.head(lake)
    assert head is not None
    assert [one.seq for one in anchors(lake)] == [8]
    kept = anchor_of(f"{head.seq}:{head.hash}")
    assert examined(lake, [kept]).broken is None
    assert examined(lake, [anchor_of(f"{head.seq}:{head.hash[:16]}")]).broken is None


def test_a_cut_with_its_head_set_back_is_found_by_requests(lake: Lake) -> None:
    name = requests.standing_requests(lake)["request_id"][0][:8]
    cut(lake, 5)
    assert examined(lake).broken == f"event 6 is missing: request {name} names event 8"


def test_what_nobody_names_can_be_cut_unseen_but_for_a_head_kept_elsewhere(lake: Lake) -> None:
    head = audit.head(lake)
    assert head is not None
    cut(lake, 8)
    assert examined(lake).broken is None
    found = examined(lake, [anchor_of(f"{head.seq}:{head.hash}")])
    assert found.broken == "event 9 is missing: the head kept elsewhere names event 10"


def test_a_chain_written_anew_is_found(lake: Lake) -> None:
    cut(lake, 3)
    for n in range(9):
        audit.append(lake, "pin_done", at=NOON, counts={"n": 100 + n})
    name = requests.standing_requests(lake)["request_id"][0][:8]
    assert examined(lake).broken == f"event 8 is not the one that request {name} names"


def test_certificates_are_anchors_and_must_be_there(lake: Lake) -> None:
    asked = requests.open_request(
        lake, "erase", Subject("acme", user="ana"), "ccpa", "subject", NOON, NOON + timedelta(days=1)
    )
    entry = audit.entries(lake)[9]
    key = f"certificates/{asked.request_id}.json"
    told = {"outcome": "held", "audit": {"seq": entry.seq, "hash": entry.hash}}
    lake.storage.write(key, json.dumps(told).encode())
    requests.update(lake, asked, "done", {"certificate": certificate_hash(told)}, NOON)
    assert examined(lake).broken is None
    assert {one.seq for one in anchors(lake)} == {8, 10}
    lake.storage.write(key, json.dumps({**told, "outcome": "complete"}).encode())
    assert examined(lake).broken == f"the certificate of request {asked.request_id[:8]} was changed"
    lake.storage.delete(key)
    assert examined(lake).broken == f"the certificate of request {asked.request_id[:8]} is missing"
    lake.storage.write(key, json.dumps({"audit": {"seq": 11, "hash": entry.hash}}).encode())
    assert (examined(lake).broken or "").startswith("event 11 is missing: the certificate of request")


@pytest.mark.parametrize("text", ["", "5", "0:" + "a" * 64, "5:xyz", "5:abcd", "-1:" + "a" * 64])
def test_an_anchor_has_a_number_and_a_hash(text: str) -> None:
    with pytest.raises(UsageError, match="SEQ:HASH"):
        anchor_of(text)


def test_an_anchor_is_read() -> None:
    assert anchor_of(" 5:" + "a" * 64) == Anchor(5, "a" * 64, "the head kept elsewhere")
