"""Small objects sealed as a whole."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lake.crypto.objects import open_object, seal_object
from lake.lake import Lake, init_lake
from tests.lake.crypto.sealed import keys, sealed_lake
from transforms.errors import LakeError
from transforms.subjects import Subject


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return sealed_lake(tmp_path_factory.mktemp("objects") / "lake")


@given(data=st.binary(max_size=60))
def test_it_opens_under_its_own_name_only(lake: Lake, data: bytes) -> None:
    sealed = seal_object(lake, "standing/a.json", data, tenant="acme", owner="user:ana")
    assert data not in sealed or len(data) < 3 or not any(data)  # the head holds some zeros
    assert open_object(lake, "standing/a.json", sealed) == data
    for name, bytes_held in (
        ("standing/b.json", sealed),
        ("standing/a.json", sealed[:-1]),
        ("standing/a.json", sealed[:50]),
        ("standing/a.json", data),
    ):
        with pytest.raises(LakeError, match="changed, moved or damaged"):
            open_object(lake, name, bytes_held)


def test_its_end_comes_with_its_key(tmp_path: Path) -> None:
    lake = sealed_lake(tmp_path / "lake")
    of_ana = seal_object(lake, "a", b"x", tenant="acme", owner="user:ana")
    of_nobody = seal_object(lake, "b", b"y")
    assert keys(lake).destroy(Subject("acme")) == 1
    assert open_object(lake, "a", of_ana) is None
    assert open_object(lake, "b", of_nobody) == b"y"


def test_a_plain_lake_keeps_it_as_it_is(tmp_path: Path) -> None:
    lake = init_lake(str(tmp_path / "lake"))
    assert seal_object(lake, "a", b"x") == b"x"
    assert open_object(lake, "a", b"x") == b"x"
