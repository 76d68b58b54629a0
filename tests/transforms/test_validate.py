"""Validation: every rule against a plain oracle, and each row kept or refused, never both."""

from __future__ import annotations

import re
import unicodedata
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.errors import UsageError
from transforms.policy import IngestPolicy, Policy
from transforms.schemas import DRAFTS, REFUSALS
from transforms.validate import Defaults, as_refusals, clean, parse_instants, plain_text, refuse

AS_OF = datetime(2026, 6, 30, tzinfo=UTC)
GOOD: dict[str, Any] = {
    "tenant_id": "acme",
    "user_id": "ana",
    "role": "user",
    "content": "the quay closes at nine",
    "event_at": "2026-06-01T10:00:00Z",
}


def drafts(*rows: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame([{**dict.fromkeys(DRAFTS.names), **row} for row in rows], schema=DRAFTS.polars)


def checked(
    row: dict[str, Any], policy: Policy | None = None, defaults: Defaults | None = None
) -> dict[str, Any]:
    defaults = defaults or Defaults()
    cleaned = clean(drafts({**GOOD, **row}), defaults)
    return refuse(cleaned, policy or Policy(), AS_OF, defaults.timezone).row(0, named=True)


def instants(*texts: str | None, timezone: str | None = None) -> list[str | None]:
    found = parse_instants(pl.Series(texts, dtype=pl.String), timezone)
    return [None if value is None else value.astimezone(UTC).isoformat() for value in found.to_list()]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({}, None),
        ({"tenant_id": None}, "no_tenant"),
        ({"tenant_id": ""}, "no_tenant"),
        ({"user_id": None}, None),
        ({"tenant_id": "x" * 513}, "bad_id"),
        ({"tenant_id": "x" * 512}, None),
        ({"session_id": "a\nb"}, "bad_id"),
        ({"natural_id": "a\x7fb"}, "bad_id"),
        ({"content": None}, "no_content"),
        ({"content": " \t\n"}, "no_content"),
        ({"content": "\x00\x01"}, "no_content"),
        ({"content": "", "tool_name": "search"}, None),
        ({"content": "x" * 1_000_001}, "content_too_long"),
        ({"event_at": None}, "missing_time"),
        ({"event_at": "2026-06-01T10:00:00"}, "naive_time"),
        ({"event_at": "2026-06-01"}, "naive_time"),
        ({"event_at": "soon"}, "bad_time"),
        ({"event_at": "2026-13-01T10:00:00Z"}, "bad_time"),
        ({"event_at": "1999-12-31T23:59:59Z"}, "time_out_of_range"),
        ({"event_at": "2000-01-01T00:00:00Z"}, None),
        ({"event_at": "2026-07-01T00:00:00Z"}, None),
        ({"event_at": "2026-07-01T00:00:00.000001Z"}, "time_out_of_range"),
        ({"expires_at": "soon"}, "bad_time"),
        ({"expires_at": "2026-07-01T00:00:00"}, "bad_time"),
        ({"expires_at": "2026-07-01T00:00:00Z"}, None),
        ({"kind": "dream"}, "bad_value"),
        ({"kind": "ACTION"}, None),
        ({"outcome": "meh"}, "bad_value"),
        ({"outcome": "Success"}, None),
        ({"retention_tier": "for_ever"}, "bad_value"),
        ({"importance": 1.5}, "bad_value"),
        ({"importance": -0.1}, "bad_value"),
        ({"importance": 1.0}, None),
        ({"tenant_id": None, "content": None, "event_at": None}, "no_tenant"),
    ],
)  # fmt: skip
def test_a_rule(row: dict[str, Any], reason: str | None) -> None:
    found = checked(row)
    assert found["reason"] == reason
    assert (found["detail"] is None) == (reason is None)


