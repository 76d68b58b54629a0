"""``slack-export``: a workspace as folder and as zip, names from its lists, what is a message."""

from __future__ import annotations

import json
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lake.sources import open_sources
from tests.transforms.readers.damage import WRONG, damaged_bytes, damaged_json
from tests.transforms.readers.reading import column, lines, read
from transforms.policy import IngestPolicy
from transforms.readers.registry import detect
from transforms.readers.slack_names import Names, names_of, plain_words

SAMPLE = Path(__file__).parents[3] / "samples" / "formats" / "slack-export"
DAY = SAMPLE / "kiln-room" / "2026-05-04.json"


def rows_of(source: Path, owner: str | None = None) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """All drafts of a folder or zip, and what was left out."""
    drafts, left_out = [], Counter[str]()
    for found in open_sources(str(source)):
        with found.open() as stream:
            reader = found.owned_by(owner).reader
            for batch in reader.read(stream, found.file_name, IngestPolicy()):
                assert batch.refusals.is_empty()
                assert batch.rows_in == batch.drafts.height + sum(batch.left_out.values())
                drafts.append(batch.drafts)
                left_out.update(batch.left_out)
    return pl.concat(drafts).to_dicts(), dict(left_out)


def zipped(folder: Path, target: Path) -> Path:
    with zipfile.ZipFile(target, "w") as archive:
        for path in sorted(folder.rglob("*.json")):
            archive.write(path, path.relative_to(folder).as_posix())
    return target


def test_the_sample_row_by_row() -> None:
    rows, left_out = rows_of(SAMPLE)
    aura, bram = ("user", "U1AURA", "Aura Lindqvist"), ("user", "U2BRAM", "Bram Okafor")
    head, text = "C1KILN/1777881660.000200", "glaze firing is on Friday & I prefer cone 6. Plan:"
    assert [
        (r["natural_id"], r["role"], r["user_id"], r["speaker"], r["content"], r["parent_id"]) for r in rows
    ] == [
        ("D7PAIR/1777885200.000100", *bram, "Between us: my birthday is on 14 June.", None),
        (head, *aura, f"Hi @Bram Okafor, {text} the plan (https://claybarn.example/plan)", None),
        ("C1KILN/1777881720.000300", *bram, "I live above the studio now, so I can open up at 7.", head),
        ("C1KILN/1777881780.000400", "other", None, "Kiln Watch", "Kiln 2\nPeak 1222 °C reached", head),
        ("C1KILN/1777881840.000500", "other", None, "weather", "Rain until noon", None),
        ("C1KILN/1777881960.000700", *aura, "Shelf order for #kiln-room, see the list", None),
        ("C1KILN/1777968000.000100", "user", "U9GUEST", "Noor Visitor", "@here who has the key?", None),
        ("C1KILN/1777968060.000200", *bram, "Done, see you at 7.", head),
    ]
    assert column(rows, "session_id") == ["D7PAIR", *["C1KILN"] * 7]
    assert rows[0]["event_at"] == "2026-05-04T09:00:00.000100+00:00"
    assert json.loads(rows[2]["metadata"]) == {
        "channel": "kiln-room",
        "client_msg_id": "a2",
        "edited": {"ts": "1777881725.000000", "user": "U2BRAM"},
        "parent_user_id": "U1AURA",
        "team": "T1CLAY",
        "thread_ts": "1777881660.000200",
    }
    assert left_out == {"channel_event": 1, "deleted_message": 1, "no_text_part": 1}


def test_the_zip_holds_the_same_rows_as_the_folder(tmp_path: Path) -> None:
    inside, left_out = rows_of(zipped(SAMPLE, tmp_path / "export.zip"))
    for row in inside:
        row["source_file"] = row["source_file"].removeprefix("export.zip/")
    assert (inside, left_out) == rows_of(SAMPLE)


def test_an_export_below_other_folders_finds_its_lists(tmp_path: Path) -> None:
    for path in SAMPLE.rglob("*.json"):
        target = tmp_path / "backup" / "2026" / path.relative_to(SAMPLE)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())
    rows, _ = rows_of(tmp_path)
    assert column(rows, "natural_id") == column(rows_of(SAMPLE)[0], "natural_id")
    assert column(rows, "speaker") == column(rows_of(SAMPLE)[0], "speaker")


