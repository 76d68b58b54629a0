"""What a worker is told and makes of it: no key travels, and nothing is done for a run that is gone."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pydantic import SecretStr

from flows.cli import version
from flows.config import Config, load_config
from flows.engine.attempt import attempt
from flows.engine.config import EngineConfig
from flows.engine.errands import Answer, Errand, answered, errands_of, loads
from flows.engine.recipe import (
    Recipe,
    config_for,
    recipe_of,
    require_in_environment,
    secrets_of,
)
from flows.engine.run import require_all, run_units
from flows.engine.tasks import TASKS
from flows.engine.units import Done, Failure, Unit, UnitsError
from flows.engine.worker import job_from, perform
from flows.job import LOCK, Job, exclusive
from lake import locks
from lake.lake import init_lake
from tests.flows.engine.crews import engine_job, unit
from tests.flows.lakes import job_on
from transforms.errors import ConfigError
from transforms.model_requests import Spending

KEYED = """
[embedder]
provider = "openai"
base_url = "http://127.0.0.1:1/v1"
model = "new"
dimensions = 8
api_key = "hush-one"
[embedder.previous]
provider = "onnx"
folder = "weights"
[model]
base_url = "http://127.0.0.1:1/v1"
model = "m"
api_key = "hush-two"
[encryption]
keyring = "keys"
[[sources]]
path = "chat"
"""


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TASKS, "planted", "tests.flows.engine.planted_tasks:planted")
    for name in ("SLOWWAVE_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def recipe(tmp_path: Path, text: str = KEYED, **environment: str) -> tuple[Config, Recipe]:
    (tmp_path / "slowwave.toml").write_text(text)
    config = load_config(str(tmp_path / "slowwave.toml"), environment)
    return config, recipe_of(config, init_lake(str(tmp_path / "lake")), datetime(2026, 6, 30, tzinfo=UTC))


def test_a_recipe_holds_no_key_and_no_path_of_this_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    config, made = recipe(tmp_path)
    told = json.loads(made.config)
    assert "hush" not in repr(made)
    assert made.keyed == ("embedder", "model")
    assert not {"sources", "policy", "lake", "reranker"} & told.keys()
    assert told["embedder"]["previous"]["folder"] == str(tmp_path / "weights")
    assert told["encryption"]["keyring"] == str(tmp_path / "keys")
    back = config_for(made, secrets_of(config), {})
    assert secrets_of(back) == {"embedder": "hush-one", "model": "hush-two"}
    assert back.model == config.model


def test_a_key_comes_from_the_worker_s_own_environment_or_is_missed(tmp_path: Path) -> None:
    config, made = recipe(tmp_path)
    with pytest.raises(ConfigError, match=r"a worker has no key for \[embedder\]"):
        config_for(made, {}, {})
    own = config_for(made, {}, {"SLOWWAVE_API_KEY": "own"})
    assert secrets_of(own) == {"embedder": "own", "model": "own"}
    # What stands in the file only would have to be sent to a cluster.
    with pytest.raises(ConfigError, match="stands in the configuration file only") as caught:
        require_in_environment(made, secrets_of(config), {})
    assert "SLOWWAVE_API_KEY" in caught.value.remedy
    bare = KEYED.replace('api_key = "hush-one"\n', "").replace('api_key = "hush-two"\n', "")
    config, made = recipe(tmp_path, bare, SLOWWAVE_API_KEY="own")
    require_in_environment(made, secrets_of(config), {"SLOWWAVE_API_KEY": "own"})


def errand(job: Job, tmp_path: Path, kind: str = "good") -> Errand:
    assert job.recipe is not None
    return loads(errands_of(job, job.recipe, [unit(tmp_path, "a", kind)], version())[0])


def ends(told: Errand) -> Answer:
    return answered(perform(told.dumps()))


def test_a_worker_does_nothing_for_another_version_lake_or_run(tmp_path: Path) -> None:
    job = engine_job(tmp_path, "local")
    told = errand(job, tmp_path)
    wrong = {
        "has slowwave": replace(told, version="0.0.0"),
        "another lake": replace(told, recipe=replace(told.recipe, lake_id="0")),
        "cannot open the lake": replace(told, recipe=replace(told.recipe, lake=str(tmp_path / "gone"))),
        "lock ran out": replace(told, token=41),
    }
    for words, one in wrong.items():
        answer = ends(one)
        assert answer.ends_run
        assert words in str(answer.failure)
    assert not (tmp_path / "begun").exists()
    assert ends(told).result
    with exclusive(job):
        assert ends(errand(job, tmp_path)).result
        token = job.crew.token
    with locks.hold(job.lake, LOCK, 0):
        late = ends(replace(told, token=token))
    assert late.failure
    assert late.failure.code == "busy"
    assert (tmp_path / "begun").read_text() == "a\na\n"


def test_a_worker_s_job_is_the_job(tmp_path: Path) -> None:
    job = engine_job(tmp_path, "local")
    assert job.recipe
    other = job.policy.model_copy(update={"run": job.policy.run.model_copy(update={"on_busy": "wait"})})
    told = errand(replace(job, policy=other), tmp_path)
    made = job_from(told.recipe, told.policy)
    assert (made.policy, made.as_of, made.space, made.lake.lake_id) == (
        other, job.as_of, job.space, job.lake.lake_id,
    )  # fmt: skip
    assert made.embedder is job_from(told.recipe, told.policy).embedder  # loaded once a process


def test_an_answer_comes_back_as_it_went(tmp_path: Path) -> None:
    del tmp_path
    for answer in (
        Answer({"rows": 1}, spending=(Spending("h", "m", "embedding", "live", 1, is_hashed=True),)),
        Answer(failure=Failure("lake", "x", "y"), ends_run=True),
    ):
        assert answered(answer.dumps()) == answer


def test_what_stays_in_this_process(tmp_path: Path) -> None:
    """Its units die with it, so only the good ones are asked for."""
    job = engine_job(tmp_path, "local")
    units = [unit(tmp_path, "a", "good"), unit(tmp_path, "b", "row")]
    many = [replace(one, rows=1) for one in units]
    few = replace(job, engine=job.engine.model_copy(update={"least_rows": 5}))
    copy = replace(job, lake=init_lake(str(tmp_path / "copy")))
    here = [replace(job, is_dry=True), replace(job, has_diff=True), replace(job, recipe=None), few, copy]
    for one in here:
        done = {end.unit.name: end for end in run_units(one, many, "t")}
        assert done["a"].result
        assert done["a"].result["pid"] == os.getpid()
        assert str(done["b"].failure).startswith("Failure(code='internal', message='unexpected Col")
        with pytest.raises(UnitsError, match="t: 1 of 2 units failed") as caught:
            require_all("t", list(done.values()))
        assert caught.value.as_dict()["units"][0]["unit"] == "b"


def test_a_unit_that_asks_to_stop_is_not_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stops(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tests.flows.engine.planted_tasks.planted", stops)
    with pytest.raises(KeyboardInterrupt):
        attempt(job_on(tmp_path / "lake"), unit(tmp_path, "a", "good"))


def test_a_payload_that_is_no_json_fails_here_as_it_would_there(tmp_path: Path) -> None:
    done = attempt(job_on(tmp_path / "lake"), Unit("planted", "a", (0,), {"files": {1, 2}}))
    assert done.failure
    assert "TypeError" in done.failure.message


def test_secrets_are_in_no_repr(tmp_path: Path) -> None:
    config = Config.model_validate({"model": {"model": "m", "api_key": SecretStr("hush")}})
    assert secrets_of(config) == {"model": "hush"}
    job = engine_job(tmp_path, "local")
    job.crew.secrets["model"] = "hush"
    assert "hush" not in f"{job!r} {job.crew!r} {EngineConfig()!r} {Done(unit(tmp_path, 'a', 'x'))!r}"


def test_a_scheduler_alone_means_dask() -> None:
    assert EngineConfig.model_validate({"scheduler": "tls://host:8786"}).kind == "dask"
    assert EngineConfig.model_validate({"scheduler": "tls://host:8786", "kind": "local"}).kind == "local"
    assert EngineConfig().kind == "local"
