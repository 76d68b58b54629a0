from __future__ import annotations

import json
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lake.lake import Lake, init_lake
from lake.rights import tombstones
from lake.rights.refusals import Tombstone, Tombstones
from lake.rights.subjects import salt, subject_hash
from tests.lake.made import NOON
from transforms.errors import LakeError
from transforms.schemas import INSTANT
from transforms.subjects import Subject

REQUEST = "ab" * 16
TICK = timedelta(microseconds=1)
ANA = Subject("acme", user="ana")


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return init_lake(f"{tmp_path}/lake", 2)


def row(**values: Any) -> dict[str, Any]:
    nothing = dict.fromkeys(("user_id", "agent_id", "session_id", "episode_id"))
    return {"tenant_id": "acme", **nothing, "event_at": NOON, **values}


def frame(rows: Sequence[dict[str, Any]]) -> pl.DataFrame:
    names = ("tenant_id", "user_id", "agent_id", "session_id", "episode_id")
    return pl.DataFrame(rows, schema={**dict.fromkeys(names, pl.String), "event_at": INSTANT}, orient="row")


def marks(lake: Lake, *rows: dict[str, Any]) -> list[str | None]:
    """In bulk and row by row, which must agree."""
    bulk = tombstones.load(lake).marks(frame(rows)).to_list()
    assert bulk == tombstones.refused(lake, rows)
    assert tombstones.load(lake).is_refused(frame(rows)).to_list() == [mark is not None for mark in bulk]
    return bulk


def test_without_tombstones_everything_may_come(lake: Lake) -> None:
    assert not tombstones.load(lake)
    assert marks(lake, row(user_id="ana"), row()) == [None, None]


@pytest.mark.parametrize(
    ("subject", "refused"),
    [
        (Subject("acme"), {"ana", "anabel", "nobody", "bot", "memory"}),
        (Subject("acme", user="ana"), {"ana", "memory"}),
        (Subject("acme", agent="bot"), {"bot"}),
        (Subject("acme", session="s1"), {"ana", "anabel"}),
        (Subject("acme", user="ana", session="s1"), {"ana"}),
        (Subject("acme", agent="bot", session="s1"), set()),
        (Subject("acme", memory="e7"), {"memory"}),
        (Subject("acme", user="an"), set()),
        (Subject("acme", session="s"), set()),
        (Subject("other", user="ana"), {"other"}),
    ],
)
def test_a_subject_is_itself_and_no_other(lake: Lake, subject: Subject, refused: set[str]) -> None:
    rows = {
        "ana": row(user_id="ana", session_id="s1"),
        "anabel": row(user_id="anabel", session_id="s1"),
        "nobody": row(),
        "bot": row(agent_id="bot", session_id="s2"),
        "memory": row(user_id="ana", episode_id="e7"),
        "other": row(tenant_id="other", user_id="ana", episode_id="e7"),
    }
    tombstones.place(lake, subject, None, REQUEST)
    found = marks(lake, *rows.values())
    assert {name for name, mark in zip(rows, found, strict=True) if mark} == refused


def test_what_happens_later_may_come_again(lake: Lake) -> None:
    tombstones.place(lake, ANA, NOON, REQUEST)
    rows = [row(user_id="ana", event_at=at) for at in (NOON - TICK, NOON, NOON + TICK)]
    assert marks(lake, *rows) == ["erased_subject", "erased_subject", None]
    assert marks(lake, row(user_id="ana", event_at=None)) == ["erased_subject"]  # such as quarantined rows


def test_a_memory_never_comes_back_whatever_its_time(lake: Lake) -> None:
    tombstones.place(lake, Subject("acme", memory="e7"), NOON, REQUEST)
    assert marks(lake, row(episode_id="e7", event_at=NOON + timedelta(days=99))) == ["erased_subject"]


def test_two_marks_stand_beside_one_another(lake: Lake) -> None:
    tombstones.place(lake, ANA, None, REQUEST, mark="opted_out")
    tombstones.place(lake, ANA, NOON, REQUEST)
    rows = [row(user_id="ana", event_at=at) for at in (NOON, NOON + TICK)]
    assert marks(lake, *rows) == ["erased_subject", "opted_out"]
    tombstones.lift(lake, ANA, mark="opted_out")
    assert marks(lake, *rows) == ["erased_subject", None]
    tombstones.lift(lake, ANA)
    assert marks(lake, *rows) == [None, None]
    assert lake.storage.entries(tombstones.PREFIX) == []
    tombstones.lift(lake, ANA)


def test_a_tombstone_names_nobody(lake: Lake) -> None:
    tombstones.place(lake, ANA, NOON, REQUEST)
    (entry,) = lake.storage.entries(tombstones.PREFIX)
    raw = lake.storage.read(entry.key)
    assert raw is not None
    assert entry.key == f"tombstones/{subject_hash(salt(lake), ANA)}.json"
    assert json.loads(raw) == {
        "kind": "user",
        "marks": {"erased_subject": {"request_id": REQUEST, "until": NOON.isoformat()}},
    }


