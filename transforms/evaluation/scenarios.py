"""Scripted scenarios: what a suite says, changes, erases and asks; read and checked."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from transforms.errors import ConfigError

KINDS = (
    "planted", "alike", "script", "changed", "retracted", "past", "crowded", "injected", "erased", "expired",
)  # fmt: skip
"""Kinds of question."""
_REMEDY = "Mend the suite; flows/scenarios/suite.toml shows every field."
_TALK_HOUR = 13


@dataclass(frozen=True)
class Person:
    """A user of a tenant."""

    tenant: str
    user: str


@dataclass(frozen=True)
class Ask:
    """One question of a person.

    Attributes:
        kind: One of ``KINDS``.
        person: Who asks.
        query: What.
        right: Any of these in a row makes the row right.
        stale: What held before or only later, or may not be served.
        as_of: When it is asked, where not when the stage is.
    """

    kind: str
    person: Person
    query: str
    right: tuple[str, ...]
    stale: tuple[str, ...]
    as_of: datetime | None


@dataclass(frozen=True)
class Erasure:
    """Who or which row is erased, and words that may be seen nowhere afterwards."""

    person: Person
    row: str | None
    words: tuple[str, ...]


@dataclass(frozen=True)
class Stage:
    """Rows, a night, questions before and after it, and what is erased at the end.

    Attributes:
        name: Of the stage.
        night: When the night is run and the questions are asked.
        rows: In the row shape of ``lake.landing.append``.
        fresh: Questions before the night.
        ask: Questions after it.
        erasures: Done last.
        gone: Ids of rows that are past their time.
    """

    name: str
    night: datetime
    rows: tuple[dict[str, Any], ...]
    fresh: tuple[Ask, ...]
    ask: tuple[Ask, ...]
    erasures: tuple[Erasure, ...]
    gone: frozenset[str]


@dataclass(frozen=True)
class Suite:
    """All stages in order, the length of an answer, and words by the one person whose rows hold them."""

    k: int
    stages: tuple[Stage, ...]
    secrets: dict[Person, tuple[str, ...]]

    def owners(self) -> dict[str, Person]:
        """Person of each row by its id."""
        return {
            row["id"]: Person(row["tenant_id"], row["user_id"]) for stage in self.stages for row in stage.rows
        }


def read_suite(text: str) -> Suite:
    """A suite of TOML.

    Raises:
        ConfigError: It is none, or one of its entries lacks a field or names what is not there.
    """
    try:
        raw = tomllib.loads(text)
        talk = tuple(raw["small_talk"])
        stages = tuple(_stage(number, stage, talk) for number, stage in enumerate(raw["stages"]))
        secrets = {_person(name): tuple(words) for name, words in raw["secrets"].items()}
        suite = Suite(int(raw["k"]), stages, secrets)
    except (tomllib.TOMLDecodeError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise ConfigError(f"the suite of scenarios is not readable: {error}", _REMEDY) from error
    _check(suite)
    return suite


def _stage(number: int, raw: Mapping[str, Any], talk: tuple[str, ...]) -> Stage:
    rows = [_row(entry) for entry in raw["say"]]
    rows += _small_talk(number, rows, talk)
    return Stage(
        name=raw["name"],
        night=raw["night"],
        rows=tuple(rows),
        fresh=tuple(_ask(entry) for entry in raw.get("fresh", [])),
        ask=tuple(_ask(entry) for entry in raw["ask"]),
        erasures=tuple(
            Erasure(_person(e["by"]), e.get("row"), tuple(e["words"])) for e in raw.get("erase", [])
        ),
        gone=frozenset(raw.get("gone", [])),
    )


def _person(name: str) -> Person:
    tenant, _, user = name.partition("/")
    if not tenant or not user:
        raise ValueError(f"{name} is not tenant/user")
    return Person(tenant, user)


def _row(entry: Mapping[str, Any]) -> dict[str, Any]:
    person = _person(entry["by"])
    plain = {name: value for name, value in entry.items() if name not in ("by", "session", "at", "text")}
    return {
        "role": "user",
        **plain,
        "id": entry["id"],
        "tenant_id": person.tenant,
        "user_id": person.user,
        "session_id": entry["session"],
        "event_at": entry["at"],
        "content": entry["text"],
    }


def _small_talk(number: int, rows: list[dict[str, Any]], talk: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """Rows about nothing that is asked, of everybody who speaks in the stage, on the day of its first row."""
    people = {(row["tenant_id"], row["user_id"]): None for row in rows}
    for tenant, user in people:
        first = min(row["event_at"] for row in rows if (row["tenant_id"], row["user_id"]) == (tenant, user))
        for place, text in enumerate(talk):
            yield {
                "id": f"talk-{number}-{tenant}-{user}-{place}",
                "tenant_id": tenant,
                "user_id": user,
                "session_id": f"talk-{number}",
                "role": "user",
                "event_at": first.replace(hour=_TALK_HOUR) + timedelta(minutes=place),
                "content": text,
            }


def _ask(entry: Mapping[str, Any]) -> Ask:
    if entry["kind"] not in KINDS:
        raise ValueError(f"there is no kind {entry['kind']}")
    right, stale = tuple(entry.get("right", [])), tuple(entry.get("stale", []))
    return Ask(entry["kind"], _person(entry["by"]), entry["query"], right, stale, entry.get("as_of"))


def _check(suite: Suite) -> None:
    """Ids are unique, times have zones and rise, and rows that are named are there.

    Raises:
        ConfigError: They do not.
    """
    faults = []
    ids = [row["id"] for stage in suite.stages for row in stage.rows]
    names = set(ids)
    if len(names) < len(ids):
        faults.append("two rows have one id")
    instants = [
        *(stage.night for stage in suite.stages),
        *(row["event_at"] for stage in suite.stages for row in stage.rows),
        *(a.as_of for stage in suite.stages for a in (*stage.fresh, *stage.ask) if a.as_of is not None),
    ]
    if any(not isinstance(instant, datetime) or instant.tzinfo is None for instant in instants):
        faults.append("a time has no zone")
    elif [s.night for s in suite.stages] != sorted(s.night for s in suite.stages):
        faults.append("nights do not follow one another")
    named = {name for stage in suite.stages for name in stage.gone}
    named |= {erasure.row for stage in suite.stages for erasure in stage.erasures if erasure.row}
    faults += [f"there is no row {name}" for name in sorted(named - names)]
    if faults:
        raise ConfigError(f"the suite of scenarios: {'; '.join(faults)}", _REMEDY)
