from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from lake.lake import Lake, init_lake
from lake.rights import standing
from tests.lake.made import NOON
from transforms.errors import LakeError
from transforms.standing import Standing
from transforms.subjects import Subject

ANA = Subject("acme", user="ana")
FULL = Standing(
    ANA,
    is_held=True,
    is_opted_out=True,
    opted_out_at=NOON,
    period_seconds=90 * 86_400,
    forbidden_topics=("divorce", "離婚"),
    pinned=("e1", "e2"),
)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return init_lake(f"{tmp_path}/lake", 2)


def test_what_is_saved_is_loaded(lake: Lake) -> None:
    assert standing.load(lake, ANA) == Standing(ANA)
    standing.save(lake, FULL)
    assert standing.load(lake, ANA) == FULL
    assert standing.load_all(lake) == [FULL]
    standing.save(lake, Standing(ANA, is_held=True))
    assert standing.load(lake, ANA) == Standing(ANA, is_held=True)
    standing.save(lake, Standing(ANA))
    assert standing.load_all(lake) == []
    assert lake.storage.entries(standing.PREFIX) == []


def test_the_file_is_named_by_a_hash(lake: Lake) -> None:
    standing.save(lake, FULL)
    (entry,) = lake.storage.entries(standing.PREFIX)
    assert "ana" not in entry.key.removeprefix("standing/")


def test_a_row_is_told_of_its_tenant_user_and_agent(lake: Lake) -> None:
    subjects = [Subject("acme"), ANA, Subject("acme", agent="bot"), Subject("acme", user="anabel")]
    for number, subject in enumerate(subjects, 1):
        standing.save(lake, Standing(subject, period_seconds=number))
    found = standing.of_rows(lake, "acme", "ana", "bot")
    assert [one.period_seconds for one in found] == [1, 2, 3]
    assert [one.period_seconds for one in standing.of_rows(lake, "acme", None, None)] == [1]
    assert standing.of_rows(lake, "other", "ana", "bot") == []


@pytest.mark.parametrize("raw", [b"{", b"[]", b"{}", b'{"subject": {"tenant": ""}}'])
def test_a_damaged_instruction_is_told(lake: Lake, raw: bytes) -> None:
    lake.storage.write("standing/0123.json", raw)
    with pytest.raises(LakeError, match="damaged"):
        standing.load_all(lake)


def test_periods_and_holds_of_a_lake(lake: Lake) -> None:
    standing.save(lake, FULL)
    seconds = int(timedelta(days=90).total_seconds())
    from transforms.standing import held, periods, pins

    everything = standing.load_all(lake)
    assert periods(everything).rows() == [("acme", "ana", seconds)]
    assert pins(everything).rows() == [("acme", "e1"), ("acme", "e2")]
    assert held(everything) == [ANA]
