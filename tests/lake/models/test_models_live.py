"""A live model that answers, refuses, fails, is slow, and is paid for once."""

from __future__ import annotations

import json
import logging
import threading

import pytest

from lake import tables
from lake.models.cache import Answers
from tests.lake.models.asking import KEY, SCHEMA, request, requests
from tests.model_server import Fault
from transforms.errors import EndpointError
from transforms.model_requests import ModelAnswer
from transforms.schemas import MODEL_RESULTS


def said(answers):
    return [json.loads(answer.text)["said"] if answer.text else answer.error for answer in answers]


TEXTS = [f"turn {i}" for i in range(12)]


def test_answers_stand_in_the_order_of_the_requests(live, server):
    model = live(max_concurrency=4)
    answers = model.ask(requests(*TEXTS))
    assert said(answers) == TEXTS
    assert {answer.state for answer in answers} == {"answered"}
    sent = server.requests[0]
    assert sent.headers["authorization"] == f"Bearer {KEY}"
    assert sent.body["response_format"]["json_schema"] == {"name": "claims", "strict": True, "schema": SCHEMA}
    assert sent.body["max_completion_tokens"] == 50
    assert "temperature" not in sent.body
    assert model.spent.requests == 12
    assert model.spent.input_tokens == 12 * 3  # as the server counts words
    assert model.spent.output_tokens > 0


def test_settings_are_sent_and_name_the_answers(live, server):
    model = live(temperature=0.0, seed=7, output_limit="max_tokens", max_output_tokens=20)
    model.ask(requests("a"))
    body = server.requests[0].body
    assert (body["temperature"], body["seed"], body["max_tokens"]) == (0.0, 7, 20)
    assert "max_completion_tokens" not in body
    assert len({model.key, live().key, live(revision="r2").key, live(seed=8).key}) == 4


def test_nothing_to_ask_sends_nothing(live, server):
    assert live().ask([]) == []
    assert server.requests == []


