"""Batches: sent, left, collected by this run or a later one, in whatever state they end."""

from __future__ import annotations

import json

import pytest

from lake import locks, tables
from lake.models.batch_state import FOLDER
from lake.models.config import make_model
from lake.models.dry import DryModel
from tests.lake.models.asking import AS_OF, KEY, config, requests
from tests.model_server import Fault, Request, RouteError
from tests.model_server_chat import Plan
from transforms.errors import BusyError, EndpointError, LakeError
from transforms.schemas import MODEL_RESULTS

TEXTS = [f"turn {i}" for i in range(6)]


def said(answers):
    return [json.loads(answer.text)["said"] if answer.text else answer.error for answer in answers]


def states(answers):
    return [answer.state for answer in answers]


def sizes(api):
    """Requests of each batch that was made, in order."""
    return [batch["request_count"] for batch in api.batches.values()]


def records(lake):
    return [json.loads(lake.storage.read(entry.key)) for entry in lake.storage.entries(FOLDER)]


def test_a_batch_is_sent_left_and_collected_by_a_later_run(batch, api, lake):
    first = batch()
    answers = first.ask(requests(*TEXTS))
    assert states(answers) == ["pending"] * 6
    assert {answer.error for answer in answers} == {"batch_running"}
    assert (first.spent.requests, first.spent.pending, first.spent.input_tokens) == (6, 6, 0)
    assert sizes(api) == [6]
    later = batch()
    assert said(later.ask(requests(*TEXTS))) == TEXTS
    assert (later.spent.requests, later.spent.input_tokens) == (0, 18)
    assert sizes(api) == [6]
    third = batch()
    assert all(answer.is_cached for answer in third.ask(requests(*TEXTS)))
    assert third.spent.input_tokens == 0


def test_the_file_asks_as_a_live_request_would(batch, api, server):
    batch(temperature=0.5).ask(requests("a"))
    (made,) = api.batches.values()
    (line,) = api.items(made)
    assert (line["method"], line["url"]) == ("POST", "/v1/chat/completions")
    assert line["body"]["temperature"] == 0.5
    assert line["body"]["response_format"]["json_schema"]["strict"] is True
    assert (made["endpoint"], made["completion_window"]) == ("/v1/chat/completions", "24h")


def test_a_run_may_wait_for_its_batch_in_all_calls_together(batch, api, clock):
    api.plans = [Plan(looks=3), Plan(looks=9)]
    model = batch(batch_wait_seconds=100.0, batch_poll_seconds=20.0)
    assert said(model.ask(requests("a"))) == ["a"]
    assert clock.sleeps == [20.0] * 4
    assert states(model.ask(requests("b"))) == ["pending"]
    assert clock.sleeps == [20.0] * 5


def test_output_and_errors_are_merged_by_id_in_any_order(batch, api):
    refusal = {"message": "no", "code": "content_filter"}
    api.plans = [Plan(item_errors={1: (400, refusal), 4: (422, {"message": "no"})})]
    batch().ask(requests(*TEXTS))
    model = batch()
    answers = model.ask(requests(*TEXTS))
    expected = [*TEXTS]
    expected[1], expected[4] = "http_400:content_filter", "http_422"
    assert said(answers) == expected
    assert states(answers)[1] == "failed"
    assert model.spent.failed == 2
    again = batch().ask(requests(*TEXTS))
    assert said(again) == expected
    assert sizes(api) == [6]


def test_strange_lines_are_counted_and_change_nothing(batch, api):
    foreign = json.dumps({"custom_id": "f" * 32, "response": {"status_code": 200, "body": {}}})
    api.plans = [Plan(extra=[foreign, "no json", "[1]", json.dumps({"custom_id": 7}), "[" * 100_000])]
    batch().ask(requests(*TEXTS))
    model = batch()
    assert said(model.ask(requests(*TEXTS))) == TEXTS
    assert model.spent.errors == {"unknown_custom_id": 2, "bad_line": 3}


def test_items_that_failed_for_a_while_are_sent_again(batch, api):
    api.plans = [Plan(item_errors={0: (429, {"message": "slow"}), 2: (500, {"message": "oh"})})]
    model = batch(batch_wait_seconds=1e6)
    assert said(model.ask(requests(*TEXTS))) == TEXTS
    assert sizes(api) == [6, 2]
    assert model.spent.errors == {"http_429": 1, "http_500": 1}


