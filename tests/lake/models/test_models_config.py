"""The ``[model]`` section: what it takes, what it refuses, and that its key is not shown."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from lake.models.batch import BatchModel
from lake.models.config import ModelConfig, make_model
from lake.models.live import LiveModel
from lake.models.wire import FORMS, chat_body, is_about_form, weaker
from tests.lake.models.asking import AS_OF, KEY, SCHEMA, config, request


@pytest.mark.parametrize(
    "wrong",
    [
        {"model": ""},
        {"base_url": "ftp://host/v1"},
        {"base_url": "https://user:word@host/v1"},
        {"base_url": "https://host/v1?key=x"},
        {"base_url": "https://host:port/v1"},
        {"api_key": "sk with blank"},
        {"api_key": "sk-x\n"},
        {"mode": "later"},
        {"batch_window": "a day"},
        {"max_concurrency": 0},
        {"budget_tokens": -1},
        {"budget_money": float("nan")},
        {"temperature": 3.0},
        {"unknown": 1},
    ],
)
def test_wrong_values_are_refused(wrong):
    with pytest.raises(ValidationError) as caught:
        ModelConfig(**{"model": "m", **wrong})
    assert "sk" not in str(caught.value).replace("ask", "")


def test_whole_numbers_do_where_a_fraction_may_stand():
    assert ModelConfig(model="m", timeout_seconds=5, budget_money=2).budget_money == 2.0


def test_the_key_is_shown_nowhere():
    made = config("https://host/v1")
    assert KEY not in f"{made!r} {made} {made.model_dump()} {made.model_dump_json()} {made.key}"
    assert made.api_key.get_secret_value() == KEY


def test_the_model_is_named_by_its_address_or_its_revision():
    assert ModelConfig(model="m", base_url="https://Host:8/v1/").key == "m@host:8/v1/v1"
    assert ModelConfig(model="m", revision="r").key == "m@r/v1"
    assert (
        ModelConfig(model="m", revision="r", seed=1, temperature=0.0).key == "m@r/temperature=0.0/seed=1/v1"
    )


def test_the_mode_chooses_the_client(lake):
    assert isinstance(make_model(config("https://host/v1"), lake, AS_OF), LiveModel)
    assert isinstance(make_model(config("https://host/v1", mode="batch"), lake, AS_OF), BatchModel)


def test_forms_get_weaker_until_there_is_none():
    assert [weaker(form) for form in FORMS] == [*FORMS[1:], None]


def test_a_schema_without_bounds_keeps_its_names_and_the_rest():
    schema = {
        "type": "object",
        "properties": {"maxLength": {"type": "string", "maxLength": 3, "enum": ["a"]}},
        "items": [{"maxItems": 2, "type": "array"}],
        "required": ["maxLength"],
    }
    body = chat_body(request("a", answer_schema=schema), config("https://host/v1"), "plain_schema")
    assert body["response_format"]["json_schema"]["schema"] == {
        "type": "object",
        "properties": {"maxLength": {"type": "string", "enum": ["a"]}},
        "items": [{"type": "array"}],
        "required": ["maxLength"],
    }
    assert "maxLength" in str(SCHEMA)  # what was given is not changed


@pytest.mark.parametrize(
    ("message", "is_form"),
    [
        ("Invalid parameter: 'response_format' of type 'json_schema' is not supported", True),
        ("Invalid schema for response_format 'claims': 'maxLength' is not permitted", True),
        ("failed to parse grammar", True),
        ("This model's maximum context length is 8192 tokens", False),
        ("Unsupported value: 'temperature'", False),
    ],
)
def test_which_refusals_are_about_the_form_of_the_answer(message, is_form):
    assert is_about_form(message) == is_form
