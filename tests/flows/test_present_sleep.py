"""Facts, diffs and chains as a person reads them: no date or id is broken, no line commands the terminal."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import SecretStr

from flows.job import StepResult
from flows.present import plain, table
from flows.present_sleep import DIFF_LINES, DRY, chain_text, changes_lines, consolidation_text, facts_table
from lake.beliefs import Fact
from lake.models.config import ModelConfig

NOW = datetime(2026, 6, 30, tzinfo=UTC)
SPENT = {"input_tokens": 1200, "output_tokens": 300, "money": 0.0514, "requests": 3, "cached": 0}
COUNTS = dict.fromkeys(
    ("topics_add", "topics_split", "topics_merge", "joined", "waiting", "summaries", "conversations"), 0
)
DETAIL: dict[str, Any] = {
    **COUNTS,
    "attempts": 0,
    "skills": 0,
    "claims": 2,
    "claims_refused": {},
    "facts": {"added": 1},
    "pending": 0,
}


def fact(number: int, text: str, **values: Any) -> Fact:
    shown = {"user": "ana", "agent": None, "fact": text, "predicate": "lives_in", "confidence": 0.9}
    when = {"valid_from": NOW, "valid_until": None, "retired_reason": None, "support": 1}
    return Fact(f"{number:032x}"[::-1], {**shown, **when, **values})


def change(name: str, text: str, fact_id: str, by: str | None = None, tenant: str = "acme") -> dict[str, Any]:
    owner = {"tenant_id": tenant, "owner": "user:ana"}
    return {"change": name, **owner, "fact_id": fact_id, "fact": text, "superseded_by": by}


FACTS = [
    fact(1, "The user prefers a window seat on long flights over the ocean, whatever it costs"),
    fact(2, "The user lives in Graz", valid_until=NOW, retired_reason="superseded", agent="bot"),
    fact(3, "日本語の長い文章がここに置かれている", user=None, agent="bot"),
]


@pytest.mark.parametrize("columns", [None, 60, 80, 100, 120, 200])
def test_facts_keep_dates_and_ids_whole(columns: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns:
        monkeypatch.setenv("COLUMNS", str(columns))
    text = facts_table(FACTS)
    lines = text.splitlines()
    for each in FACTS:
        assert sum(each.id[:8] in line for line in lines) == 1
        assert each.id[:9] not in text
    [graz] = [line for line in lines if "2026-06-30" in line and FACTS[1].id[:8] in line]
    assert max(map(len, lines[:-3])) <= (columns or 240)
    if columns is None or columns >= 80:
        assert "superseded" in graz
        assert graz.count("2026-06-30") == 2
    assert ("predicate" in lines[0]) == (columns is None or columns > 100)


def test_a_column_that_is_left_out_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [("a", "b" * 40, "c" * 30)]
    heads, options = ("x", "y", "z"), {"wraps": ("y",), "drops": ("none", "z")}
    monkeypatch.setenv("COLUMNS", "50")
    assert "too narrow for: z" in table("", heads, rows, **options)  # type: ignore[arg-type]
    monkeypatch.setenv("COLUMNS", "90")
    shown = table("", heads, rows, **options)  # type: ignore[arg-type]
    assert "c" * 30 in shown
    assert "too narrow" not in shown


def test_owners_are_shown_where_there_can_be_several() -> None:
    assert "user:ana" not in facts_table(FACTS)
    shown = facts_table(FACTS, has_owner=True)
    assert "user:ana" in shown
    assert "agent:bot" in shown
    assert "ended by" in shown
    assert "from and until: when it holds" in shown


def test_a_dry_run_says_what_each_line_means_and_that_nothing_was_written() -> None:
    diff = [
        change("superseded", "lives in Graz", "a" * 32, by="b" * 32),
        change("added", "lives in Lisbon", "b" * 32, tenant="umbrella"),
        change("superseded", "likes tea", "c" * 32, by="d" * 32),
        change("withdrawn", "likes jazz", "e" * 32),
    ]
    result = StepResult("consolidate", NOW, detail={**DETAIL, "diff": diff})
    lines = consolidation_text(result).splitlines()
    assert "~ acme user:ana: lives in Graz -> lives in Lisbon" in lines
    assert "+ umbrella user:ana: lives in Lisbon" in lines
    assert "~ acme user:ana: likes tea -> fact dddddddd" in lines
    assert "x acme user:ana: likes jazz" in lines
    assert lines[-1] == DRY == "dry run: nothing written"
    legend = "+ added, = confirmed, ~ superseded, - retired, x withdrawn; these are the facts, all else"
    assert legend in " ".join(lines)
    written = StepResult("consolidate", NOW, detail=DETAIL)
    assert DRY not in consolidation_text(written)
    assert changes_lines({}) == []


def test_a_long_diff_is_cut_and_none_is_said() -> None:
    many = [change("added", f"likes {n}", f"{n:032d}") for n in range(DIFF_LINES + 5)]
    assert "... and 5 more (--json has all)" in changes_lines({**DETAIL, "diff": many})
    assert changes_lines({**DETAIL, "diff": []}) == ["no fact changes", DRY]


def test_a_model_is_told_with_its_address_and_its_prices() -> None:
    free = ModelConfig(model="m", api_key=SecretStr("secret"))
    dear = free.model_copy(update={"input_price": 1.0, "base_url": "http://127.0.0.1:8080/v1"})
    dry = {**DETAIL, "model": SPENT, "diff": []}
    [line] = [line for line in changes_lines(dry, dear) if line.startswith("model")]
    assert line == (
        "model m at 127.0.0.1:8080/v1: 3 requests, at most 1,200 tokens sent and 300 received; "
        "cost at most 0.0514 (your prices' currency); 0 answers already held"
    )
    [line] = [line for line in changes_lines(dry, free) if line.startswith("model")]
    assert "at api.openai.com/v1" in line
    assert "no prices set" in line
    assert "0.0514" not in line
    [line] = changes_lines({**DETAIL, "model": SPENT}, dear)
    assert "at most" not in line
    assert "secret" not in line


def test_no_text_commands_the_terminal() -> None:
    wild = "tea\x1b[2J\x9b31m\x07 and\x00 jazz\x7f"
    bare = "tea[2J31m and jazz"
    source = {"episode_id": "e" * 32, "event_at": NOW.isoformat(), "role": "user", "speaker": wild}
    claim = {"claim_id": "c" * 32, "event_at": NOW.isoformat(), "extractor": "r", "quote": wild}
    chain = {
        "id": "a" * 32,
        "table": "facts",
        "text": wild,
        "row": {"retired_reason": "retracted", "tool_sequence": [wild, wild]},
        "is_removed": False,
        "history": [],
        "claims": [claim],
        "ended_by": [claim],
        "decisions": [],
        "sources": [{**source, "content": wild, "source_file": wild, "source_line": 1}],
        "source_count": 1,
        "built_on_it": {"procedures": [{"id": "d" * 32, "text": wild}]},
        "versions": [],
    }
    shown = [
        chain_text(chain),
        facts_table([fact(1, wild, user=wild, predicate=wild)], has_owner=True),
        "\n".join(changes_lines({**DETAIL, "diff": [change("added", wild, "a" * 32, tenant=wild)]})),
        table("", ("x",), [(wild,)]),
    ]
    for text in shown:
        assert bare in text
        assert all(character == "\n" or character.isprintable() for character in text)
    assert plain("a\nb\tc") == "a\nbc"


def test_a_chain_reads_from_the_row_to_the_words_and_its_end() -> None:
    claim = {"claim_id": "c" * 32, "event_at": NOW.isoformat(), "extractor": "r", "quote": "no more"}
    chain: dict[str, Any] = {
        "id": "a" * 32,
        "table": "attempts",
        "text": "import: failure",
        "row": {"tool_sequence": ["read", "write"], "fix": "a comma", "failure_reason": "decimal"},
        "is_removed": False,
        **{key: [] for key in ("history", "claims", "ended_by", "decisions", "sources")},
        "source_count": 0,
        "built_on_it": {},
        "versions": [],
    }
    assert chain_text(chain).splitlines() == [
        f"attempt {'a' * 32}: import: failure",
        "  tools: read, write",
        "  failed for: decimal",
        "  fix: a comma",
    ]
    ended = {**chain, "table": "facts", "row": {"retired_reason": "retracted"}, "ended_by": [claim]}
    assert '  retracted by claim cccccccc 2026-06-30 00:00 by r: "no more"' in chain_text(ended).splitlines()
    skill = {**chain, "table": "procedures", "row": {"kind": "lesson"}}
    assert chain_text(skill).startswith("lesson aaaa")
