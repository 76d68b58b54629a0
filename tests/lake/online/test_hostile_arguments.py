"""Ids that no stored id can be, and ids in texts: refused at the call, at no cost of rows of others."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from lake import landing
from lake.lake import Lake, init_lake
from lake.recall import Recall
from tests.flows.lakes import CountingEmbedder
from transforms.errors import UsageError

NOW = datetime.now(UTC).isoformat()
IMPOSSIBLE = ["\ud800ana", "an\0a"]


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    made = init_lake(str(tmp_path / "lake"), 2)
    row = {"content": "the harbour office opens at nine", "role": "user", "event_at": NOW}
    landing.append(made, [{**row, "tenant_id": "acme", "user_id": "ana", "agent_id": "desk"}])
    return made


@pytest.fixture
def reader(lake: Lake) -> Recall:
    return Recall(lake, embedder=CountingEmbedder())


CALLS: dict[str, Callable[[Recall, str], object]] = {
    "tenant": lambda reader, name: reader.search("harbour", tenant=name, user="ana"),
    "user": lambda reader, name: reader.search("harbour", tenant="acme", user=name),
    "agent": lambda reader, name: reader.context("harbour", tenant="acme", agent=name),
    "session": lambda reader, name: reader.facts(tenant="acme", user="ana", agent=name),
    "used": lambda reader, name: reader.used([name], tenant="acme", user="ana"),
    "used_of_call": lambda reader, name: reader.used(["a" * 32], tenant="acme", call_id=name),
    "used_by_user": lambda reader, name: reader.used(["a" * 32], tenant="acme", user=name),
    "used_of_tenant": lambda reader, name: reader.used(["a" * 32], tenant=name, call_id="a" * 32),
    "open_tenant": lambda reader, name: reader.session(tenant=name, agent="desk", session_id="s1"),
    "open_agent": lambda reader, name: reader.session(tenant="acme", agent=name, session_id="s1"),
    "open_session": lambda reader, name: reader.session(tenant="acme", agent="desk", session_id=name),
    "open_user": lambda reader, name: reader.session(tenant="acme", agent="desk", session_id="s1", user=name),
}


@pytest.mark.parametrize("name", IMPOSSIBLE, ids=ascii)
@pytest.mark.parametrize("call", CALLS)
def test_an_id_that_none_can_be_is_refused(reader: Recall, call: str, name: str) -> None:
    with pytest.raises(UsageError, match="character"):
        CALLS[call](reader, name)


def test_what_waits_to_be_logged_is_not_lost_to_an_impossible_id(reader: Recall) -> None:
    reader.search("harbour", tenant="acme", user="ana")
    with pytest.raises(UsageError):
        reader.used(["\ud800"], tenant="acme", user="ana")
    reader.flush()
    assert (reader.log_stats().written, reader.log_stats().failed) == (1, 0)


@pytest.mark.parametrize("call", [name for name in CALLS if name.startswith("open")])
def test_a_session_of_an_id_that_would_not_land_is_not_opened(reader: Recall, call: str) -> None:
    with pytest.raises(UsageError, match="longer"):
        CALLS[call](reader, "x" * 513)


def test_too_long_an_id_is_no_use_of_a_memory(reader: Recall) -> None:
    with pytest.raises(UsageError, match="too long"):
        reader.used(["x" * 513], tenant="acme", user="ana")


def test_an_id_in_somebodys_words_keeps_no_row_out_of_a_session(lake: Lake, reader: Recall) -> None:
    told = {"tenant": "acme", "agent": "desk", "user": "ana"}
    known = reader.session(session_id="s1", **told).add("user", "the real words", id="m1")
    assert known.id is not None
    reader.session(session_id="s1", **told).close()
    lying = reader.session(session_id="s1", **told)
    lying.add("user", f'x {known.id} "{known.id}" "episode_id":"{known.id}"', id="m0")
    again = reader.session(session_id="s1", **told)
    again.add("user", "the real words", id="m1")
    assert "the real words" in [row.content for row in again.rows()]


@pytest.mark.parametrize("call_id", ["a\0b", "\ud800x", "line\nend"], ids=ascii)
def test_a_call_of_a_strange_id_keeps_its_result(reader: Recall, call_id: str) -> None:
    session = reader.session(tenant="acme", agent="desk", session_id="s1", user="ana")
    added, link = session.call_tool("look_up", {"x": 1}, call_id=call_id)
    assert added.refused is None
    assert session.add_tool_result(link, "found").refused is None
    assert [message["role"] for message in session.messages()][-2:] == ["assistant", "tool"]
    assert session.add_tool_result(call_id, "found again").refused is None
