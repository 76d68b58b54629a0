"""Rows whose id is held already: the same text again, a newer version of it, or one that cannot be told.

A message that was edited comes again under its own id with another text. That is a new episode, a version:
its id is a hash of the first one's id and its text, so every export names it alike. What it replaces stands
in ``schemas.LINEAGE`` (``derived_kind`` is ``episodes``): the version before it, the first of all, and the id
that the first would have as a version, by which its text is known again after its row has gone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import polars as pl

from transforms import ids
from transforms.schemas import EPISODES, INSTANT, LINEAGE, REFUSALS, TEXTS

KIND = EPISODES.name
"""``derived_kind`` of lineage between versions."""
HELD = pl.Schema(
    {
        "episode_id": pl.String(),
        "content_hash": pl.String(),
        "event_at": INSTANT,
        "ingested_at": INSTANT,
        "source_file": pl.String(),
    }
)
"""What the lake tells of a row; of one that retention took out only the id."""
REPLACED_TAG = "replaced"
_QUOTED = (
    "episode_id", "tenant_id", "user_id", "agent_id", "session_id", "kind", "role", "speaker", "content",
    "event_at", "metadata", "source", "sensitivity", "redactions",
)  # fmt: skip
_TAG_BREAK = "\x1f"
_TWINS = (
    "Another row with this id, this time and another text is held already: which is newer cannot be told."
)
_OLDER = "A later row with this id and another text is held already."


@dataclass(frozen=True)
class Split:
    """What becomes of candidates.

    Attributes:
        fresh: New rows under their own id (``schemas.EPISODES``).
        versions: New texts of rows that are held, or of fresh ones, each under an id of its own.
        roots: The id under which each version came.
        lineage: ``schemas.LINEAGE`` of the versions.
        duplicates: How many are held.
        clashes: Refusals (``schemas.REFUSALS``) of texts of which it cannot be told whether they are newer.
    """

    fresh: pl.DataFrame
    versions: pl.DataFrame
    roots: pl.Series
    lineage: pl.DataFrame
    duplicates: int
    clashes: pl.DataFrame


def version_id(episode_id: str, content_hash: str) -> str:
    """Id of a text as a version of a row."""
    return ids.row_id(episode_id, content_hash)


def contested(episodes: pl.DataFrame, held: pl.DataFrame, links: pl.DataFrame) -> pl.DataFrame:
    """``episode_id`` and ``content_hash`` of candidates whose id has, or may have, several texts.

    Args:
        episodes: Candidates (``schemas.EPISODES``).
        held: ``HELD`` of their ids.
        links: ``derived_id`` and ``source_id`` of lineage between versions.
    """
    texts = episodes.select("episode_id", "content_hash")
    known = held.select("episode_id", held_hash="content_hash")
    is_edited = pl.col("content_hash") != pl.col("held_hash")
    found = [texts.join(known, on="episode_id").filter(is_edited).select(texts.columns)]
    repeated = texts.filter(texts["episode_id"].is_duplicated())
    if repeated.height:
        twins = repeated.unique().filter(pl.col("episode_id").is_duplicated())
        found.append(twins.join(known, on="episode_id", how="anti"))
    if links.height:
        sources = links.select(episode_id="source_id")
        found.append(texts.join(sources, on="episode_id", how="semi"))
    return pl.concat(found).unique()


def named(several: pl.DataFrame, links: pl.DataFrame) -> pl.Series:
    """Ids under which texts of contested rows may be held: their versions', and what replaced the rows."""
    own = [version_id(name, text) for name, text in several.select("episode_id", "content_hash").iter_rows()]
    theirs = links.filter(pl.col("source_id").is_in(several["episode_id"].implode()))["derived_id"]
    return pl.concat([pl.Series(own, dtype=pl.String), theirs]).unique().sort()


