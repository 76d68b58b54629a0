"""No row leaves its scope: hostile ids, hostile queries, rows in every state, against a plain registry."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from lake.index import load_manifest, read_pointer
from lake.recall import Recall
from lake.scope import Filters, Scope, literal, predicate
from tests.lake.recalled import NOW, ingest, job, land, make_lake, policy, publish, reader
from transforms.errors import UsageError

HOSTILE = [
    "007",
    "7",
    "../x",
    "a'b\"c; drop",
    "a'b",
    "a''b",
    "a",
    "ab",
    "A",
    "__HIVE_DEFAULT_PARTITION__",
    "🦊",
    "%",
    "_",
    "' OR '1'='1",
    "x' OR tenant_id <> '",
    "') OR (1=1) --",
    "\\",
    "\\'",
    '"',
    "NULL",
    "true",
    "$1",
    "u/*",
    "\u00fc",
    "u\u0308",
    "\u202eabc",
    "x" * 300,
]
QUERIES = [
    "violin",
    '"violin',
    "violin AND (",
    "+violin -garden",
    "violin~2^3 [a TO b] *:* field:x",
    "'; DROP TABLE memories; --",
    "\\",
    "🦊🦊",
    "小提琴 花园",
    "?",
    "...",
    "\u200b",
    "\u202eviolin",
    "violin\x00garden",
    "lone \ud83d surrogate",
    "' OR '1'='1",
    "%",
]


@dataclass(frozen=True)
class Row:
    tenant_id: str
    user_id: str | None
    agent_id: str | None
    session_id: str | None


class Planted:
    """A reader, and the true scope of every row by its id. No dataclass: failures would print it whole."""

    def __init__(self, recall: Recall, rows: dict[str, Row]) -> None:
        self.recall = recall
        self.rows = rows


def planted_scopes() -> list[Row]:
    """Tenants and users paired so that many share a user, a tenant or a prefix."""
    scopes = [Row(t, u, None, None) for t in HOSTILE[:12] for u in HOSTILE[:6]]
    scopes += [Row(name, name, name, name) for name in HOSTILE]
    scopes += [Row("007", None, name, None) for name in HOSTILE[:8]]
    scopes += [Row("007", "big", f"agent-{i % 2}", f"s-{i}") for i in range(12)]
    return scopes


def content(i: int, scope: Row) -> str:
    return f"violin note{i} word{i}a word{i}b word{i}c garden"


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Planted:
    """A third published (some scopes in tables of their own), a third ingested since, a third just landed."""
    lake = make_lake(tmp_path_factory.mktemp("isolation"))
    with_policy = policy(large_scope_rows=3, candidates=400, duplicate_cosine=1.0)
    rows: dict[str, Row] = {}
    scopes = planted_scopes()
    for state in range(3):
        batch = [(i, scope) for i, scope in enumerate(scopes * 2) if i % 3 == state]
        told = [{**scope.__dict__, "content": content(i, scope)} for i, scope in batch]
        rows.update(zip(land(lake, *told), (scope for _, scope in batch), strict=True))
        if state == 0:
            publish(job(lake, with_policy))
        elif state == 1:
            ingest(job(lake, with_policy))
    pointer = read_pointer(lake)
    assert pointer
    manifest = load_manifest(lake, pointer.generation)
    assert any(entry.scope for entry in manifest.tables), "no scope got a table of its own"
    return Planted(reader(lake, with_policy), rows)


def expected(planted: Planted, scope: dict[str, Any]) -> set[str]:
    """The oracle: rows whose every named part is equal, character by character."""
    wanted = {f"{name}_id": value for name, value in scope.items() if name != "tenant_wide" and value}
    return {
        name for name, row in planted.rows.items() if all(getattr(row, n) == v for n, v in wanted.items())
    }


ids = st.sampled_from([*HOSTILE, "big", "agent-0", "s-1"]) | st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=8
)
queries = st.sampled_from(QUERIES) | st.text(min_size=1, max_size=40).filter(str.strip)
scopes = st.fixed_dictionaries(
    {"tenant": ids}, optional={"user": ids, "agent": ids, "session": ids, "tenant_wide": st.just(True)}
).filter(lambda scope: len(scope) > 1)
pairs = st.sampled_from(planted_scopes()).map(
    lambda row: (
        {"tenant": row.tenant_id} | ({"user": row.user_id} if row.user_id else {"agent": row.agent_id})
    )
)


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(scope=scopes | pairs, query=queries)
@example(scope={"tenant": "007", "user": "big"}, query="violin")
@example(scope={"tenant": "007", "tenant_wide": True}, query="'")
@example(scope={"tenant": "007", "agent": "agent-0"}, query="violin")
def test_a_search_sees_exactly_its_scope(planted: Planted, scope: dict[str, Any], query: str) -> None:
    found = planted.recall.search(query, k=400, as_of=NOW, **scope)
    names = [memory.id for memory in found]
    assert len(names) == len(set(names))
    assert set(names) == expected(planted, scope)
    for memory in found:
        row = planted.rows[memory.id]
        assert (memory.user_id, memory.agent_id, memory.session_id) == (
            row.user_id,
            row.agent_id,
            row.session_id,
        )


def test_a_query_of_ten_thousand_characters_is_no_trouble(planted: Planted) -> None:
    scope = {"tenant": "007", "user": "big"}
    found = planted.recall.search("violin garden ' " * 800, k=400, as_of=NOW, **scope)
    assert {memory.id for memory in found} == expected(planted, scope)


@settings(max_examples=15, deadline=None)
@given(scope=pairs, query=st.sampled_from(QUERIES))
def test_a_context_sees_only_its_scope(planted: Planted, scope: dict[str, Any], query: str) -> None:
    packed = planted.recall.context(query, budget=2_000, as_of=NOW, **scope)
    shown = {memory.id for memory in packed.memories} | {row["id"] for row in packed.dropped_rows}
    assert shown <= expected(planted, scope)


@pytest.mark.parametrize("is_tenant_wide", [False, True])
def test_there_is_no_search_without_a_scope(planted: Planted, is_tenant_wide: bool) -> None:
    with pytest.raises(TypeError):
        planted.recall.search("violin", tenant_wide=is_tenant_wide)  # type: ignore[call-arg]
    with pytest.raises(UsageError):
        planted.recall.search("violin", tenant="", tenant_wide=is_tenant_wide)


def test_a_tenant_alone_is_no_scope(planted: Planted) -> None:
    with pytest.raises(UsageError):
        planted.recall.search("violin", tenant="007")
    with pytest.raises(UsageError):
        planted.recall.search("violin", tenant="007", user="")


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
def test_a_literal_ends_only_at_its_last_quote(value: str) -> None:
    body = literal(value)
    assert body[0] == body[-1] == "'"
    assert body[1:-1].replace("''", "").count("'") == 0
    assert body[1:-1].replace("''", "'") == value


@given(user=ids, query_kinds=st.lists(ids, min_size=1).map(tuple))
def test_the_predicate_always_starts_with_tenant_and_never_holds_a_bare_value(
    user: str, query_kinds: tuple[str, ...]
) -> None:
    where = predicate(Scope("t", user), Filters(NOW, is_replay=True, kinds=query_kinds))
    assert where.startswith(f"tenant_id = 't' AND user_id = {literal(user)} AND (expires_at IS NULL OR ")
    bare = where.replace("''", "")
    assert bare.count("'") % 2 == 0


def test_the_index_alone_keeps_scopes_apart_in_both_searches(planted: Planted) -> None:
    """The store's own predicate, without anything recall does afterwards."""
    generation = planted.recall._searcher.index.live(None)
    assert generation
    for row in planted_scopes()[:60:7]:
        scope = Scope(row.tenant_id, row.user_id, row.agent_id)
        where = predicate(scope, Filters(NOW + timedelta(days=1)))
        columns = ("tenant_id", "user_id", "agent_id")
        query = planted.recall._model().embed(["violin"]).vectors[0]
        for table in (
            generation.vectors(scope, query, 400, where, columns),
            generation.texts(scope, "violin garden", 400, where, columns),
        ):
            for name, value in scope.columns().items():
                assert set(table[name].to_pylist()) <= {value}


def test_two_readers_of_two_lakes_share_nothing(tmp_path: Path) -> None:
    lakes = [make_lake(tmp_path / name) for name in ("one", "two")]
    for lake, text in zip(lakes, ("violin of one", "violin of two"), strict=True):
        land(lake, {"content": text})
        publish(job(lake))
    for lake, text in zip(lakes, ("violin of one", "violin of two"), strict=True):
        found = reader(lake).search("violin", tenant="t", user="u", as_of=NOW)
        assert [memory.text for memory in found] == [text]
