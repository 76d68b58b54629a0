"""Which rows may hold what is looked for after an erasure: those of others who say it of their own right.

Bytes prove nothing by themselves: a sentence that two people said is still there when one of them is gone.
A row may stay where no rule of the erasure meets it and it names nothing erased. What is derived or
published may hold an erased person's sentence only where an episode that it rests on says the same.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

import ahocorasick_rs
import polars as pl

from flows.erase_landing import lines_that_go
from flows.erase_objects import covers
from flows.erase_recall_log import remaining
from flows.erase_rules import all_rules
from flows.erase_work import Work
from flows.erase_working import is_aimed
from lake import landing, recall_segments, tables
from lake.erasure.removal import Rule, files_of
from lake.online import working_file
from transforms.derived import CONVERSATIONS
from transforms.erasure import plain_texts
from transforms.owners import owner_expr
from transforms.schemas import COLD, EPISODES, FORGOTTEN, MODEL_RESULTS, QUARANTINE, RECALLS, STORED
from transforms.subjects import Subject

_WAITING = {landing.PREFIX, recall_segments.PREFIX, working_file.PREFIX}
_FIRST_HAND = {t.name for t in (EPISODES, COLD, QUARANTINE, RECALLS, MODEL_RESULTS)} | _WAITING
"""Tables, and segments of what is to go into them, whose rows say something of their own right."""
_TABLES = {table.name: table for table in STORED}
_ID = re.compile(r"[0-9a-f]{32}")


class Judge:
    """Says of rows that hold something looked for whether they may stay. Safe between threads.

    Args:
        work: The erasure.
        ids: Ids of what is erased, and stands no more.
    """

    def __init__(self, work: Work, ids: frozenset[str]) -> None:
        self._work = work
        self._ids = ids
        self._rules = {rule.table.name: rule for rule in all_rules(work)}
        self._texts = _automaton(work.values("text").to_list())
        self._canaries = work.canaries

    def __call__(self, table: str, rows: pl.DataFrame) -> pl.Series:
        """Whether each row may hold what was found in it."""
        said = ["\n".join(_strings(row)) for row in rows.iter_rows()]
        may = [not self._names_erased(text) for text in said]
        mine = self._is_aimed(table, rows)
        may = [is_clean and not is_aimed for is_clean, is_aimed in zip(may, mine, strict=True)]
        if table not in _FIRST_HAND:
            may = self._derived(table, rows, said, may)
        return pl.Series("may_stay", may, dtype=pl.Boolean)

    def sealed_leaks(self) -> int:
        """Rows of the tenant that may not hold what their sealed text holds, which no bytes show."""
        lake, work = self._work.lake, self._work
        leaks = 0
        for table in STORED if lake.encryption is not None else ():
            for name in files_of(lake, table, work.buckets) if table.free_text else ():
                held = tables.scan(lake, table, files=[name])
                rows = held.filter(pl.col("tenant_id") == work.tenant).collect()
                said = ["\n".join(_strings(row)) for row in rows.iter_rows()]
                rows = rows.filter(pl.Series([self._holds(text) for text in said], dtype=pl.Boolean))
                leaks += int((~self(table.name, rows)).sum()) if rows.height else 0
        return leaks

    def _holds(self, text: str) -> bool:
        return self._names_erased(text) or bool(_found(self._texts, text))

    def _names_erased(self, text: str) -> bool:
        is_named = not self._ids.isdisjoint(_ID.findall(text))
        return is_named or any(canary in text for canary in self._canaries)

    def _is_aimed(self, table: str, rows: pl.DataFrame) -> list[bool]:
        """Rows that the erasure should have taken."""
        if table == working_file.PREFIX:
            return [is_aimed(self._work, _line(row)) for row in rows.iter_rows(named=True)]
        if table == landing.PREFIX:
            return lines_that_go(self._work, [_line(row) for row in rows.iter_rows(named=True)])
        if table == recall_segments.PREFIX:
            lines = [_line(row) for row in rows.iter_rows(named=True)]
            return [remaining(self._work, [line])[1] > 0 for line in lines]
        if table == "standing":
            return [_is_of(self._work.aim.subject, row.get("subject")) for row in rows.iter_rows(named=True)]
        rule = self._rules.get(table)
        if rule is None:
            return [False] * rows.height
        return rule.goes(_shaped(rule, rows)).to_list()

    def _derived(self, table: str, rows: pl.DataFrame, said: list[str], may: list[bool]) -> list[bool]:
        """Rows that quote somebody: what they say must be said by an episode they rest on."""
        quoted = [set(_found(self._texts, text)) if ok else set() for text, ok in zip(said, may, strict=True)]
        if not any(quoted):
            return may
        refs = [set(_ID.findall(text)) if texts else set() for text, texts in zip(said, quoted, strict=True)]
        contents = self._contents(set().union(*refs), _tenants(rows))
        spoken = self._spoken(rows) if table == CONVERSATIONS.name else [[]] * rows.height
        return [
            ok
            and (not texts or _is_said(texts, [*own, *(contents[ref] for ref in named if ref in contents)]))
            for ok, texts, named, own in zip(may, quoted, refs, spoken, strict=True)
        ]

    def _spoken(self, rows: pl.DataFrame) -> list[list[str | None]]:
        """What the episodes of each conversation say, which names none of them; None where some are gone."""
        key = ["tenant_id", "owner", "session_id"]
        sessions = rows["session_id"].unique().to_list()
        held = tables.scan(self._work.lake, EPISODES, buckets=self._work.buckets)
        turns = held.filter(pl.col("session_id").is_in(sessions)).with_columns(owner_expr())
        said: dict[tuple[str | None, ...], list[str | None]] = {}
        for *names, text in turns.select(*key, "content").collect().iter_rows():
            said.setdefault(tuple(names), []).append(text)
        found = [said.get(names, []) for names in rows.select(key).iter_rows()]
        return [
            texts if len(texts) >= count else [*texts, None]
            for texts, count in zip(found, rows["turn_count"], strict=True)
        ]

    def _contents(self, ids: set[str], tenants: set[str] | None) -> dict[str, str | None]:
        """What the episodes among the ids say; None for one that retention took out."""
        lake = self._work.lake
        buckets = None if tenants is None else {lake.bucket(tenant) for tenant in tenants}
        wanted = pl.DataFrame({"episode_id": sorted(ids)}, schema={"episode_id": pl.String}).lazy()
        texts = pl.concat_str(
            [
                pl.col(n).fill_null("")
                for n in ("content", "tool_arguments", "failure_reason", "feedback", "metadata")
            ],
            separator="\n",
        )
        held = tables.scan(lake, EPISODES, buckets=buckets)
        rows = (
            held.join(wanted, on="episode_id", how="semi").select("episode_id", texts.alias("said")).collect()
        )
        gone = tables.scan(lake, FORGOTTEN, buckets=buckets)
        lost = gone.join(wanted, on="episode_id", how="semi").select("episode_id").collect()
        return {**dict.fromkeys(lost["episode_id"]), **dict(rows.iter_rows())}


def _is_said(texts: set[str], sources: list[str | None]) -> bool:
    """Whether the sources say every text; one that retention took out may have."""
    return None in sources or all(any(text in (said or "") for said in sources) for text in texts)


def _tenants(rows: pl.DataFrame) -> set[str] | None:
    """Tenants of rows; None where they name none."""
    return set(rows["tenant_id"].drop_nulls()) if "tenant_id" in rows.columns else None


def _shaped(rule: Rule, rows: pl.DataFrame) -> pl.DataFrame:
    """The rule's columns of rows of a file; those it lacks are null."""
    kinds = _TABLES[rule.table.name].polars
    return rows.select(
        (pl.col(name) if name in rows.columns else pl.lit(None)).cast(kinds[name]).alias(name)
        for name in rule.columns
    )


def _is_of(subject: Subject, raw: Any) -> bool:
    try:
        other = Subject(**json.loads(raw or "{}"))
    except (ValueError, TypeError):
        return True
    return other.tenant == subject.tenant and covers(subject, other)


def _line(row: dict[str, Any]) -> bytes:
    """A landed line as it stood."""
    (name, value), *_ = [(n, v) for n, v in row.items() if v is not None] or [("", "{}")]
    return f"{json.dumps(name)}:{value}".join("{}").encode() if value else b""


def _strings(row: Iterable[Any]) -> Iterable[str]:
    """Every text in a row, those inside JSON as they read."""
    waiting = list(row)
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield value
            yield from plain_texts(value) if value[:1] in ("{", "[") else ()
        elif isinstance(value, list | tuple):
            waiting.extend(value)
        elif isinstance(value, dict):
            waiting.extend(value.values())


def _automaton(texts: list[str]) -> ahocorasick_rs.AhoCorasick | None:
    return ahocorasick_rs.AhoCorasick(texts) if texts else None


def _found(automaton: ahocorasick_rs.AhoCorasick | None, text: str) -> list[str]:
    if automaton is None:
        return []
    return automaton.find_matches_as_strings(text, overlapping=True)
