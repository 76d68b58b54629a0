"""Collecting batches: what ended is merged and noted, what is unclear is cleared up, nothing counts twice."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from lake.embedders.endpoint import NotFoundError
from lake.models.asked import Asked
from lake.models.batch_api import BatchApi
from lake.models.batch_results import Item, Results, merge
from lake.models.batch_state import Record, Records
from lake.models.budget import Budget
from lake.models.cache import Answers
from lake.models.chat import Chat
from lake.models.wire import error_code
from transforms.errors import EndpointError

_ENDED = frozenset({"completed", "expired", "cancelled"})
"""With ``failed``, the states that last; a state nobody has heard of is waited out."""
_QUEUE_IS_FULL = "token_limit_exceeded"
"""The endpoint holds as many tokens of ours as it takes; a later run sends the rest."""
_MOST_FILE_BYTES = 4_000_000_000
_KEPT_SECONDS = 30 * 86_400
"""As long as endpoints keep the files of a batch."""


class Collector:
    """Takes the outcome of batches.

    Attributes:
        reserved: Result ids that were sent by this run, and set aside in its budget.
        losses: Why a request was not answered by its last batch, by result id.
    """

    def __init__(self, api: BatchApi, records: Records, answers: Answers, chat: Chat, budget: Budget) -> None:
        self._api, self._records, self._answers = api, records, answers
        self._chat, self._budget = chat, budget
        self.reserved: set[str] = set()
        self.losses: dict[str, str] = {}

    def confirm(self, records: dict[str, Record]) -> None:
        """Find the batches of records that a killed run left without an id; drop what no batch was made of.

        Records that are too old for their files to be there still go, too.
        """
        for key, record in list(records.items()):
            if record.batch_id is None:
                found = self._api.find(record.key)
                if found is None:
                    self.remove(record)
                    del records[key]
                    continue
                records[key] = replace(record, batch_id=found)
                self._records.save(records[key])
            elif time.time() - record.submitted_unix > _KEPT_SECONDS:
                self.remove(record)
                del records[key]

    def remove(self, record: Record, batch: Mapping[str, Any] | None = None) -> None:
        """Delete the files of a batch at the endpoint, and forget the batch."""
        if batch is None and record.batch_id:
            batch = self._api.look(record.batch_id)
        told = [(batch or {}).get(name) for name in ("output_file_id", "error_file_id")]
        own = [record.file_id] if record.file_id else self._api.files_named(record.file_name)
        for file_id in [*own, *told]:
            if isinstance(file_id, str) and file_id and not self._api.delete(file_id):
                self._count("file_not_deleted")
        self._records.drop(record)

    def forget_taken(self, asked: Asked, records: dict[str, Record]) -> None:
        """Note requests as taken whose answers are kept: a run was killed between the two."""
        for record in list(records.values()):
            if asked.kept.intersection(record.left):
                self._shrink(records, record, asked.kept, None)

    def collect(self, asked: Asked, records: dict[str, Record]) -> EndpointError | None:
        """Take what ended of the batches that hold an open request.

        Returns:
            The error of a batch that failed as a whole, after the others were taken.
        """
        failure = None
        for record in list(records.values()):
            if not set(record.left).intersection(asked.open):
                continue
            batch = self._api.look(record.batch_id or "")
            if batch is None:
                # Unless the whole API is gone, which raises here.
                self._api.find(record.key)
                self._again(asked, dict.fromkeys(record.left, "batch_lost"))
                self._shrink(records, record, set(record.left), None)
            elif batch.get("status") == "failed":
                failure = self._failed(asked, records, record, batch) or failure
            elif _is_over(batch):
                self._take(asked, records, record, batch)
        return failure

    def _take(
        self, asked: Asked, records: dict[str, Record], record: Record, batch: Mapping[str, Any]
    ) -> None:
        """Merge the files of a batch that ended."""
        results = self._results(record, batch)
        is_cancelled = batch.get("status") == "cancelled"
        missing = f"batch_{batch.get('status')}" if batch.get("status") != "completed" else "missing"
        still_open = set(asked.open)
        mine = [name for name in record.left if name in still_open]
        lost: dict[str, str] = {}
        for name in mine:
            item = results.items.get(name) or Item(None, missing, is_final=False)
            reason = self._note(asked, record, name, item)
            if reason is not None:
                lost[name] = reason
        self._again(asked, lost)
        if is_cancelled:  # somebody stopped it; the next run may send again
            for name, reason in lost.items():
                asked.postpone(name, reason)
        self._answers.flush()  # kept before it is noted as taken
        self._shrink(records, record, set(mine), batch)

    def _results(self, record: Record, batch: Mapping[str, Any]) -> Results:
        ids = [batch.get(name) for name in ("output_file_id", "error_file_id")]
        files = []
        for file_id in (i for i in ids if isinstance(i, str) and i):
            try:
                files.append(self._api.content(file_id, _MOST_FILE_BYTES))
            except NotFoundError:  # too late: endpoints keep it for a while only
                self._count("file_gone")
        results = merge(files, record.items)
        for reason, times in results.strange.items():
            self._count(reason, times)
        return results

    def _note(self, asked: Asked, record: Record, name: str, item: Item) -> str | None:
        """Note the outcome of one request; the reason where it is to be sent again."""
        is_ours = name in self.reserved
        if item.completion is not None:
            asked.completed(name, item.completion, is_of_this_run=is_ours)
        elif item.is_about_form and self._chat.check(asked.requests[name], record.form):
            return item.error
        elif item.is_final:
            asked.refused(name, item.error or "refused", is_of_this_run=is_ours)
        else:
            return item.error or "missing"
        self.reserved.discard(name)
        return None

    def _again(self, asked: Asked, lost: Mapping[str, str]) -> None:
        """Requests that their batch did not answer are free to be sent again."""
        for name, reason in lost.items():
            self.losses[name] = reason
            self._count(reason)
            if name in self.reserved:
                self.reserved.discard(name)
                asked.unpaid(name)

    def _failed(
        self, asked: Asked, records: dict[str, Record], record: Record, batch: Mapping[str, Any]
    ) -> EndpointError | None:
        """A batch that was not run at all: its requests wait."""
        listed = (batch.get("errors") or {}).get("data") or [{}]
        code = error_code(listed[0]) or "unknown"
        still_open = set(asked.open)
        mine = [name for name in record.left if name in still_open]
        self._again(asked, dict.fromkeys(mine, f"batch_failed:{code}"))
        for name in mine:
            asked.postpone(name, f"batch_failed:{code}")
        self._shrink(records, record, set(record.left), batch)
        if code == _QUEUE_IS_FULL:
            return None
        return EndpointError(
            f"a batch of {len(record.items)} requests failed as a whole: {code}",
            "Check model and [model] in slowwave.toml at the endpoint; a later run sends them again.",
        )

    def _shrink(
        self,
        records: dict[str, Record],
        record: Record,
        taken: set[str] | frozenset[str],
        batch: Mapping[str, Any] | None,
    ) -> None:
        """Note that outcomes were taken; a batch that has given all is removed."""
        left = record.without(taken)
        if left.left:
            records[record.key] = left
            self._records.save(left)
        else:
            self.remove(record, batch)
            del records[record.key]

    def _count(self, reason: str, times: int = 1) -> None:
        errors = self._budget.spent.errors
        errors[reason] = errors.get(reason, 0) + times


def _is_over(batch: Mapping[str, Any]) -> bool:
    """Whether a batch ended and its files are there."""
    counts = batch.get("request_counts")
    answered = counts.get("completed") if isinstance(counts, Mapping) else None
    is_behind = isinstance(answered, int) and answered > 0 and not batch.get("output_file_id")
    return batch.get("status") in _ENDED and not is_behind
