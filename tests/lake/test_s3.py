"""The lake on a real object store: a whole night, two writers, leases, and stores that are refused."""

from __future__ import annotations

import http.server
import json
import re
import threading
import time
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar

import pytest

from flows.__main__ import main
from lake import landing, tables, upkeep
from lake.lake import init_lake, open_lake
from lake.recall import Recall
from lake.sources import open_sources
from lake.storage import S3Storage, open_storage
from tests.lake.made import ROOT, episodes, finished, worker
from tests.lake.s3_store import environment
from tests.ports import free_ports
from transforms.errors import InputError, LakeError, StorageError
from transforms.schemas import EPISODES

pytestmark = pytest.mark.server
AS_OF = "2026-06-28T12:00:00Z"
SOURCE = ROOT / "samples" / "data" / "aurora-travel.jsonl"


def test_objects(bucket: str) -> None:
    store = open_storage(f"{bucket}/objects/deep/")
    assert isinstance(store, S3Storage)
    assert store.uri == f"{bucket}/objects/deep"
    assert (store.read("a/key"), store.read_tagged("a/key"), store.entries("a")) == (None, None, [])
    assert store.create("a/key", b"one")
    assert not store.create("a/key", b"two")
    assert store.read("a/key") == b"one"
    data, tag = store.read_tagged("a/key") or (b"", "")
    store.write("a/other", b"")
    assert [(e.key, e.size_bytes) for e in store.entries("a")] == [("a/key", 3), ("a/other", 0)]
    first = store.entries("a")[0].tag
    assert store.replace("a/key", data + b"!", tag)
    assert not store.replace("a/key", b"late", tag)
    assert not store.replace("a/none", b"late", tag)
    assert store.read("a/key") == b"one!"
    assert store.entries("a")[0].tag != first
    store.delete("a/key")
    store.delete("a/key")
    assert [e.key for e in store.entries("")] == ["a/other"]
    assert store.sweep("a", 0) == 0