def test_what_is_sent_again_and_again_in_vain_waits_for_a_later_run(batch, api):
    api.plans = [Plan(item_errors={0: (500, {"message": "oh"})}) for _ in range(9)]
    answers = batch(batch_wait_seconds=1e6).ask(requests("a", "b"))
    assert (states(answers), answers[0].error) == (["pending", "answered"], "http_500")
    assert sizes(api) == [2, 1, 1]
    api.plans = []
    assert said(batch(batch_wait_seconds=1e6).ask(requests("a", "b"))) == ["a", "b"]


def test_of_an_expired_batch_the_finished_are_kept_and_the_rest_is_sent_again(batch, api):
    api.plans = [Plan(status="expired", finished={0, 3})]
    batch().ask(requests(*TEXTS))
    model = batch()
    answers = model.ask(requests(*TEXTS))
    assert said(answers) == [
        "turn 0", "batch_running", "batch_running", "turn 3", "batch_running", "batch_running",
    ]  # fmt: skip
    assert sizes(api) == [6, 4]
    assert model.spent.errors["batch_expired"] == 4
    assert said(batch().ask(requests(*TEXTS))) == TEXTS
    assert sizes(api) == [6, 4]


def test_requests_that_no_file_names_are_sent_again(batch, api):
    api.plans = [Plan(omitted={2})]
    assert said(batch(batch_wait_seconds=1e6).ask(requests(*TEXTS))) == TEXTS
    assert sizes(api) == [6, 1]


def test_of_a_cancelled_batch_the_finished_are_kept_and_a_later_run_sends_the_rest(batch, api):
    api.plans = [Plan(status="cancelled", finished={0})]
    answers = batch(batch_wait_seconds=1e6).ask(requests("a", "b"))
    assert said(answers) == ["a", "batch_expired"]
    assert sizes(api) == [2]
    assert said(batch(batch_wait_seconds=1e6).ask(requests("a", "b"))) == ["a", "b"]
    assert sizes(api) == [2, 1]


def test_a_batch_that_failed_as_a_whole_is_an_error_after_the_others_were_taken(batch, api, lake):
    api.plans = [Plan(status="failed", listed_errors=[{"code": "model_not_found", "message": "?"}]), Plan()]
    batch(max_batch_requests=3).ask(requests(*TEXTS))
    with pytest.raises(EndpointError, match="a batch of 3 requests failed as a whole: model_not_found"):
        batch().ask(requests(*TEXTS))
    assert tables.scan(lake, MODEL_RESULTS).collect().height == 3
    assert said(batch(batch_wait_seconds=1e6).ask(requests(*TEXTS))) == TEXTS
    assert sizes(api) == [3, 3, 3]


def test_a_full_queue_is_waited_out_by_a_later_run(batch, api):
    api.plans = [Plan(status="failed", listed_errors=[{"code": "token_limit_exceeded"}])]
    batch().ask(requests("a"))
    assert batch().ask(requests("a"))[0].error == "batch_failed:token_limit_exceeded"
    assert said(batch(batch_wait_seconds=1e6).ask(requests("a"))) == ["a"]


def test_a_batch_the_endpoint_no_longer_knows_is_sent_again(batch, api):
    batch().ask(requests("a"))
    api.batches.clear()
    model = batch(batch_wait_seconds=1e6)
    assert said(model.ask(requests("a"))) == ["a"]
    assert model.spent.errors == {"batch_lost": 1}


def test_a_state_nobody_has_heard_of_is_waited_out(batch, api):
    api.plans = [Plan(status="odd")]
    assert states(batch().ask(requests("a"))) == ["pending"]
    assert states(batch().ask(requests("a"))) == ["pending"]
    assert said(batch().ask(requests("a"))) == ["a"]
    assert sizes(api) == [1]


def test_a_batch_whose_file_is_still_to_come_is_waited_out(batch, api, server):
    batch().ask(requests("a"))
    server.faults.append(
        Fault(alter=lambda b: {**b, "output_file_id": None, "request_counts": {"completed": 1}})
    )
    assert states(batch().ask(requests("a"))) == ["pending"]
    assert said(batch().ask(requests("a"))) == ["a"]
    assert sizes(api) == [1]


