"""A model asked by batches: sent and left, collected by this run or a later one.

Of every request the lake knows at any instant whether a batch holds it, so that a killed run neither loses
what was paid for nor sends it twice. Only answers to requests that are asked for again are kept: what was
erased meanwhile is asked for no more.
"""

from __future__ import annotations

import json
import random
import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from lake import locks
from lake.embedders.endpoint import GaveUpError
from lake.lake import Lake
from lake.models.asked import OVER_BUDGET, Asked, estimated
from lake.models.batch_api import CHAT_URL, BatchApi
from lake.models.batch_collect import Collector
from lake.models.batch_state import Record, Records
from lake.models.budget import Budget, month_money
from lake.models.cache import Answers
from lake.models.chat import Chat
from lake.models.config import ModelConfig
from lake.models.wire import chat_body
from transforms.errors import EndpointError
from transforms.model_requests import ModelAnswer, ModelRequest, Spending, Spent

BATCH_RUNNING = "batch_running"
"""Pending: a batch holds it."""
_MOST_TRIES = 3
"""Times that one run sends a request whose batch expired or whose item failed for a while."""
_LOCK = "model-batches"
_LOCK_WAIT_SECONDS = 30.0
_LONGEST_PAUSE_SECONDS = 60.0

Step = Callable[[], str]
Found = Callable[[], str | None]