def split(
    episodes: pl.DataFrame,
    held: pl.DataFrame,
    links: pl.DataFrame,
    *,
    refused: Collection[str] = (),
    is_chosen: bool = False,
) -> Split:
    """Which rows are new, which are new versions, how many are held, and which cannot be told apart.

    Of several texts of one id the later event is the newer version. Texts of one instant that came in
    together cannot be told apart: the one that is held, else that of the least hash stands. A text that was
    held once is held, so that an older export changes nothing; one older than what stands is refused.

    Args:
        episodes: Candidates (``schemas.EPISODES``), in any order, which decides nothing.
        held: ``HELD`` of their ids, and of ``named`` those that are contested.
        links: ``derived_id`` and ``source_id`` of lineage between versions.
        refused: ``version_id`` of texts that were refused before: they stay so.
        is_chosen: Somebody has decided for these rows: none is refused.
    """
    several = contested(episodes, held, links)["episode_id"].unique()
    is_contested = episodes["episode_id"].is_in(several.implode())
    # A frame of a commit is wide: it is not copied where nothing is to be told apart.
    plain = in_total_order(episodes.filter(~is_contested) if several.len() else episodes)
    is_held = plain["episode_id"].is_in(held["episode_id"].implode())
    first = plain.filter(~is_held & plain["episode_id"].is_first_distinct()).select(EPISODES.names)
    rows = in_total_order(episodes.filter(is_contested))
    told = _Told(held, links, frozenset(refused), is_chosen)
    for at, row in enumerate(rows.select("episode_id", "content_hash", *_ORDER).iter_rows()):
        told.texts[row[0]].append(_Text(at, *row[1:]))
    told.judge()
    fresh = pl.concat([first, rows[sorted(told.fresh)]])
    edited = rows[[at for at, _ in told.versions]]
    versions = edited.with_columns(episode_id=pl.Series([name for _, name in told.versions], dtype=pl.String))
    clashes = pl.concat([refusals(rows[told.twins], _TWINS), refusals(rows[told.older], _OLDER)])
    duplicates = episodes.height - fresh.height - versions.height - clashes.height
    lineage = _lineage(versions, told.links).join(
        links, on=["derived_id", "source_id"], how="anti", maintain_order="left"
    )
    return Split(fresh, versions, edited["episode_id"], lineage, duplicates, clashes)


_ORDER = ("event_at", "ingested_at", "source_file")


def in_total_order(episodes: pl.DataFrame) -> pl.DataFrame:
    """Rows of one id by event, then hash, then everything else; where no id is twice, as they are."""
    repeated = episodes["episode_id"].is_duplicated()
    if not repeated.any():
        return episodes
    first = ["episode_id", "event_at", "ingested_at", "content_hash", "content"]
    lists = [name for name, dtype in EPISODES.polars.items() if dtype == TEXTS]
    plain = [n for n in EPISODES.names if n not in (*first, *lists, "source_file", "source_line")]
    texts = [pl.col(name).list.join(_TAG_BREAK) for name in lists]
    several = episodes.filter(repeated).sort(*first, *plain, *texts, "source_file", "source_line")
    return pl.concat([episodes.filter(~repeated), several])


@dataclass(frozen=True)
class _Text:
    """A candidate: its place among the contested, and what decides."""

    at: int
    content_hash: str
    event_at: Any
    ingested_at: Any
    source_file: str | None

    @property
    def moment(self) -> tuple[Any, Any]:
        """When it was said, and when it came."""
        return self.event_at, self.ingested_at


@dataclass
class _Told:
    """Contested candidates by id, and what they come to."""

    held: pl.DataFrame
    known_links: pl.DataFrame
    refused: frozenset[str]
    is_chosen: bool
    texts: dict[str, list[_Text]] = field(default_factory=lambda: defaultdict(list))
    fresh: list[int] = field(default_factory=list)
    versions: list[tuple[int, str]] = field(default_factory=list)
    twins: list[int] = field(default_factory=list)
    older: list[int] = field(default_factory=list)
    links: list[tuple[str, str]] = field(default_factory=list)

    def judge(self) -> None:
        """Decide on all of them."""
        if not self.texts:
            return
        after = defaultdict[str, list[str]](list)
        for derived, source in self._links_of(self.texts).iter_rows():
            after[source].append(derived)
        names = {version_id(name, one.content_hash) for name, texts in self.texts.items() for one in texts}
        near = {*self.texts, *names, *(one for several in after.values() for one in several)}
        # Only of these: a commit has a hundred thousand others.
        rows = self.held.filter(pl.col("episode_id").is_in(list(near)))
        by_id = {row["episode_id"]: row for row in rows.iter_rows(named=True)}
        before = set(self._links_of(near)["source_id"])
        for name, texts in self.texts.items():
            members = sorted({one for one in after.get(name, ()) if one in by_id})
            # More than one only where a version between them was erased.
            heads = [one for one in members if one not in before] or members[-1:]
            _Family(self, name, by_id, before, heads).take(texts)

    def _links_of(self, sources: Collection[str]) -> pl.DataFrame:
        links = self.known_links.select("derived_id", "source_id")
        return links.filter(pl.col("source_id").is_in(list(sources)))