def test_answers_whose_file_is_gone_are_asked_for_again(batch, api):
    batch().ask(requests("a"))
    api.look(Request(f"GET /v1/batches/{next(iter(api.batches))}", {}, b"", {}))
    api.files.clear()
    model = batch(batch_wait_seconds=1e6)
    assert said(model.ask(requests("a"))) == ["a"]
    assert model.spent.errors == {"file_gone": 1, "missing": 1}


def test_a_lost_answer_to_an_upload_leaves_no_second_file(batch, api, server):
    upload, lose = server.routes["POST /v1/files"], [True]

    def lost(running, request):
        made = upload(running, request)
        return b"<html>" if lose and lose.pop() else made

    server.routes["POST /v1/files"] = lost
    batch().ask(requests("a"))
    assert list(api.files) == [made["input_file_id"] for made in api.batches.values()]


def test_a_refused_upload_is_an_error_and_leaves_no_record(batch, api, server, lake):
    model = batch()
    model.ask(requests("warm"))

    def refuse(running, request):
        raise RouteError(413, {"message": "too large", "code": "too_large"})

    server.routes["POST /v1/files"] = refuse
    with pytest.raises(EndpointError, match="refuses an upload: http_413:too_large"):
        model.ask(requests("a"))
    assert len(records(lake)) == 1


def test_an_endpoint_without_batches_is_an_error_and_loses_no_record(batch, api, server, lake):
    batch().ask(requests("a"))
    server.always = Fault(404)
    with pytest.raises(EndpointError, match="404"):
        batch().ask(requests("a"))
    assert len(records(lake)) == 1


def test_batches_hold_no_more_requests_and_bytes_than_configured(batch, api):
    batch(max_batch_requests=4).ask(requests(*TEXTS))
    assert sizes(api) == [4, 2]
    batch(revision="r2", max_batch_bytes=1_500).ask(requests(*TEXTS))
    assert all(len(api.files[b["input_file_id"]]) <= 1_500 for b in list(api.batches.values())[2:])
    assert sum(sizes(api)[2:]) == 6


def test_calls_with_other_requests_share_a_batch_and_lose_nothing_of_it(batch, api, lake):
    batch().ask(requests(*TEXTS))
    assert said(batch().ask(requests(*TEXTS[:2]))) == TEXTS[:2]
    assert len(records(lake)[0]["left"]) == 4
    assert said(batch().ask(requests(*TEXTS[2:], "new")))[:4] == TEXTS[2:]
    assert sizes(api) == [6, 1]
    assert [len(record["left"]) for record in records(lake)] == [1]


def test_answers_that_nobody_asks_for_any_more_are_not_kept(batch, lake):
    batch().ask(requests(*TEXTS))
    batch().ask(requests(TEXTS[0]))
    assert tables.scan(lake, MODEL_RESULTS).collect()["source_refs"].to_list() == [["episode-turn 0"]]


def test_tenants_share_a_batch_and_no_answer(batch, api):
    batch().ask([*requests("a"), *requests("a", tenant="other")])
    assert sizes(api) == [2]
    model = batch()
    assert said(model.ask(requests("a", tenant="other"))) == ["a"]
    assert model.spent.input_tokens == 2  # words of one answer, not of two


def test_when_all_is_collected_nothing_is_left_here_or_there(batch, api, lake):
    api.plans = [Plan(item_errors={1: (400, {"message": "no"})})]
    batch().ask(requests(*TEXTS))
    assert len(api.files) == 1
    batch().ask(requests(*TEXTS))
    assert api.files == {}
    assert records(lake) == []


def test_records_hold_ids_and_neither_text_nor_key(batch, lake):
    batch().ask(requests("private words"))
    raw = b"".join(lake.storage.read(entry.key) for entry in lake.storage.entries("state"))
    assert b"private" not in raw
    assert KEY.encode() not in raw
    assert b"episode-" not in raw


def test_a_lost_answer_to_the_making_of_a_batch_makes_no_second_one(batch, api, server):
    make, lose = server.routes["POST /v1/batches"], [True]

    def lost(running, request):
        made = make(running, request)
        return b"<html>" if lose and lose.pop() else made

    server.routes["POST /v1/batches"] = lost
    for _ in range(5):  # others of the account, so that ours is not on the first page
        api.batches[f"other{_}"] = {"id": f"other{_}", "created_at": 4_000_000_000, "metadata": None}
    batch().ask(requests("a"))
    assert len([b for b in api.batches.values() if b.get("metadata")]) == 1
    assert said(batch().ask(requests("a"))) == ["a"]


