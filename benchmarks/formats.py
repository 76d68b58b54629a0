"""Reading of every input format: rows a second and peak memory, against the fastest plain parser of it.

The files are the project's samples, repeated with other ids until they hold the rows that are asked for. A
format whose documents hold one conversation is read as many documents, one after the other.
"""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO

import orjson
import polars as pl

from benchmarks.facts import cpu_seconds
from lake.sources import Source, open_sources
from transforms.policy import IngestPolicy
from transforms.readers.batch import Batch
from transforms.readers.registry import reader_named

Emit = Callable[[dict[str, Any]], None]
SAMPLES = Path(__file__).parent.parent / "samples"
NATIVE = ("aurora-travel.jsonl", "openai_messages.jsonl", "chatgpt_export.zip", "claude_export.json",
          "coding_agent.jsonl", "clinic_reminders.csv", "desk_outcomes.parquet")  # fmt: skip
BETWEEN = b"\x1e"
"""Between documents of a file that holds many."""
MOST_BYTES = 200_000_000
LONG_ID = 16
LEAST_SHARE = 0.9
"""Of the rows of two copies that have to be found in them: what they share is told once."""
_ID_KEY = re.compile(r"(^|[._])(id|ids|uuid)$|[a-z](Id|Ids|Uuid|ID)$|^(ts|leaf|current_node|parent|mapping)$")
_HEX = re.compile(r"(?=.{16})[0-9a-f]+(-[0-9a-f]+)*")


def run(emit: Emit, folder: Path, rows: int) -> None:
    """Every sample in turn, each read in a process of its own.

    Args:
        emit: Takes what was measured.
        folder: Where the files go; each is deleted after it was read.
        rows: That a file shall hold.
    """
    native = [SAMPLES / "data" / name for name in NATIVE]
    files = sorted(path for path in (SAMPLES / "formats").rglob("*") if path.is_file())
    for path in [*native, *files]:
        for source in _sources(path):
            file = folder / "traces.bin"
            shape, count = make(source, path, file, rows)
            told = {way: _apart(way, source, shape, file) for way in ("plain", "read")}
            file.unlink()
            found, plain = told["read"], told["plain"]
            emit(
                {
                    "name": f"formats.{source.reader.name}, {path.relative_to(SAMPLES).as_posix()}",
                    "shape": shape,
                    "copies": count,
                    **found,
                    "plain": plain["parser"],
                    "plain_seconds": plain["seconds"],
                    "plain_peak_mb": plain["peak_mb"],
                    "times_plain": round(found["cpu_seconds"] / max(plain["cpu_seconds"], 1e-3), 1),
                }
            )


def _sources(path: Path) -> list[Source]:
    if path.parent.name == "slack-export" or path.parent.parent.name == "slack-export":
        root = path.parents[0 if path.parent.name == "slack-export" else 1]
        names = {path.relative_to(root).as_posix()}
        try:
            return list(open_sources(str(root), only=names))
        except Exception:  # noqa: BLE001 - users.json and its like hold no messages
            return []
    return list(open_sources(str(path)))


def _apart(way: str, source: Source, shape: str, file: Path) -> dict[str, Any]:
    words = [way, source.reader.name, source.file_name, shape, str(file)]
    command = [sys.executable, "-m", "benchmarks.formats", *words]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout))


