"""What a legal hold keeps of an erasure's subject: its rows, and what is derived from them."""

from __future__ import annotations

import re

import polars as pl

from flows.erase_rules import EPISODE_TABLES, OWNED, RESTS_ON, SCOPE, held_rule
from flows.erase_work import Work
from lake.erasure.removal import Rule, count, matching
from transforms.erasure import meets
from transforms.schemas import CLAIMS, Table

_ID = re.compile(r"[0-9a-f]{32}")


def held_ids(work: Work) -> pl.Series:
    """Distinct ids of the episodes that a hold keeps."""
    found = [matching(work.lake, held_rule(work, table), ["episode_id"]) for table in EPISODE_TABLES]
    return pl.concat(found)["episode_id"].unique().sort()


def held_rows(work: Work) -> dict[str, int]:
    """Rows that stay under hold, by store: of the subject, and derived of it or resting on such a row.

    Stores without are left out; all are where no hold stands.
    """
    found = {table.name: count(work.lake, held_rule(work, table)).rows for table in EPISODE_TABLES}
    if not any(found.values()):
        return {}
    ids, owners = held_ids(work), _owners(work)
    for table in (CLAIMS, *OWNED):
        found[table.name] = count(work.lake, _rule(work, table, ids, owners)).rows
    return {name: rows for name, rows in found.items() if rows}


def _owners(work: Work) -> pl.Series:
    """Owners all of whose rows are the subject's."""
    if work.aim.subject.kind == "tenant":
        return work.values("owner_stays")
    return pl.Series("owner", work.aim.owners, dtype=pl.String)


def _rule(work: Work, table: Table, ids: pl.Series, owners: pl.Series) -> Rule:
    column = "episode_id" if table is CLAIMS else RESTS_ON.get(table.name)

    def goes(rows: pl.DataFrame) -> pl.Series:
        found = meets(rows, "owner", owners)
        if column:
            found = found | meets(rows, column, ids)
        return found & (rows["tenant_id"] == work.tenant)

    return Rule(table, ["tenant_id", "owner", *([column] if column else [])], goes, work.buckets)


class Kept:
    """Says of rows that stay whether they are kept under hold, and so are no rows of others.

    Args:
        work: The erasure.
    """

    def __init__(self, work: Work) -> None:
        self._aim = work.aim
        self._is_held = bool(work.evidence.get("held"))
        self._ids = frozenset(held_ids(work)) if self._is_held else frozenset()
        self._owners = _owners(work).to_list()

    def __call__(self, table: str, rows: pl.DataFrame) -> pl.Series:
        """Whether each row of a file is the subject's own, or rests on an episode that is held."""
        del table
        if not self._is_held:
            return pl.repeat(value=False, n=rows.height, dtype=pl.Boolean, eager=True)
        texts = (repr(row) for row in rows.iter_rows())
        rests = pl.Series([not self._ids.isdisjoint(_ID.findall(text)) for text in texts], dtype=pl.Boolean)
        return rests | self._is_own(rows)

    def _is_own(self, rows: pl.DataFrame) -> pl.Series:
        own = [pl.lit(False)]
        named = {name for name, kind in rows.schema.items() if kind == pl.String}
        if named.issuperset(SCOPE):
            own.append(self._aim.is_aimed(has_speaker="speaker" in named))
        if named.issuperset(("tenant_id", "owner")):
            mine = pl.col("tenant_id") == self._aim.subject.tenant
            own.append(mine & pl.col("owner").is_in(self._owners))
        frame = rows.with_row_index("place_of_row")  # a height, where all is literal
        return frame.select(
            (pl.any_horizontal(own).fill_null(False) & pl.col("place_of_row").is_not_null()).alias("own")
        )["own"]
