"""``group-chat``: people, zones, replies; whose memory a chat becomes."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.transforms.readers.damage import damaged_bytes, damaged_json
from tests.transforms.readers.reading import column, lines, read
from transforms.claims.extract import extract
from transforms.normalise import normalise
from transforms.policy import IngestPolicy, Policy
from transforms.readers.chats import for_owner
from transforms.readers.registry import detect, reader_named
from transforms.validate import Defaults

SAMPLE = Path(__file__).parents[3] / "samples" / "formats" / "group-chat.json"
AS_OF = datetime(2026, 6, 1, tzinfo=UTC)


def drafts(data: bytes, owner: str | None) -> pl.DataFrame:
    reader = for_owner(reader_named("group-chat"), owner)
    return pl.concat([b.drafts for b in reader.read(io.BytesIO(data), "source", IngestPolicy())])


def episodes(data: bytes, owner: str | None) -> pl.DataFrame:
    defaults = Defaults(tenant_id="t", user_id=owner)
    done = normalise(
        drafts(data, owner), source="group-chat", defaults=defaults, policy=Policy(), as_of=AS_OF, buckets=4
    )
    assert done.refusals.is_empty()
    return done.episodes


def test_the_sample_row_by_row() -> None:
    found = read("group-chat", SAMPLE.read_bytes())
    rows = [
        (d["natural_id"], d["role"], d["user_id"], d["speaker"], d["event_at"], d["parent_id"])
        for d in found.drafts
    ]
    group = "ferry_summer_2026/f293e443"
    ines, oskar = ("user", "p-ines", "Ines Vasconde"), ("user", "p-oskar", "Oskar Brenk")
    assert rows == [
        (f"{group}/m1", *ines, "2026-04-13T08:02:00+00:00", None),
        (f"{group}/m2", *oskar, "2026-04-13T08:03:30+00:00", f"{group}/m1"),
        (f"{group}/m3", "user", "p-mei", "林美", "2026-04-13T10:15:00+02:00", f"{group}/m2"),
        (f"{group}/m4", "assistant", None, "Tide Bot", "2026-04-13T09:16:00Z", None),
        (f"{group}/m5", *ines, "2026-04-13T08:20:00+00:00", None),
        (f"{group}/m5/2", *oskar, "2026-04-13T08:21:00+00:00", f"{group}/m5"),
        (f"{group}/m6", "user", "p-guest", "Harbour office", "2026-04-13T08:22:00+00:00", None),
    ]
    assert set(column(found.drafts, "session_id")) == {"ferry_summer_2026"}
    assert column(found.drafts, "source_line") == [1, 2, 3, 4, 5, 6, 7]
    assert found.drafts[2]["content"] == "周末的票已经卖出八成，六点四十那班最受欢迎。"
    assert json.loads(str(found.drafts[4]["metadata"])) == {
        "scene": "team",
        "sender": "p-ines",
        "tags": ["timetable", "summer"],
        "title": "Harbour ferry timetable",
        "type": "image",
        "width": 1280,
    }
    assert (found.refusals, found.left_out, found.rows_in) == ([], {"profile": 4}, 11)


@pytest.mark.parametrize("owner", ["p-ines", "Ines", "INES VASCONDE", "ines@blueferry.example"])
def test_with_an_owner_only_the_owners_words_are_the_users(owner: str) -> None:
    rows = episodes(SAMPLE.read_bytes(), owner)
    assert set(rows["user_id"]) == {owner}
    roles = rows.sort("source_line")["role"].to_list()
    assert roles == ["user", "other", "other", "assistant", "user", "other", "other"]


def test_nobodys_words_become_anothers_facts() -> None:
    data = SAMPLE.read_bytes()
    alone = extract(episodes(data, None), Policy()).claims
    assert set(alone.select("owner", "predicate").rows()) == {
        ("user:p-ines", "lives_in"),
        ("user:p-oskar", "allergic_to"),
    }
    owned = extract(episodes(data, "p-ines"), Policy()).claims
    assert set(owned.select("owner", "predicate").rows()) == {("user:p-ines", "lives_in")}
    assert extract(episodes(data, "somebody-else"), Policy()).claims.is_empty()


def chat(*messages: object, **header: object) -> dict[str, Any]:
    return {"version": "1", "session_meta": {"group_id": "g", **header}, "conversation_list": list(messages)}


PAIR = {"a": {"full_name": "Ana", "role": "user"}, "b": {"full_name": "Helper", "role": "assistant"}}


@pytest.mark.parametrize("scene", ["solo", "assistant", None])
def test_an_assistants_words_lie_with_the_one_person_it_talks_to(scene: str | None) -> None:
    header = {"user_details": PAIR} | ({"scene": scene} if scene else {})
    data = json.dumps(
        chat({"sender": "a", "content": "hi"}, {"sender": "b", "content": "ho"}, **header)
    ).encode()
    assert drafts(data, None).select("role", "user_id").rows() == [("user", "a"), ("assistant", "a")]
    assert drafts(data, "zoe").select("role", "user_id").rows() == [("user", None), ("assistant", None)]


def test_times_without_a_zone_take_the_headers_or_stay_naive() -> None:
    messages = [
        {"sender": "a", "content": "x", "create_time": t} for t in ("2026-07-01T12:00:00", 1782900000)
    ]
    for zone, expected in (
        ("Asia/Tokyo", "2026-07-01T03:00:00+00:00"),
        ("Nowhere/At_All", "2026-07-01T12:00:00"),
        (None, "2026-07-01T12:00:00"),
    ):
        found = read("group-chat", json.dumps(chat(*messages, default_timezone=zone)))
        assert column(found.drafts, "event_at") == [expected, "2026-07-01T10:00:00.000000+00:00"]


def test_the_earlier_header_and_lines_of_chats() -> None:
    old = {"conversation_meta": {"group_id": "g", "name": "n"}, "conversation_list": [{"content": "x"}]}
    found = read("group-chat", "\n".join(json.dumps(d) for d in (old, chat({"content": "y", "sender": "a"}))))
    assert column(found.drafts, "session_id") == ["g", "g"]
    assert column(found.drafts, "source_line") == [1, 2]


def test_one_group_under_two_names_is_two_chats_in_one_session() -> None:
    message = {"message_id": "m", "content": "x"}
    found = read("group-chat", lines(*(chat(message, name=name) for name in ("Ferry", "渡船", "Ferry"))))
    first, second, again = column(found.drafts, "natural_id")
    assert first == again != second
    assert set(column(found.drafts, "session_id")) == {"g"}


def test_bad_messages_are_refused_alone() -> None:
    messages = [7, {"sender": []}, {"content": {}}, {"content": ""}, {"content": "ok"}, {"create_time": True}]
    found = read("group-chat", json.dumps(chat(*messages)))
    assert column(found.drafts, "content") == ["ok"]
    assert sorted((r["source_line"], r["reason"]) for r in found.refusals) == [
        (1, "bad_field_type"),
        (2, "bad_field_type"),
        (3, "bad_field_type"),
        (4, "no_content"),
        (6, "bad_field_type"),
    ]
    assert column(read("group-chat", '{"conversation_list": 3}').refusals, "reason") == ["bad_field_type"]


def test_a_grown_chat_keeps_the_ids_of_its_rows() -> None:
    document = json.loads(SAMPLE.read_bytes())
    whole = {(d["natural_id"], d["content"]) for d in read("group-chat", SAMPLE.read_bytes()).drafts}
    for count in range(8):
        cut = {**document, "conversation_list": document["conversation_list"][:count]}
        rows = read("group-chat", json.dumps(cut)).drafts
        assert {(d["natural_id"], d["content"]) for d in rows} <= whole
        assert len(rows) == count


@settings(max_examples=150)
@given(st.integers(0, 2**31))
def test_damage_loses_no_row(seed: int) -> None:
    data = SAMPLE.read_bytes()
    read("group-chat", damaged_bytes(data, seed), IngestPolicy(batch_rows=3))
    read("group-chat", damaged_json(json.loads(data), seed), IngestPolicy(batch_rows=3))


REAL = {"solo_chat_en": 104, "solo_chat_zh": 104, "team_chat_en": 509, "team_chat_zh": 510}


@pytest.mark.parametrize("name", REAL)
def test_real_chats(real_data: Path, name: str) -> None:
    data = (real_data / "formats" / "group_chat_en_zh" / f"{name}.json").read_bytes()
    reader = detect(data[: IngestPolicy().sniff_bytes], f"{name}.json")
    assert reader is not None
    assert reader.name == "group-chat"
    found = read("group-chat", data)
    people = 2 if name.startswith("solo") else 5
    assert (len(found.drafts), found.refusals, found.left_out) == (REAL[name], [], {"profile": people})
    assert len(set(column(found.drafts, "natural_id"))) == REAL[name]
    roles = column(found.drafts, "role")
    assert roles.count("assistant") == (52 if people == 2 else 0)
    assert len(set(column(found.drafts, "user_id"))) == (1 if people == 2 else 5)
    assert all(d["speaker"] and str(d["event_at"]).startswith("2025-") for d in found.drafts)
    for seed in range(40):
        read("group-chat", damaged_bytes(data, seed))
        read("group-chat", damaged_json(json.loads(data), seed))