def make(source: Source, path: Path, file: Path, rows: int) -> tuple[str, int]:
    """Write the file; its shape (lines, list, documents, csv, parquet) and how many copies it holds."""
    with source.open() as stream:
        text = stream.read()
    each = max(1, sum(batch.rows_in for batch in _read(source, io.BytesIO(text))))
    count = max(1, min(-(-rows // each), MOST_BYTES // len(text)))
    if path.suffix == ".csv":
        head, _, body = text.partition(b"\n")
        file.write_bytes(head + b"\n" + body * count)
        return "csv", count
    if path.suffix == ".parquet":
        frame = pl.read_parquet(io.BytesIO(text))
        pl.concat([frame] * count).write_parquet(file)
        return "parquet", count
    copied = partial(_copies, text.decode(), _ids(text))
    for shape, join in (("lines", _lines), ("list", _list), ("documents", _documents)):
        few = join(copied(2))
        found = sum(b.rows_in for b in _each(source, shape, io.BytesIO(few))) if few else 0
        if found >= 2 * each * LEAST_SHARE:
            file.write_bytes(join(copied(count)))
            return shape, count
    raise ValueError(f"{path.name}: no way to repeat it")


def _copies(text: str, ids: list[str], count: int) -> Iterator[bytes]:
    longest_first = sorted(ids, key=len, reverse=True)
    # A long one stands inside of other texts, too.
    words = [re.escape(one if len(one) >= LONG_ID else f'"{one}"') for one in longest_first]
    pattern = re.compile("|".join(words))
    for number in range(count):
        yield pattern.sub(lambda m, n=number: _other(m[0], n), text).encode() if ids else text.encode()


def _other(found: str, number: int) -> str:
    """An id of another copy: of the same form where it is hexadecimal digits, or a time."""
    inner = found.strip('"')
    if _HEX.fullmatch(inner):
        digits = iter(blake2b(f"{inner} {number}".encode()).hexdigest())
        other = "".join(next(digits) if c != "-" else c for c in inner)
    elif re.fullmatch(r"[0-9]+\.[0-9]+", inner):
        other = f"{float(inner) + number:.6f}"
    else:
        other = f"{inner}-{number}"
    return found.replace(inner, other)


def _ids(text: bytes) -> list[str]:
    """What stands under keys that name ids, and keys of a tree."""
    found: set[str] = set()

    def look(value: object, key: str) -> None:
        if isinstance(value, dict):
            if key == "mapping":
                found.update(value)
            if isinstance(value.get("key"), str) and isinstance(value.get("value"), dict):
                look(value["value"].get("stringValue"), value["key"])
            for name, inner in value.items():
                look(inner, name)
        elif isinstance(value, list):
            for inner in value:
                look(inner, key if key.endswith("s") else "")
        elif isinstance(value, str) and _ID_KEY.search(key) and len(value) > 2:
            found.add(value)

    try:
        look(orjson.loads(text), "")
    except orjson.JSONDecodeError:
        for line in text.splitlines():
            with suppress(orjson.JSONDecodeError):  # samples hold a bad line
                look(orjson.loads(line), "")
    return sorted(found)


def _lines(copies: Iterator[bytes]) -> bytes:
    found = []
    for text in copies:
        try:
            orjson.loads(text)
        except orjson.JSONDecodeError:
            found.append(text.strip())
        else:
            return b""  # one document
    return b"\n".join(found) + b"\n"


def _list(copies: Iterator[bytes]) -> bytes:
    """One array of all items; of objects with one list in them, one such object."""
    first, items = None, []
    key = None
    for text in copies:
        try:
            value = orjson.loads(text)
        except orjson.JSONDecodeError:
            return b""  # lines
        if first is None:
            first = value
            if isinstance(value, dict):
                lists = [name for name, inner in value.items() if isinstance(inner, list)]
                key = lists[0] if len(lists) == 1 == len(value) else None
        if isinstance(value, dict):
            value = value[key] if key else [value]
        items.append(orjson.dumps(value)[1:-1])
    joined = b",\n".join(items)
    return b'{"%s": [%s]}' % (key.encode(), joined) if key else b"[" + joined + b"]"


def _documents(copies: Iterator[bytes]) -> bytes:
    return BETWEEN.join(copies)


def _read(source: Source, stream: BinaryIO) -> Iterator[Batch]:
    return source.reader.read(stream, source.file_name, IngestPolicy())


def _each(source: Source, shape: str, stream: BinaryIO) -> Iterator[Batch]:
    parts = [stream] if shape != "documents" else (io.BytesIO(p) for p in stream.read().split(BETWEEN))
    for part in parts:
        yield from _read(source, part)


def measured(way: str, name: str, file_name: str, shape: str, file: Path) -> dict[str, Any]:
    """Read a file in one way: with its reader, or with the fastest plain parser."""
    size = file.stat().st_size
    if way == "plain":
        tried = [_timed(parse) | {"parser": parser} for parser, parse in _plain(shape, file)]
        return min(tried, key=lambda told: float(told["seconds"]))
    source = Source(file_name, reader_named(name), lambda: file.open("rb"))

    def read() -> int:
        with source.open() as stream:
            return sum(batch.rows_in for batch in _each(source, shape, stream))

    told = _timed(read)
    return {"file_mb": round(size / 1e6, 1), "rows": told["found"], **told,
            "rows_per_s": round(told["found"] / told["seconds"])}  # fmt: skip


def _timed(work: Callable[[], int]) -> dict[str, Any]:
    start, used = time.perf_counter(), cpu_seconds()
    found = work()
    seconds, used = time.perf_counter() - start, cpu_seconds() - used
    return {
        "found": found,
        "seconds": round(seconds, 3),
        "cpu_seconds": round(used, 3),
        "peak_mb": _peak_mb(),
    }


def _peak_mb() -> float:
    """Of this process alone: the usual figure begins with that of the process that started it."""
    status = Path("/proc/self/status").read_text("utf-8")
    return round(int(re.findall(r"VmHWM:\s+(\d+)", status)[0]) * 1.024e-3, 0)


def _plain(shape: str, file: Path) -> list[tuple[str, Callable[[], int]]]:
    if shape == "csv":
        return [("polars", lambda: pl.read_csv(file, infer_schema=False).height)]
    if shape == "parquet":
        return [("polars", lambda: pl.read_parquet(file).height)]
    if shape == "lines":
        return [("orjson", lambda: _parsed(file.open("rb")))]
    if shape == "documents":
        return [("orjson", lambda: _parsed(file.read_bytes().split(BETWEEN)))]
    return [("orjson", lambda: len(orjson.loads(file.read_bytes())))]


def _parsed(texts: Any) -> int:
    count = 0
    for text in texts:
        with suppress(orjson.JSONDecodeError):  # samples hold a bad line
            count += orjson.loads(text) is not None
    return count


if __name__ == "__main__":
    way, name, file_name, shape, path = sys.argv[1:]
    print(json.dumps(measured(way, name, file_name, shape, Path(path))))
