"""Evaluation end to end, on a small invented set and on a small suite; LoCoMo where it is at hand."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from flows.cli import known_flags
from flows.evaluate_labelled import Wishes, run_labelled
from flows.evaluate_lake import MOST_LAKES, batches, unforgetting
from flows.evaluate_scenarios import run_suite
from flows.job import Silent
from tests.flows.lakes import REPOSITORY, Command, CountingEmbedder
from tests.transforms.evaluation.test_scenarios import SUITE
from transforms.evaluation.labelled import LabelledSet
from transforms.evaluation.rows_set import read_rows
from transforms.evaluation.scenarios import read_suite
from transforms.policy import Policy

LOCOMO = REPOSITORY.parent / "shared" / "data" / "locomo"
TOPICS = {
    "kiln": "The kiln broke after the glaze firing.",
    "boat": "The boat needs a new rudder before April.",
    "oboe": "My oboe lesson moved to Thursday evening.",
    "bees": "The bees swarmed into the old pear tree.",
    "loom": "The loom was delivered without its treadles.",
}
FILLER = "Thanks, see you tomorrow at the usual place."


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(capsys)


def records(*, people: int = 2, first: str = "2026-03-01") -> list[dict[str, Any]]:
    """People who each speak of everything once, among talk, and one question a topic."""
    rows: list[dict[str, Any]] = []
    for person in range(people):
        for day, (topic, text) in enumerate(TOPICS.items()):
            stem = {"type": "episode", "user_id": f"u{person}", "session_id": f"u{person}-{day}"}
            at = f"{first[:8]}{int(first[8:]) + day:02d}T10:0"
            rows.append({**stem, "id": f"{person}-{topic}", "content": text, "event_at": f"{at}0:00Z"})
            rows.append({**stem, "id": f"{person}-{day}", "content": FILLER, "event_at": f"{at}1:00Z"})
        for topic in TOPICS:
            question = {"type": "question", "id": f"q-{person}-{topic}", "query": f"what about the {topic}"}
            rows.append({**question, "user_id": f"u{person}", "relevant": [f"{person}-{topic}"]})
    nothing = {"type": "question", "id": "q-none", "query": "zeppelin", "user_id": "u0", "relevant": []}
    return [*rows, {**nothing, "category": "unanswerable"}]


def written(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def test_a_small_set_from_file_to_page(tmp_path: Path, command: Command) -> None:
    data, out = written(tmp_path / "set.jsonl", records()), tmp_path / "out"
    said = command(
        "evaluate", "--set", "rows", "--data", data, "--k", "1,5", "--out", out, "--context", "--json"
    )
    assert said.code == 0, said.err
    found = said.json
    assert found == json.loads((out / "result.json").read_text("utf-8"))
    assert found["data"]["answerable"] == 10
    assert list(found["metrics"]) == [
        "bm25 alone", "dense alone", "recall, episodes only", "recall",
        "recall, after a night of default retention",
    ]  # fmt: skip
    # Each topic's word stands in one row of the person, so it is found first by words and by recall.
    for system in ("bm25 alone", "recall, episodes only"):
        assert found["metrics"][system]["all"]["recall@5"] == 1.0
        assert found["intervals"][system]["all"]["recall@5"]["by_group"] == [1.0, 1.0]
    assert found["metrics"]["bm25 alone"]["all"]["hit@1"] == 1.0
    assert found["abstention"]["recall"]["unanswerable"]["questions"] == 1
    assert found["metrics"]["recall"]["all"]["context_recall"] == 1.0
    assert "context_recall" not in found["metrics"]["recall, episodes only"]["all"]
    assert found["context"]["unanswerable"]["questions"] == 1
    # Nothing is old enough to be forgotten.
    assert (found["price"]["episodes_kept"], found["price"]["episodes"]) == (20, 20)
    page = (out / "evaluation.html").read_text("utf-8")
    assert "<script" not in page
    assert "http" not in page.replace("http-equiv", "")
    rows = pl.read_parquet(out / "questions.parquet")
    assert rows.height == 5 * 11
    of_one = rows.filter(pl.col("system") == "bm25 alone", pl.col("question_id") == "q-1-oboe")
    assert of_one["relevant"].to_list() == [["1-oboe"]]
    assert of_one["answer"].to_list()[0][0] == ["1-oboe"]
    assert rows.filter(pl.col("question_id") == "q-none")["recall@5"].null_count() == 5


def test_the_table_and_a_comparison(tmp_path: Path, command: Command) -> None:
    data, out = written(tmp_path / "set.jsonl", records()), tmp_path / "out"
    flags = ("--set", "rows", "--data", data, "--no-price", "--index", "episodes")
    assert command("evaluate", *flags, "--out", out).code == 0
    said = command("evaluate", *flags, "--preset", "relevance", "--against", out / "result.json")
    assert said.code == 0, said.err
    for text in ("all answerable questions", "recall (relevance), episodes only", "now less then"):
        assert text in said.out
    again = command("evaluate", *flags, "--against", out / "result.json", "--json").json["against"]
    assert (again["questions"], again["is_same_data"], again["is_same_policy"]) == (10, True, True)
    for changes in again["differences"].values():
        assert {change["difference"] for change in changes.values()} == {0.0}


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (["--set", "rows"], "needs its data"),
        (["--set", "rows", "--data", "nowhere.jsonl"], "nowhere.jsonl"),
        (["--set", "rows", "--data", "{data}", "--conversations", "1"], "are those of LoCoMo"),
        (["--set", "rows", "--data", "{data}", "--preset", "six"], "no preset six"),
        (["--set", "rows", "--data", "{data}", "--k", "5,200"], "--k goes up to 100"),
        (["--set", "rows", "--data", "{data}", "--k", "five"], "no list of numbers"),
        (["--set", "rows", "--data", "{data}", "--against", "{data}"], "is not JSON"),
        (["--set", "locomo", "--data", "{data}"], "not JSON"),
        (["--set", "scenarios", "--data", "{data}"], "bring their own"),
        (["--set", "rows", "--data", "{data}", "--resamples", "5"], "between 100 and"),
        (["--set", "scenarios", "--as-of", "2026-01-01T00:00:00Z"], "at the instants of its data"),
        (["--set", "scenarios", "--lake", "x"], "makes lakes of its own"),
        ([], "--set"),
    ],
)
def test_wrong_calls_are_told(tmp_path: Path, command: Command, flags: list[str], told: str) -> None:
    data = written(tmp_path / "set.jsonl", records(people=1))
    said = command("evaluate", *(flag.replace("{data}", str(data)) for flag in flags), "--json")
    assert said.code in (2, 3)
    assert told in said.error["message"]


def test_a_document_that_is_no_result(tmp_path: Path, command: Command) -> None:
    data = written(tmp_path / "set.jsonl", records(people=1))
    other = tmp_path / "other.json"
    for text in ("[]", "{}", '{"questions": {"name": ["a"], "values": {"x": {"y": []}}}}'):
        other.write_text(text, "utf-8")
        said = command("evaluate", "--set", "rows", "--data", data, "--against", other, "--json")
        assert "no result of an evaluation" in said.error["message"]


def test_forgetting_has_its_price(tmp_path: Path) -> None:
    """What was said a year before is not there after a night of 90 days; with retention off it is."""
    old = [{**r, "id": f"old-{r['id']}"} for r in records(people=1, first="2025-01-01") if "content" in r]
    kept = {
        "type": "episode",
        "id": "new",
        "user_id": "u0",
        "content": "Hello.",
        "event_at": "2026-03-01T10:00:00Z",
    }
    question = {
        "type": "question",
        "id": "q",
        "query": "the kiln",
        "user_id": "u0",
        "relevant": ["old-0-kiln"],
    }
    data = read_rows("\n".join(json.dumps(r) for r in [*old, kept, question]).encode())
    done = run_labelled(tmp_path, data, Policy(), CountingEmbedder(), Wishes(cuts=(5,)), Silent())
    assert done.kept == (1, 11)
    found = {name: values["recall@5"][0] for name, values in done.values.items()}
    assert found["recall, episodes only"] == 1
    assert found["recall, after a night of default retention"] == 0
    assert list(tmp_path.iterdir()) == []


def test_the_policy_without_forgetting_keeps_its_recall() -> None:
    policy = Policy()
    endless = unforgetting(policy)
    assert endless.recall == policy.recall
    assert set(endless.retention.tier_seconds().values()) == {None}
    assert endless.recall_log.sample_ratio == 0


def test_a_lake_for_each_instant_holds_what_had_happened_in_the_scopes_asked() -> None:
    rows = records(people=2)
    early = {"type": "question", "id": "q-early", "query": "kiln", "user_id": "u1", "relevant": [],
             "as_of": "2026-03-02T00:00:00Z"}  # fmt: skip
    found = batches(read_rows("\n".join(json.dumps(r) for r in [*rows, early]).encode()))
    assert [(len(batch.questions), len(batch.rows)) for batch in found] == [(1, 2), (11, 20)]
    assert {row["user_id"] for row in found[0].rows} == {"u1"}


def test_too_many_instants_share_a_lake() -> None:
    asked = [
        {"type": "question", "id": f"q{i}", "query": "kiln", "user_id": "u0", "relevant": [],
         "as_of": f"2026-04-{i + 1:02d}T00:00:00Z"}
        for i in range(MOST_LAKES + 1)
    ]  # fmt: skip
    found = batches(_set([*records(people=1), *asked]))
    assert len(found) == 1
    assert found[0].as_of == max(question.as_of for question in _set(asked + records(people=1)).questions)


def _set(rows: list[dict[str, Any]]) -> LabelledSet:
    return read_rows("\n".join(json.dumps(row) for row in rows).encode())


def test_a_small_suite_is_played(tmp_path: Path) -> None:
    suite = read_suite(SUITE.replace('gone = ["a1"]', "gone = []"))
    judge = run_suite(tmp_path, suite, Policy(), CountingEmbedder(), Silent())
    assert judge.faults == []
    told = {name: (m.count, m.of) for name, m in judge.measures.items() if m.of}
    assert told["right_found"] == (1, 1)
    assert told["past_first"][1] == 1
    assert told["leaked"][0] == 0
    assert told["unproven"] == (0, 1)


def test_a_suite_fails_where_something_is_seen_that_should_not_be(tmp_path: Path) -> None:
    """A word of ana's that stands in ben's rows too: as good as a leak, and told as one."""
    suite = read_suite(
        SUITE.replace("An anvil!", "An anvil and a kiln!").replace(
            '"planted", by = "t/ana"', '"planted", by = "t/ben"'
        )
    )
    judge = run_suite(tmp_path, suite, Policy(), CountingEmbedder(), Silent())
    assert judge.measures["leaked"].count > 0
    assert "t/ben asked: Where?" in judge.faults[0]


def test_the_page_of_the_docs_tells_every_flag_and_its_example_reads() -> None:
    page = (REPOSITORY / "docs" / "evaluation.md").read_text("utf-8")
    example = page.split("```jsonl\n", 1)[1].split("```", 1)[0]
    data = read_rows(example.encode())
    assert (len(data.rows), data.answerable, data.unanswerable) == (2, [0], [1])
    told = set(re.findall(r"--[a-z-]+", page))
    flags = {flag for flag in known_flags()["evaluate"] if flag.startswith("--")}
    assert flags - {"--help", "--lake", "--as-of", "--progress"} <= told


@pytest.mark.skipif(not LOCOMO.is_dir(), reason="LoCoMo is not at hand")
@pytest.mark.parametrize("name", ["locomo10.json", "locomo10_corrected.json"])
def test_one_conversation_of_locomo(command: Command, name: str) -> None:
    said = command(
        "evaluate", "--set", "locomo", "--data", LOCOMO / name, "--conversations", "2", "--no-price",
        "--index", "episodes", "--preset", "relevance", "--json",
    )  # fmt: skip
    assert said.code == 0, said.err
    found = said.json
    assert found["data"]["episodes"] == 369
    floors = [found["metrics"][name]["all"]["recall@10"] for name in ("bm25 alone", "dense alone")]
    assert found["metrics"][found["main"]]["all"]["recall@10"] > max(floors)
    assert found["metrics"][found["main"]]["all"]["session_recall@10"] > 0.9
