"""A new master key, and new data keys: what was sealed stays readable, whenever it is killed."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lake import tables
from lake.crypto import shelf
from lake.crypto.keyring_record import read_record
from lake.crypto.rotation import renew, rewrap
from lake.lake import Lake, open_lake
from tests.flows.lakes import environment, ingest, row, write
from tests.lake.crypto.sealed import MASTER, OTHER, keys, ring, sealed_job
from transforms.errors import LakeError
from transforms.schemas import EPISODES
from transforms.subjects import Subject

USERS = [f"u{number}" for number in range(24)]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    job = sealed_job(tmp_path / "lake")
    made = [row(number, user_id=user) for number, user in enumerate(USERS)]
    ingest(job, write(tmp_path / "rows.jsonl", made))
    return tmp_path / "lake"


def readable(lake: Lake) -> int:
    return tables.scan(lake, EPISODES).select("content").collect().height


def under(lake: Lake) -> Counter[str]:
    """Living keys by the master key that wraps them."""
    return Counter(e.master for e in shelf.entries(keys(lake).storage) if e.destroyed_at is None)


def test_every_key_is_wrapped_anew_and_the_old_master_opens_nothing(root: Path) -> None:
    both = open_lake(str(root), ring(root, OTHER, MASTER))
    keys(both).destroy(Subject("acme", user="u3"))
    assert rewrap(keys(both)) == (23, 23)
    assert rewrap(keys(both)) == (0, 23)
    new = open_lake(str(root), ring(root, OTHER))
    assert readable(new) == 23
    assert under(new) == {OTHER.key_id: 23}
    with pytest.raises(LakeError, match="the master key is not the one of this keyring"):
        readable(open_lake(str(root), ring(root, MASTER)))


def test_it_says_how_far_it_is(root: Path) -> None:
    told: list[tuple[int, int]] = []

    @contextmanager
    def shown(total: int) -> Iterator[Callable[[int], None]]:
        done: list[int] = []
        yield done.append
        told.append((total, sum(done)))

    both = keys(open_lake(str(root), ring(root, OTHER, MASTER)))
    rewrap(both, shown)
    renew(both, shown)
    assert told == [(24, 24), (24, 24)]


def test_without_the_old_master_nothing_is_wrapped(root: Path) -> None:
    with pytest.raises(LakeError, match="not the one of this keyring"):
        rewrap(keys(open_lake(str(root), ring(root, OTHER))))
    assert readable(open_lake(str(root), ring(root))) == len(USERS)


@pytest.mark.parametrize("lines", [1, 2, 9, 24])
def test_killed_midway_it_is_run_again(root: Path, lines: int) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.lake.crypto.rotating", str(root)],
        env=environment(),
        cwd=Path(__file__).parents[3],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    for _ in range(lines):
        assert process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    both = open_lake(str(root), ring(root, OTHER, MASTER))
    assert readable(both) == len(USERS)
    assert sum(under(both).values()) == len(USERS)
    again, living = rewrap(keys(both))
    assert again <= len(USERS) - lines
    assert living == len(USERS)
    assert readable(open_lake(str(root), ring(root, OTHER))) == len(USERS)


def test_half_wrapped_a_missing_old_master_is_told(root: Path) -> None:
    both = open_lake(str(root), ring(root, OTHER, MASTER))
    record = read_record(keys(both).storage)
    assert record is not None
    keys(both).storage.write("keyring.json", record.under(OTHER).dumps())  # as if it had run to its end
    with pytest.raises(LakeError, match=r"needs the master key.*previous_master_key_file.*keys rotate"):
        readable(open_lake(str(root), ring(root, OTHER)))
    assert readable(open_lake(str(root), ring(root, OTHER, MASTER))) == len(USERS)


def test_new_rows_are_sealed_by_new_keys_and_old_ones_stay_readable(root: Path, tmp_path: Path) -> None:
    lake = open_lake(str(root), ring(root))
    keys(lake).destroy(Subject("acme", user="u0"))
    assert renew(keys(lake)) == 23
    job = sealed_job(root)
    ingest(job, write(tmp_path / "more.jsonl", [row(70, user_id="u1"), row(71, user_id="new")]))
    assert readable(job.lake) == 23 + 2
    versions = Counter((e.version, e.destroyed_at is None) for e in shelf.entries(keys(job.lake).storage))
    assert versions == {(1, False): 1, (1, True): 24, (2, True): 23}
    assert keys(job.lake).destroy(Subject("acme", user="u1")) == 2
    assert readable(job.lake) == 23
