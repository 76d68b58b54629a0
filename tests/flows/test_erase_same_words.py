"""Two people who said the same: one is erased, and what the other's words made stays and is no leak."""

from __future__ import annotations

from pathlib import Path

from flows.erase import run_erase
from lake import revisions
from tests.flows.lakes import job_on
from tests.flows.sleepers import night, said
from transforms.derived import CONVERSATIONS
from transforms.subjects import Subject

GREETING = "The crane inspection report is missing"


def test_a_conversation_titled_with_the_words_of_both_is_no_leak(tmp_path: Path) -> None:
    job = job_on(tmp_path / "lake")
    rows = [
        said(1, GREETING, "03-05"),
        said(2, "I need a new mooring line.", "03-05"),
        said(3, GREETING, "03-05", user_id="ben"),
        said(4, "A new rope has come.", "03-05", user_id="ben"),
    ]
    night(job, tmp_path, "rows", rows)
    certificate = run_erase(job, Subject("acme", "ana"), basis="gdpr-art-17", requested_by="subject")
    assert certificate.outcome == "complete"
    titles = revisions.standing(job.lake, CONVERSATIONS).select("user_id", "title").rows()
    assert titles == [("ben", GREETING)]