def test_without_a_key_none_is_taken_from_the_environment(live, server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    live(api_key=None).ask(requests("a"))
    assert KEY not in str(server.requests)


def test_no_more_requests_at_once_than_configured(live, server, api):
    meeting = threading.Barrier(3)

    def reply(body):
        meeting.wait(30)
        return "{}"

    api.reply = reply
    live(max_concurrency=3).ask(requests(*TEXTS))
    assert server.most_at_once == 3


def test_a_rate_limit_is_waited_out_as_long_as_it_says(live, server, clock):
    server.faults.extend(
        [Fault(429, headers={"retry-after": "7"}), Fault(429, headers={"retry-after-ms": "1500"})]
    )
    assert said(live().ask(requests("a"))) == ["a"]
    assert clock.sleeps == [7.5, 2.0]


def test_a_rate_limit_of_one_request_holds_the_others_back(live, server, clock):
    server.faults.append(Fault(429, headers={"retry-after": "50"}))
    model = live(max_attempts=1)
    assert said(model.ask(requests("warm", "a"))) == ["http_429", "a"]
    assert clock.sleeps == [50.5]
    server.faults.append(Fault(429, headers={"retry-after": "5000"}))
    answers = model.ask(requests(*TEXTS))
    assert [a.error for a in answers[:4]] == ["http_429", "asks_to_wait", "asks_to_wait", "endpoint_down"]
    assert len(server.requests) == 3


def test_an_interrupted_run_keeps_what_was_answered(live, server, monkeypatch):
    keep, left = Answers.keep, [3]

    def interrupted(*arguments):
        keep(*arguments)
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt

    monkeypatch.setattr(Answers, "keep", interrupted)
    with pytest.raises(KeyboardInterrupt):
        live().ask(requests(*TEXTS))
    sent = len(server.requests)
    answers = live().ask(requests(*TEXTS))
    assert sum(answer.is_cached for answer in answers) == sent
    assert said(answers) == TEXTS


def test_server_errors_time_outs_and_lost_connections_are_tried_again(live, server, clock):
    server.faults.extend(
        [Fault(500), Fault(503), Fault(drop="before"), Fault(drop="midway"), Fault(hang=True)]
    )
    assert said(live(timeout_seconds=1.5).ask(requests("a"))) == ["a"]
    assert clock.sleeps == [0.5, 1.0, 2.0, 4.0, 8.0]


def test_what_does_not_pass_waits_for_a_later_run_and_fails_alone(live, server):
    model = live(max_attempts=2)
    assert said(model.ask(requests("first"))) == ["first"]
    server.faults.extend([Fault(500), Fault(500)])
    answers = model.ask(requests("a", "b"))
    assert answers == [ModelAnswer("pending", error="http_500"), ModelAnswer("answered", '{"said": "b"}')]
    assert model.spent.errors == {"http_500": 1}
    assert model.spent.pending == 1
    assert said(live().ask(requests("a", "b"))) == ["a", "b"]


def test_an_endpoint_that_goes_down_is_not_asked_on_and_on(live, server):
    model = live(max_attempts=1)
    model.ask(requests("first"))
    server.always = Fault(503)
    answers = model.ask(requests(*TEXTS))
    assert [a.error for a in answers] == ["http_503"] * 3 + ["endpoint_down"] * 9
    assert len(server.requests) == 1 + 3


def test_an_endpoint_that_never_answers_is_an_error(live, server):
    server.always = Fault(drop="before")
    with pytest.raises(EndpointError, match="gave up at attempt 2: no connection"):
        live(max_attempts=2).ask(requests("a"))


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (Fault(401), "Check api_key"),
        (Fault(404), "Check model"),
        (Fault(429, {"message": "pay", "code": "insufficient_quota"}), "Raise the quota"),
    ],
)
def test_what_concerns_every_request_stops_the_run_and_keeps_what_was_answered(live, server, fault, words):
    server.faults.extend([Fault(), Fault()])
    server.always = fault
    with pytest.raises(EndpointError, match=words):
        live().ask(requests(*TEXTS))
    server.always = None
    count = len(server.requests)
    assert said(live().ask(requests(*TEXTS[:2]))) == TEXTS[:2]
    assert len(server.requests) == count


def test_a_refused_text_fails_alone_and_for_good(live, server, api):
    api.refused_words = {"poison"}
    texts = ["a", "poison", "b"]
    model = live()
    answers = model.ask(requests(*texts))
    assert answers[1] == ModelAnswer("failed", error="http_400:content_filter")
    assert said(answers)[::2] == ["a", "b"]
    count = len(server.requests)
    again = live().ask(requests(*texts))
    assert again[1] == ModelAnswer("failed", error="http_400:content_filter", is_cached=True)
    assert len(server.requests) == count


def test_before_a_text_is_blamed_a_harmless_one_is_tried(live, server, api):
    api.refused_words = {"poison"}
    assert live().ask(requests("poison"))[0].state == "failed"
    assert [r.body["messages"][-1]["content"] for r in server.requests] == ["poison", "hello"]


def test_a_wrong_parameter_is_an_error_and_blames_no_text(live, server, lake):
    server.always = Fault(400, {"message": "temperature must be 1", "code": "unsupported_value"})
    with pytest.raises(EndpointError, match="refuses every request: http_400:unsupported_value"):
        live(temperature=0.0).ask(requests("a"))
    assert tables.scan(lake, MODEL_RESULTS).collect().is_empty()


