"""CSV and Parquet in the row shape."""

from __future__ import annotations

import csv
import io
from datetime import UTC, date, datetime

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.transforms.readers.reading import column, read
from transforms.policy import IngestPolicy
from transforms.readers.batch import Resumable
from transforms.readers.registry import reader_named


def test_csv_types_and_lines() -> None:
    source = (
        "id,text,timestamp,steps,importance,is_injected,tags,mood\r\n"
        '1,"hello, ""you""",2024-01-01,3,0.5,true,a;b,ok\r\n'
        '2,"two\nlines",1700000000,,,,"[""c""]",\r\n'
        "3,three,,x,,,,\r\n"
        "4,four\r\n"
        "\r\n"
        "5,five,,,,false,,\r\n"
    )
    found = read("slowwave-csv", source)
    assert column(found.drafts, "content") == ['hello, "you"', "two\nlines", "five"]
    assert column(found.drafts, "source_line") == [2, 3, 8]
    assert column(found.drafts, "steps") == [3, None, None]
    assert column(found.drafts, "importance") == [0.5, None, None]
    assert column(found.drafts, "is_injected") == [True, None, False]
    assert column(found.drafts, "tags") == [["a", "b"], ["c"], None]
    assert column(found.drafts, "event_at") == ["2024-01-01", "2023-11-14T22:13:20.000000+00:00", None]
    assert found.drafts[0]["metadata"] == '{"mood":"ok"}'
    assert [(r["source_line"], r["reason"]) for r in found.refusals] == [
        (5, "bad_field_type"),
        (6, "wrong_field_count"),
    ]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_csv_separators(separator: str) -> None:
    found = read("slowwave-csv", f"id{separator}content\n007{separator}x\n")
    assert (found.drafts[0]["natural_id"], found.drafts[0]["content"]) == ("007", "x")


def test_stray_quotes_lose_nothing() -> None:
    source = 'id,content\n1,a 5" pipe\n2,"open\n3,"b"c\n4,d\n'
    found = read("slowwave-csv", source)
    assert found.drafts[0]["content"] == 'a 5" pipe'
    raws = "\n".join(str(r["raw"]) for r in found.refusals) + "".join(str(d["content"]) for d in found.drafts)
    assert all(word in raws for word in ("open", "c", "d"))


CELLS = st.text(st.sampled_from('ab ,;"\n\té'), max_size=6)


@given(st.lists(st.tuples(CELLS, CELLS), max_size=8), st.sampled_from(["\n", "\r\n"]))
def test_csv_as_written(cells: list[tuple[str, str]], end: str) -> None:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator=end)
    writer.writerows([("natural_id", "content"), *cells])
    for policy in (IngestPolicy(), IngestPolicy(batch_rows=2, batch_bytes=80)):
        found = read("slowwave-csv", out.getvalue(), policy)
        assert sorted(map(str, column(found.drafts, "content"))) == sorted(c for _, c in cells if c.strip())
        assert found.rows_in == len(cells)


def parquet(frame: pl.DataFrame) -> bytes:
    out = io.BytesIO()
    frame.write_parquet(out)
    return out.getvalue()


def test_parquet_types() -> None:
    frame = pl.DataFrame(
        {
            "id": [1.0, 2.0],
            "content": pl.Series(["a", "b"], dtype=pl.Categorical),
            "role": pl.Series([b"user", None], dtype=pl.Binary),
            "event_at": [datetime(2024, 1, 1, 12, tzinfo=UTC), None],
            "expires_at": [date(2025, 1, 1), None],
            "importance": [0.25, float("nan")],
            "tags": [["x"], None],
            "place": [{"city": "Rom"}, None],
        }
    )
    found = read("slowwave-parquet", parquet(frame))
    first, second = found.drafts
    assert (first["natural_id"], first["content"], first["role"]) == ("1", "a", "user")
    assert first["event_at"] == "2024-01-01T12:00:00.000000+00:00"
    assert (first["expires_at"], first["importance"], first["tags"]) == ("2025-01-01", 0.25, ["x"])
    assert first["metadata"] == '{"place":{"city":"Rom"}}'
    assert (second["importance"], second["event_at"], second["source_line"]) == (None, None, 2)


def test_parquet_zones() -> None:
    aware = pl.Series("event_at", [datetime(2024, 7, 1)]).dt.replace_time_zone("Europe/Berlin")
    frame = pl.DataFrame({"content": ["a"], "event_at": aware, "expires_at": [datetime(2024, 7, 2)]})
    draft = read("slowwave-parquet", parquet(frame)).drafts[0]
    assert draft["event_at"] == "2024-07-01T00:00:00.000000+02:00"
    assert draft["expires_at"] == "2024-07-02T00:00:00.000000"


def test_parquet_with_nested_content_refuses_rows() -> None:
    frame = pl.DataFrame({"content": [{"text": "a"}, None], "tool_name": [None, "t"]})
    found = read("slowwave-parquet", parquet(frame))
    assert column(found.refusals, "reason") == ["bad_field_type"]
    assert column(found.drafts, "tool_name") == ["t"]


def test_damaged_parquet_is_one_refusal() -> None:
    good = parquet(pl.DataFrame({"content": ["a"] * 100}))
    for data in (b"PAR1", good[: len(good) // 2], b"PAR1" + bytes(100) + b"PAR1"):
        assert column(read("slowwave-parquet", data).refusals, "reason") == ["unreadable_parquet"]


def test_parquet_without_known_columns_refuses_every_row() -> None:
    found = read("slowwave-parquet", parquet(pl.DataFrame({"a": [1, 2]})))
    assert column(found.refusals, "reason") == ["no_content"] * 2


ROWS = [(n, f'note {n},\n"said" é') for n in range(40)]


def table(form: str) -> bytes:
    out = io.BytesIO()
    frame = pl.DataFrame(ROWS, schema=["id", "content"], orient="row")
    if form == "parquet":
        frame.write_parquet(out, row_group_size=7)
    else:
        frame.write_csv(out, include_bom=form == "csv with a mark")
    return out.getvalue()


@pytest.mark.parametrize("form", ["csv", "csv with a mark", "parquet", "parquet of conversations"])
def test_reading_goes_on_at_every_point(form: str) -> None:
    name = {"parquet": "slowwave-parquet", "parquet of conversations": "openai-messages"}.get(
        form, "slowwave-csv"
    )
    data = table(form.removesuffix(" of conversations"))
    if form.endswith("conversations"):
        out = io.BytesIO()
        said = [{"id": str(n), "messages": [{"role": "user", "content": text}]} for n, text in ROWS]
        pl.DataFrame(said).write_parquet(out, row_group_size=7)
        data = out.getvalue()
    reader = reader_named(name)
    assert isinstance(reader, Resumable)
    policy = IngestPolicy(batch_rows=5, batch_bytes=1_600)
    whole = pl.concat(batch.drafts for batch in reader.read(io.BytesIO(data), "f", policy))
    assert whole.height == len(ROWS)
    before, points = 0, 0
    for batch in reader.read(io.BytesIO(data), "f", policy):
        before += batch.drafts.height
        if batch.point is None or before == len(ROWS):
            continue
        points += 1
        stream = io.BytesIO(data)
        stream.seek(batch.point.offset)
        rest = pl.concat(b.drafts for b in reader.read_on(stream, "f", policy, batch.point))
        assert rest.equals(whole[before:])
    assert points > 3
