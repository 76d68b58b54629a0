"""Errors, passing causes, feedback, replies and families of reasons, phrase by phrase."""

from __future__ import annotations

import polars as pl
import pytest

from transforms.skills.lexicons import feedback_word, goes_on, is_error, is_passing, reason_family


def told(expr: pl.Expr, text: str | None) -> object:
    return pl.DataFrame({"x": [text]}, schema={"x": pl.String}).select(expr).item()


X = pl.col("x")


@pytest.mark.parametrize(
    "text",
    [
        "Error in line 3: could not parse amount",
        "error: no such option",
        "FATAL: remaining connection slots are reserved",
        "HTTP 409: duplicate request detected",
        "HTTP/1.1 404 Not Found",
        "503 Service unavailable",
        "504 Gateway Time-out",
        "Rejected: reason code missing",
        "Form refused: field arrival_time is missing",
        "Payment declined: card expired",
        "Refund refused: pass older than 3 days",
        "Traceback (most recent call last):\n  File x",
        "  step 1\nValueError: bad amount",
        "built\nexit code 2",
        "FAILED tests/test_a.py::test_b",
        "Permission denied (publickey)",
        "bash: foo: command not found\nexit status 127",
        "Access denied.",
        "Timed out",
        "Cannot open the file",
    ],
)
def test_errors(text: str) -> None:
    assert told(is_error(X), text) is True


@pytest.mark.parametrize(
    "text",
    [
        "No errors found",
        "0 errors, 12 passed",
        "errors: 0",
        "Approved, paid out in 3 days.",
        "429 invoices imported",
        "4 rows, 500 kB",
        "450 EUR were paid",
        "The error rate fell to 0.1 after the deploy",
        "Page about how refunds are refused by hotels",
        "exit code 0",
        "Found 3 failed payments of last week",
        "",
        None,
    ],
)
def test_no_errors(text: str | None) -> None:
    assert told(is_error(X), text) is False


@pytest.mark.parametrize(
    "text",
    [
        "time-out",
        "timeout",
        "Timed out after 30 s",
        "502 upstream timed out after 30 s",
        "the request timed out",
        "deadline exceeded",
        "429 Too Many Requests, retry after 20 s",
        "HTTP 429",
        "status code 503",
        "rate limit",
        "Rate-limited",
        "Throttling: slow down",
        "500 Internal Server Error",
        "service unavailable",
        "503 Service unavailable",
        "Bad gateway",
        "temporarily unavailable",
        "provider outage",
        "the server is busy",
        "model overloaded",
        "connection reset by peer",
        "ECONNRESET",
        "Connection was lost",
        "socket hang up",
        "broken pipe",
        "Temporary failure in name resolution",
        "Locked by another editor",
        "plan locked",
        "could not obtain lock on row",
        "deadlock detected",
        "EBUSY: resource busy or locked",
        "请求超时",
        "タイムアウトしました",
        "Zeitüberschreitung der Anfrage",
    ],
)
def test_passing(text: str) -> None:
    assert told(is_passing(X), text) is True


@pytest.mark.parametrize(
    "text",
    [
        "missing idempotency key",
        "HTTP 409: duplicate request detected",
        "amount not a multiple of 25",
        "FATAL: remaining connection slots are reserved",
        "connection slots exhausted",
        "port 123 blocked",
        "refund window closed",
        "account locked after three wrong passwords",
        "order RF-503 not found",
        "paid 429 EUR instead of 500",
        "line 502 of the file has no amount",
        "404 Not Found",
        "card expired",
        "permission denied",
        None,
    ],
)
def test_lasting(text: str | None) -> None:
    assert told(is_passing(X), text) is False


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("helpful", "helpful"), ("worked", "helpful"), ("Thanks, great!", "helpful"), ("👍", "helpful"),
        ("+1", "helpful"), ("5/5", "helpful"), ("hilfreich", "helpful"), ("有帮助", "helpful"),
        ("wrong", "wrong"), ("not helpful", "wrong"), ("did not work", "wrong"), ("it doesn't work", "wrong"),
        ("This isn't right", "wrong"), ("👎", "wrong"), ("-1", "wrong"), ("不对", "wrong"), ("bad", "wrong"),
        ("fine", "fine"), ("ok", "fine"), ("so-so", "fine"), ("3/5", "fine"), ("acceptable", "fine"),
        ("blue", None), ("", None), (None, None),
    ],
)  # fmt: skip
def test_feedback(text: str | None, word: str | None) -> None:
    assert told(feedback_word(X), text) == word


@pytest.mark.parametrize(
    "text", ["Yes, open it.", "ok", "try again", "Same for me. Try again?", "Thanks!", "no, the other one",
             "Still broken", "That did it.", "go on", "好的", "はい", "ja, bitte"]
)  # fmt: skip
def test_replies(text: str) -> None:
    assert told(goes_on(X), text) is True


@pytest.mark.parametrize(
    "text", ["Approve RF-2290", "Okra recipes, please", "Nobody answered, call them", "Restart the build.",
             "Find the report", "Yesterday I sent a file", None]
)  # fmt: skip
def test_requests(text: str | None) -> None:
    assert told(goes_on(X), text) is False


@pytest.mark.parametrize(
    ("reason", "family"),
    [
        ("Could not parse amount '1.204,50' in line 3", "could not parse amount in line"),
        ("could not parse amount “7,5” in line 12.", "could not parse amount in line"),
        ("RF-2290: duplicate request", "duplicate request"),
        ("金額が読めません 12", "金額が読めません"),
        ("a b c d e f g h", "a b c d e f"),
        ("12:30", ""),
        (None, ""),
    ],
)
def test_family(reason: str | None, family: str) -> None:
    assert told(reason_family(X, 6), reason) == family