@pytest.mark.parametrize(
    ("refused", "tried"),
    [
        ({"bounds"}, ["json_schema"] * 2),
        ({"json_schema"}, ["json_schema"] * 2 + ["json_object"]),
        ({"json_schema", "json_object"}, ["json_schema"] * 2 + ["json_object", None]),
    ],
)
def test_a_form_of_answer_the_server_refuses_is_given_up_once(live, server, api, refused, tried):
    api.refused_forms = refused
    assert said(live().ask(requests("a", "b"))) == ["a", "b"]
    sent = [
        (r.body["messages"][-1]["content"], r.body.get("response_format", {}).get("type"))
        for r in server.requests
    ]
    probes = [("hello", form) for form in tried]
    assert sent == [("a", "json_schema"), *probes, ("a", tried[-1]), ("b", tried[-1])]
    last = server.requests[-1].body
    assert "maxLength" not in json.dumps(last.get("response_format", {}))
    if "json_schema" in refused:
        assert json.dumps(SCHEMA) in last["messages"][0]["content"]


def test_a_text_that_speaks_of_schemas_weakens_no_form(live, server, api):
    api.refused_words = {"poison"}
    answers = live().ask(requests("warm", "poison in a json_schema", "b"))
    assert [answer.state for answer in answers] == ["answered", "failed", "answered"]
    assert server.requests[-1].body["response_format"]["json_schema"]["schema"] == SCHEMA


def test_a_cut_answer_is_given_as_far_as_it_goes(live, api):
    api.reply, api.finish = (lambda body: '{"said": "half of'), "length"
    assert live().ask(requests("a")) == [ModelAnswer("answered", '{"said": "half of')]


@pytest.mark.parametrize(
    ("message", "finish", "error"),
    [
        ({"role": "assistant", "content": None, "refusal": "I cannot."}, "stop", "refused"),
        ({"role": "assistant", "content": None}, "content_filter", "content_filter"),
        ({"role": "assistant", "content": " "}, "stop", "empty_answer"),
        ({"role": "assistant", "content": ""}, "length", "cut_empty"),
    ],
)
def test_no_text_is_final_and_says_why(live, server, api, message, finish, error):
    api.reply, api.finish = (lambda body: message), finish
    assert live().ask(requests("a")) == [ModelAnswer("failed", error=error)]
    assert live().ask(requests("a")) == [ModelAnswer("failed", error=error, is_cached=True)]
    assert len(server.requests) == 1


def test_text_in_parts_and_lone_surrogates_are_read(live, api):
    api.reply = lambda body: {"content": [{"type": "text", "text": "a\ud800"}, {"type": "text", "text": "b"}]}
    assert live().ask([request("x\udc00", source_refs=())])[0].text == "a\ufffdb"


@pytest.mark.parametrize("body", [b"<html>", b"[]", b'{"choices": []}', b'{"choices": 3}', b"[" * 100_000])
def test_a_success_that_is_no_completion_is_tried_in_a_later_run(live, server, body):
    model = live()
    model.ask(requests("first"))
    server.faults.append(Fault(body=body))
    assert model.ask(requests("a")) == [ModelAnswer("pending", error="bad_answer")]
    assert said(live().ask(requests("a"))) == ["a"]


def test_the_same_request_twice_is_sent_once(live, server):
    answers = live().ask(requests("a", "b", "a"))
    assert said(answers) == ["a", "b", "a"]
    assert len(server.requests) == 2


def test_a_second_run_asks_nothing_and_costs_nothing(live, server, lake):
    live().ask(requests(*TEXTS))
    version, model = tables.version(lake, MODEL_RESULTS), live()
    answers = model.ask(requests(*TEXTS))
    assert said(answers) == TEXTS
    assert all(answer.is_cached for answer in answers)
    assert len(server.requests) == 12
    assert (model.spent.cached, model.spent.requests, model.spent.input_tokens) == (12, 0, 0)
    assert tables.version(lake, MODEL_RESULTS) == version


def test_answers_are_kept_for_one_tenant_model_prompt_and_text(live, server):
    live().ask(requests("a"))
    live().ask(requests("a", tenant="other"))
    live(revision="r2").ask(requests("a"))
    live().ask([request("a", prompt_version="2")])
    live().ask([request("a", system="Other.")])
    live().ask([request("a", max_output_tokens=40)])
    live().ask([request("a", source_refs=("elsewhere",))])
    assert len(server.requests) == 6


