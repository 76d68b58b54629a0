"""Sealing and opening: what comes out is what went in, and nothing that was changed or moved opens."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lake.crypto import frames
from lake.crypto.values import PREFIX
from lake.lake import Lake
from tests.lake.crypto.sealed import keys, sealed_lake
from transforms.schemas import CLAIMS, FACTS, INSTANT, QUARANTINE, RECALLS, STORED, TEXTS, Table

SEALED = [table for table in STORED if table.free_text]
ODD = ["", PREFIX, f"{PREFIX}AAAA", "\x00", "a\x1fb", "日本語 😀"]
TEXT = st.one_of(st.none(), st.sampled_from(ODD), st.text(max_size=40))
NAMES = st.sampled_from(["ana", "ben", "a:b", "ü", "user:ana"])


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return sealed_lake(tmp_path_factory.mktemp("frames") / "lake")


def value(dtype: Any, number: int) -> Any:
    """Anything of a type, of one row or another."""
    if dtype == TEXTS:
        return [f"t{number}"]
    if dtype == pl.String:
        return f"s{number}"
    if dtype == INSTANT:
        return None
    return [0.5] if dtype.is_nested() else (number % 2 == 0 if dtype == pl.Boolean else number)


def rows(table: Table, count: int, **columns: list[Any]) -> pl.DataFrame:
    """Rows of a table; columns override."""
    made = {c.name: [value(c.dtype, i) for i in range(count)] for c in table.columns}
    return pl.DataFrame({**made, **columns}, schema=table.polars)


def opened(lake: Lake, table: Table, stored: pl.DataFrame) -> pl.DataFrame:
    found = frames.open_rows(lake, table, stored)
    frames.require_unbroken(table, found)
    assert not found.shredded.any()
    return found.rows


@pytest.mark.parametrize("table", SEALED, ids=lambda table: table.name)
@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_what_comes_out_is_what_went_in(lake: Lake, table: Table, data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 6))
    texts = st.lists(TEXT, min_size=count, max_size=count)
    lists = st.lists(st.one_of(st.none(), st.lists(TEXT, max_size=3)), min_size=count, max_size=count)
    columns: dict[str, list[Any]] = {
        name: data.draw(lists if table.polars[name] == TEXTS else texts) for name in table.free_text
    }
    if "user_id" in table.names:
        columns["user_id"] = data.draw(st.lists(st.none() | NAMES, min_size=count, max_size=count))
    if "owner" in table.names:
        whose = st.one_of(st.none(), NAMES.map("user:{}".format), NAMES.map("agent:{}".format))
        columns["owner"] = data.draw(st.lists(whose, min_size=count, max_size=count))
    plain = rows(table, count, **columns)
    stored = frames.seal(lake, table, plain)
    assert stored.schema == plain.schema
    assert opened(lake, table, stored).equals(plain)
    for name in table.free_text:
        for before, after in zip(plain[name].to_list(), stored[name].to_list(), strict=True):
            if not before:
                assert after == before
            else:
                assert (after[0] if isinstance(before, list) else after).startswith(PREFIX)
    assert stored.drop(table.free_text).equals(plain.drop(table.free_text))


def test_the_same_text_never_looks_the_same(lake: Lake) -> None:
    plain = rows(QUARANTINE, 50, raw=["the same"] * 50)
    stored = [*frames.seal(lake, QUARANTINE, plain)["raw"], *frames.seal(lake, QUARANTINE, plain)["raw"]]
    assert len(set(stored)) == 100


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[:-6] + ("A" if text[-6] != "A" else "B") + text[-5:],  # a bit of it
        lambda text: text[:12] + ("A" if text[12] != "A" else "B") + text[13:],  # of its nonce
        lambda text: text[:-8],  # cut
        lambda _: "plain words",
        lambda _: PREFIX,
        lambda _: f"{PREFIX}not base64!",
        lambda _: f"{PREFIX}AAAA",
    ],
)
def test_a_changed_value_is_refused(lake: Lake, damage: Any) -> None:
    stored = frames.seal(lake, QUARANTINE, rows(QUARANTINE, 3))
    bad = stored.with_columns(raw=pl.Series([stored["raw"][0], damage(stored["raw"][1]), stored["raw"][2]]))
    found = frames.open_rows(lake, QUARANTINE, bad)
    assert found.broken.to_list() == [False, True, False]
    assert found.rows["raw"].to_list() == ["s0", None, "s2"]
    with pytest.raises(Exception, match=r"1 rows hold text that was changed, moved or damaged.*such as s1"):
        frames.require_unbroken(QUARANTINE, found)


def swapped(stored: pl.DataFrame, name: str) -> pl.DataFrame:
    return stored.with_columns(stored[name].reverse())


@pytest.mark.parametrize(
    ("table", "columns", "move"),
    [
        (QUARANTINE, {}, lambda s: swapped(s, "raw")),
        (QUARANTINE, {}, lambda s: s.with_columns(raw="source_file")),
        (QUARANTINE, {"tenant_id": ["t", "t"]}, lambda s: s.with_columns(tenant_id=pl.lit("u"))),
        (QUARANTINE, {"user_id": ["a", "a"]}, lambda s: s.with_columns(user_id=pl.lit("b"))),
        (QUARANTINE, {}, lambda s: swapped(s, "quarantine_id")),
        (FACTS, {"fact_id": ["f", "f"], "revision": [1, 2]}, lambda s: swapped(s, "fact")),
        (CLAIMS, {"owner": ["user:a", "user:a"]}, lambda s: s.with_columns(subject="object")),
        (RECALLS, {"call_id": ["c", "c"]}, lambda s: swapped(s, "query")),
    ],
)
def test_a_value_opens_nowhere_but_in_its_place(
    lake: Lake, table: Table, columns: dict[str, list[Any]], move: Any
) -> None:
    stored = frames.seal(lake, table, rows(table, 2, **columns))
    for one in stored.select(table.free_text).unpivot().filter(pl.col("value").is_not_null()).rows():
        assert one  # what is moved is there
    for subject in (("u", "user:s0"), ("t", "user:b")):  # whose keys the moved row would be opened with
        keys(lake).sealing(dict([keys(lake).hashed(*subject)]))
    with pytest.raises(Exception, match=r"moved|lacks"):
        frames.require_unbroken(table, frames.open_rows(lake, table, move(stored)))


def test_values_of_two_tables_do_not_fit_each_other(lake: Lake) -> None:
    from transforms.schemas import COLD, EPISODES

    stored = frames.seal(lake, EPISODES, rows(EPISODES, 2))
    found = frames.open_rows(lake, COLD, stored.with_columns(cooled_at=pl.lit(None, INSTANT)))
    assert found.broken.all()


def test_a_list_of_two_sealed_values_is_none_of_ours(lake: Lake) -> None:
    from transforms.schemas import EPISODES

    stored = frames.seal(lake, EPISODES, rows(EPISODES, 1))
    twice = stored.with_columns(tags=pl.concat_list("tags", "tags"))
    assert frames.open_rows(lake, EPISODES, twice).broken.to_list() == [True]


def test_every_personal_column_of_words_is_sealed() -> None:
    """What stays plain: ids, hashes, vectors. A new personal column must be put on one of the two lists."""
    plain = {
        (t.name, c.name)
        for t in SEALED
        for c in t.columns
        if c.is_personal and not c.is_free_text and c.dtype in (pl.String, TEXTS)
    }
    ends = ("_id", "_ids", "_hash", "_refs", "owner", "_by", "supersedes")
    assert {name for name in plain if not name[1].endswith(ends)} == set()
    assert not [(t.name, n) for t in STORED for n in t.free_text if n in (*t.key, *t.partition_by)]
