"""Everything a lake holds about one person or agent, table by table, and nothing of anybody else."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import polars as pl

from flows.export_schema import STANDING, Part, shown_columns
from flows.export_sharing import sharing_parts
from flows.export_working import WORKING, WORKING_TOLD, working_rows
from flows.recalled import waiting_recalls
from lake import landed_lines, landing, revisions, tables
from lake.lake import Lake
from lake.rights import standing
from lake.rights.requests import standing_requests
from lake.rights.subjects import salt, subject_hash
from transforms.erasure import Aim
from transforms.errors import UsageError
from transforms.ids import tenant_buckets
from transforms.schemas import (
    ATTEMPTS,
    CLAIMS,
    COLD,
    CONVERSATIONS,
    DECISIONS,
    EPISODES,
    FACTS,
    FORGOTTEN,
    MODEL_RESULTS,
    PROCEDURES,
    QUARANTINE,
    RECALLS,
    REQUESTS,
    SUMMARIES,
    TOPIC_MEMBERS,
    TOPICS,
    Table,
)
from transforms.subjects import Subject

LANDED = "One row that no ingest has taken yet."
_PLACES = {table.name: table for table in (EPISODES, COLD)}
_MONTH = re.compile(r"(?:^|/)month=(\d{4}-\d{2})/")


class HeldRows:
    """What a lake holds about a user, an agent's own work, or one session of either.

    Rows of an agent that were recorded with a person are that person's, and are no part of the agent's.

    Args:
        lake: Where.
        subject: A user or an agent, or a session narrowed to one of them.
        aliases: Further names of a user, as a speaker of rows that name no user.

    Raises:
        UsageError: It is a tenant, one memory, or a session of nobody in particular.
    """

    def __init__(self, lake: Lake, subject: Subject, aliases: tuple[str, ...] = ()) -> None:
        if subject.memory is not None or not (subject.user or subject.agent):
            raise UsageError(
                "an export is about a user or an agent",
                "Pass --user or --agent; a session too, to export only that.",
            )
        self._lake, self.subject = lake, subject
        self._aim = Aim(subject, aliases)
        self._bucket = lake.bucket(subject.tenant)
        self.owner = f"user:{subject.user}" if subject.user else f"agent:{subject.agent}"

    def owns(self) -> pl.Expr:
        """Whether a row with all scope columns is the subject's; never null."""
        is_of_nobody_else = pl.lit(True) if self.subject.user else pl.col("user_id").is_null()
        return self.subject.owns() & is_of_nobody_else

    def is_aimed(self, table: Table) -> pl.Expr:
        """``owns``, and where a row has a speaker what an erasure of the user would take with it."""
        return self.owns() | self._aim.is_spoken() if "speaker" in table.names else self.owns()

    def months(self, table: Table) -> list[str]:
        """Months in which the tenant's bucket has rows, oldest first."""
        own = tables.data_files(self._lake, table, buckets=[self._bucket])
        return sorted({found[1] for name in own if (found := _MONTH.search(name))})

    def month(self, table: Table, month: str) -> pl.DataFrame:
        """The subject's rows of one month, in the order of time."""
        rows = tables.scan(self._lake, table, buckets=[self._bucket], months=[month])
        return rows.filter(self.is_aimed(table)).collect().sort(_time_of(table), *table.key)

    @cached_property
    def landed(self) -> pl.DataFrame:
        """Episodes that agents have written and no ingest has taken yet (``schemas.EPISODES``)."""
        rows = self._landed(EPISODES)
        stamped = rows.with_columns(month=pl.col("event_at").dt.strftime("%Y-%m"))
        return stamped.filter(self.is_aimed(EPISODES)).unique("episode_id").sort("event_at", "episode_id")

    def months_of(self, place: str) -> list[str]:
        """Months in which ``episodes``, ``cold`` or ``landed`` may have turns."""
        if place == "landed":
            return self.landed["month"].unique().sort().to_list()
        return self.months(_PLACES[place])

    def turns(self, place: str, month: str) -> pl.DataFrame:
        """Turns of one month in ``episodes``, ``cold`` or ``landed``."""
        if place == "landed":
            return self.landed.filter(pl.col("month") == month)
        return self.month(_PLACES[place], month)

    def parts(self) -> list[Part]:
        """Every file of the export, in its order."""
        derived = (FACTS, SUMMARIES, TOPICS, TOPIC_MEMBERS, CONVERSATIONS, ATTEMPTS, PROCEDURES, DECISIONS)
        return [
            self._part(EPISODES, lambda: self._by_month(EPISODES)),
            self._part(COLD, lambda: self._by_month(COLD)),
            Part(
                "landed", "One row that no ingest has taken yet.", shown_columns(EPISODES), self._once_landed
            ),
            self._part(QUARANTINE, self._quarantine),
            *(self._part(table, lambda table=table: iter([self.derived(table)])) for table in derived),  # type: ignore[misc]
            self._part(CLAIMS, lambda: iter([self._claims])),
            self._part(RECALLS, self._recalls),
            self._part(MODEL_RESULTS, self._model_results),
            self._part(FORGOTTEN, self._forgotten),
            Part("working", WORKING_TOLD, WORKING, lambda: iter([working_rows(self._lake, self.subject)])),
            Part("standing", "What stands by the subject's own wish.", STANDING, self._standing),
            self._part(REQUESTS, self._requests),
            *sharing_parts(self._lake, self.subject),
        ]

    def _part(self, table: Table, frames: Callable[[], Iterator[pl.DataFrame]]) -> Part:
        return Part(table.name, table.description, shown_columns(table), frames)

    def _by_month(self, table: Table) -> Iterator[pl.DataFrame]:
        for month in self.months(table):
            yield self.month(table, month)

    def _recalls(self) -> Iterator[pl.DataFrame]:
        """Recalls by month, then calls that no night has folded yet."""
        yield from self._by_month(RECALLS)
        waiting = waiting_recalls(self._lake, self._bucket).filter(self.is_aimed(RECALLS))
        if waiting.height:
            held = tables.scan(self._lake, RECALLS, buckets=[self._bucket]).select(RECALLS.key)
            known = held.join(waiting.lazy().select(RECALLS.key), on=RECALLS.key, how="semi").collect()
            yield waiting.join(known, on=RECALLS.key, how="anti").sort("recalled_at", *RECALLS.key)

    def _once_landed(self) -> Iterator[pl.DataFrame]:
        yield self.landed

    def _landed(self, table: Table) -> pl.DataFrame:
        """All rows of the tenant's bucket that wait in segments."""
        found = [table.empty()]
        for entry in self._lake.storage.entries(f"{landing.PREFIX}/{self._bucket:03d}"):
            data = self._lake.storage.read(entry.key) or b""
            lines = landed_lines.lines_of(data, is_sealed=False)
            rows, _ = landed_lines.segment_rows(lines, table, self._lake)
            buckets = tenant_buckets(rows["tenant_id"].fill_null(""), self._lake.buckets)
            found.append(rows.with_columns(tenant_bucket=buckets))
        return pl.concat(found)

    def _quarantine(self) -> Iterator[pl.DataFrame]:
        """Refused rows that name the person, landed ones among them; they name no agent and no session."""
        if self.subject.kind != "user":
            return
        held = tables.scan(self._lake, QUARANTINE, buckets=[self._bucket]).filter(self.subject.owns())
        waiting = self._landed(QUARANTINE).filter(self.subject.owns())
        yield pl.concat([held.collect(), waiting]).unique("quarantine_id").sort("quarantine_id")

    def _forgotten(self) -> Iterator[pl.DataFrame]:
        rows = tables.scan(self._lake, FORGOTTEN, buckets=[self._bucket]).filter(self.owns())
        yield rows.collect().sort("event_at", "episode_id")

    @cached_property
    def _ids(self) -> pl.DataFrame:
        """``episode_id`` of every episode of the subject that is held, or was."""
        found = [self.landed.select("episode_id")]
        for table in (EPISODES, COLD, FORGOTTEN):
            rows = tables.scan(self._lake, table, buckets=[self._bucket]).filter(self.is_aimed(table))
            found.append(rows.select("episode_id").collect())
        return pl.concat(found).unique()

    @cached_property
    def _claims(self) -> pl.DataFrame:
        rows = tables.scan(self._lake, CLAIMS, buckets=[self._bucket]).filter(self._is_owned(CLAIMS))
        return rows.collect().sort("event_at", "claim_id")

    def _is_owned(self, table: Table) -> pl.Expr:
        """The owner's rows, and of these the session's where one is named and the table knows it."""
        mine = (pl.col("tenant_id") == self.subject.tenant) & (pl.col("owner") == self.owner)
        if self.subject.session is not None and "session_id" in table.names:
            mine &= pl.col("session_id").eq_missing(pl.lit(self.subject.session))
        return mine

    def derived(self, table: Table) -> pl.DataFrame:
        """What stands of a revisioned table for the owner; of one session what rests on it."""
        keys = pl.DataFrame({"tenant_id": [self.subject.tenant], "owner": [self.owner]})
        rows = revisions.standing(self._lake, table, buckets=[self._bucket], keys=keys)
        rows = rows.filter(self._is_owned(table)).sort(*(table.sort_by or table.key))
        if self.subject.session is None or "session_id" in table.names:
            return rows
        if table == TOPICS:
            members = self.derived(TOPIC_MEMBERS)
            return rows.join(members, on=["tenant_id", "topic_id"], how="semi", maintain_order="left")
        if table == DECISIONS:
            return rows.filter(pl.col("item_id").is_in(self._claims["claim_id"].implode()))
        ids = pl.concat([self._ids["episode_id"], self.derived(CONVERSATIONS)["conversation_id"]]).implode()
        if table == TOPIC_MEMBERS:
            return rows.filter(pl.col("episode_id").is_in(ids))
        rests = rows.select(*table.key, id="source_refs").explode("id").filter(pl.col("id").is_in(ids))
        return rows.join(rests, on=list(table.key), how="semi", maintain_order="left")

    def _model_results(self) -> Iterator[pl.DataFrame]:
        """Answers of a model that was shown nothing but the subject's own episodes."""
        held = tables.scan(self._lake, MODEL_RESULTS, buckets=[self._bucket])
        held = held.filter(pl.col("tenant_id") == self.subject.tenant)
        shown = held.select("result_id", episode_id="source_refs").explode("episode_id")
        known = self._ids.lazy().with_columns(is_own=pl.lit(True))
        marked = shown.join(known, on="episode_id", how="left")
        own = marked.group_by("result_id").agg(pl.col("is_own").fill_null(False).all()).filter("is_own")
        yield held.join(own, on="result_id", how="semi").collect().sort("answered_at", "result_id")

    @cached_property
    def standing(self) -> dict[str, Any] | None:
        """The subject's standing instructions, None where there are none."""
        found = standing.load(self._lake, self.subject)
        if found.is_empty:
            return None
        lists = ("forbidden_topics", "pinned")
        held = {column.name: getattr(found, column.name) for column in STANDING}
        return {name: list(value) if name in lists else value for name, value in held.items()}

    def _standing(self) -> Iterator[pl.DataFrame]:
        rows = [] if self.standing is None else [self.standing]
        yield pl.DataFrame(rows, schema={column.name: column.dtype for column in STANDING})

    def _requests(self) -> Iterator[pl.DataFrame]:
        yield self.requests

    @cached_property
    def requests(self) -> pl.DataFrame:
        """Requests about the subject, its sessions and its memories; the log holds hashes only."""
        rows = standing_requests(self._lake)
        kinds = set(rows["subject_kind"])
        key, tenant = salt(self._lake), self.subject.tenant
        hashes = {subject_hash(key, self.subject)}
        if "memory" in kinds:
            ids = {*self._ids["episode_id"], *self.derived(FACTS)["fact_id"]}
            ids.update(self.derived(SUMMARIES)["summary_id"], self.derived(PROCEDURES)["procedure_id"])
            hashes.update(subject_hash(key, Subject(tenant, memory=memory)) for memory in ids)
        if "session" in kinds and self.subject.session is None:
            user, agent = self.subject.user, self.subject.agent
            sessions = self.derived(CONVERSATIONS)["session_id"].drop_nulls().unique()
            hashes.update(subject_hash(key, Subject(tenant, user, agent, one)) for one in sessions)
        return rows.filter(pl.col("subject_hash").is_in(sorted(hashes)))


def _time_of(table: Table) -> str:
    return "recalled_at" if table == RECALLS else "event_at"
