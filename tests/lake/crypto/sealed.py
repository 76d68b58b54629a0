"""What the tests of encryption share: an encrypted lake beside its keyring, and what its files hold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq

from flows.job import Job
from lake.crypto.access import Keys
from lake.crypto.keyring import Keyring
from lake.crypto.master import LocalMasterKey
from lake.crypto.setup import encrypt
from lake.lake import Lake, init_lake
from tests.flows.lakes import job_on
from transforms.policy import Policy

MASTER = LocalMasterKey(b"m" * 32)
OTHER = LocalMasterKey(b"o" * 32)


def ring(root: Path, master: LocalMasterKey = MASTER, *previous: LocalMasterKey) -> Keys:
    """The keys of the lake at ``root``, in a folder beside it."""
    return Keys(str(root.parent / f"{root.name}-keys"), master, previous)


def sealed_lake(root: Path, buckets: int = 2) -> Lake:
    """An encrypted lake, made where it is not there yet."""
    return encrypt(init_lake(str(root), buckets), ring(root))


def sealed_job(root: Path, policy: Policy | None = None) -> Job:
    """A job on an encrypted lake, made where it is not there yet."""
    lake = sealed_lake(root)
    return replace(job_on(root, policy=policy), lake=lake)


def keys(lake: Lake) -> Keyring:
    assert lake.keys is not None
    return lake.keys


def pieces(root: Path) -> Iterator[tuple[str, str]]:
    """Each file below a folder: its bytes as text, and each decoded value of a Parquet file."""
    for path in sorted(p for p in root.rglob("*") if p.is_file()):
        name = path.relative_to(root).as_posix()
        yield name, path.read_bytes().decode("utf-8", "replace")
        if path.suffix == ".parquet":
            for column in pq.read_table(path, partitioning=None).columns:
                yield name, repr(column.to_pylist())


def files_with(root: Path, needle: str) -> set[str]:
    """Files below a folder in which a text stands, raw or decoded."""
    return {name for name, held in pieces(root) if needle in held}
