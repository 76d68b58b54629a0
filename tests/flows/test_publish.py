"""Publish: a new generation only where something changed, one live at a time, and a way back."""

from __future__ import annotations

import shutil
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from flows import publish_build, published
from flows.consolidate import run_consolidate
from flows.embed import run_embed
from flows.job import Job
from flows.nightly import run_nightly
from flows.publish import run_publish, run_rollback
from lake.index import load_manifest, read_pointer
from lake.index_build import generations
from lake.index_checks import Check
from lake.recall import Recall
from tests.flows.lakes import AS_OF, Command, content, files_below, ingest, job_on, row, write
from transforms.errors import CheckError, UsageError
from transforms.policy import Policy, PublishPolicy
from transforms.policy_retention import RetentionPolicy
from transforms.schemas import RUNS


def night(tmp_path: Path, count: int, **options: object) -> Job:
    """A lake of that many rows, embedded, consolidated and published."""
    job = job_on(tmp_path / "lake", **options)  # type: ignore[arg-type]
    ingest(job, write(tmp_path / f"{count}.jsonl", [row(n) for n in range(count)]))
    run_embed(job)
    run_consolidate(job)
    run_publish(job)
    return job


def live(job: Job) -> str:
    pointer = read_pointer(job.lake)
    assert pointer
    return pointer.generation


def test_nothing_changed_builds_nothing(tmp_path: Path) -> None:
    job = night(tmp_path, 4)
    before = files_below(tmp_path / "lake")
    again = run_publish(job)
    assert (again.state, again.generation, again.rows_out) == ("unchanged", "gen-000001", 0)
    assert files_below(tmp_path / "lake") == before


def test_new_rows_a_new_policy_or_force_build_a_new_generation(tmp_path: Path) -> None:
    night(tmp_path, 4)
    assert live(night(tmp_path, 5)) == "gen-000002"
    shorter = Policy(retention=RetentionPolicy(medium_term_seconds=10 * 86_400))
    job = job_on(tmp_path / "lake", policy=shorter)
    published = run_publish(job)
    assert published.generation == "gen-000003"
    # Episodes have expired; what was distilled of them has a longer life of its own.
    assert published.rows_out == published.detail["summaries"] + published.detail["facts"]
    assert published.detail["expired"] == 5
    assert run_publish(job).state == "unchanged"
    assert run_publish(job, force=True).generation == "gen-000004"


def test_what_is_not_published_is_counted(tmp_path: Path, command: Command) -> None:
    """Held = published + expired + injected, each row in one of them."""
    job = job_on(tmp_path / "lake")
    rows = [
        row(1),
        row(2),
        row(3, expires_at="2026-06-15T00:00:00Z"),
        row(4, event_at="2025-01-01T00:00:00Z"),
        row(5, is_injected=True),
        row(6, is_injected=True, expires_at="2026-06-15T00:00:00Z"),
        row(7, expires_at=AS_OF.isoformat()),
    ]
    ingest(job, write(tmp_path / "a.jsonl", rows))
    held = content(job)
    run_embed(job)
    published = run_publish(job)
    assert held["is_injected"].sum() == 2
    assert (published.rows_out, published.detail["expired"], published.detail["injected"]) == (2, 3, 2)
    words = ("--lake", tmp_path / "lake", "--as-of", AS_OF.isoformat())
    command(*words, "embed")  # with the command's own model
    words = (*words, "publish", "--force")
    data = command(*words, "--json").json
    assert (data["rows_out"], data["expired"], data["injected"]) == (2, 3, 2)
    said = command(*words).out
    assert "3 rows are past their time to live (see retention in docs/data-engineers.md)" in said
    assert "2 rows are injected context" in said


def test_an_expiry_builds_a_new_generation(tmp_path: Path) -> None:
    job = job_on(tmp_path / "lake")
    rows = [row(1), row(2, expires_at="2026-07-02T00:00:00Z")]
    ingest(job, write(tmp_path / "a.jsonl", rows))
    run_embed(job)
    assert run_publish(job).rows_out == 2
    just_before = replace(job, as_of=AS_OF + timedelta(hours=24, minutes=59))
    assert run_publish(just_before).state == "unchanged"
    at_expiry = replace(job, as_of=AS_OF + timedelta(hours=25))
    assert (run_publish(at_expiry).state, load_manifest(job.lake, live(job)).rows) == ("done", 1)


def test_an_earlier_instant_builds_anew_too(tmp_path: Path) -> None:
    """A row that had expired later is live again at an earlier as-of."""
    job = night(tmp_path, 2)
    assert run_publish(replace(job, as_of=AS_OF - timedelta(days=1))).state == "done"


