"""Embed: each text once a model, what was committed stays, and a refused text holds nobody up."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from flows.embed import run_embed
from flows.publish import run_publish
from lake import upkeep
from lake.embedders.protocol import Embedded
from lake.recall import Recall
from tests.flows.lakes import (
    AS_OF,
    CountingEmbedder,
    content,
    files_below,
    ingest,
    job_on,
    row,
    write,
)
from tests.model_server import Fault, ModelServer
from transforms.errors import EndpointError
from transforms.policy import EmbedPolicy, IngestPolicy, Policy
from transforms.schemas import EPISODES, RUNS, VECTORS

SMALL = Policy(embed=EmbedPolicy(batch_rows=4))


def landed(tmp_path: Path, count: int, **options: object) -> Path:
    job = job_on(tmp_path / "lake", **options)  # type: ignore[arg-type]
    ingest(job, write(tmp_path / f"{count}.jsonl", [row(n) for n in range(count)]))
    return tmp_path / "lake"


def test_each_text_is_embedded_once(tmp_path: Path) -> None:
    root, model = landed(tmp_path, 10), CountingEmbedder()
    assert run_embed(job_on(root, embedder=model)).rows_out == 10
    assert len(model.texts) == len(set(model.texts)) == 10
    again = run_embed(job_on(root, embedder=model))
    assert (again.state, again.rows_out, len(model.texts)) == ("unchanged", 0, 10)
    landed(tmp_path, 13)
    assert run_embed(job_on(root, embedder=model)).rows_out == 3
    assert len(model.texts) == len(set(model.texts)) == 13


def test_the_same_text_of_two_rows_has_one_vector_and_of_two_tenants_two(tmp_path: Path) -> None:
    same = {"content": "the quay closes at nine", "event_at": "2026-06-01T08:00:00Z"}
    rows = [row(1, **same), row(2, **same), row(3, **same, tenant_id="other")]
    job = job_on(tmp_path / "lake", buckets=1)
    ingest(job, write(tmp_path / "a.jsonl", rows))
    assert run_embed(job).rows_out == 2
    assert content(job, VECTORS)["tenant_id"].to_list() == ["acme", "other"]


def test_vectors_carry_their_space_and_unit_length(tmp_path: Path) -> None:
    job = job_on(landed(tmp_path, 5))
    run_embed(job)
    held = content(job, VECTORS)
    assert held["model_key"].unique().to_list() == [job.space]
    assert held["dimensions"].unique().to_list() == [16]
    norms = np.linalg.norm(np.array(held["vector"].to_list()), axis=1)
    assert np.allclose(norms, 1, atol=1e-5)


def test_a_killed_run_keeps_what_it_committed_and_goes_on(tmp_path: Path) -> None:
    class Dies(CountingEmbedder):
        calls = 0

        def embed(self, texts: list[str]) -> Embedded:  # type: ignore[override]
            Dies.calls += 1
            if Dies.calls == 3:
                raise KeyboardInterrupt
            return super().embed(texts)

    policy = Policy(embed=EmbedPolicy(batch_rows=4), ingest=IngestPolicy(commit_rows=4, batch_rows=4))
    root = landed(tmp_path, 14, policy=policy)
    with pytest.raises(KeyboardInterrupt):
        run_embed(job_on(root, policy=policy, embedder=Dies()))
    kept = set(content(job_on(root), VECTORS)["text_hash"])
    assert 4 <= len(kept) < 14
    rest = CountingEmbedder()
    run_embed(job_on(root, policy=policy, embedder=rest))
    assert len(rest.texts) == 14 - len(kept)
    assert content(job_on(root), VECTORS).height == 14


def test_a_new_model_is_embedded_beside_the_old_one_and_published_alone(tmp_path: Path) -> None:
    root = landed(tmp_path, 6)
    old, new = (job_on(root, embedder=CountingEmbedder(name)) for name in ("old", "new"))
    run_embed(old)
    run_publish(old)
    assert run_embed(new).rows_out == 6
    held = content(old, VECTORS)
    assert sorted(held["model_key"].unique()) == sorted([old.space, new.space])
    assert run_publish(new).state == "done"
    from lake.index import Generation, load_manifest

    manifest = load_manifest(new.lake, "gen-000002")
    assert (manifest.space, manifest.rows) == (new.space, 6)
    vectors = Generation(new.lake, manifest).dataset("main").to_table(columns=["memory_id", "vector"])
    assert vectors.num_rows == 6
    # Back to the old model: nothing to embed, and the index is that model's again.
    assert run_embed(old).state == "unchanged"
    assert run_publish(old).state == "done"
    assert load_manifest(old.lake, "gen-000003").space == old.space


def test_where_texts_are_cut_is_part_of_what_was_embedded(tmp_path: Path) -> None:
    job = job_on(tmp_path / "lake")
    ingest(job, write(tmp_path / "a.jsonl", [row(1, "long " * 100), row(2, "short")]))
    assert run_embed(job).rows_out == 2
    cut = job_on(tmp_path / "lake", policy=Policy(embed=EmbedPolicy(max_text_chars=50)))
    assert run_embed(cut).rows_out == 1


def test_a_refused_text_is_tried_again_and_found_by_its_words(tmp_path: Path) -> None:
    root = landed(tmp_path, 8)
    strict = CountingEmbedder(refuse="note 3 ")
    job = job_on(root, policy=SMALL, embedder=strict)
    first = run_embed(job)
    assert (first.rows_out, first.rejected) == (7, 1)
    run_publish(job)
    found = Recall(job.lake, policy=SMALL, embedder=strict).search(
        "note 3", tenant="acme", user="ana", as_of=AS_OF
    )
    assert "note 3 on the harbour office" in [memory.text for memory in found]

    before = files_below(root)
    asked = len(strict.texts)
    again = run_embed(job)
    assert (again.state, again.rejected) == ("unchanged", 1)
    assert strict.texts[asked:] == ["[4 June 2026] user: note 3 on the harbour office"]
    assert files_below(root) == before

    mild = CountingEmbedder()
    assert run_embed(job_on(root, embedder=mild)).rows_out == 1
    assert len(mild.texts) == 1
    assert run_embed(job_on(root, embedder=mild)).rows_in == 0


def test_a_refused_text_is_found_again_after_compaction(tmp_path: Path) -> None:
    root = landed(tmp_path, 3)
    landed(tmp_path, 6)
    run_embed(job_on(root, embedder=CountingEmbedder(refuse="note 1 ")))
    upkeep.compact(job_on(root).lake, EPISODES)
    mild = CountingEmbedder()
    assert run_embed(job_on(root, embedder=mild)).rows_out == 1
    assert len(mild.texts) == 1


def test_the_ledger_names_model_and_tokens(tmp_path: Path) -> None:
    job = job_on(landed(tmp_path, 2))
    run_embed(job)
    run_embed(job)
    ledger = content(job, RUNS)
    entries = ledger.filter(ledger["step"] == "embed").to_dicts()
    assert [(e["model_key"], e["rows_out"], e["tokens"] > 0) for e in entries] == [(job.space, 2, True)]


def test_an_endpoint_of_the_configuration_embeds_and_a_failing_one_loses_nothing(
    tmp_path: Path, command: object
) -> None:
    with ModelServer(dimensions=8) as server:
        config = tmp_path / "slowwave.toml"
        config.write_text(
            f'[embedder]\nprovider = "openai"\nbase_url = "{server.base_url}"\nmodel = "m"\n'
            'dimensions = 8\napi_key = "k"\nmax_attempts = 1\nconcurrency = 1\n[embed]\nbatch_rows = 5\n'
        )
        root = landed(tmp_path, 20)
        words = ("--lake", root, "--config", config, "--json", "--as-of", "2026-06-30T23:00:00Z")
        good = Fault()
        server.faults.extend([good, good, good])
        server.always = Fault(status=503)
        failed = command(*words, "nightly")  # type: ignore[operator]
        assert (failed.code, failed.error["code"]) == (EndpointError.exit_code, "endpoint")
        kept = content(job_on(root), VECTORS).height
        assert 0 < kept < 20

        server.always = None
        server.requests.clear()
        done = command(*words, "nightly").json  # type: ignore[operator]
        steps = {step["name"]: step for step in done["steps"]}
        derived = sum(steps["publish"][name] for name in ("facts", "summaries", "procedures"))
        assert (steps["embed"]["rows_out"], steps["publish"]["rows_out"]) == (20 - kept, 20 + derived)
        texts = [text for batch in server.inputs() for text in batch]
        assert len([text for text in texts if text.startswith("[") and "harbour" in text]) == 20 - kept
        found = command(*words, "recall", "harbour", "--tenant", "acme", "--user", "ana").json  # type: ignore[operator]
        assert found["results"]


@pytest.mark.parametrize("lost", ["vectors", "episodes"])
def test_vectors_lost_with_a_restored_table_come_back(tmp_path: Path, lost: str) -> None:
    root = landed(tmp_path, 5)
    run_embed(job_on(root))
    backup = tmp_path / "backup"
    shutil.copytree(root / "tables", backup)
    landed(tmp_path, 8)
    run_embed(job_on(root))
    for name in {"vectors", lost}:
        shutil.rmtree(root / "tables" / name)
        shutil.copytree(backup / name, root / "tables" / name)
    if lost == "episodes":
        landed(tmp_path, 9)  # its version is that of the hint again
    job = job_on(root)
    run_embed(job)
    assert content(job, VECTORS).height == content(job).height


@pytest.mark.parametrize("junk", [b"", b"[]", b"{}", b"\xff\x00\x93", b'{"episodes_version": "x"}'])
def test_a_state_that_cannot_be_read_counts_as_none(tmp_path: Path, junk: bytes) -> None:
    root = landed(tmp_path, 5)
    run_embed(job_on(root))
    [state] = (root / "state").glob("embedded-*.json")
    state.write_bytes(junk)
    again = run_embed(job_on(root))
    assert (again.rows_in, again.rows_out) == (5, 0)
    assert run_embed(job_on(root)).state == "unchanged"