class BatchModel:
    """See ``transforms.model_requests.Model``. Not to be shared between threads."""

    def __init__(
        self,
        config: ModelConfig,
        lake: Lake,
        as_of: datetime,
        *,
        sleep: Callable[[float], None] = time.sleep,
        rng: random.Random | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Connect to nothing yet; ``sleep``, ``rng`` and ``clock`` serve retries and polling."""
        self._config, self._lake, self._sleep = config, lake, sleep
        self._chat = Chat(config, sleep=sleep, rng=rng, clock=clock)
        self._api = BatchApi(self._chat.endpoint, config)
        self._answers = Answers(lake, config.key, as_of)
        self._budget = Budget(config, month_money(lake, config, as_of))
        self._records = Records(lake, config.key)
        self._collector = Collector(self._api, self._records, self._answers, self._chat, self._budget)
        self._waited_seconds = 0.0

    @property
    def key(self) -> str:
        """See ``ModelConfig.key``."""
        return self._config.key

    @property
    def spent(self) -> Spent:
        """Since it was made: what was collected, by this run's batches and by earlier ones."""
        return self._budget.spent

    def ask(self, requests: Sequence[ModelRequest]) -> list[ModelAnswer]:
        """Answers in the order of the requests: those kept, those that finished batches bring.

        The rest is sent in new batches as far as the budget goes, and waited for as long as configured, in
        all calls together. What no finished batch has answered is pending.

        Raises:
            EndpointError: Not authorised, no such model, every request is refused, no Batch API, or a batch
                failed as a whole. What was answered before is kept, and what runs is collected later.
            BusyError: Another run sends or collects batches.
            StorageError: Answers or records cannot be written.
        """
        asked = Asked(requests, self._config, self._answers, self._budget)
        with locks.hold(self._lake, _LOCK, _LOCK_WAIT_SECONDS):
            try:
                self._work(asked)
            finally:
                self._answers.flush()
        return asked.ordered()

    def estimate(self, requests: Sequence[ModelRequest]) -> Spent:
        """See ``transforms.model_requests.Model``; what a batch holds already counts as pending."""
        asked = Asked(requests, self._config, self._answers, self._budget)
        held = frozenset(name for record in self._records.load().values() for name in record.left)
        return estimated(asked, held)

    def take_spending(self) -> list[Spending]:
        """See ``transforms.model_requests.Itemised``.

        A batch is charged once, to the run that collects it; the run that sends it counts its requests.
        """
        return self._budget.take_spending()

    def close(self) -> None:
        """Close idle connections."""
        self._chat.close()

    def _work(self, asked: Asked) -> None:
        """Collect, send, wait, until nothing is open or the time is up."""
        records = self._records.load()
        self._collector.confirm(records)
        self._collector.forget_taken(asked, records)
        tries: Counter[str] = Counter()
        while asked.open:
            failure = self._collector.collect(asked, records)
            if failure is not None:
                raise failure
            self._send(asked, records, tries)
            running = {name for record in records.values() for name in record.left}
            rest = self._config.batch_wait_seconds - self._waited_seconds
            pause = min(self._config.batch_poll_seconds, rest)
            if pause <= 0 or not running & set(asked.open):
                break
            self._sleep(pause)
            self._waited_seconds += pause
        running = {name for record in records.values() for name in record.left}
        for name in asked.open:
            asked.postpone(name, BATCH_RUNNING if name in running else self._why(name, tries))

    def _why(self, name: str, tries: Counter[str]) -> str:
        """Why a request is in no batch at the end of a run."""
        return self._collector.losses.get(name, "unsent") if tries[name] >= _MOST_TRIES else OVER_BUDGET

    def _send(self, asked: Asked, records: dict[str, Record], tries: Counter[str]) -> None:
        """Send what no batch holds and the budget allows."""
        running = {name for record in records.values() for name in record.left}
        names = [name for name in asked.open if name not in running and tries[name] < _MOST_TRIES]
        names = asked.affordable(names)
        if not names:
            return
        self._chat.check(asked.requests[names[0]])  # a wrong parameter costs one word now, or a day later
        self._collector.reserved.update(names)
        for chunk, content in self._files(asked, names):
            record = self._submitted(chunk, content)
            records[record.key] = record
            tries.update(chunk)
            for name in chunk:
                self._budget.sent(asked.requests[name])

    def _files(self, asked: Asked, names: Sequence[str]) -> Iterator[tuple[list[str], bytes]]:
        """Requests in order as files, each within the limits of one batch."""
        chunk: list[str] = []
        content = bytearray()
        for name in names:
            body = chat_body(asked.requests[name], self._config, self._chat.form)
            told = {"custom_id": name, "method": "POST", "url": CHAT_URL, "body": body}
            line = json.dumps(told).encode() + b"\n"
            is_over = len(content) + len(line) > self._config.max_batch_bytes
            if chunk and (is_over or len(chunk) == self._config.max_batch_requests):
                yield chunk, bytes(content)
                chunk, content = [], bytearray()
            chunk.append(name)
            content += line
        yield chunk, bytes(content)

    def _submitted(self, names: Sequence[str], content: bytes) -> Record:
        """Send one batch, noted before and after each step."""
        record = Record(
            key=secrets.token_hex(16),
            model_key=self._config.key,
            form=self._chat.form,
            submitted_unix=time.time(),
            items=tuple(names),
            left=tuple(names),
        )
        self._records.save(record)
        record = replace(record, file_id=self._once(record, *self._upload(record, content)))
        self._records.save(record)
        record = replace(record, batch_id=self._once(record, *self._create(record)))
        self._records.save(record)
        return record

    def _upload(self, record: Record, content: bytes) -> tuple[Step, Found]:
        """Uploading, and clearing away what an attempt of unknown end left."""

        def upload() -> str:
            return self._api.upload(record.file_name, content)

        def clear() -> None:
            for file_id in self._api.files_named(record.file_name):
                self._api.delete(file_id)

        return upload, clear

    def _create(self, record: Record) -> tuple[Step, Found]:
        """Starting the batch, and finding the one that an attempt of unknown end started."""

        def create() -> str:
            return self._api.create(record.file_id or "", record.key)

        return create, lambda: self._api.find(record.key)

    def _once(self, record: Record, step: Step, find: Found) -> str:
        """What a step gives; it is tried again only where it is known that it was not done."""
        for attempt in range(1, self._config.max_attempts):
            try:
                return step()
            except GaveUpError:
                self._sleep(min(_LONGEST_PAUSE_SECONDS, 2.0 ** (attempt - 1)))
                found = find()
                if found is not None:
                    return found
            except EndpointError:
                self._collector.remove(record)  # refused: there is no batch
                raise
        return step()
