"""Erasures of each kind of subject: what goes, what stays, by a slow search of every byte."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

import polars as pl
import pytest

from flows.consolidate import run_consolidate
from flows.embed import run_embed
from flows.erase_certificate import Certificate, parse
from flows.job import Job
from flows.publish import run_publish
from flows.retain import run_retain
from lake import landing, revisions, tables
from lake.index_build import generations
from lake.recall import Recall
from lake.rights import audit, requests, tombstones
from tests.flows.erasing import (
    ANA_IN_GROUP,
    CANARY,
    before,
    copied,
    erase,
    holding,
    lake_of,
    people,
)
from tests.flows.lakes import AS_OF, CountingEmbedder, content, ingest, job_on, write
from tests.lake.crypto.sealed import sealed_lake
from tests.lake.made import frame
from transforms.schemas import (
    COLD,
    EPISODES,
    FACTS,
    FORGOTTEN,
    MODEL_RESULTS,
    QUARANTINE,
    RECALLS,
    STORED,
    SUMMARIES,
    VECTORS,
)
from transforms.subjects import Subject

ANA = ["yellow house by the old mill", "painted under the third step", CANARY]
GROUP = [ANA_IN_GROUP, "Nobody but me has the key"]


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("template")
    lake_of(job_on(folder / "lake"), folder, people())
    return folder / "lake"


@pytest.fixture
def job(template: Path, tmp_path: Path) -> Job:
    return job_on(copied(template, tmp_path / "lake"))


@dataclass(frozen=True)
class Erased:
    """A lake after ana was erased, and what it held before."""

    job: Job
    certificate: Certificate
    contents: list[str]
    group_summary: str


@pytest.fixture(scope="module")
def erased(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Erased:
    """Read only."""
    job = job_on(copied(template, tmp_path_factory.mktemp("erased") / "lake"))
    held = contents(job)
    summaries = revisions.standing(job.lake, SUMMARIES).filter(pl.col("owner") == "agent:club")
    certificate = erase(job, user="ana", aliases=["Ana Banana"], canaries=["xq-chestnut-1"])
    return Erased(job, certificate, held, " ".join(summaries["text"]))


def root(job: Job) -> Path:
    return Path(job.lake.uri)


def contents(job: Job) -> list[str]:
    return sorted(tables.scan(job.lake, EPISODES).collect()["content"])


def test_the_oracle_finds_what_is_there(job: Job) -> None:
    found = holding(root(job), [*ANA, *GROUP])
    assert {hit for hits in found.values() for hit in hits} == {*ANA, *GROUP}
    assert any(key.endswith(".lance") for key in found)


def test_a_user_goes_from_every_file_and_all_others_stay(erased: Erased) -> None:
    job, certificate = erased.job, erased.certificate
    gone = [r["content"] for r in people() if r.get("user_id") == "ana" and r["tenant_id"] == "acme"]
    gone += [r["content"] for r in people() if r.get("speaker") == "ana"]
    assert certificate.outcome == "complete"
    assert holding(root(job), [*ANA, *GROUP]) == {}
    assert Counter(contents(job)) == Counter(erased.contents) - Counter(gone)
    assert before(certificate)["episodes"] == 6
    assert len(generations(job.lake)) == 1
    assert requests.open_requests(job.lake) == []


def test_a_user_whose_id_begins_with_the_erased_one_stays(erased: Erased) -> None:
    job = erased.job
    rows = tables.scan(job.lake, EPISODES).filter(pl.col("user_id") == "ana2").collect()
    assert rows["content"].to_list() == ["I live in Oslo and ski to the office every winter."]
    facts = revisions.standing(job.lake, FACTS)
    assert "user:ana2" in set(facts["owner"])
    assert "user:ana" not in set(facts.filter(pl.col("tenant_id") == "acme")["owner"])


def test_the_same_text_of_another_user_stays_with_its_vector_and_its_recall(erased: Erased) -> None:
    job = erased.job
    search = Recall(job.lake, policy=job.policy, embedder=job.embedder)
    found = search.search("aisle seat on night trains", tenant="acme", user="ben", k=5, as_of=AS_OF)
    assert any("aisle seat" in result.text for result in found)
    assert search.search("yellow house", tenant="acme", user="ana", k=5, as_of=AS_OF) == []


def test_another_tenants_user_of_the_same_name_stays(erased: Erased) -> None:
    job = erased.job
    rows = tables.scan(job.lake, EPISODES).filter(pl.col("tenant_id") == "umbrella").collect()
    assert rows.height == 1


def test_a_group_chat_is_summarised_anew_without_the_erased_speaker(erased: Erased) -> None:
    assert any(text in erased.group_summary for text in GROUP), "the summary must quote her to begin with"
    lake = erased.job.lake
    now = revisions.standing(lake, SUMMARIES).filter(pl.col("owner") == "agent:club")
    living = tables.scan(lake, EPISODES).select("episode_id").collect()["episode_id"]
    assert now.height
    assert set(now["source_refs"].explode()) <= set(living)


def test_an_alias_is_asked_for_by_name(job: Job) -> None:
    erase(job, user="cleopatra", aliases=["Cleo "])
    assert holding(root(job), ["sell the boathouse barrels", "harbour master wants"]) == {}
    assert holding(root(job), [ANA_IN_GROUP])


def test_a_night_after_it_reads_nothing_again(erased: Erased) -> None:
    job = erased.job
    model = CountingEmbedder()
    after = Job(job.lake, job.policy, job.as_of, lambda: model)
    assert run_embed(after).state == "unchanged"
    assert run_consolidate(after).state == "unchanged"
    assert run_publish(after).state == "unchanged"
    assert model.texts == []


def test_a_session_an_agent_and_a_tenant(job: Job) -> None:
    erase(job, session="s2")
    assert holding(root(job), ["send the parcel"]) == {}
    assert holding(root(job), ["third step"])
    erase(job, agent="club")
    assert holding(root(job), ["boathouse"]) == {}
    erase(job)
    assert set(tables.scan(job.lake, EPISODES).collect()["tenant_id"]) == {"umbrella"}
    for table in STORED:
        if "tenant_id" in table.names:
            assert set(tables.scan(job.lake, table).collect()["tenant_id"].drop_nulls()) <= {"umbrella"}, (
                table.name
            )
    assert holding(root(job), ["acme"]) == {}


def test_a_fact_goes_with_the_episodes_it_rests_on(job: Job) -> None:
    facts = revisions.standing(job.lake, FACTS)
    (fact,) = facts.filter((pl.col("owner") == "user:ben") & (pl.col("object_key") == "cork")).iter_rows(
        named=True
    )
    erase(job, memory=fact["fact_id"])
    assert holding(root(job), ["seven bees", fact["fact_id"], *fact["source_refs"]]) == {}
    assert "I always take an aisle seat on night trains to Vienna." in contents(job)
    ingest(job, write(root(job).parent / "again.jsonl", people()))
    assert holding(root(job), ["seven bees"]) == {}


def test_erased_twice_and_never_heard_of(job: Job) -> None:
    shared = people()[1]["content"]
    assert holding(root(job), [shared])
    erase(job, user="ana")
    was = tables.scan(job.lake, VECTORS).collect().height
    assert before(erase(job, user="ben"))["vectors"] > 0
    assert tables.scan(job.lake, VECTORS).collect().height < was
    assert holding(root(job), [shared]) == {}, "said by both, gone with the second"
    for name in ("ana", "nobody-here"):
        certificate = erase(job, user=name)
        assert certificate.outcome == "complete"
        assert before(certificate) == {}
        assert certificate.data["verification"]["passed"]


def test_a_lake_without_an_index(tmp_path: Path) -> None:
    job = lake_of(job_on(tmp_path / "lake"), tmp_path, people(), publish=False)
    assert erase(job, user="ana").outcome == "complete"
    assert holding(root(job), [*ANA, *GROUP]) == {}


def test_what_the_index_alone_still_holds_goes_too(job: Job) -> None:
    """Retention took the rows, and no night has published since."""
    run_retain(replace(job, as_of=AS_OF + timedelta(days=2_000)))
    assert tables.scan(job.lake, EPISODES).collect().is_empty()
    for name in ("ana", "ben"):
        assert erase(job, user=name).outcome == "complete"
    assert holding(root(job), ANA) == {}


@pytest.mark.parametrize("tenant", ['o\'brien/../"co" 100%2F ü=a&b\\d'])
def test_a_tenant_named_with_quotes_and_slashes(tmp_path: Path, tenant: str) -> None:
    rows = [{**one, "tenant_id": tenant} for one in people()] + people()
    job = lake_of(job_on(tmp_path / "lake"), tmp_path, rows)
    certificate = erase(job, tenant=tenant)
    assert certificate.outcome == "complete"
    assert before(certificate)["episodes"] == len(people())
    assert len(contents(job)) == len(people())
    assert holding(root(job), [tenant]) == {}


def test_an_encrypted_lake_and_its_keys(tmp_path: Path) -> None:
    lake = sealed_lake(tmp_path / "lake")
    made = job_on(tmp_path / "plain")
    job = lake_of(replace(made, lake=lake), tmp_path, people())
    ingest(job, write(tmp_path / "bad.jsonl", [{"content": "", "user_id": "ana", "tenant_id": "acme"}]))
    assert lake.keys is not None
    assert lake.keys.count(Subject("acme", user="ana")) == 1
    certificate = erase(job, user="ana")
    stores = before(certificate)
    assert (stores["episodes"], stores["quarantine"]) == (6, 1)
    assert certificate.data["keys_destroyed"] == 1
    assert certificate.data["covers_backups"].startswith("partly")  # the club's key sealed her rows there
    assert lake.keys.count(Subject("acme", user="ana")) == 0
    assert holding(tmp_path / "lake", [*ANA, *GROUP]) == {}
    said = " ".join(revisions.standing(lake, SUMMARIES)["text"])
    assert not any(text in said for text in GROUP)
    assert "The boathouse roof was mended with tar last Tuesday." in contents(job)


def test_refused_rows_go_by_what_they_name(job: Job) -> None:
    rows: list[dict[str, str] | str] = [
        {"content": "", "tenant_id": "acme", "user_id": "ana", "event_at": "never", "x": "marble statue"},
        {"content": "ana2 met ana", "tenant_id": "acme", "user_id": "ana2", "event_at": "never"},
        '{"content": "cut off", "tenant_id": "acme", "user_id": "ana", "x": "granite pla',
    ]
    ingest(job, write(root(job).parent / "bad.jsonl", rows))
    assert tables.scan(job.lake, QUARANTINE).collect().height == 3
    erase(job, user="ana")
    assert tables.scan(job.lake, QUARANTINE).collect()["user_id"].to_list() == ["ana2"]


def test_recalls_answers_cold_and_forgotten_rows_go_too(job: Job) -> None:
    lake, tenant = job.lake, {"tenant_id": "acme", "tenant_bucket": job.lake.bucket("acme")}
    ids = {
        user: tables.scan(lake, EPISODES)
        .filter(pl.col("user_id") == user, pl.col("tenant_id") == "acme")
        .collect()["episode_id"][0]
        for user in ("ana", "ben")
    }
    for user, other in (("ana", "ben"), ("ben", "ana"), ("ben", "ben")):
        shown = {**tenant, "user_id": user, "memory_id": ids[other], "call_id": f"{user}-{other}"}
        tables.append(lake, RECALLS, frame(RECALLS, [shown]))
    for user in ("ana", "ben"):
        row = {**tenant, "user_id": user, "episode_id": f"cold-{user}", "content": f"the cold pond of {user}"}
        tables.append(lake, COLD, frame(COLD, [row]))
        tables.append(lake, FORGOTTEN, frame(FORGOTTEN, [{**row, "episode_id": f"lost-{user}"}]))
        answer = {**tenant, "result_id": f"answer-{user}", "source_refs": [ids[user]], "answer": "words"}
        tables.append(lake, MODEL_RESULTS, frame(MODEL_RESULTS, [answer]))
    record = {"items": ["answer-ana", "answer-ben"], "left": ["answer-ana"], "key": "k"}
    lake.storage.write("state/batches/k.json", json.dumps(record).encode())
    lake.storage.write("exports/old.txt", people()[0]["content"].encode())
    told = before(erase(job, user="ana"))
    assert {n: told[n] for n in ("recalls", "cold", "forgotten", "model_results", "batches", "exports")} == {
        "recalls": 2, "cold": 1, "forgotten": 1, "model_results": 1, "batches": 1, "exports": 1,
    }  # fmt: skip
    assert content(job, RECALLS)["call_id"].to_list() == ["ben-ben"]
    assert content(job, COLD)["user_id"].to_list() == ["ben"]
    assert content(job, FORGOTTEN)["user_id"].to_list() == ["ben"]
    assert content(job, MODEL_RESULTS)["result_id"].to_list() == ["answer-ben"]
    left = json.loads(lake.storage.read("state/batches/k.json") or b"")
    assert (left["items"], left["left"]) == (["answer-ben"], [])
    assert lake.storage.read("exports/old.txt") is None


def test_landed_rows_go_and_none_comes_back(job: Job) -> None:
    rows = [
        {"content": "a landed plum tree of ana", "tenant_id": "acme", "user_id": "ana"},
        {"content": "a landed pear tree of ben", "tenant_id": "acme", "user_id": "ben"},
    ]
    landing.append(job.lake, rows, now=AS_OF)
    certificate = erase(job, user="ana")
    assert before(certificate)["landing"] == 1
    assert holding(root(job), ["plum tree"]) == {}
    ingest(job, write(root(job).parent / "again.jsonl", people()))
    assert holding(root(job), [*ANA]) == {}
    assert "a landed pear tree of ben" in contents(job)


def test_the_certificate_names_nobody_and_is_whole(erased: Erased) -> None:
    job, certificate = erased.job, erased.certificate
    raw = job.lake.storage.read(f"certificates/{certificate.request_id}.json")
    assert raw is not None
    assert parse(raw).is_whole
    assert parse(raw).data == certificate.data
    for text in (b"acme", b"ana", b"chestnut", b"Banana"):
        assert text not in raw
    changed = json.loads(raw)
    changed["stores"][0]["before"] += 1
    assert not parse(json.dumps(changed).encode()).is_whole
    assert job.lake.storage.read(f"certificates/{certificate.request_id}.html")


def test_request_audit_and_tombstone_tell_the_same(erased: Erased) -> None:
    job, certificate = erased.job, erased.certificate
    (one,) = requests.standing_requests(job.lake).to_dicts()
    assert (one["state"], one["basis"], one["requested_by"]) == ("done", "gdpr-art-17", "subject")
    assert json.loads(one["evidence"])["certificate"] == certificate.data["certificate_hash"]
    assert [e.kind for e in audit.entries(job.lake)] == [
        "erase_requested",
        "erase_done",
        "certificate_issued",
    ]
    assert audit.verify(job.lake).broken is None
    stone = tombstones.load(job.lake).of(Subject("acme", user="ana"))
    assert stone is not None
    assert stone.mark_at(AS_OF) == "erased_subject"
    assert stone.mark_at(AS_OF + timedelta(days=3650)) is None