def test_a_whole_night(bucket: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    uri = f"{bucket}/night"

    def run(*arguments: str) -> dict[str, Any]:
        code = main(["--lake", uri, "--as-of", AS_OF, "--json", *arguments])
        out = capsys.readouterr().out
        assert code == 0, out
        told: dict[str, Any] = json.loads(out)
        return told

    assert run("init")["lake"] == uri
    night = run("nightly", str(SOURCE))
    assert [step["state"] for step in night["steps"]] == ["done"] * 6
    rows = night["steps"][0]["rows_out"]
    assert rows > 100
    again = run("nightly", str(SOURCE))
    assert {step["state"] for step in again["steps"]} == {"unchanged"}
    assert again["generation"] == night["generation"]

    tenant, user = tables.scan(open_lake(uri), EPISODES).select("tenant_id", "user_id").collect().row(0)
    found = run("recall", "window seat", "--tenant", tenant, "--user", user)["results"]
    assert found
    assert {memory["is_fresh"] for memory in found} == {False}
    assert run("context", "window seat", "--tenant", tenant, "--user", user)["packed"] > 0
    assert run("doctor")["passed"]
    assert run("status")
    assert night["health"]["failing"] == again["health"]["failing"] == []
    checks = run("report", "health", "--out", str(tmp_path / "health"))["checks"]
    assert {check["reason"] for check in checks} == {""}
    sizes = run("report", "capacity", "--out", str(tmp_path / "capacity"))
    assert sizes["bytes"] == sum(entry.size_bytes for entry in open_storage(uri).entries(""))
    assert sum(row["bytes"] for row in sizes["tables"]["columns"]) == pytest.approx(sizes["table_bytes"])
    assert sizes["tables"]["held_scopes"]

    said = landing.append(
        uri,
        [
            {"content": "the marmot sleeps in the lighthouse", "event_at": AS_OF},
            {"content": "no time", "event_at": "soon"},
        ],
        tenant_id=tenant,
        user_id=user,
    )
    assert (len(said.landed), [r.reason for r in said.refused]) == (1, ["bad_time"])
    fresh = run("recall", "marmot lighthouse", "--tenant", tenant, "--user", user)["results"][0]
    assert (fresh["id"], fresh["is_fresh"]) == (said.landed[0], True)
    third = run("nightly")
    assert third["generation"] != night["generation"]
    assert [third["steps"][0][n] for n in ("rows_in", "rows_out", "rejected")] == [2, 1, 1]
    assert landing.seal(open_lake(uri)) == []
    kept = Recall(uri).search(
        "marmot lighthouse", tenant=tenant, user=user, as_of=datetime.fromisoformat(AS_OF)
    )[0]
    assert (kept.id, kept.is_fresh) == (said.landed[0], False)

    scope = ("--tenant", tenant, "--user", user)
    asked = {"as_of": datetime.fromisoformat(AS_OF) - timedelta(days=1), "tenant": tenant, "user": user}
    before = [memory.text for memory in Recall(uri).search("window seat", **asked)]
    assert before
    later = (datetime.fromisoformat(AS_OF) + timedelta(days=200)).isoformat()
    assert main(["--lake", uri, "--as-of", later, "retain"]) == 0
    capsys.readouterr()
    assert [memory.text for memory in Recall(uri).search("window seat", **asked)] == before
    certificate = run("erase", *scope, "--basis", "gdpr-art-17", "--yes")["certificate"]
    assert (certificate["outcome"], certificate["verification"]["leaks"]) == ("complete", 0)
    assert run("recall", "marmot lighthouse", *scope)["results"] == []


def test_two_writers_all_land_and_upkeep_keeps_their_rows(bucket: str) -> None:
    lake = init_lake(f"{bucket}/writers", 4)
    writers = [worker("commit", lake.uri, f"t{i}", 4, 3) for i in range(2)]
    assert sorted(line for w in writers for line in finished(w)) == [
        f"t{i}/{b}" for i in range(2) for b in range(4)
    ]
    expected = sorted(f"t{t}/{b}/{i}" for t in range(2) for b in range(4) for i in range(3))
    assert sorted(tables.scan(lake, EPISODES).collect()["content"]) == expected
    tables.append(lake, EPISODES, episodes(lake, "t0", ["more"]))
    added = tables.added_files(lake, EPISODES, tables.version(lake, EPISODES) - 1)
    assert tables.scan(lake, EPISODES, files=added).collect()["content"].to_list() == ["more"]
    assert upkeep.compact(lake, EPISODES) > 0
    assert upkeep.vacuum(lake, EPISODES, 0) > 0
    assert sorted(tables.scan(lake, EPISODES).collect()["content"]) == sorted([*expected, "more"])
    assert tables.size_bytes(lake, EPISODES) > 0


def test_a_prefix_that_holds_anything_else_is_refused(bucket: str) -> None:
    store = S3Storage(f"{bucket}/strange")
    store.write("photos/one.png", b"")
    store.write("notes.txt", b"")
    assert sorted(store.names()) == ["notes.txt", "photos"]
    with pytest.raises(LakeError, match=r"is no lake and holds notes\.txt, photos") as caught:
        init_lake(store.uri)
    assert "empty or new" in caught.value.remedy
    assert store.read("lake.json") is None
    begun = S3Storage(f"{bucket}/begun")
    begun.write("state/probe-000000000000", b"first")  # as an init killed midway leaves it
    assert init_lake(begun.uri).lake_id == init_lake(begun.uri).lake_id


def test_a_bucket_that_is_not_there(bucket: str) -> None:
    with pytest.raises(LakeError, match="there is no such bucket"):
        open_lake("s3://elsewhere/lake")
    with pytest.raises(LakeError, match="there is no lake at"):
        open_lake(f"{bucket}/no-lake")
    with pytest.raises(LakeError, match="listing: there is no such bucket"):
        open_storage("s3://elsewhere/lake").entries("")


class Careless(http.server.BaseHTTPRequestHandler):
    """An object store that ignores conditions, as some do."""

    held: ClassVar[dict[str, bytes]] = {}

    def do_PUT(self) -> None:
        self.held[self.path] = self.rfile.read(int(self.headers["Content-Length"] or 0))
        self.answer(200)

    def do_GET(self) -> None:
        if "list-type=2" in self.path:
            self.answer(200, b"<ListBucketResult></ListBucketResult>")
            return
        data = self.held.get(self.path)
        self.answer(404) if data is None else self.answer(200, data)

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        keys = re.findall("<Key>(.*?)</Key>", body)
        for key in keys:
            self.held.pop(f"{self.path.partition('?')[0]}/{key}", None)
        deleted = "".join(f"<Deleted><Key>{key}</Key></Deleted>" for key in keys)
        self.answer(200, f"<DeleteResult>{deleted}</DeleteResult>".encode())

    def answer(self, status: int, data: bytes = b"") -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("ETag", '"etag"')
        self.send_header("Last-Modified", "Sun, 01 Mar 2026 10:00:00 GMT")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        return


@pytest.mark.parametrize("prefix", ["od d", "per%20cent", "ha#sh", "ü", "a=b", "star*", ""])
def test_a_lake_has_a_plain_prefix(bucket: str, prefix: str, capsys: pytest.CaptureFixture[str]) -> None:
    address = f"{bucket}/{prefix}" if prefix else "s3://"
    assert main(["--lake", address, "init"]) == LakeError.exit_code
    assert "is made of letters and digits" in capsys.readouterr().err
    with pytest.raises(LakeError, match="letters and digits"):
        open_lake(address)
    assert open_storage(f"{bucket}/a").entries("") == []


def test_keys_of_what_is_ingested_stand_as_they_are(bucket: str) -> None:
    store = open_storage(bucket)
    names = [
        "100%.jsonl",
        "a%20b.jsonl",
        "a b.jsonl",
        "ha#sh.jsonl",
        "qu?ery.jsonl",
        "star*.jsonl",
        "ü.jsonl",
    ]
    for number, name in enumerate(names):
        told = {"id": str(number), "content": f"on pier {number}", "event_at": AS_OF, "role": "user"}
        store.write(f"keys/d%20 #?ü/{name}", (json.dumps(told) + "\n").encode())
    for address in [f"{bucket}/keys/d%20 #?ü/", *(f"{bucket}/keys/d%20 #?ü/{name}" for name in names)]:
        found = sorted(source.file_name for source in open_sources(address))
        assert found == ([address.rpartition("/")[2]] if address[-1] != "/" else sorted(names))
        for source in open_sources(address):
            with source.open() as stream:
                assert b"on pier" in stream.read()
    with pytest.raises(InputError, match="no object at or below it"):
        list(open_sources(f"{bucket}/keys/d/"))


def test_a_store_that_ignores_conditions_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Careless)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    environment(monkeypatch, f"http://127.0.0.1:{server.server_port}")
    try:
        code = main(["--lake", "s3://lakes/careless", "init"])
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    told = capsys.readouterr()
    assert (code, told.out, told.err.count("\n")) == (LakeError.exit_code, "", 1)
    assert "ignores conditional writes" in told.err
    assert Careless.held == {}


def test_a_store_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    (port,) = free_ports(1)
    environment(monkeypatch, f"http://127.0.0.1:{port}")
    began = time.monotonic()
    with pytest.raises(StorageError, match=r"reading lake\.json"):
        open_lake("s3://lakes/none")
    assert time.monotonic() - began < 60
