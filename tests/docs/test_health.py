"""The runbook has a paragraph for each check, which names each of its measures and says what to do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from transforms.health.checks import RUNBOOK, check_of
from transforms.health.remedies import MEASURES, TITLES
from transforms.health.thresholds import Measure
from transforms.policy_health import HealthPolicy

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / RUNBOOK).read_text("utf-8")
PARTS = dict(re.findall(r"^## ([^\n]+)\n\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))


@pytest.mark.parametrize("check", TITLES)
def test_each_check_has_its_paragraph(check: str) -> None:
    text = PARTS[TITLES[check]]
    named = {name for name in re.findall(r"`(\w+)`", text) if name in MEASURES}
    assert named == {name for name, kind in MEASURES.items() if kind.check == check}
    assert [part for part in ("*Means*:", "*See*:", "*Do*:") if part not in text] == []
    measure = next(name for name, kind in MEASURES.items() if kind.check == check)
    anchor = check_of(check, [Measure(measure, 1.0)], {}).runbook.partition("#")[2]
    assert anchor == re.sub(r"[^\w\- ]", "", TITLES[check].lower()).replace(" ", "-")


def test_checks_stand_in_their_order() -> None:
    assert [title for title in PARTS if title in TITLES.values()] == list(TITLES.values())


def test_keys_that_the_page_names_exist() -> None:
    keys = set(re.findall(r"`health\.(\w+)`", PAGE))
    assert keys - set(HealthPolicy.model_fields) == {"json", "state"}  # a file, and a name in the table
