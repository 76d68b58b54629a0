"""Runs that are killed at an instant of their talk with the server, and the run after."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from lake import tables
from lake.embedders.endpoint import Endpoint
from lake.lake import init_lake
from lake.models.batch import BatchModel
from lake.models.batch_state import FOLDER
from tests.lake.made import environment
from tests.lake.models.asking import AS_OF, config, requests
from tests.model_server_chat import ChatApi
from transforms.schemas import MODEL_RESULTS

WORKER = Path(__file__).with_name("workers.py")
TEXTS = [f"turn {i}" for i in range(4)]


@pytest.fixture
def killed(server, api, lake):
    """Runs a worker that is killed when it calls a route: before the server did what it asks, or after."""

    def run(route, *, is_done, mode="batch", count=4, calls=1, wait_for=lambda: True):
        original, left, process = server.routes[route], [calls], []

        def spoiled(running, request):
            left[0] -= 1
            if left[0] > 0:
                return original(running, request)
            made = original(running, request) if is_done else {}
            deadline = time.monotonic() + 30
            while not wait_for() and time.monotonic() < deadline:
                time.sleep(0.05)
            os.kill(process[0].pid, signal.SIGKILL)
            return made

        server.routes[route] = spoiled
        command = [sys.executable, str(WORKER), mode, lake.uri, server.base_url, str(count)]
        process.append(
            subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        )
        _, errors = process[0].communicate(timeout=60)
        assert process[0].returncode == -signal.SIGKILL, errors.decode()
        server.routes[route] = original

    return run


def require_all_once(model, api, lake):
    """The run after: every answer is there, was sent in one batch, and is kept once; nothing is left over."""
    answers = model.ask(requests(*TEXTS))
    assert [json.loads(answer.text)["said"] for answer in answers] == TEXTS
    assert sum(made["request_count"] for made in api.batches.values()) == len(TEXTS)
    kept = Counter(tables.scan(lake, MODEL_RESULTS).collect()["source_refs"].list.first().to_list())
    assert kept == {f"episode-{text}": 1 for text in TEXTS}
    assert api.files == {}
    assert lake.storage.entries(FOLDER) == []


def test_a_batch_run_that_is_killed_as_its_batch_is_made_finds_it(killed, batch, api, lake):
    killed("POST /v1/batches", is_done=True)
    require_all_once(batch(batch_wait_seconds=100.0), api, lake)


class DeadError(BaseException):
    """What a process that is gone does: nothing."""


class Death:
    """Lets a process do so many things to the outside, and not one more: no clean-up either."""

    def __init__(self, steps: int, *, is_after: bool) -> None:
        self.left, self.is_after = steps, is_after

    def limited(self, action):
        def act(*arguments, **named):
            if self.left <= 0:
                raise DeadError
            self.left -= 1
            if self.left == 0 and not self.is_after:
                raise DeadError
            result = action(*arguments, **named)
            if self.left == 0:
                raise DeadError
            return result

        return act


@pytest.mark.parametrize("is_after", [False, True])
def test_a_batch_run_that_ends_at_any_step_loses_nothing_and_pays_nothing_twice(
    server, clock, tmp_path, is_after
):
    steps = 0
    while True:
        steps += 1
        api, lake = ChatApi(server), init_lake(str(tmp_path / str(steps)), buckets=1)
        death = Death(steps, is_after=is_after)
        told = config(server.base_url, mode="batch", batch_wait_seconds=100.0)
        with pytest.MonkeyPatch.context() as patch:
            for name in ("write", "delete"):
                patch.setattr(lake.storage, name, death.limited(getattr(lake.storage, name)))
            patch.setattr(tables, "append", death.limited(tables.append))
            patch.setattr(Endpoint, "send", death.limited(Endpoint.send))
            try:
                BatchModel(told, lake, AS_OF, sleep=clock.sleep).ask(requests(*TEXTS))
            except DeadError:
                is_through = False
            else:
                is_through = True
        require_all_once(BatchModel(told, lake, AS_OF, sleep=clock.sleep), api, lake)
        if is_through:
            break
    assert steps > 12


def test_a_live_run_that_is_killed_keeps_what_was_paid_for(killed, live, server, lake):
    def is_kept():
        return tables.scan(lake, MODEL_RESULTS).collect().height == 64

    killed("POST /v1/chat/completions", is_done=True, mode="live", count=80, calls=75, wait_for=is_kept)
    kept = tables.scan(lake, MODEL_RESULTS).collect().height
    assert kept == 64  # written by so many
    sent = len(server.requests)
    answers = live().ask(requests(*(f"turn {i}" for i in range(80))))
    assert all(answer.state == "answered" for answer in answers)
    assert len(server.requests) - sent == 80 - kept