def test_lists_are_read_along_and_said_to_be() -> None:
    skipped: list[tuple[str, str]] = []
    found = list(open_sources(str(SAMPLE), on_skip=lambda name, why: skipped.append((name, why))))
    assert {s.reader.name for s in found} == {"slack-export"}
    why = "read along with the messages beside it"
    assert skipped == [(name, why) for name in ("channels.json", "dms.json", "users.json")]


@pytest.mark.parametrize("owner", ["U2BRAM", "bram", "Bram Okafor", "BRAM@claybarn.example"])
def test_with_an_owner_only_the_owners_words_are_the_users(owner: str) -> None:
    rows, _ = rows_of(SAMPLE, owner)
    assert set(column(rows, "user_id")) == {None}
    assert column(rows, "role") == ["user", "other", "user", "other", "other", "other", "other", "user"]


@pytest.mark.parametrize("broken", [b"", b"{", b"[1, null]", b'[{"id": 5}, {"id": "U1"}]', b"\xff\xfe"])
def test_without_readable_lists_ids_stand_for_names(tmp_path: Path, broken: bytes) -> None:
    target = tmp_path / "general" / "2026-05-04.json"
    target.parent.mkdir()
    target.write_bytes(DAY.read_bytes())
    (tmp_path / "users.json").write_bytes(broken)
    rows, _ = rows_of(tmp_path)
    assert rows[0]["speaker"] == rows[0]["user_id"] == "U1AURA"
    assert rows[0]["content"].startswith("Hi @U2BRAM, ")
    assert rows[0]["natural_id"] == "general/1777881660.000200"


def message(**fields: object) -> dict[str, object]:
    return {"type": "message", "user": "U1", "text": "x", "ts": "1777881600.000100", **fields}


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"subtype": "channel_topic"}, "channel_event"),
        ({"subtype": "group_join"}, "channel_event"),
        ({"subtype": "pinned_item"}, "channel_event"),
        ({"subtype": "huddle_thread"}, "channel_event"),
        ({"subtype": "message_deleted"}, "deleted_message"),
        ({"type": "hello"}, "bookkeeping"),
        ({"text": "", "file": {"title": "a"}}, "no_text_part"),
    ],
)
def test_what_is_no_ones_word_is_left_out(fields: dict[str, object], reason: str) -> None:
    found = read("slack-export", json.dumps([message(**fields)]))
    assert (found.drafts, found.refusals, found.left_out) == ([], [], {reason: 1})


@pytest.mark.parametrize("subtype", ["me_message", "file_share", "thread_broadcast", "of_a_later_year"])
def test_words_of_other_subtypes_land(subtype: str) -> None:
    [row] = read("slack-export", json.dumps([message(subtype=subtype)])).drafts
    assert (row["content"], row["role"]) == ("x", "user")
    assert json.loads(str(row["metadata"])) == {"subtype": subtype}


def test_a_change_is_the_message_as_it_is_now() -> None:
    now = message(text="new", ts="1777881600.000100")
    record = {"type": "message", "subtype": "message_changed", "ts": "1777881700.1", "message": now}
    [row] = read("slack-export", json.dumps([record])).drafts
    assert (row["natural_id"], row["content"]) == ("1777881600.000100", "new")


def test_a_comment_on_a_file_is_its_writers() -> None:
    record = message(subtype="file_comment", comment={"user": "U5", "comment": "nice"})
    del record["user"]
    [row] = read("slack-export", json.dumps([record])).drafts
    assert (row["role"], row["user_id"]) == ("user", "U5")


def test_a_program_may_show_its_words_in_blocks_only() -> None:
    blocks = [
        {"type": "section", "text": {"type": "mrkdwn", "text": "*Deploy* done"}, "fields": [{"text": "ok"}]}
    ]
    record = message(text="", blocks=blocks, bot_profile={"name": "ship"}, bot_id="B1")
    [row] = read("slack-export", json.dumps([record])).drafts
    assert (row["content"], row["speaker"], row["role"]) == ("*Deploy* done\nok", "ship", "other")


