"""``mem0-export``, ``zep-export``, ``langgraph-store``: a memory lands in its words, with its id."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.transforms.readers.damage import damaged_bytes, damaged_json
from tests.transforms.readers.reading import column, lines, read
from transforms.policy import IngestPolicy
from transforms.readers.batch import Resumable
from transforms.readers.memory_store import FIELD, FORMATS, slot_of
from transforms.readers.registry import detect, reader_named
from transforms.redact import redact

SAMPLES = Path(__file__).parents[3] / "samples" / "formats"
FILES = {
    "mem0-export": "mem0-export.json",
    "zep-export": "zep-export.json",
    "langgraph-store": "langgraph-store.jsonl",
}
AT = "2026-03-02T09:15:00+00:00"


def sample(name: str) -> bytes:
    return (SAMPLES / FILES[name]).read_bytes()


def values(name: str) -> list[dict[str, Any]]:
    text = sample(name).decode()
    return (
        [json.loads(line) for line in text.splitlines()] if name == "langgraph-store" else [json.loads(text)]
    )


def memory(draft: dict[str, Any]) -> dict[str, str]:
    """What the metadata says of the memory."""
    told: dict[str, str] = json.loads(draft["metadata"])[FIELD]
    return told


def test_the_formats_are_readers() -> None:
    assert sorted(FILES) == sorted(FORMATS)
    assert [reader_named(name).name for name in FORMATS] == list(FORMATS)


@pytest.mark.parametrize("name", FORMATS)
def test_samples_are_told(name: str) -> None:
    found = detect(sample(name), "x")
    assert found is not None
    assert found.name == name


def test_mem0_row_by_row() -> None:
    found = read("mem0-export", sample("mem0-export"))
    names = ("natural_id", "user_id", "agent_id", "session_id", "content", "event_at", "expires_at", "tags")
    assert [tuple(d[n] for n in names) for d in found.drafts] == [
        (
            "5f0b1c7e-9a34-4d52-8e61-2b7d90c4a1f3", "u-ilka", "travel-desk", None,
            "Prefers aisle seats on trains", "2026-04-11T18:40:12+00:00", None, None,
        ),
        (
            "a2c9e0d4-61bb-4f0e-9c7a-8d35e2f7b610", "u-ilka", None, None,
            "Is allergic to hazelnuts", AT, None, ["health", "food"],
        ),
        (
            "c41d77f2-0e58-4b6c-a1d9-34f60b9e2a85", "u-bram", None, "run-118",
            "Invoices go to the Graz office until the end of 2026", "2026-05-20T07:01:33.512000-07:00",
            "2026-12-31T23:59:59+00:00", None,
        ),
    ]  # fmt: skip
    assert {(d["kind"], d["role"], d["is_injected"]) for d in found.drafts} == {("summary", "other", True)}
    assert json.loads(str(found.drafts[0]["metadata"])) == {
        "category": "travel",
        "hash": "0d6a1f0c6e4b7d2f9a3c5e8b7f1d2c40",
        FIELD: {
            "store": "mem0",
            "id": "5f0b1c7e-9a34-4d52-8e61-2b7d90c4a1f3",
            "slot": slot_of("mem0", "5f0b1c7e-9a34-4d52-8e61-2b7d90c4a1f3"),
        },
    }
    assert (found.refusals, found.left_out, found.rows_in) == ([], {}, 3)


def test_mem0_in_its_other_shapes() -> None:
    one = {"id": "m1", "memory": "Eats late", "user_id": "u", "created_at": AT}
    point = {"id": "m1", "payload": {"data": "Eats late", "hash": "h", "user_id": "u", "created_at": AT}}
    shapes = [
        json.dumps([one]),
        json.dumps({"count": 1, "next": None, "results": [one]}),
        lines(one),
        lines(point, point | {"id": "m2"}),
        json.dumps([point | {"vector": [0.1, 0.2]}]),
        json.dumps({"result": {"points": [point], "next_page_offset": None}, "status": "ok"}),
    ]
    for shape in shapes:
        reader = detect(shape.encode(), "dump.json")
        assert reader is not None
        assert reader.name == "mem0-export"
        draft = read("mem0-export", shape).drafts[0]
        assert (draft["natural_id"], draft["content"], draft["user_id"], draft["event_at"]) == (
            "m1", "Eats late", "u", AT,
        )  # fmt: skip
        assert memory(draft)["id"] == "m1"


def test_mem0_history_gives_versions_of_one_memory_and_none_of_a_deleted_one() -> None:
    row = {"memory_id": "m1", "old_memory": None, "event": "ADD", "created_at": AT, "updated_at": None}
    rows = [
        {**row, "id": "h1", "new_memory": "Eats late"},
        {**row, "id": "h2", "memory_id": "m2", "new_memory": "Has a boat"},
        {
            **row,
            "id": "h3",
            "event": "UPDATE",
            "new_memory": "Eats early",
            "updated_at": "2026-04-01T00:00:00Z",
        },
        {**row, "id": "h4", "memory_id": "m2", "event": "DELETE", "new_memory": None, "is_deleted": 1},
    ]
    assert detect(lines(*rows).encode(), "h.jsonl").name == "mem0-export"  # type: ignore[union-attr]
    found = read("mem0-export", lines(*rows))
    assert column(found.drafts, "natural_id") == ["h1", "h3"]
    assert column(found.drafts, "content") == ["Eats late", "Eats early"]
    assert column(found.drafts, "event_at") == [AT, "2026-04-01T00:00:00Z"]
    assert len({memory(d)["slot"] for d in found.drafts}) == 1
    assert (found.left_out, found.rows_in) == ({"deleted_memory": 2}, 4)


def test_openmemory_backups_name_user_app_and_categories() -> None:
    item = {"id": "m1", "user_id": "uuid-1", "app_id": "a1", "content": "Eats late", "state": "active",
            "created_at": AT, "updated_at": AT, "category_ids": ["c1"]}  # fmt: skip
    document = {
        "user": {"id": "uuid-1", "user_id": "ilka"},
        "apps": [{"id": "a1", "name": "editor"}],
        "categories": [{"id": "c1", "name": "food"}],
        "memories": [item, item | {"id": "m2", "state": "deleted"}, 7],
        "memory_categories": [],
    }
    assert detect(json.dumps(document).encode(), "memories.json").name == "mem0-export"  # type: ignore[union-attr]
    found = read("mem0-export", json.dumps(document))
    [draft] = found.drafts
    assert (draft["user_id"], draft["tags"], draft["content"]) == ("ilka", ["food"], "Eats late")
    assert json.loads(str(draft["metadata"]))["app"] == "editor"
    assert (found.left_out, column(found.refusals, "reason")) == ({"deleted_memory": 1}, ["not_an_object"])
    line = {"id": "m1", "content": "Eats late", "metadata": {}, "created_at": AT, "updated_at": AT,
            "state": "active", "app": "editor", "categories": ["food"]}  # fmt: skip
    assert detect(lines(line).encode(), "memories.jsonl").name == "mem0-export"  # type: ignore[union-attr]
    [draft] = read("mem0-export", lines(line)).drafts
    assert (draft["natural_id"], draft["tags"]) == ("m1", ["food"])


def test_zep_row_by_row() -> None:
    found = read("zep-export", sample("zep-export"))
    assert column(found.drafts, "is_injected") == [True, True, None, None, None, None]
    names = ("natural_id", "kind", "role", "speaker", "content", "event_at")
    assert [tuple(d[n] for n in names) for d in found.drafts] == [
        (
            "0b7de3a1-44c2-4e0c-9d15-6f2a8c91b7e4", "summary", "other", None,
            "Ilka lives in Linz", "2026-02-03T10:00:00Z",
        ),
        (
            "7e1f40c9-2d83-4a6b-b0c8-95d4e7a3f216", "summary", "other", None,
            "Bram works at Norden Freight (until 2026-04-15)", "2026-02-03T10:00:00Z",
        ),
        ("e-1", "observation", "other", None, '{"booking": "choir, 14 seats"}', "2026-02-03T09:59:00Z"),
        ("n-1", "summary", "other", None, "Ilka plans trips for a choir.", "2026-02-03T10:00:00Z"),
        ("m-1", None, "user", "Ilka", "I moved to Linz last weekend.", "2026-02-03T09:58:00Z"),
        ("m-2", None, "assistant", "Planner", "Noted.", "2026-02-03T09:58:04Z"),
    ]  # fmt: skip
    assert {(d["user_id"], d["session_id"]) for d in found.drafts} == {("u-ilka", "thread-7")}
    told = [memory(d) for d in found.drafts[:2]]
    assert (told[0].get("subject"), told[0]["valid_from"], told[0].get("valid_until")) == (
        None, "2026-02-01T00:00:00Z", None,
    )  # fmt: skip
    assert (told[1]["subject"], told[1]["valid_until"]) == ("Bram", "2026-04-15T00:00:00Z")
    assert all(FIELD not in str(d["metadata"]) for d in found.drafts[2:])
    assert (found.refusals, found.left_out, found.rows_in) == ([], {"node_without_summary": 1}, 7)


def test_zep_in_its_other_shapes() -> None:
    edge = {"uuid": "e", "fact": "Ilka sings", "name": "SINGS", "created_at": AT, "group_id": "g"}
    for shape in (json.dumps([edge]), lines(edge), json.dumps({"facts": [edge]})):
        assert detect(shape.encode(), "x").name == "zep-export"  # type: ignore[union-attr]
        [draft] = read("zep-export", shape).drafts
        assert (draft["natural_id"], memory(draft)["id"]) == ("e", "e")
    thread = {"messages": [{"uuid": "m", "name": "Ilka", "role": "user", "content": "Hi", "created_at": AT}],
              "row_count": 1, "total_count": 1, "user_id": "u"}  # fmt: skip
    assert detect(json.dumps(thread).encode(), "x").name == "zep-export"  # type: ignore[union-attr]
    [draft] = read("zep-export", json.dumps(thread)).drafts
    assert (draft["natural_id"], draft["role"], draft["speaker"], draft["user_id"]) == (
        "m",
        "user",
        "Ilka",
        "u",
    )
    old = {
        "session_id": "s",
        "created_at": AT,
        "facts": ["Ilka sings"],
        "summary": {"content": "About songs"},
        "messages": [{"role": "Ilka", "role_type": "user", "content": "Hi", "created_at": AT}],
    }
    assert detect(json.dumps(old).encode(), "x").name == "zep-export"  # type: ignore[union-attr]
    found = read("zep-export", json.dumps(old))
    assert [(d["natural_id"], d["content"]) for d in found.drafts] == [
        (None, "Ilka sings"), ("s/0", "Hi"), (None, "About songs"),
    ]  # fmt: skip
    assert memory(found.drafts[0])["slot"] == slot_of("zep", "Ilka sings")


def test_langgraph_row_by_row() -> None:
    found = read("langgraph-store", sample("langgraph-store"))
    assert [(d["natural_id"], d["user_id"], d["agent_id"], d["content"]) for d in found.drafts] == [
        ("memories/u-ilka/3c1a", "u-ilka", None, "Sings alto in the choir"),
        (
            "users/u-bram/profile/profile",
            "u-bram",
            None,
            "name: Bram; languages: Dutch, German; budget: 1200",
        ),
        ("u-ilka/memories/food", "u-ilka", None, "Eats no pork"),
        ("agents/planner/rules", None, "planner", "Quote prices in euros"),
    ]
    assert found.drafts[1]["event_at"] == "2026-05-09T06:30:00+00:00"
    assert json.loads(str(found.drafts[2]["metadata"]))["topic"] == "food"
    assert (found.refusals, found.left_out, found.rows_in) == ([], {}, 4)


@pytest.mark.parametrize(
    ("namespace", "user", "agent"),
    [
        (["memories", "u1"], "u1", None),
        (["u1"], "u1", None),
        (["acme", "users", "u1", "memories"], "u1", None),
        (["agents", "a1", "users", "u1"], "u1", "a1"),
        (["u1", "chitchat"], None, None),
        (["memories"], None, None),
        ("memories.u1", "u1", None),
    ],
)
def test_whose_a_namespace_is(namespace: object, user: str | None, agent: str | None) -> None:
    item = {"namespace": namespace, "key": "k", "value": {"text": "x"}, "created_at": AT}
    [draft] = read("langgraph-store", lines(item)).drafts
    assert (draft["user_id"], draft["agent_id"]) == (user, agent)


def test_langgraph_in_its_other_shapes() -> None:
    row = {"prefix": "memories.u1", "key": "k", "value": '{"text": "Sings"}', "created_at": AT,
           "updated_at": "2026-04-01T00:00:00+00:00", "expires_at": "2026-09-01T00:00:00+00:00"}  # fmt: skip
    item = {"namespace": ["u1"], "key": "k", "value": "Sings", "createdAt": AT, "updatedAt": AT}
    for shape in (lines(row), json.dumps({"items": [item]})):
        assert detect(shape.encode(), "x").name == "langgraph-store"  # type: ignore[union-attr]
        [draft] = read("langgraph-store", shape).drafts
        assert (draft["content"], draft["user_id"]) == ("Sings", "u1")
    odd = read("langgraph-store", lines({"namespace": 7, "key": "k", "value": {}}, {**item, "value": {}}))
    assert column(odd.refusals, "reason") == ["bad_field_type", "no_content"]


@pytest.mark.parametrize("name", FORMATS)
def test_a_grown_export_keeps_its_rows(name: str) -> None:
    whole = sample(name)
    few = [{k: v[:1] if isinstance(v, list) else v for k, v in held.items()} for held in values(name)]
    shorter = sample(name).splitlines()[0] if name == "langgraph-store" else json.dumps(few[0])
    before = {d["natural_id"]: d["content"] for d in read(name, shorter).drafts}
    after = {d["natural_id"]: d["content"] for d in read(name, whole).drafts}
    assert before
    assert before.items() < after.items()


@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_damage_loses_no_row_and_raises_nothing(name: str, seed: int) -> None:
    read(name, damaged_bytes(sample(name), seed))
    read(name, damaged_json(values(name), seed))


def test_redaction_never_touches_a_slot() -> None:
    slots = pl.Series([slot_of("mem0", f"id-{n}") for n in range(20_000)])
    assert redact("{" + slots + "}", keep_kinds=())["text"].to_list() == ("{" + slots + "}").to_list()


def test_of_a_broken_zep_document_the_whole_items_land() -> None:
    data = sample("zep-export")
    whole = {d["natural_id"]: (d["content"], d["user_id"]) for d in read("zep-export", data).drafts}
    cut = read("zep-export", data[:1_600])
    assert column(cut.refusals, "reason") == ["truncated_json"]
    assert {d["natural_id"]: (d["content"], d["user_id"]) for d in cut.drafts}.items() < whole.items()
    assert len(cut.drafts) == 4
    bad = read("zep-export", data.replace(b'"fact": "Bram', b'"fact": Bram'))
    assert len(bad.drafts) == len(whole) - 1
    assert "Bram works" in str(bad.refusals[0]["raw"])
    assert "Ilka lives" not in str(bad.refusals[0]["raw"])
    nobodys = read("zep-export", data.replace(b'"user_id": "u-ilka",', b"")[:1_600])
    assert (nobodys.drafts, column(nobodys.refusals, "reason")) == ([], ["truncated_json"])


def test_of_a_broken_backup_the_whole_memories_land() -> None:
    items = [{"id": f"m{n}", "user_id": "x", "content": f"fact {n}", "created_at": AT} for n in range(4)]
    document = {"user": {"id": "x", "user_id": "ilka"}, "memories": items}
    cut = read("mem0-export", json.dumps(document)[:-40])
    assert [(d["natural_id"], d["user_id"]) for d in cut.drafts] == [(f"m{n}", "ilka") for n in range(3)]
    assert len(cut.refusals) == 1
    assert read("mem0-export", json.dumps({"memories": items})[:-40]).drafts == []


@pytest.mark.parametrize("name", FORMATS)
def test_reading_goes_on_from_any_point(name: str) -> None:
    item = {
        "mem0-export": {"id": "m0", "memory": "Rows at dawn", "user_id": "u", "created_at": AT},
        "zep-export": {"uuid": "m0", "fact": "Rows at dawn", "created_at": AT},
        "langgraph-store": {"namespace": ["u"], "key": "m0", "value": "Rows at dawn", "created_at": AT},
    }[name]
    own = {"mem0-export": "id", "zep-export": "uuid", "langgraph-store": "key"}[name]
    rows = [{**item, own: f"m{n}"} for n in range(60)]
    policy = IngestPolicy(batch_rows=7)
    reader = reader_named(name)
    assert isinstance(reader, Resumable)
    for data in (lines(*rows).encode(), json.dumps(rows, indent=1).encode()):
        batches = list(reader.read(io.BytesIO(data), "source", policy))
        ids = [batch.drafts["natural_id"].to_list() for batch in batches]
        assert sum(map(len, ids)) == 60
        for count, batch in enumerate(batches[:-1], start=1):
            assert batch.point is not None
            stream = io.BytesIO(data)
            stream.seek(batch.point.offset)
            rest = reader.read_on(stream, "source", policy, batch.point)
            found = [name for part in rest for name in part.drafts["natural_id"].to_list()]
            assert found == [name for part in ids[count:] for name in part]