@dataclass
class _Family:
    """One id and all its texts.

    Attributes:
        told: Takes up what becomes of candidates.
        root: The id.
        held: Rows in the lake by id.
        replaced: Ids that a version has replaced.
        heads: Versions that stand; none where the row itself does, or is not there.
        landed: Names of texts that are new.
    """

    told: _Told
    root: str
    held: Mapping[str, Mapping[str, Any]]
    replaced: Collection[str]
    heads: list[str]
    landed: set[str] = field(default_factory=set)

    def take(self, texts: Sequence[_Text]) -> None:
        """Judge the candidates, in the order of their events."""
        root = self.held.get(self.root)
        first = root["content_hash"] if root else None
        stands: Any = self.held.get(self.heads[0]) if self.heads else root
        is_there = root is not None or bool(self.heads)
        for text in self._apart(texts, first):
            name = version_id(self.root, text.content_hash)
            if not is_there:
                self.told.fresh.append(text.at)
                self.landed.add(name)
                is_there, first, stands = True, text.content_hash, vars(text)
                continue
            if self._is_older(text, stands):
                self.told.older.append(text.at)
            elif self._is_twin(text, stands) or (name in self.told.refused and not self.told.is_chosen):
                self.told.twins.append(text.at)
            else:
                before = self.heads or [self.root]
                known = [] if first is None else [version_id(self.root, first)]
                self.told.versions.append((text.at, name))
                self.told.links += [(name, one) for one in sorted({*before, self.root, *known})]
                self.landed.add(name)
                self.heads, stands = [name], vars(text)

    def _is_known(self, text: _Text, first: str | None) -> bool:
        """Whether a text is held, or was."""
        name = version_id(self.root, text.content_hash)
        return text.content_hash == first or name in self.held or name in self.replaced or name in self.landed

    def _apart(self, texts: Sequence[_Text], first: str | None) -> Iterator[_Text]:
        """New texts, each once; of several that came together with one time, one."""
        for _, together in groupby(texts, key=lambda text: text.moment):
            by_hash = {text.content_hash: text for text in reversed(list(together))}
            new = [text for text in by_hash.values() if not self._is_known(text, first)]
            new.sort(key=lambda text: text.content_hash)
            room = len(new) if self.told.is_chosen else int(len(new) == len(by_hash))
            yield from new[:room]
            self.told.twins += [text.at for text in new[room:]]

    def _is_older(self, text: _Text, stands: Mapping[str, Any] | None) -> bool:
        was_at = stands and stands["event_at"]
        return bool(was_at and text.event_at < was_at) and not self.told.is_chosen

    def _is_twin(self, text: _Text, stands: Mapping[str, Any] | None) -> bool:
        """Whether it came with what stands: a commit in the middle of a file decides nothing."""
        if stands is None or self.told.is_chosen:
            return False
        mine = (text.event_at, text.ingested_at, text.source_file)
        return mine == tuple(stands[name] for name in _ORDER)


def refusals(clash: pl.DataFrame, detail: str = _TWINS, reason: str = "duplicate_id") -> pl.DataFrame:
    """Rows as refusals (``schemas.REFUSALS``) for their id, which they are quoted with."""
    return clash.with_columns(
        reason=pl.lit(reason), detail=pl.lit(detail), raw=pl.struct(_QUOTED).struct.json_encode()
    ).select(REFUSALS.names)


def _lineage(versions: pl.DataFrame, links: list[tuple[str, str]]) -> pl.DataFrame:
    if not links:
        return LINEAGE.empty()
    rows = pl.DataFrame(links, schema={"derived_id": pl.String, "source_id": pl.String}, orient="row")
    who = versions.select("tenant_id", "tenant_bucket", derived_id="episode_id")
    named = rows.join(who, on="derived_id").with_columns(derived_kind=pl.lit(KIND))
    return named.select(LINEAGE.names).unique().sort("derived_id", "source_id")