def test_a_failed_check_keeps_the_old_generation_live(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = night(tmp_path, 3)
    bad = [Check("recall", False, "recall@10 0.4 over 50 queries"), Check("expiry", True, "none late")]
    monkeypatch.setattr(publish_build, "run_checks", lambda *_, **__: bad)
    with pytest.raises(CheckError, match=r"old one stays live: recall: recall@10 0\.4"):
        run_publish(job, force=True)
    assert (live(job), generations(job.lake)) == ("gen-000001", ["gen-000001"])
    failed = content(job, RUNS).filter(state="failed").to_dicts()
    assert [(run["step"], run["error"]) for run in failed] == [("publish", "check")]
    words = ("--lake", tmp_path / "lake", "publish", "--force", "--json", "--as-of", AS_OF.isoformat())
    said = command(*words)
    assert (said.code, said.error["code"]) == (7, "check")
    monkeypatch.undo()
    assert run_publish(job, force=True).generation == "gen-000002"


def test_roll_back_and_again(tmp_path: Path) -> None:
    job = night(tmp_path, 3)
    night(tmp_path, 4)
    assert run_rollback(job).generation == "gen-000001"
    with pytest.raises(UsageError, match="no generation before gen-000001"):
        run_rollback(job)
    reader = Recall(job.lake, embedder=job.embedder)
    assert len(reader.search("harbour", tenant="acme", user="ana", as_of=AS_OF)) >= 3


def test_nothing_published_cannot_be_rolled_back(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nothing is published"):
        run_rollback(job_on(tmp_path / "lake"))


@pytest.mark.parametrize("steps_back", [1, 2])
def test_a_night_after_a_rollback_does_not_bring_the_bad_one_back(tmp_path: Path, steps_back: int) -> None:
    for count in (3, 4, 5):
        job = night(tmp_path, count)
    for _ in range(steps_back):
        run_rollback(job)
    here = live(job)
    assert run_nightly(job, []).is_unchanged
    assert live(job) == here
    # Something new: a new generation, and what was rolled back from is gone.
    assert live(night(tmp_path, 6)) == "gen-000004"
    pointer = read_pointer(job.lake)
    assert pointer
    assert (
        list(pointer.history)
        == generations(job.lake)
        == [*["gen-000001", "gen-000002"][: 3 - steps_back], "gen-000004"]
    )
    assert pointer.rolled_back is None


def test_only_the_last_generations_are_kept(tmp_path: Path) -> None:
    policy = Policy(publish=PublishPolicy(keep_generations=2))
    for count in (2, 3, 4, 5):
        job = night(tmp_path, count, policy=policy)
    assert generations(job.lake) == ["gen-000003", "gen-000004"]
    one = job_on(tmp_path / "lake", policy=Policy(publish=PublishPolicy(keep_generations=1)))
    run_publish(one)
    assert generations(one.lake) == ["gen-000005"]
    with pytest.raises(UsageError):
        run_rollback(one)


def test_what_a_killed_build_left_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = night(tmp_path, 3)

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(publish_build, "run_checks", killed)
    with pytest.raises(KeyboardInterrupt):
        run_publish(job, force=True)
    monkeypatch.undo()
    assert generations(job.lake) == ["gen-000001", "gen-000002"]
    assert live(job) == "gen-000001"
    published = run_publish(job, force=True)
    assert published.generation == "gen-000003"
    assert generations(job.lake) == ["gen-000001", "gen-000003"]


def test_large_buckets_are_read_in_slices_of_whole_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = job_on(tmp_path / "lake", buckets=1)
    rows = [row(n, user_id=f"user-{n % 7}") for n in range(60)]
    ingest(job, write(tmp_path / "a.jsonl", rows))
    run_embed(job)
    whole = run_publish(job)
    monkeypatch.setattr(published, "SLICE_ROWS", 10)
    sliced = run_publish(job, force=True)
    assert whole.rows_out == sliced.rows_out == 60
    reader = Recall(job.lake, embedder=job.embedder)
    found = reader.search("note 13", tenant="acme", user="user-6", as_of=AS_OF)
    assert found[0].text.startswith("note 13 ")
    assert {memory.user_id for memory in found} == {"user-6"}


def test_status_shows_what_is_live_kept_and_behind(tmp_path: Path, command: Command) -> None:
    night(tmp_path, 3)
    job = night(tmp_path, 4)
    run_rollback(job)
    ingest(job, write(tmp_path / "new.jsonl", [row(20)]))
    words = ("--lake", tmp_path / "lake", "--as-of", AS_OF.isoformat())
    index = command(*words, "status", "--json").json["index"]
    assert (index["generation"], index["rolled_back"]) == ("gen-000001", "gen-000002")
    assert index["kept"] == ["gen-000001", "gen-000002"]
    assert index["commits_behind"] > 0
    assert "gen-000001" in command(*words, "status").out


def test_a_table_put_back_and_grown_to_the_same_version_builds_anew(tmp_path: Path) -> None:
    def grown(count: int) -> Job:
        job = job_on(tmp_path / "lake")
        ingest(job, write(tmp_path / f"{count}.jsonl", [row(n) for n in range(count)]))
        run_embed(job)
        run_publish(job)
        return job

    job = grown(2)
    tables = tmp_path / "lake" / "tables"
    shutil.copytree(tables, tmp_path / "backup")
    grown(3)
    shutil.rmtree(tables)
    shutil.copytree(tmp_path / "backup", tables)
    before = load_manifest(job.lake, live(job))
    ingest(job, write(tmp_path / "other.jsonl", [row(40)]))
    run_embed(job)
    assert run_publish(job).state == "done"
    after = load_manifest(job.lake, live(job))
    assert (before.inputs["episodes"], before.inputs["vectors"]) == (
        after.inputs["episodes"],
        after.inputs["vectors"],
    )
