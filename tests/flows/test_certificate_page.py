"""A certificate's page: says what the certificate says, never more; escaped, self-contained, lenient."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flows.certificate_page import certificate_html
from flows.html_pages import count, duration, instant, share, size

CERTIFICATE: dict[str, Any] = {
    "request_id": "7b1f0c9ad4e24a53",
    "lake_id": "3f2a9c",
    "subject_kind": "user",
    "subject_hash": "9f86d081884c7d65",
    "basis": "gdpr_art_17_1_b",
    "requested_by": "subject",
    "requested_at": "2026-06-12T09:14:03+00:00",
    "due_at": "2026-07-12T09:14:03+00:00",
    "completed_at": "2026-06-12T09:14:31+00:00",
    "outcome": "complete",
    "stores": [
        {"store": "episodes", "before": 1204, "after": 0, "files_rewritten": 12, "files_removed": 13,
         "bytes_rewritten": 48_400_000},
        {"store": "facts", "before": 64, "after": 0, "files_rewritten": 1, "files_removed": 1,
         "bytes_rewritten": 1_600_000},
        {"store": "cold", "before": 0, "after": 0},
        {"store": "model_results", "before": 0, "after": 0, "files_rewritten": 0},
    ],
    "covers_backups": "no: the lake is not encrypted",
    "owners": {"gone": 3, "derived_anew": 1},
    "lake": {"files_before": 70, "bytes_before": 1_200_000, "files_after": 60, "bytes_after": 900_000},
    "generations_removed": ["g1", "g2"],
    "kept": [{"what": "audit_entries", "count": 7, "why": "proof of what was done"}],
    "keys_destroyed": 1,
    "verification": {"method": "every file read back", "files": 412, "bytes": 1_930_000_000,
                     "gb_per_second": 0.41, "needles": 9,
                     "searched": {"ids": {"count": 8}, "sentences": {"count": 1}},
                     "leaks": 0, "mentions": 2,
                     "requeried": {"episodes": 0}, "passed": True},
    "steps": [{"name": "tables", "seconds": 6.1}, {"name": "read_back", "seconds": 4.9}],
    "seconds": 17.9,
    "policy_hash": "c0ffee",
    "audit": {"seq": 41, "hash": "abab"},
    "certificate_hash": "cdcd",
}  # fmt: skip


ADDRESSES = ("src", "href", "srcset", "action", "data")


class _Text(HTMLParser):
    """Text, tags and attributes of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.text: list[str] = []
        self.tags: set[str] = set()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.addresses += [
            v or "" for name, v in attrs if name in ("src", "href", "srcset", "action", "data")
        ]

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def parsed(page: str) -> _Text:
    reader = _Text()
    reader.feed(page)
    return reader


def text(page: str) -> str:
    return " ".join(" ".join(parsed(page).text).replace("\u202f", ",").split())


def title(page: str) -> str:
    found = re.search(r"<strong>\S* ?(.*?)</strong>", page)
    assert found is not None
    return found[1]


def test_everything_of_the_certificate_is_on_the_page() -> None:
    shown = text(certificate_html(CERTIFICATE))
    for part in (
        "7b1f0c9ad4e24a53", "3f2a9c", "9f86d081884c7d65", "gdpr_art_17_1_b", "2026-06-12 09:14:03 UTC",
        "2026-07-12 09:14:03 UTC", "before it was due", "1,204", "1,268", "48.4 MB", "50.0 MB",
        "2 older removed", "audit entries 7 proof of what was done", "every file read back", "412 files",
        "1.9 GB, 410 MB a second", "9 strings", "0 leaks; 2 mentions", "1 stores, 0 rows found",
        "9 strings of the subject: 8 ids, 1 sentences",
        "Looked through, and nothing of the subject was in them: cold, model results.", "not encrypted",
        "3 owners are gone", "70 files, 1.2 MB before", "6.10 s",
        "17.9 s", "c0ffee", "41", "abab", "cdcd",
    ):  # fmt: skip
        assert part in shown, part


