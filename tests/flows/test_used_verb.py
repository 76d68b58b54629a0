"""``slowwave used``, the weights of ``recall``, and what ``status`` says of the log."""

from __future__ import annotations

from pathlib import Path

import pytest

from flows.cli_recall import WEIGHTS
from lake import landing, tables
from lake.lake import init_lake, open_lake
from lake.rights import tombstones
from tests.flows.lakes import Command
from transforms.schemas import RECALLS
from transforms.subjects import Subject
from transforms.weights import PRESETS

SCOPE = ("--tenant", "acme", "--user", "ana")


@pytest.fixture
def lake(tmp_path: Path) -> str:
    made = init_lake(str(tmp_path / "lake"), 2)
    rows = [{"content": "I like aisle seats."}, {"content": "The harbour office is closed on Mondays."}]
    landing.append(made, rows, tenant_id="acme", user_id="ana")
    return made.uri


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(capsys)


def test_what_was_used_is_marked_by_the_next_night(lake: str, command: Command) -> None:
    found = command("--lake", lake, "--json", "recall", "seat", *SCOPE).json
    (best, *_) = found["results"]
    said = command("--lake", lake, "--json", "used", best["id"], "--call", found["call_id"], *SCOPE)
    assert said.json == {"ids": [best["id"]], "call_id": found["call_id"], "refused": 0}
    assert command("--lake", lake, "--json", "status").json["recall_log_bytes"] > 0
    assert "recall log waiting" in command("--lake", lake, "status").out
    assert "the next night marks" in command("--lake", lake, "used", best["id"], *SCOPE).out
    night = command("--lake", lake, "--json", "ingest").json
    assert night["recall_log"] == {"recalls": 2, "used": 2}
    rows = tables.scan(open_lake(lake), RECALLS).collect()
    assert rows.filter("is_used")["memory_id"].to_list() == [best["id"]]
    assert command("--lake", lake, "--json", "status").json["recall_log_bytes"] == 0


def test_feedback_that_cannot_be_noted_says_so(lake: str, command: Command, tmp_path: Path) -> None:
    assert command("--lake", lake, "--json", "used", "x", "--call", "c").error["code"] == "usage"
    assert command("--lake", lake, "--json", "used", "x", "--tenant", "acme").error["code"] == "usage"
    config = tmp_path / "off.toml"
    config.write_text("[recall_log]\nsample_ratio = 0.0\n")
    said = command("--lake", lake, "--config", config, "--json", "used", "x", "--call", "c", *SCOPE)
    assert "sample_ratio is 0" in said.error["message"]
    tombstones.place(open_lake(lake), Subject("acme", "ana"), None, "ab" * 16)
    said = command("--lake", lake, "--json", "used", "x", "--call", "c", *SCOPE)
    assert said.json["refused"] == 1


def test_every_preset_has_its_flag() -> None:
    assert tuple(PRESETS) == WEIGHTS


@pytest.mark.parametrize("weights", WEIGHTS)
def test_weights_are_named_by_a_flag(lake: str, command: Command, weights: str) -> None:
    found = command("--lake", lake, "--json", "recall", "seat", "--weights", weights, *SCOPE).json
    numbers = {
        "five": (0.35, 0.2, 0.2, 0.1, 0.15),
        "three": (0.6, 0.2, 0.2, 0, 0),
        "two": (0.7, 0.3, 0, 0, 0),
    }
    for row in found["results"]:
        total = sum(w * f for w, f in zip(numbers[weights], row["factors"].values(), strict=True))
        assert row["score"] == pytest.approx(total, abs=1e-9)
    assert command("--lake", lake, "--json", "recall", "seat", "--weights", "six", *SCOPE).code == 2


def test_agents_have_weights_of_their_own_by_configuration(
    lake: str, command: Command, tmp_path: Path
) -> None:
    landing.append(lake, [{"content": "seat", "agent_id": "trip"}], tenant_id="acme", user_id="ana")
    config = tmp_path / "slowwave.toml"
    config.write_text('[recall]\nweights = "two"\n[recall.agents.trip]\nimportance = 1.0\n')
    call = ("--lake", lake, "--config", config, "--json", "recall", "seat", *SCOPE)
    for row in command(*call, "--agent", "trip").json["results"]:
        assert row["score"] == pytest.approx(row["factors"]["importance"])
    for row in command(*call).json["results"]:
        factors = row["factors"]
        assert row["score"] == pytest.approx(0.7 * factors["relevance"] + 0.3 * factors["recency"])