def test_limits_come_from_the_policy() -> None:
    policy = Policy(ingest=IngestPolicy(max_content_chars=5, max_id_chars=4, max_future_seconds=0))
    assert checked({"content": "123456"}, policy)["reason"] == "content_too_long"
    assert checked({"user_id": "12345"}, policy)["reason"] == "bad_id"
    assert (
        checked({"content": "1", "event_at": "2026-06-30T00:00:01Z"}, policy)["reason"] == "time_out_of_range"
    )


@pytest.mark.parametrize(
    ("role", "wanted"),
    [
        ("user", "user"),
        (" Human ", "user"),
        ("AI", "assistant"),
        ("function", "tool"),
        ("developer", "system"),
        ("moon", "other"),
        (None, None),
    ],
)
def test_roles(role: str | None, wanted: str | None) -> None:
    assert checked({"role": role})["role"] == wanted


@pytest.mark.parametrize(
    ("row", "kind", "content"),
    [
        ({}, "conversation", GOOD["content"]),
        ({"role": "tool"}, "observation", GOOD["content"]),
        ({"tool_name": "search"}, "action", GOOD["content"]),
        ({"tool_name": "search", "content": "", "tool_arguments": '{"q":1}'}, "action", 'search {"q":1}'),
        ({"tool_name": "search", "content": None}, "action", "search "),
        ({"kind": "summary", "tool_name": "search"}, "summary", GOOD["content"]),
    ],
)
def test_kind_and_text_of_a_call(row: dict[str, Any], kind: str, content: str) -> None:
    found = checked(row)
    assert (found["kind"], found["content"]) == (kind, content)


def test_defaults_fill_only_what_is_missing() -> None:
    scope = Defaults("nord", "ben", "bot", "s9")
    filled = checked({"tenant_id": None, "user_id": "", "agent_id": "own"}, defaults=scope)
    assert [filled[c] for c in ("tenant_id", "user_id", "agent_id", "session_id")] == [
        "nord",
        "ben",
        "own",
        "s9",
    ]
    assert checked({"tenant_id": ""}, defaults=Defaults(tenant_id=""))["reason"] == "no_tenant"


def test_text_is_brought_to_one_form() -> None:
    found = checked(
        {"content": "cafe\u0301\x00", "speaker": "Zo\x07e\u0308", "tags": ["a\x1fb", None, "e\u0301"]}
    )
    assert (found["content"], found["speaker"], found["tags"]) == ("caf\u00e9", "Zo\u00eb", ["ab", "\u00e9"])
    assert checked({"content": "line\n\ttab\r"})["content"] == "line\n\ttab\r"
    assert checked({"tenant_id": "e\u0301"})["tenant_id"] == "e\u0301"


@given(st.lists(st.one_of(st.none(), st.text(st.characters(codec="utf-8"), max_size=12)), max_size=8))
def test_plain_text_is_that_of_the_oracle(texts: list[str | None]) -> None:
    def oracle(text: str | None) -> str | None:
        if text is None:
            return None
        return unicodedata.normalize("NFC", re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]", "", text))

    # Characters newer than the interpreter's tables are left out: both sides know their own Unicode.
    known = [t for t in texts if t is None or all(unicodedata.category(c) != "Cn" for c in t)]
    found = plain_text(pl.Series(known, dtype=pl.String)).to_list()
    assert found == [oracle(text) for text in known]
    assert plain_text(pl.Series(found, dtype=pl.String)).to_list() == found


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("2026-06-01T10:00:00Z", "2026-06-01T10:00:00+00:00"),
        ("2026-06-01t10:00:00z", "2026-06-01T10:00:00+00:00"),
        ("2026-06-01 10:00:00+02:00", "2026-06-01T08:00:00+00:00"),
        ("2026-06-01T10:00:00+0530", "2026-06-01T04:30:00+00:00"),
        ("2026-06-01T10:00:00-05", "2026-06-01T15:00:00+00:00"),
        ("2026-06-01T10:00Z", "2026-06-01T10:00:00+00:00"),
        ("2026-06-01T10:00:00.123456789Z", "2026-06-01T10:00:00.123456+00:00"),
        (" 2026-06-01T10:00:00Z\n", "2026-06-01T10:00:00+00:00"),
        ("2026-06-01T10:00:00", None),
        ("2026-06-01", None),
        ("2026-06-31T10:00:00Z", None),
        ("1780000000", None),
        ("", None),
        (None, None),
    ],
)
def test_times(text: str | None, wanted: str | None) -> None:
    assert instants(text) == [wanted]


