"""Which rows are new, which are new texts of held ones, and which cannot be told apart."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from typing import Any

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from transforms import ids
from transforms.normalise import normalise
from transforms.policy import Policy
from transforms.schemas import DRAFTS, LINEAGE, REFUSALS
from transforms.validate import Defaults
from transforms.versions import HELD, Split, contested, named, split, version_id

AS_OF = datetime(2026, 6, 30, tzinfo=UTC)
LINKS = pl.DataFrame(schema={"derived_id": pl.String, "source_id": pl.String})
NOTHING = pl.DataFrame(schema=HELD)
NAMES = {ids.row_id("acme", "ana", "", "", f"nn{n}"): n for n in range(4)}
TEXTS = ("yes", "YES ", "no", "later")


def row(number: int, text: str, minute: int = 0, line: int = 1, **more: Any) -> dict[str, Any]:
    at = f"2026-06-01T10:{minute:02d}:00Z"
    named = {"natural_id": f"n{number}", "tenant_id": "acme", "user_id": "ana", "role": "user"}
    return {**named, "content": text, "event_at": at, "source_line": line, **more}


def episodes(*rows: dict[str, Any], as_of: datetime = AS_OF) -> pl.DataFrame:
    frame = pl.DataFrame([{**dict.fromkeys(DRAFTS.names), **one} for one in rows], schema=DRAFTS.polars)
    return normalise(
        frame, source="test", defaults=Defaults(), policy=Policy(), as_of=as_of, buckets=4
    ).episodes


class Lake:
    """All that was kept, as frames."""

    def __init__(self) -> None:
        self.held, self.links = NOTHING, LINKS

    def take(self, rows: pl.DataFrame, *, is_chosen: bool = False) -> Split:
        here = self.held.filter(pl.col("episode_id").is_in(rows["episode_id"].implode()))
        also = named(contested(rows, here, self.links), self.links)
        more = self.held.filter(pl.col("episode_id").is_in(also.implode()))
        done = split(rows, pl.concat([here, more]).unique(), self.links, is_chosen=is_chosen)
        self.held = pl.concat(
            [self.held, *(part.select(HELD.names()) for part in (done.fresh, done.versions))]
        )
        self.links = pl.concat([self.links, done.lineage.select(LINKS.columns)])
        return done

    def standing(self) -> set[str]:
        return set(self.held["episode_id"]) - set(self.links["source_id"])


def hash_of(text: str) -> str:
    return ids.row_id("acme", text.strip().lower())


def oracle(rows: list[dict[str, Any]], held: dict[int, str]) -> tuple[dict[int, list[str]], int, int]:
    """Texts by number in the order in which they stand, count of duplicates, of clashes; a row at a time."""
    found = {number: [text] for number, text in held.items()}
    clashes = 0
    asked = [(int(r["natural_id"][1:]), r["event_at"], r["content"].strip().lower()) for r in rows]
    for number in sorted({number for number, *_ in asked}):
        told = found.setdefault(number, [])
        for event in sorted({at for n, at, _ in asked if n == number}):
            texts = {text for n, at, text in asked if (n, at) == (number, event)}
            new = sorted(texts - set(told), key=hash_of)
            if len(new) == len(texts):
                is_first, is_older = not told, number in held and told == [held[number]] and event < HELD_AT
                is_together = number in held and told == [held[number]] and event == HELD_AT
                if is_first or not (is_older or is_together):
                    told.append(new[0])
                    new = new[1:]
            clashes += len(new)
    landed = sum(len(told) for told in found.values()) - len(held)
    return found, len(rows) - landed - clashes, clashes


HELD_AT = "2026-06-01T10:01:00Z"
ROWS = st.lists(
    st.builds(row, st.integers(0, 3), st.sampled_from(TEXTS), st.integers(0, 2), st.integers(1, 3)),
    max_size=10,
)


@given(ROWS, st.sets(st.integers(0, 3)), st.integers(0, 99))
def test_split_is_the_oracle_in_any_order(rows: list[dict[str, Any]], held: set[int], seed: int) -> None:
    lake = Lake()
    if held:
        lake.take(episodes(*(row(n, "yes", 1) for n in sorted(held))))
    candidates = episodes(*rows)
    before = lake.held, lake.links
    done = lake.take(candidates)
    wanted, copies, clashes = oracle(rows, dict.fromkeys(held, "yes"))
    texts = {n: told[-1] for n, told in wanted.items() if told}
    stands = lake.held.filter(pl.col("episode_id").is_in(sorted(lake.standing())))
    assert sorted(stands["content_hash"]) == sorted(map(hash_of, texts.values()))
    assert lake.held.height == sum(map(len, wanted.values()))
    assert done.fresh.height + done.versions.height + done.duplicates + done.clashes.height == len(rows)
    # A copy of a refused row counts as held: it is in quarantine once.
    assert done.clashes.height == clashes
    assert done.duplicates == copies
    assert (done.clashes.schema, done.lineage.schema) == (REFUSALS.polars, LINEAGE.polars)

    other = Lake()
    other.held, other.links = before
    again = other.take(candidates.sample(fraction=1, shuffle=True, seed=seed))
    for name in ("fresh", "versions"):
        assert getattr(again, name).sort("episode_id").equals(getattr(done, name).sort("episode_id"))
    assert sorted(again.clashes["raw"]) == sorted(done.clashes["raw"])
    twice = lake.take(candidates)
    assert (twice.fresh.height, twice.versions.height) == (0, 0)


def test_a_version_is_named_by_the_first_id_and_its_text() -> None:
    lake = Lake()
    first = lake.take(episodes(row(0, "closes at two"))).fresh
    root = first["episode_id"][0]
    day = [datetime(2026, 7, n, tzinfo=UTC) for n in (1, 2, 3)]
    second = lake.take(episodes(row(0, "closes at three"), as_of=day[0]))
    third = lake.take(episodes(row(0, "closes at four"), as_of=day[1]))
    names = [version_id(root, hash_of(f"closes at {n}")) for n in ("two", "three", "four")]
    assert [second.versions["episode_id"][0], third.versions["episode_id"][0]] == names[1:]
    assert second.lineage.select("derived_id", "source_id").rows() == sorted(
        [(names[1], root), (names[1], names[0])]
    )
    assert third.lineage.select("derived_id", "source_id").rows() == sorted(
        [(names[2], root), (names[2], names[0]), (names[2], names[1])]
    )
    assert set(third.lineage["derived_kind"]) == {"episodes"}
    assert lake.standing() == {names[2]}
    for text in ("two", "three", "four"):
        assert lake.take(episodes(row(0, f"closes at {text}"), as_of=day[2])).duplicates == 1


def test_the_first_text_is_known_after_its_row_has_gone() -> None:
    lake = Lake()
    lake.take(episodes(row(0, "closes at two")))
    done = lake.take(episodes(row(0, "closes at three"), as_of=datetime(2026, 7, 1, tzinfo=UTC)))
    lake.held = lake.held.join(done.versions, on="episode_id", how="semi")
    late = datetime(2026, 7, 2, tzinfo=UTC)
    assert lake.take(episodes(row(0, "closes at two"), as_of=late)).duplicates == 1
    assert lake.take(episodes(row(0, "closes at five"), as_of=late)).versions.height == 1
    assert len(lake.standing()) == 1


def test_an_older_row_and_one_that_came_in_the_same_run_are_refused_unless_somebody_decides() -> None:
    lake = Lake()
    lake.take(episodes(row(0, "closes at two", 5)))
    older = lake.take(episodes(row(0, "closes at one", 4), as_of=datetime(2026, 7, 1, tzinfo=UTC)))
    together = lake.take(episodes(row(0, "closes at three", 5)))
    assert [len(set(one.clashes["detail"])) for one in (older, together)] == [1, 1]
    assert older.clashes["detail"][0] != together.clashes["detail"][0]
    assert lake.take(episodes(row(0, "closes at three", 5)), is_chosen=True).versions.height == 1
    assert lake.take(episodes(row(0, "closes at one", 4)), is_chosen=True).versions.height == 1
    assert lake.held.height == 3
    assert len(lake.standing()) == 1


def test_what_was_refused_stays_refused() -> None:
    lake = Lake()
    lake.take(episodes(row(0, "closes at two")))
    late = episodes(row(0, "closes at three"), as_of=datetime(2026, 7, 1, tzinfo=UTC))
    name = version_id(late["episode_id"][0], late["content_hash"][0])
    done = split(late, lake.held, lake.links, refused=[name])
    assert (done.versions.height, done.clashes.height) == (0, 1)


def test_twins_that_differ_in_anything_are_ranked_by_it() -> None:
    rows = [
        row(0, "yes", metadata=m, tags=t) for m in ('{"a":1}', '{"a":2}', None) for t in (["x"], ["y"], [])
    ]
    first = split(episodes(*rows), NOTHING, LINKS).fresh
    assert first.height == 1
    for seed in range(5):
        mixed = random.Random(seed).sample(rows, len(rows))
        assert split(episodes(*mixed), NOTHING, LINKS).fresh.equals(first)


def test_nothing_comes_to_nothing() -> None:
    done = split(episodes(), NOTHING, LINKS)
    assert (done.fresh.height, done.versions.height, done.duplicates, done.clashes.height) == (0, 0, 0, 0)
