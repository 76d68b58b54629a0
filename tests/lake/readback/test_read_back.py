"""Verification of a whole lake: a canary is found wherever it is planted, and nothing else is."""

from __future__ import annotations

import gzip
import io
import json
import os
import shutil
import zipfile
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import lance
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lake import landing, tables
from lake.index_record import Pointer, write_pointer
from lake.lake import Lake, open_lake
from lake.readback.columns import has_strings
from lake.readback.read_back import Needles, ReadBack, read_back
from tests.lake.made import NOON, episodes, frame
from tests.lake.recalled import NOW, make_lake
from tests.lake.test_index_checks import built, memories
from transforms.schemas import EPISODES, STORED, Table

CANARY = "zebracanary"
WORDS: Any = {"base_tokenizer": "icu/split", "stem": False, "remove_stop_words": False}
NEEDLES = Needles(texts=(CANARY,))


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Two episodes, three memories in a live generation, one landed row, a record; no canary."""
    made = make_lake(tmp_path_factory.mktemp("template"))
    tables.append(made, EPISODES, episodes(made, "acme", ["a first note", "a second note"]))
    generation = built(made, [memories(3)])
    made.storage.write("index/gen-000001/manifest.json", generation.manifest.dumps())
    write_pointer(made, Pointer("gen-000001", ("gen-000001",)))
    landing.append(made, [{"content": "landed", "tenant_id": "acme", "user_id": "u"}], now=NOW)
    made.storage.write("state/other.json", b"{}")
    return made


@pytest.fixture
def lake(template: Lake, tmp_path: Path) -> Lake:
    """A copy of the template."""
    shutil.copytree(template.storage.uri, tmp_path / "lake")
    return open_lake(str(tmp_path / "lake"))


def root(lake: Lake) -> Path:
    return Path(lake.storage.uri)


def places(result: ReadBack) -> set[tuple[str, str]]:
    return {(leak.file, leak.where) for leak in result.leaks}


def test_a_clean_lake_passes_and_every_file_is_read(lake: Lake) -> None:
    told: list[int] = []

    def shown(total: int) -> AbstractContextManager[Callable[[int], None]]:
        told.append(-total)
        return nullcontext(told.append)

    result = read_back(lake, NEEDLES, shown=shown)
    assert result.passed
    assert sum(told) == 0
    assert -told[0] == result.files
    assert result.leaks == result.mentions == result.unreadable == ()
    paths = [path for path in root(lake).rglob("*") if path.is_file()]
    assert result.files == len(paths) == sum(result.kinds.values())
    assert result.bytes_raw == sum(path.stat().st_size for path in paths)
    assert result.bytes_decoded > 0
    assert {"parquet", "lance", "jsonl", "json", "other"} == set(result.kinds)
    assert CANARY not in json.dumps(result.as_dict())


def _string_columns() -> list[tuple[Table, str]]:
    return [
        (table, column.name)
        for table in STORED
        for column in table.columns
        if has_strings(table.arrow().field(column.name).type)
        and not column.allowed
        and column.name not in table.partition_by
    ]


@pytest.mark.parametrize("table", STORED, ids=lambda table: table.name)
def test_a_canary_in_any_column_of_any_table_is_found(tmp_path: Path, table: Table) -> None:
    lake = make_lake(tmp_path)
    names = [name for held, name in _string_columns() if held is table]
    assert names
    rows = []
    for number, name in enumerate(names):
        nested = isinstance(table.polars[name], pl.List)
        row = {name: [f"{CANARY} {number}"] if nested else f"{CANARY} {number}"}
        if table.key[0] != name:
            row[table.key[0]] = f"id-{number}"
        rows.append(row)
    tables.append(lake, table, frame(table, rows))
    result = read_back(lake, NEEDLES)
    assert {leak.where for leak in result.leaks} - {"raw bytes", "footer bytes"} == set(names)
    assert not result.passed


PLACES = ("tables/episodes/orphan.parquet", "state/.hidden.tmp", "unknown/x.bin")
COMPRESSIONS = ("none", "snappy", "zstd", "gzip", "lz4", "brotli")


@pytest.mark.parametrize("is_dictionary", [True, False])
def test_a_canary_in_any_parquet_file_is_found(lake: Lake, is_dictionary: bool) -> None:
    texts = [f"{CANARY} text" if number == 700 else f"word {number % 5}" for number in range(1000)]
    table = pa.table({"row_id": [str(n) for n in range(1000)], "text": texts})
    names = {f"{kind}/{name}" for name in PLACES for kind in COMPRESSIONS}
    for name in names:
        target = root(lake) / name
        target.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(
            table,
            target,
            compression=name.split("/")[0],
            use_dictionary=is_dictionary,
            row_group_size=300,
            write_statistics=False,
        )
    result = read_back(lake, NEEDLES)
    assert {leak.file for leak in result.leaks if leak.where == "text"} == names
    assert {leak.row_id for leak in result.leaks if leak.where == "text"} == {"700"}


def test_metadata_of_a_parquet_file_is_read(lake: Lake) -> None:
    table = pa.table({"a": [1]})
    pq.write_table(table.replace_schema_metadata({"note": CANARY}), root(lake) / "a.parquet")
    pq.write_table(table.rename_columns([f"{CANARY}"]), root(lake) / "b.parquet")
    found = places(read_back(lake, NEEDLES))
    assert {("a.parquet", "schema text"), ("b.parquet", "schema text")} <= found


def _checkpoint(lake: Lake) -> None:
    state = tables.open_table(lake, EPISODES)
    assert state is not None
    state.create_checkpoint()
    path = next((root(lake) / "tables/episodes/_delta_log").glob("*.checkpoint.parquet"))
    held = pq.read_table(path)
    note = pa.array([{"path": CANARY}] + [None] * (held.num_rows - 1), pa.struct([("path", pa.string())]))
    pq.write_table(held.append_column("planted", note), path, compression="zstd")


def _zip(lake: Lake) -> None:
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("deep.jsonl", json.dumps({"text": CANARY}) + "\n")
    with zipfile.ZipFile(root(lake) / "export.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("inner.zip", inner.getvalue())


def _lance_column(lake: Lake) -> None:
    extra = pa.table({"memory_id": ["m"], "payload": [json.dumps({"text": f"say {CANARY}"})] * 1})
    lance.write_dataset(extra, root(lake) / "index/gen-000009/main.lance")


def _deleted_lance_row(lake: Lake) -> None:
    uri = root(lake) / "index/gen-000009/main.lance"
    rows = [f"row {n}" for n in range(99)] + [f"a {CANARY} row"]
    table = lance.write_dataset(pa.table({"memory_id": rows, "n": list(range(100))}), uri)
    table.delete("n = 99")
    assert table.count_rows() == 99


def _manifest(lake: Lake) -> None:
    uri = root(lake) / "index/gen-000009/main.lance"
    table = lance.write_dataset(pa.table({"text": ["a", CANARY]}), uri)
    table.delete(f"text = '{CANARY}'")
    table.optimize.compact_files(materialize_deletions_threshold=0.0)
    shutil.rmtree(uri / "data")


def _scalar_index(lake: Lake, kind: str) -> None:
    uri = root(lake) / "index/gen-000009/main.lance"
    values = [f"value {n % 7}" for n in range(200)] + [CANARY]
    table = lance.write_dataset(pa.table({"user_id": values}), uri)
    table.create_scalar_index("user_id", kind)
    table.delete(f"user_id = '{CANARY}'")
    table.optimize.compact_files(materialize_deletions_threshold=0.0)
    for path in [*(uri / "data").iterdir(), *uri.glob("_transactions/*"), *uri.glob("_versions/*")]:
        path.unlink()


def _words_index(lake: Lake) -> None:
    uri = root(lake) / "index/gen-000009/main.lance"
    texts = [f"plain words {n}" for n in range(200)] + [f"one {CANARY.title()}, said"]
    table = lance.write_dataset(pa.table({"memory_id": texts, "search_text": texts}), uri)
    table.create_scalar_index("search_text", "INVERTED", **WORDS)
    _without_the_last(uri, table)


def _without_the_last(uri: Path, table: Any) -> None:
    """Rows anew without the last, the old index files beside them."""
    rows = table.to_table().slice(0, 200)
    kept = uri.with_name("kept")
    shutil.copytree(uri / "_indices", kept)
    shutil.rmtree(uri)
    lance.write_dataset(rows, uri)
    kept.rename(uri / "_indices")


def _bytes(key: str, data: bytes) -> Callable[[Lake], None]:
    def plant(lake: Lake) -> None:
        (root(lake) / key).parent.mkdir(parents=True, exist_ok=True)
        (root(lake) / key).write_bytes(data)

    return plant


def _append_to_log(lake: Lake) -> None:
    log = root(lake) / "tables/episodes/_delta_log/00000000000000000001.json"
    log.write_text(
        log.read_text() + "\n" + json.dumps({"commitInfo": {"predicate": f"x = '{CANARY}'"}}) + "\n"
    )


def _landed(lake: Lake) -> None:
    landing.append(lake, [{"content": f"my {CANARY}", "tenant_id": "acme", "user_id": "u"}], now=NOW)


PLANTS: dict[str, tuple[Callable[[Lake], None], str]] = {
    "landed": (_landed, "content"),
    "log": (_append_to_log, "predicate"),
    "checkpoint": (_checkpoint, "planted"),
    "zip": (_zip, "text"),
    "lance column": (_lance_column, "payload"),
    "deleted row": (_deleted_lance_row, "memory_id"),
    "manifest": (_manifest, "raw bytes"),
    "btree": (lambda lake: _scalar_index(lake, "BTREE"), "values"),
    "bitmap": (lambda lake: _scalar_index(lake, "BITMAP"), "keys"),
    "words": (_words_index, "token dictionary"),
    "gzip": (_bytes("cache/x.json.gz", gzip.compress(json.dumps({"k": [{"j": CANARY}]}).encode())), "j"),
    "zstd": (_bytes("cache/x.zst", pa.compress(CANARY.encode() * 3, "zstd", asbytes=True)), "raw bytes"),
    "bare": (_bytes("anything", b"\xff\x00" + CANARY.encode() + b"\xfe"), "raw bytes"),
    "hidden": (_bytes("state/.x.json.12ab.tmp", CANARY.encode()), "raw bytes"),
    "key of json": (_bytes("state/x.json", json.dumps({"a": {CANARY: 1}}).encode()), "keys"),
    "escaped": (_bytes("state/x.json", b'{"a": "\\u007aebracanary"}'), "a"),
    "name": (_bytes(f"scratch/{CANARY}/x", b""), "file name"),
    "utf-16": (_bytes("report.txt", CANARY.encode("utf-16")), "raw bytes"),
}


@pytest.mark.parametrize("name", PLANTS)
def test_a_canary_is_found_wherever_it_is_planted(lake: Lake, name: str) -> None:
    plant, where = PLANTS[name]
    plant(lake)
    result = read_back(lake, NEEDLES)
    assert where in {leak.where for leak in result.leaks}
    assert result.unreadable == ()
    assert not result.passed
    assert CANARY not in json.dumps({**result.as_dict(), "leaks": [], "mentions": []})


def test_a_find_across_two_pieces_of_a_file_is_one(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lake.readback.read_file.CHUNK_BYTES", 100)
    for shift in range(80, 130, 3):
        data = b"." * shift + CANARY.encode() + b"." * 90
        (root(lake) / "blob").write_bytes(data)
        result = read_back(lake, NEEDLES)
        assert [(leak.file, leak.where) for leak in result.leaks] == [("blob", "raw bytes")]
        assert result.leak_count == 1
        assert read_back(lake, Needles(identifiers=(CANARY,))).leak_count == 1
        (root(lake) / "blob").write_bytes(data.replace(b"." + CANARY.encode(), b"2" + CANARY.encode()))
        assert read_back(lake, Needles(identifiers=(CANARY,))).passed


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("tables/episodes/x.parquet", b"no parquet at all"),
        ("index/gen-000009/main.lance/data/x.lance", b"no lance either"),
        ("state/x.json", b'{"half": '),
        ("landing/x.jsonl", b"nonsense\n{}\n"),
        ("export.zip", b"PK\x03\x04 and then nothing"),
        ("cache/x.gz", gzip.compress(b"text" * 99, mtime=0)[:-12]),
    ],
)
def test_what_cannot_be_decoded_fails_the_verification(lake: Lake, name: str, data: bytes) -> None:
    _bytes(name, data)(lake)
    result = read_back(lake, NEEDLES)
    assert [fault.file for fault in result.unreadable] == [name]
    assert result.leaks == ()
    assert not result.passed


@pytest.mark.parametrize("name", ["x.parquet", "x.lance", "x.json", "x.jsonl", "x.zip", "x.gz"])
def test_empty_files_hold_nothing(lake: Lake, name: str) -> None:
    (root(lake) / name).write_bytes(b"")
    assert read_back(lake, NEEDLES).passed


def test_the_cut_end_of_a_segment_is_no_fault(lake: Lake) -> None:
    _bytes("landing/open.jsonl", b'{"a": 1}\n{"content": "cut of')(lake)
    assert read_back(lake, NEEDLES).passed


def test_what_is_no_file_fails_the_verification(lake: Lake, tmp_path: Path) -> None:
    os.mkfifo(root(lake) / "pipe")
    (root(lake) / "link").symlink_to(tmp_path / "elsewhere")
    (root(lake) / "folder").symlink_to(tmp_path, target_is_directory=True)
    result = read_back(lake, NEEDLES)
    assert [fault.file for fault in result.unreadable] == ["folder", "link", "pipe"]


def _two_users(lake: Lake) -> pl.DataFrame:
    """The same sentence by two users, one user's id a prefix of the other's, and a mention."""
    rows = [
        {"episode_id": "a" * 32, "user_id": "ana", "content": "I keep bees on the roof"},
        {"episode_id": "b" * 32, "user_id": "ana2", "content": "I keep bees on the roof"},
        {"episode_id": "c" * 32, "user_id": "ben", "content": "ana keeps bees"},
        {"episode_id": "d" * 32, "user_id": "ben", "content": "banana cake"},
    ]
    plain = {"tenant_id": "acme", "tenant_bucket": 0, "month": "2026-03", "event_at": NOON}
    return frame(EPISODES, [{**plain, **row} for row in rows])


ERASED = Needles(frozenset({"a" * 32}), ("ana",), ("I keep bees on the roof",))


def test_rows_that_stay_explain_what_they_hold(lake: Lake) -> None:
    rows = _two_users(lake)
    tables.append(lake, EPISODES, rows.filter(pl.col("user_id") != "ana"))
    stays = {"episodes": rows["episode_id"][1:].to_list()}
    result = read_back(lake, ERASED, stays)
    assert result.passed
    assert [(m.table, m.row_id[0], m.needle) for m in result.mentions] == [
        ("episodes", "b", "texts"),
        ("episodes", "c", "identifiers"),
    ]
    assert result.mention_count == 2
    strict = read_back(lake, ERASED)
    assert {(leak.where, (leak.row_id or "-")[0]) for leak in strict.leaks} >= {
        ("content", "b"),
        ("content", "c"),
    }
    assert not strict.passed


def test_rows_that_go_are_leaks_although_others_say_the_same(lake: Lake) -> None:
    tables.append(lake, EPISODES, _two_users(lake))

    def is_another(table: str, rows: pl.DataFrame) -> pl.Series:
        assert table == "episodes"
        assert {"tenant_id", "month", "event_at"} <= set(rows.columns)
        return rows["user_id"].ne_missing("ana")

    result = read_back(lake, ERASED, is_another)
    in_rows = {(leak.where, leak.row_id) for leak in result.leaks if leak.row_id}
    assert in_rows == {("episode_id", "a" * 32), ("user_id", "a" * 32), ("content", "a" * 32)}
    assert result.mention_count == 2


def test_the_log_of_a_table_is_never_explained(lake: Lake) -> None:
    _append_to_log(lake)
    _checkpoint(lake)

    def is_allowed(_: str, rows: pl.DataFrame) -> pl.Series:
        return pl.repeat(value=True, n=rows.height, eager=True)

    assert {leak.where for leak in read_back(lake, NEEDLES, is_allowed).leaks} >= {"predicate", "planted"}


def test_words_of_rows_that_stay_explain_a_dictionary(lake: Lake) -> None:
    uri = root(lake) / "index/gen-000009/main.lance"
    texts = ["bees on the roof", "I keep, honey", "only ERASED-words here"]
    table = lance.write_dataset(pa.table({"memory_id": ["a", "b", "c"], "search_text": texts}), uri)
    table.create_scalar_index("search_text", "INVERTED", **WORDS)
    assert read_back(lake, ERASED, {"memories": ["a", "b", "c"]}).passed
    erased = Needles(texts=("only erased-words here",))
    assert read_back(lake, erased, {"memories": ["a", "b", "c"]}).passed
    rows = table.to_table().slice(0, 2)
    shutil.copytree(uri / "_indices", uri.with_name("kept"))
    shutil.rmtree(uri)
    lance.write_dataset(rows, uri)
    uri.with_name("kept").rename(uri / "_indices")
    found = read_back(lake, erased, {"memories": ["a", "b"]})
    assert {leak.where for leak in found.leaks} == {"token dictionary"}
    assert found.leak_count == 4


def test_excepted_keys_are_left_out_and_told(lake: Lake) -> None:
    _bytes("state/requests/1.json", json.dumps({"user": CANARY}).encode())(lake)
    assert not read_back(lake, NEEDLES).passed
    result = read_back(lake, NEEDLES, excepted=["state/requests/1.json"])
    assert result.passed
    assert result.excepted == ("state/requests/1.json",)


def test_the_outcome_does_not_depend_on_threads(lake: Lake) -> None:
    for name in ("landed", "zip", "words", "log", "hidden", "gzip"):
        PLANTS[name][0](lake)
    first, second = (read_back(lake, NEEDLES, threads=n).as_dict() for n in (1, 4))
    for key in ("seconds", "gb_per_second"):
        first.pop(key), second.pop(key)
    assert first == second