def test_kept_rows_say_what_was_shown_and_paid(live, lake):
    live().ask(requests("a"))
    row = tables.scan(lake, MODEL_RESULTS).collect().to_dicts()[0]
    assert row["source_refs"] == ["episode-a"]
    assert (row["answer"], row["input_tokens"], row["output_tokens"]) == ('{"said": "a"}', 2, 2)


def test_tokens_are_counted_here_where_the_server_does_not(live, api):
    api.has_usage = False
    model = live()
    model.ask(requests("a"))
    assert model.spent.input_tokens > 10
    assert 0 < model.spent.output_tokens < 10


def test_a_count_that_no_answer_has_is_none(live, server, api):
    usage = {"prompt_tokens": 10**18, "completion_tokens": 10**18}
    server.faults.append(Fault(alter=lambda body: {**body, "usage": usage}))
    model = live()
    model.ask(requests("a"))
    assert 10 < model.spent.input_tokens < 1_000


def test_the_budget_holds_requests_back_before_they_are_sent(live, server, api):
    api.has_usage = False
    most = live().estimate(requests("turn 0"))
    one = most.input_tokens + most.output_tokens
    model = live(budget_tokens=2 * one)
    answers = model.ask(requests(*TEXTS))
    states = [answer.state for answer in answers]
    # What the short answers leave is spent on others; the bound is never passed.
    assert states == ["answered"] * len(server.requests) + ["pending"] * (12 - len(server.requests))
    assert 2 <= len(server.requests) < 12
    assert model.spent.input_tokens + model.spent.output_tokens <= 2 * one
    assert {a.error for a in answers if a.state == "pending"} == {"over_budget"}
    assert [a.state for a in live(budget_tokens=0).ask(requests("new"))] == ["pending"]


def test_the_budget_of_money(live, server):
    model = live(budget_money=0.0, input_price=1.0)
    assert model.ask(requests("a"))[0].error == "over_budget"
    assert server.requests == []
    model = live(budget_money=1.0, input_price=1.0, output_price=3.0)
    model.ask(requests("a"))
    assert model.spent.money == pytest.approx((2 * 1.0 + 2 * 3.0) / 1e6)


def test_the_estimate_is_no_less_than_what_is_spent_and_leaves_out_what_is_kept(live, server):
    model = live(input_price=1.0, output_price=2.0)
    model.ask(requests(*TEXTS[:4]))
    model = live(input_price=1.0, output_price=2.0)
    most = model.estimate(requests(*TEXTS))
    assert (most.requests, most.cached) == (8, 4)
    model.ask(requests(*TEXTS))
    assert most.input_tokens >= model.spent.input_tokens > 0
    assert most.output_tokens >= model.spent.output_tokens > 0
    assert most.money >= model.spent.money > 0


def test_a_request_beyond_the_context_is_not_sent(live, server):
    answers = live(context_tokens=512).ask(requests("word " * 600, "a"))
    assert answers[0] == ModelAnswer("failed", error="over_context")
    assert said(answers)[1] == "a"
    assert len(server.requests) == 1


def test_the_key_and_the_texts_stand_in_no_error_and_no_log(live, server, caplog):
    caplog.set_level(logging.DEBUG)
    server.always = Fault(400, {"message": f"bad key {KEY}", "code": "nope"})
    with pytest.raises(EndpointError) as caught:
        live().ask(requests("private words"))
    shown = f"{caught.value} {caught.value.__cause__} {caught.value.__context__}"
    assert KEY not in shown
    assert "private words" not in shown
    own = " ".join(
        r.getMessage() for r in caplog.records if not r.name.startswith(("openai", "httpcore", "httpx"))
    )
    assert KEY not in own
    assert KEY not in repr(live())
    assert KEY not in caplog.text