def test_the_next_look_sees_what_was_placed_just_before(lake: Lake) -> None:
    """Also within one tick of the file system's clock."""
    for number in range(25):
        user = f"u{number}"
        assert marks(lake, row(user_id=user)) == [None]
        tombstones.place(lake, Subject("acme", user=user), None, REQUEST)
        assert marks(lake, row(user_id=user)) == ["erased_subject"]
        tombstones.place(lake, Subject("acme", user=user), NOON, REQUEST)
        assert marks(lake, row(user_id=user, event_at=NOON + TICK)) == [None]
        tombstones.lift(lake, Subject("acme", user=user))
        assert marks(lake, row(user_id=user)) == [None]


def test_nothing_is_listed_while_nothing_changes(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    tombstones.place(lake, ANA, None, REQUEST)
    time.sleep(0.25)  # until the folder's time can be trusted
    held = tombstones.load(lake)
    monkeypatch.setattr(type(lake.storage), "entries", lambda *_: pytest.fail("listed again"))
    assert tombstones.load(lake) is held


@pytest.mark.parametrize(
    "raw",
    [
        b"{",
        b"[]",
        b'{"kind": "user", "marks": {}}',
        b'{"kind": "dog", "marks": {"opted_out": {"until": null, "request_id": "a"}}}',
        b'{"kind": "user", "marks": {"opted_out": {"until": "2026-01-01T00:00:00", "request_id": "a"}}}',
        b'{"kind": "user", "marks": {"gone": {"until": null, "request_id": "a"}}}',
    ],
)
def test_a_damaged_tombstone_lets_nothing_in(lake: Lake, raw: bytes) -> None:
    lake.storage.write("tombstones/0123.json", raw)
    with pytest.raises(LakeError, match="damaged"):
        tombstones.load(lake)


NAMES = st.sampled_from([None, "a", "b", "ab"])
INSTANTS = st.sampled_from([NOON - TICK, NOON, NOON + TICK, None])


@st.composite
def subjects(draw: st.DrawFn) -> Subject:
    kind = draw(st.sampled_from(["tenant", "user", "agent", "session", "memory"]))
    tenant = draw(st.sampled_from(["a", "b"]))
    if kind == "memory":
        return Subject(tenant, memory=draw(st.sampled_from(["a", "b"])))
    if kind in ("tenant", "user", "agent"):
        return Subject(tenant, **({} if kind == "tenant" else {kind: draw(st.sampled_from(["a", "ab"]))}))
    return Subject(tenant, draw(NAMES), draw(NAMES), draw(st.sampled_from(["a", "b"])))


ROWS = st.builds(
    lambda tenant, user, agent, session, name, at: row(
        tenant_id=tenant, user_id=user, agent_id=agent, session_id=session, episode_id=name, event_at=at
    ),
    st.sampled_from(["a", "b", None]), NAMES, NAMES, NAMES, NAMES, INSTANTS,
)  # fmt: skip


def plain_mark(
    held: dict[Subject, dict[tombstones.Mark, datetime | None]], one: dict[str, Any]
) -> str | None:
    """The definition, subject by subject."""
    found = set()
    for subject, told in held.items():
        is_mine = all(one[name] == value for name, value in subject.columns().items())
        if subject.memory is not None:
            is_mine = is_mine and one["episode_id"] == subject.memory
        for mark, until in told.items():
            at = one["event_at"]
            if is_mine and (until is None or at is None or subject.memory is not None or at <= until):
                found.add(mark)
    return next((mark for mark in tombstones.MARKS if mark in found), None)


@given(
    held=st.dictionaries(
        subjects(),
        st.dictionaries(st.sampled_from(tombstones.MARKS), st.sampled_from([NOON, None]), min_size=1),
        max_size=6,
    ),
    rows=st.lists(ROWS, max_size=12),
)
@settings(max_examples=100)
def test_marks_are_those_of_the_definition(
    held: dict[Subject, dict[tombstones.Mark, datetime | None]], rows: list[dict[str, Any]]
) -> None:
    ever = datetime(9999, 12, 31, tzinfo=UTC)
    made = Tombstones(
        b"key",
        {
            subject_hash(b"key", subject): Tombstone(
                subject.kind, {m: at or ever for m, at in told.items()}, {}, is_open=None in told.values()
            )
            for subject, told in held.items()
        },
    )
    expected = [plain_mark(held, one) for one in rows]
    assert made.marks(frame(rows)).to_list() == expected
    scopes = [tuple(one[n] for n in ("tenant_id", "user_id", "agent_id", "session_id")) for one in rows]
    online = [
        made.mark_of(scope, one["event_at"], one["episode_id"])
        for scope, one in zip(scopes, rows, strict=True)
    ]
    assert [mark is not None for mark in online] == [mark is not None for mark in expected]


def test_a_memory_is_not_served_where_it_rests_on_an_erased_one(lake: Lake) -> None:
    tombstones.place(lake, Subject("acme", memory="e7"), None, REQUEST)
    at = int(NOON.timestamp() * 1e6)
    fact = {**row(user_id="ana"), "memory_id": "f1", "event_at": at, "source_refs": ["e6", "e7"]}
    held = tombstones.load(lake)
    assert held.refuses(fact)
    assert not held.refuses({**fact, "source_refs": ["e6"]})
    assert not held.refuses({**fact, "tenant_id": "other"})
