"""The named policies: what each does to a row, and that a file's own values lie on top."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, get_args

import polars as pl
import pytest

from flows.config import load_config
from tests.transforms.forgetting.plain import AS_OF, DAY, episode, episodes
from transforms.derived_memories import archived_at
from transforms.errors import ConfigError
from transforms.forgetting.due import judged
from transforms.policy import Policy
from transforms.policy_retention import DecayPolicy
from transforms.presets import PRESETS, Preset
from transforms.retention import expiry_expr
from transforms.schemas import INSTANT


def chosen(tmp_path: Path, text: str) -> Policy:
    (tmp_path / "slowwave.toml").write_text(text, "utf-8")
    return load_config(str(tmp_path / "slowwave.toml"), {}).policy


def lives(policy: Policy, **fields: Any) -> timedelta | None:
    rows = episodes([episode(1, **fields)])
    due = rows.select(expiry_expr(policy.retention)).item()
    return None if due is None else due - AS_OF


def test_every_preset_has_a_name_and_is_a_policy(tmp_path: Path) -> None:
    assert set(PRESETS) == set(get_args(Preset))
    assert chosen(tmp_path, 'preset = "tiers"') == chosen(tmp_path, "") == Policy()
    assert len({chosen(tmp_path, f'preset = "{name}"').hash() for name in PRESETS}) == len(PRESETS)


@pytest.mark.parametrize(
    ("kind", "tier", "days"),
    [
        ("conversation", "medium_term", 1),
        ("summary", "long_term", 7),
        ("preference", "long_term", 30),
        ("pattern", "medium_term", 30),
        ("outcome", "permanent", 90),
        ("fact", "long_term", 365),
        ("outcome", "session", 1 / 24),
    ],
)
def test_per_type_ttl_bounds_by_kind(tmp_path: Path, kind: str, tier: str, days: float) -> None:
    policy = chosen(tmp_path, 'preset = "per_type_ttl"')
    assert lives(policy, kind=kind, retention_tier=tier) == timedelta(days=days)


def test_a_files_own_values_lie_on_the_preset(tmp_path: Path) -> None:
    text = (
        'preset = "per_type_ttl"\n[retention]\nby_kind_seconds = {conversation = 7200, summary = "never"}\n'
    )
    policy = chosen(tmp_path, text)
    assert lives(policy, kind="conversation") == timedelta(hours=2)
    assert lives(policy, kind="summary", retention_tier="short_term") == 7 * DAY
    assert lives(policy, kind="preference", retention_tier="long_term") == 30 * DAY


def test_the_journal_keeps_a_year_in_detail_and_its_summary_longer(tmp_path: Path) -> None:
    policy = chosen(tmp_path, 'preset = "journal"')
    assert lives(policy) == timedelta(days=365)
    assert lives(policy, kind="summary", retention_tier="long_term") == timedelta(days=3 * 365)


def test_the_journal_steps_the_priority_of_a_conversation_down(tmp_path: Path) -> None:
    policy = chosen(tmp_path, 'preset = "journal"\n[cold]\nafter_days = "never"\n')
    ages = (0, 89, 90, 364)
    rows = [episode(n, event_at=AS_OF - age * DAY, importance=0.5) for n, age in enumerate(ages)]
    found = judged(episodes(rows).lazy(), None, policy, AS_OF).sort("episode_id")
    assert found["score"].to_list() == pytest.approx([0.6, 0.6, 0.3, 0.3])
    assert found["reason"].null_count() == 4


def test_the_journal_sends_what_nobody_asked_for_in_180_days_away(tmp_path: Path) -> None:
    policy = chosen(tmp_path, 'preset = "journal"')
    rows = [episode(n, event_at=AS_OF - age * DAY, importance=0.9) for n, age in enumerate((179, 180))]
    found = judged(episodes(rows).lazy(), None, policy, AS_OF).sort("episode_id")
    assert found["reason"].to_list() == [None, "cold"]


def test_the_journal_archives_facts_it_is_unsure_of(tmp_path: Path) -> None:
    decay = chosen(tmp_path, 'preset = "journal"').decay
    at = datetime(2026, 1, 1, tzinfo=UTC)
    schema: dict[str, Any] = {"confidence": pl.Float32, "last_confirmed_at": INSTANT}
    facts = pl.DataFrame([(0.9, at), (0.5, at), (0.2, at)], schema=schema, orient="row")
    due = [None, at + 182 * DAY, at + 182 * DAY]
    assert facts.select(archived_at(decay)).to_series().to_list() == due
    assert facts.select(archived_at(DecayPolicy())).to_series().to_list() == [None]


def test_the_archive_keeps_what_is_old_and_what_nobody_asks_for(tmp_path: Path) -> None:
    rows = [episode(n, event_at=AS_OF - 365 * n * DAY, importance=0.0) for n in range(12)]
    kept = judged(episodes(rows).lazy(), None, chosen(tmp_path, 'preset = "archive"'), AS_OF)
    assert kept["reason"].null_count() == len(rows)
    small = chosen(tmp_path, 'preset = "archive"\n[retention]\nmedium_term_seconds = 86400\n')
    assert lives(small) == DAY


def test_a_preset_nobody_knows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="preset"):
        chosen(tmp_path, 'preset = "diary"')
    with pytest.raises(ConfigError, match="did you mean preset"):
        chosen(tmp_path, 'pre_set = "journal"')
    with pytest.raises(ConfigError, match="unknown key"):
        chosen(tmp_path, "[retention]\nby_kind_seconds = {dream = 5}\n")
    with pytest.raises(ConfigError, match="above 0"):
        chosen(tmp_path, "[retention]\nby_kind_seconds = {fact = 0}\n")