def test_rate_limits_and_outages_are_passed_through(batch, api, server):
    model = batch()
    model.ask(requests("warm"))
    server.faults.extend([Fault(), Fault(429, headers={"retry-after": "3"}), Fault(503)])
    assert states(model.ask(requests("a"))) == ["pending"]
    assert said(batch().ask(requests("warm", "a"))) == ["warm", "a"]


def test_a_budget_holds_requests_back(batch, api):
    most = batch().estimate(requests(TEXTS[0]))
    one = most.input_tokens + most.output_tokens
    answers = batch(budget_tokens=2 * one).ask(requests(*TEXTS))
    assert sizes(api) == [2]
    assert [answer.error for answer in answers] == ["batch_running"] * 2 + ["over_budget"] * 4


def test_a_batch_costs_its_part_of_the_price_and_what_runs_is_estimated_as_paid(batch, live):
    prices = {"input_price": 1.0, "output_price": 3.0}
    assert batch(**prices).estimate(requests(*TEXTS)).money == pytest.approx(
        live(**prices).estimate(requests(*TEXTS)).money / 2
    )
    batch(**prices).ask(requests(*TEXTS))
    again = batch(**prices).estimate(requests(*TEXTS, "new"))
    assert (again.requests, again.pending) == (1, 6)


@pytest.mark.parametrize("mode", ["live", "batch"])
def test_a_dry_run_sends_nothing_and_says_what_a_run_would_cost(batch, live, api, server, lake, mode):
    live().ask(requests("kept"))
    batch().ask(requests("running"))
    sent = len(server.requests)
    told = config(server.base_url, mode=mode, input_price=1.0, output_price=3.0)
    dry = DryModel(told, lake, AS_OF)
    answers = dry.ask(requests("kept", "running", "new"))
    assert states(answers) == ["answered", "pending", "pending"]
    assert len(server.requests) == sent
    assert dry.spent == make_model(told, lake, AS_OF).estimate(requests("kept", "running", "new"))
    assert (dry.spent.cached, dry.spent.requests) == (1, 2 if mode == "live" else 1)
    assert dry.spent.money > 0


def test_a_wrong_parameter_is_found_before_a_day_is_lost(batch, api, server):
    server.always = Fault(400, {"message": "temperature must be 1", "code": "unsupported_value"})
    with pytest.raises(EndpointError, match="refuses every request"):
        batch().ask(requests("a"))
    assert api.batches == {}


def test_the_form_of_answer_is_settled_before_the_first_batch(batch, api):
    api.refused_forms = {"json_schema"}
    assert said(batch(batch_wait_seconds=1e6).ask(requests("a"))) == ["a"]
    assert sizes(api) == [1]


def test_a_form_of_answer_that_items_are_refused_for_is_weakened(batch, api):
    model = batch(batch_wait_seconds=1e6)
    model.ask(requests("warm"))
    api.refused_forms = {"json_schema"}
    assert said(model.ask(requests("a"))) == ["a"]


def test_a_damaged_record_is_an_error_that_names_it(batch, lake):
    lake.storage.write(f"{FOLDER}/x.json", b"{")
    with pytest.raises(LakeError, match=r"state/batches/x\.json is damaged"):
        batch().ask(requests("a"))


def test_two_runs_at_once_do_not_both_send(batch, api, lake, monkeypatch):
    monkeypatch.setattr("lake.models.batch._LOCK_WAIT_SECONDS", 0.0)
    with locks.hold(lake, "model-batches", 0), pytest.raises(BusyError):
        batch().ask(requests("a"))
    assert api.batches == {}


def test_the_key_stands_in_no_error(batch, server):
    server.always = Fault(403, {"message": f"bad key {KEY}"})
    with pytest.raises(EndpointError) as caught:
        batch().ask(requests("private words"))
    shown = f"{caught.value} {caught.value.__cause__} {caught.value.__context__}"
    assert KEY not in shown
    assert "private" not in shown
