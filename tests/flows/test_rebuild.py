"""However a history is cut into nights, and whether it is derived anew: the same tables."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from flows.consolidate import run_consolidate
from flows.job import Job
from flows.publish import run_publish
from lake.recall import Recall
from tests.flows.rebuilt import (
    DERIVED_ALIKE,
    NIGHTS,
    PEOPLE,
    content,
    described,
    differences,
    fed,
    gone,
    held,
    history,
    job_of,
    partition,
    rand_index,
    summed_up,
    verdicts,
)
from transforms.schemas import CLAIMS, EPISODES, FACTS, TOPICS, Table

LAST = NIGHTS - 1
CUTS: Mapping[str, tuple[int, ...]] = {
    "nightly": tuple(range(NIGHTS)),
    "missed": (0, 3, 4),
    "at_once": (LAST,),
}
FADING = ("nightly", "at_once")
SAME = {"lost": 0, "new": 0}
LEAST_ALIKE = 0.75
"""Adjusted Rand index between topics of many nights and of one: 0.88 on a thousand rows of a dozen people."""


def copied(job: Job, root: Path) -> Job:
    """The job on a copy of its lake."""
    shutil.copytree(job.lake.uri, root)
    return job_of(root, LAST)


@pytest.fixture(scope="module")
def lakes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Job]:
    """Lakes that were fed with one history, from which nothing has expired yet."""
    folder, told = tmp_path_factory.mktemp("lakes"), history(60)
    return {name: fed(folder / name, told, nights) for name, nights in CUTS.items()}


@pytest.fixture(scope="module")
def anew(lakes: dict[str, Job], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Job]:
    """Copies of them, derived anew."""
    folder = tmp_path_factory.mktemp("anew")
    found = {name: copied(job, folder / name) for name, job in lakes.items()}
    for job in found.values():
        run_consolidate(job, complete=True)
    return found


@pytest.mark.parametrize("table", [EPISODES, *DERIVED_ALIKE], ids=lambda table: table.name)
@pytest.mark.parametrize("cut", ["missed", "at_once"])
def test_however_the_nights_were_cut_the_same_is_derived(
    lakes: dict[str, Job], cut: str, table: Table
) -> None:
    wanted, found = content(lakes["nightly"], table), content(lakes[cut], table)
    if table is EPISODES:  # the name of the file they came in
        wanted, found = (rows.drop("source_file", "source_line") for rows in (wanted, found))
    assert wanted.height > 10
    assert differences(wanted, found, table.key) == SAME


@pytest.mark.parametrize("cut", ["missed", "at_once"])
def test_the_same_is_decided_about_facts(lakes: dict[str, Job], cut: str) -> None:
    wanted, found = verdicts(lakes["nightly"]), verdicts(lakes[cut])
    assert differences(wanted, found, ["item_id"]) == SAME


def test_topics_depend_a_little_on_how_the_nights_were_cut(lakes: dict[str, Job]) -> None:
    """Which is why a full rebuild clusters anew; the law that follows is the one that holds."""
    assert LEAST_ALIKE <= rand_index(lakes["nightly"], lakes["at_once"]) < 1
    assert rand_index(lakes["nightly"], lakes["missed"]) >= LEAST_ALIKE


@pytest.mark.parametrize("cut", ["nightly", "missed"])
def test_a_full_rebuild_is_what_one_night_over_everything_gives(
    lakes: dict[str, Job], anew: dict[str, Job], cut: str
) -> None:
    wanted = lakes["at_once"]
    assert partition(anew[cut]) == partition(wanted)
    assert described(anew[cut]) == described(wanted)
    assert summed_up(anew[cut]) == summed_up(wanted)
    for table in DERIVED_ALIKE:
        assert differences(content(wanted, table), content(anew[cut], table), table.key) == {
            "lost": 0,
            "new": 0,
        }


def test_a_full_rebuild_of_one_night_writes_nothing(lakes: dict[str, Job], tmp_path: Path) -> None:
    assert run_consolidate(copied(lakes["at_once"], tmp_path / "lake"), complete=True).rows_out == 0


@pytest.mark.parametrize("cut", CUTS)
def test_a_second_full_rebuild_writes_nothing(anew: dict[str, Job], cut: str) -> None:
    assert run_consolidate(anew[cut], complete=True).rows_out == 0


def test_a_full_rebuild_changes_topics_only(lakes: dict[str, Job], anew: dict[str, Job]) -> None:
    for table in DERIVED_ALIKE:
        assert held(lakes["nightly"], table).height == held(anew["nightly"], table).height


def test_topics_keep_their_ids_where_most_of_them_stays(lakes: dict[str, Job], anew: dict[str, Job]) -> None:
    before, after = (set(content(job["nightly"], TOPICS)["topic_id"]) for job in (lakes, anew))
    assert len(before & after) >= 0.8 * len(before)


@pytest.fixture(scope="module")
def fading(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Job]:
    """Lakes that were fed with one history, of which retention takes a part while the nights go on."""
    folder, told = tmp_path_factory.mktemp("fading"), history(40, seed=8, fades=True)
    return {name: fed(folder / name, told, CUTS[name]) for name in FADING}


def test_what_expires_meanwhile_is_gone_from_all_of_them_alike(fading: dict[str, Job]) -> None:
    kept = {name: set(held(job, EPISODES)["episode_id"]) for name, job in fading.items()}
    assert kept["nightly"] == kept["at_once"]
    assert len(kept["nightly"]) < 400
    assert all(gone(job) for job in fading.values())


def test_what_was_learned_of_what_has_expired_since_is_the_same(fading: dict[str, Job]) -> None:
    """Of sessions as a whole, and of topics, it is not: what is gone cannot be read again."""
    for table in (CLAIMS, FACTS):
        wanted, found = (content(fading[name], table) for name in FADING)
        assert wanted.height > 10
        assert differences(wanted, found, table.key) == SAME, table.name


@pytest.mark.parametrize("cut", FADING)
def test_a_full_rebuild_after_retention_keeps_what_was_learned_and_comes_to_rest(
    fading: dict[str, Job], cut: str, tmp_path: Path
) -> None:
    job = copied(fading[cut], tmp_path / "lake")
    run_consolidate(job, complete=True)
    for table in DERIVED_ALIKE:
        if table.name != "conversations":
            assert content(job, table).equals(content(fading[cut], table)), table.name
    assert run_consolidate(job, complete=True).rows_out == 0


QUESTIONS = (
    "crane at the dock",
    "which seat on flights",
    "sourdough crust",
    "where does she live",
    "peanuts",
)


def answers(job: Job, question: str) -> list[tuple[str, str, float]]:
    """Kind, text and score of what each of the people is told."""
    reader = Recall(job.lake, embedder=job.embedder)
    found = []
    for person in range(PEOPLE):
        scope = {"tenant": f"tenant-{person % 2}", "user": f"person-{person}"}
        told = reader.search(question, k=10, as_of=job.as_of, **scope)
        found += [(one.kind, one.text, round(one.score, 4)) for one in told]
    return sorted(found)


def test_recall_answers_alike_from_all_of_them_once_rebuilt(anew: dict[str, Job]) -> None:
    for job in anew.values():
        run_publish(job)
    for question in QUESTIONS:
        wanted = answers(anew["at_once"], question)
        assert len(wanted) == 10 * PEOPLE
        assert {kind for kind, *_ in wanted} > {"conversation"}
        assert answers(anew["nightly"], question) == wanted
        assert answers(anew["missed"], question) == wanted