@pytest.mark.parametrize(
    ("change", "shown"),
    [
        ({}, "Complete"),
        ({"outcome": "held"}, "Held"),
        ({"outcome": "failed"}, "Failed"),
        ({"outcome": None}, "Outcome not stated"),
        ({"outcome": "splendid"}, "Outcome not stated"),
        ({"verification": {**CERTIFICATE["verification"], "passed": False}}, "Not proven"),
        ({"verification": {**CERTIFICATE["verification"], "leaks": 1}}, "Not proven"),
        ({"verification": {**CERTIFICATE["verification"], "leaks": ["a"]}}, "Not proven"),
        ({"verification": None}, "Not proven"),
        ({"stores": [{"store": "facts", "before": 3, "after": 1}]}, "Not proven"),
        ({"outcome": "held", "verification": {"passed": False}}, "Not proven"),
        ({"outcome": "held", "stores": [{"store": "facts", "before": 3, "after": 3}]}, "Held"),
    ],
)
def test_no_success_is_told_that_the_figures_do_not_bear_out(change: dict[str, Any], shown: str) -> None:
    page = certificate_html({**CERTIFICATE, **change})
    assert title(page) == shown
    assert ("no proof of erasure" in page) == (shown not in ("Complete", "Held"))


def test_a_late_erasure_says_so() -> None:
    late = certificate_html({**CERTIFICATE, "completed_at": "2026-07-14T09:14:03+00:00"})
    assert "(48 h late)" not in text(late)
    assert "(2 days late)" in text(late)


@pytest.mark.parametrize("field", sorted(CERTIFICATE))
def test_a_field_may_be_missing(field: str) -> None:
    certificate_html({name: value for name, value in CERTIFICATE.items() if name != field})
    certificate_html({**CERTIFICATE, field: None})


def test_nothing_at_all_is_no_success() -> None:
    shown = text(certificate_html({}))
    assert "not stated" in shown
    assert "✔" not in shown


EVIL = "<script>alert(1)</script>\"'><img src=x onerror=y>"


def test_every_value_is_escaped() -> None:
    def poisoned(value: object) -> object:
        if isinstance(value, dict):
            return {EVIL if name == "episodes" else name: poisoned(part) for name, part in value.items()}
        if isinstance(value, list):
            return [poisoned(part) for part in value]
        return EVIL if isinstance(value, str) else value

    for certificate in (poisoned(CERTIFICATE), dict.fromkeys(CERTIFICATE, EVIL)):
        assert isinstance(certificate, dict)
        page = certificate_html(certificate)
        found = parsed(page)
        assert not found.tags & {"script", "img", "link", "iframe", "object", "form"}
        assert "alert(1)" in " ".join(found.text)


def test_the_page_fetches_nothing_and_follows_light_dark_and_paper() -> None:
    page = certificate_html(CERTIFICATE)
    assert parsed(page).addresses == []
    assert "default-src 'none'" in page
    assert not re.search(r"url\(|@import|https?:", page)
    assert "prefers-color-scheme: dark" in page
    assert "@media print" in page
    assert "size: A4" in page


values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**18), 10**18) | st.floats(-1e18, 1e18) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


@settings(max_examples=40)
@given(st.dictionaries(st.sampled_from(sorted(CERTIFICATE)), values))
def test_whatever_a_certificate_holds_there_is_a_page(certificate: dict[str, Any]) -> None:
    page = certificate_html(certificate)
    assert page.rstrip().endswith("</html>")
    if title(page) == "Complete":
        assert certificate["outcome"].lower() == "complete"


@pytest.mark.parametrize(
    ("shown", "said"),
    [
        (count(1234567), "1 234 567"), (count(None), "not stated"), (count("x"), "x"),
        (size(0), "0 B"), (size(999), "999 B"), (size(999.7), "1.0 kB"), (size(48_400_000), "48.4 MB"),
        (size(10**21), "1000000 PB"), (duration(0.42), "0.42 s"), (duration(59.9), "1 min"),
        (duration(185), "3 min 5 s"), (duration(7_500), "2 h 5 min"), (duration(90 * 86_400), "90 days"),
        (duration(86_400), "24 h"), (instant("2026-06-30T23:00:00+02:00"), "2026-06-30 21:00:00 UTC"),
        (instant("soon"), "soon"), (instant(None), "not stated"), (share(1), "100%"), (share(0), "0%"),
        (share(0.999999), "99.99%"), (share(1e-9), "0.01%"), (share(0.5), "50.00%"), (share(None), "–"),
    ],
)  # fmt: skip
def test_figures(shown: str, said: str) -> None:
    assert shown.replace("\u202f", " ").replace("\u00a0", " ") == said