@pytest.mark.parametrize(
    ("raw", "plain"),
    [
        ("<@U1> and <@U2|ann>", "@Uma and @ann"),
        ("<#C1> <#C2|old> <#C3>", "#room #old #C3"),
        ("<!here> <!channel|all> <!subteam^S1|@crew> <!date^1^{date}|May>", "@here all @crew May"),
        ("<https://a.example> <https://a.example|a.example> <mailto:x@a.example|x@a.example>",
         "https://a.example https://a.example x@a.example"),
        ("a &lt; b &amp;&amp; c &gt; d &amp;lt;", "a < b && c > d &lt;"),
        ("2 < 3 and <>", "2 < 3 and <>"),
    ],
)  # fmt: skip
def test_markup(raw: str, plain: str) -> None:
    files = {
        "users.json": b'[{"id": "U1", "profile": {"real_name": "Uma"}}]',
        "channels.json": b'[{"id": "C1", "name": "room"}]',
    }
    assert plain_words(raw, names_of(files)) == plain


@given(st.text("<>|@#!&;^lgtamp U1", max_size=30))
def test_markup_of_any_kind_is_read(text: str) -> None:
    plain_words(text, Names())


def test_detection() -> None:
    for text, name in (
        (DAY.read_text(), "slack-export"),
        (json.dumps([message()]), "slack-export"),
        ("[\n" + json.dumps(message()) + ",\n" + json.dumps(message()) + "\n]", "slack-export"),
        ((SAMPLE / "users.json").read_text(), None),
        ((SAMPLE / "channels.json").read_text(), None),
        (lines(message()), "slowwave-jsonl"),
    ):
        reader = detect(text.encode(), "")
        assert (reader.name if reader else None) == name, text[:50]


def test_read_on_gives_the_rest() -> None:
    from io import BytesIO

    from transforms.readers.slack import SlackExport

    data, policy = DAY.read_bytes(), IngestPolicy(batch_rows=2)
    whole = list(SlackExport().read(BytesIO(data), "a/b.json", policy))
    assert len(whole) > 2
    for count, batch in enumerate(whole[:-1], 1):
        assert batch.point is not None
        stream = BytesIO(data)
        stream.seek(batch.point.offset)
        rest = list(SlackExport().read_on(stream, "a/b.json", policy, batch.point))
        assert pl.concat([b.drafts for b in rest]).equals(pl.concat([b.drafts for b in whole[count:]]))


def test_a_grown_day_keeps_the_ids_of_its_rows() -> None:
    messages = json.loads(DAY.read_bytes())
    whole = {(d["natural_id"], d["content"]) for d in read("slack-export", DAY.read_bytes()).drafts}
    for count in range(len(messages)):
        part = read("slack-export", json.dumps(messages[:count])).drafts
        assert {(d["natural_id"], d["content"]) for d in part} <= whole


@settings(max_examples=150)
@given(st.integers(0, 2**31))
def test_damage_loses_no_row(seed: int) -> None:
    data = DAY.read_bytes()
    read("slack-export", damaged_bytes(data, seed), IngestPolicy(batch_rows=3))
    read("slack-export", damaged_json(json.loads(data), seed), IngestPolicy(batch_rows=3))
    lists = {name: damaged_json(json.loads((SAMPLE / name).read_bytes()), seed) for name in ("users.json",)}
    names_of(lists)


@pytest.mark.parametrize(
    "field", sorted(message(thread_ts="1", files=[], attachments=[], username="u", bot_id="B"))
)
def test_every_field_may_be_of_a_wrong_type(field: str) -> None:
    found = read("slack-export", json.dumps([message(**{field: value}) for value in WRONG]))
    assert found.rows_in == len(WRONG)
    assert {str(r["reason"]) for r in found.refusals} <= {
        "bad_field_type",
        "no_content",
        "bad_time",
        "invalid_id",
    }