def test_naive_times_are_read_in_the_stated_zone() -> None:
    texts = ("2026-06-01T10:00:00", "2026-01-01", "2026-06-01 10:00", "2026-06-01T10:00:00Z")
    assert instants(*texts, timezone="Europe/Berlin") == [
        "2026-06-01T08:00:00+00:00",
        "2025-12-31T23:00:00+00:00",
        "2026-06-01T08:00:00+00:00",
        "2026-06-01T10:00:00+00:00",
    ]


def test_an_hour_that_comes_twice_is_the_first_and_one_that_is_skipped_is_refused() -> None:
    twice, skipped = "2026-10-25T02:30:00", "2026-03-29T02:30:00"
    assert instants(twice, skipped, timezone="Europe/Berlin") == ["2026-10-25T00:30:00+00:00", None]
    found = checked({"event_at": skipped}, defaults=Defaults(timezone="Europe/Berlin"))
    assert found["reason"] == "bad_time"


def test_a_zone_that_does_not_exist() -> None:
    with pytest.raises(UsageError, match="Mars"):
        instants("2026-06-01", timezone="Mars/Base")


@given(
    st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1)),
    st.sampled_from(["", "Z", "+00:00", "-03:30", "+1400", "+09"]),
    st.sampled_from(["T", " ", "t"]),
    st.sampled_from([None, "UTC", "Asia/Kolkata"]),
)
def test_times_are_those_of_the_oracle(
    when: datetime, offset: str, between: str, timezone: str | None
) -> None:
    text = when.isoformat(sep=between) + offset
    if offset:
        wanted = datetime.fromisoformat(when.isoformat() + offset).astimezone(UTC)
    elif timezone:
        wanted = when.replace(tzinfo=ZoneInfo(timezone)).astimezone(UTC)
    else:
        assert instants(text) == [None]
        return
    assert instants(text, timezone=timezone) == [wanted.isoformat()]


def test_odd_times_do_not_change_their_neighbours() -> None:
    texts = ["2026-06-01T10:00:00Z", "soon", "2026-06-01 10:00+02", None, "2026-06-02T10:00:00Z"]
    assert instants(*texts) == [instants(text)[0] for text in texts]


@given(st.lists(st.sampled_from([{}, {"content": ""}, {"event_at": "x"}, {"tenant_id": None}]), max_size=6))
def test_each_row_is_kept_or_refused(rows: list[dict[str, Any]]) -> None:
    frame = drafts(*({**GOOD, **row} for row in rows))
    found = refuse(clean(frame, Defaults()), Policy(), AS_OF)
    assert found.height == len(rows)
    assert found["reason"].is_null().to_list() == [row == {} for row in rows]


def test_a_refusal_quotes_the_row_but_not_its_place() -> None:
    cleaned = clean(
        drafts({**GOOD, "event_at": "soon", "source_file": "a.jsonl", "source_line": 3}), Defaults()
    )
    refused = as_refusals(refuse(cleaned, Policy(), AS_OF).filter(pl.col("reason").is_not_null()))
    assert refused.schema == REFUSALS.polars
    [held] = refused.to_dicts()
    assert (held["source_file"], held["source_line"]) == ("a.jsonl", 3)
    assert '"event_at":"soon"' in held["raw"]
    assert "source_line" not in held["raw"]


def test_the_window_follows_the_instant() -> None:
    later = AS_OF + timedelta(days=400)
    cleaned = clean(drafts({**GOOD, "event_at": "2027-05-01T00:00:00Z"}), Defaults())
    assert refuse(cleaned, Policy(), AS_OF)["reason"][0] == "time_out_of_range"
    assert refuse(cleaned, Policy(), later)["reason"][0] is None
