"""What of an episode is embedded, and what its vector is held under."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import polars as pl

from transforms import ids
from transforms.embedding import vector_space, with_text_hash
from transforms.schemas import EPISODES

BASE: dict[str, Any] = {
    "tenant_id": "acme",
    "event_at": datetime(2026, 5, 1, 9, tzinfo=UTC),
    "speaker": "Ana",
    "role": "user",
    "content": "the quay closes at nine",
}


def run(*rows: dict[str, Any], max_chars: int = 100) -> pl.DataFrame:
    schema = {name: EPISODES.polars[name] for name in BASE}
    return with_text_hash(pl.DataFrame([{**BASE, **row} for row in rows], schema=schema), max_chars)


def test_date_and_speaker_stand_before_the_text() -> None:
    rows: list[dict[str, Any]] = [{}, {"speaker": None}, {"speaker": None, "role": None}]
    assert run(*rows)["embedding_text"].to_list() == [
        "[1 May 2026] Ana: the quay closes at nine",
        "[1 May 2026] user: the quay closes at nine",
        "[1 May 2026] the quay closes at nine",
    ]


def test_only_the_text_is_cut() -> None:
    assert run({}, max_chars=8)["embedding_text"][0] == "[1 May 2026] Ana: the quay"


def test_the_hash_is_of_tenant_and_embedded_text() -> None:
    later = BASE["event_at"].replace(hour=23)
    found = run({}, {"event_at": later}, {"tenant_id": "b"}, {"content": "else"})["text_hash"].to_list()
    assert found[0] == found[1] == ids.row_id("acme", "[1 May 2026] Ana: the quay closes at nine")
    assert len(set(found)) == 3


def test_another_form_of_the_text_is_another_space() -> None:
    assert vector_space("m@1/8/v1").startswith("m@1/8/v1+")
    assert vector_space("a") != vector_space("b")
