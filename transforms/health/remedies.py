"""The measures of each check: what they are called, their units, and what to do where one is too high."""

from __future__ import annotations

from dataclasses import dataclass

TITLES = {
    "growth": "Unbounded growth",
    "stale": "Stale facts served",
    "contradiction": "Contradictory facts served",
    "poisoning": "Poisoning",
    "drift": "Vector space drift",
    "crowding": "Crowding",
    "irrelevance": "Irrelevance",
    "index": "Index damaged",
    "backlog": "Backlog",
    "erasure": "Erasure not verified",
    "compaction": "Compaction debt",
    "quarantine": "Quarantine growth",
    "audit": "Audit chain broken",
    "runs": "Failed runs",
}
"""Checks in the order they are told in; the title is also the heading of its paragraph in the runbook."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of measure.

    Args:
        check: Which check it belongs to.
        label: What it is, in words.
        unit: ratio (0 to 1, may pass 1 where it is no share), rows, bytes, hours, days, times ...
        remedy: What to do, one sentence.
        is_windowed: Whether it looks back over the window; else it is a state.
    """

    check: str
    label: str
    unit: str
    remedy: str = ""
    is_windowed: bool = False


MEASURES: dict[str, Kind] = {
    "overdue_rows": Kind(
        "growth", "Rows past their time and still in the lake", "rows",
        "Run slowwave retain, and see report compliance for the tables.",
    ),
    "net_growth_ratio": Kind(
        "growth", "Growth of the episodes over the window", "ratio",
        "Compare what lands with what retention takes; shorten a tier, or plan for it: report capacity.",
        is_windowed=True,
    ),
    "bytes_per_row_ratio": Kind(
        "growth", "Bytes per episode, against the start of the window", "times",
        "See which table grew in the report; slowwave consolidate --complete writes derived tables anew.",
        is_windowed=True,
    ),
    "ledger_bytes": Kind(
        "growth", "Bytes of ledgers that nothing expires", "bytes",
        "Export and keep apart what is older than you report on.",
    ),
    "fullest_user_ratio": Kind(
        "growth", "Episodes of the fullest person or agent, against the budget", "times",
        "Run slowwave retain; rows that wait for a summary need slowwave consolidate first.",
    ),
    "lake_bytes": Kind("growth", "Bytes of all tables", "bytes"),
    "lake_rows": Kind("growth", "Episodes", "rows"),
    "retired_in_index_rows": Kind(
        "stale", "Rows of the live index that the lake no longer holds or believes", "rows",
        "Run slowwave publish --force.",
    ),
    "stale_served_ratio": Kind(
        "stale", "Served facts that had been retired before the call", "ratio",
        "Publish more often: slowwave publish after each consolidation.", is_windowed=True,
    ),
    "expired_served_rows": Kind(
        "stale", "Rows served after their time to live", "rows",
        "Check the clocks of the readers; then report this: it is a fault.", is_windowed=True,
    ),
    "served_age_days": Kind(
        "stale", "Median age of what is served", "days",
        "Raise recall's weight of recency, or shorten half-lives: slowwave tune.", is_windowed=True,
    ),
    "contradicting_slots": Kind(
        "contradiction", "Slots of one fact at a time that hold two", "slots",
        "Run slowwave consolidate --complete, then publish.",
    ),
    "contradictions_served_ratio": Kind(
        "contradiction", "Answers that held two facts of one such slot", "ratio",
        "Run slowwave consolidate --complete, then publish.", is_windowed=True,
    ),
    "low_trust_rise_ratio": Kind(
        "poisoning", "Rise of the share of low trust among new rows", "ratio",
        "Look at what lands from tools and the web; lower its volume, or keep it out.", is_windowed=True,
    ),
    "injection_ratio": Kind(
        "poisoning", "New rows that read as an instruction to the agent", "ratio",
        "See the table quarantine for the files they came from, and keep that source out.", is_windowed=True,
    ),
    "writer_rise_ratio": Kind(
        "poisoning", "Rise of one writer's share of a tenant's new claims", "ratio",
        "Find the writer in the report's table by its hash; opt it out or erase its session.",
        is_windowed=True,
    ),
    "tool_trust_rows": Kind(
        "poisoning", "Facts from tools trusted more than a tool may be", "rows",
        "Run slowwave consolidate --complete; if it stays, report this: it is a fault.",
    ),
    "flood_ratio": Kind(
        "poisoning", "Share of a tenant's sessions that one text came in", "ratio",
        "Find out who sends it; erase it where it is none of a person's own words.", is_windowed=True,
    ),
    "low_trust_served_ratio": Kind(
        "poisoning", "Served rows of low trust", "ratio",
        "Keep tool output from being recalled: lower its importance, or shorten its tier.",
        is_windowed=True,
    ),
    "foreign_index": Kind(
        "drift", "Live indexes of another vector space than the configured one", "indexes",
        "Configure the index's model, or run slowwave embed and publish with this one.",
    ),
    "other_space_ratio": Kind(
        "drift", "Vectors of spaces that are not configured", "ratio",
        "Finish the change of model: embed, publish, and take [embedder.previous] out.",
    ),
    "bare_ratio": Kind(
        "drift", "Rows of the live index without a vector", "ratio",
        "Run slowwave embed, and see which texts the model refuses.",
    ),
    "mean_shift": Kind(
        "drift", "Distance of the window's mean vector from that before", "distance",
        "Find out whether the topics changed or the model did: same name, other weights.", is_windowed=True,
    ),
    "cosine_fall": Kind(
        "drift", "Fall of the cosine of questions to their best hit", "cosine",
        "Compare model and text form of writers and readers; slowwave evaluate says how much is lost.",
        is_windowed=True,
    ),
    "similar_pairs_ratio": Kind(
        "crowding", "Pairs in one answer that say the same", "ratio",
        "Raise recall.diversity_share, or lower recall.duplicate_cosine.", is_windowed=True,
    ),
    "empty_ratio": Kind(
        "irrelevance", "Calls that were given nothing", "ratio",
        "Check the scope the callers name, and whether the index is published.", is_windowed=True,
    ),
    "weak_ratio": Kind(
        "irrelevance", "Answers whose best row hardly answers", "ratio",
        "See which questions these are with slowwave tune; try another embedder.", is_windowed=True,
    ),
    "damaged_generations": Kind(
        "index", "Live generations of the index that cannot be read", "generations",
        "Run slowwave publish --force, or slowwave publish --rollback.",
    ),
    "landed_hours": Kind("backlog", "Age of the oldest row not ingested", "hours", "Run slowwave nightly."),
    "unembedded_hours": Kind(
        "backlog", "Age of the oldest episode not embedded", "hours", "Run slowwave embed."
    ),
    "unconsolidated_hours": Kind(
        "backlog", "Age of the oldest episode not consolidated", "hours", "Run slowwave consolidate."
    ),
    "unpublished_hours": Kind(
        "backlog", "Age of the oldest episode not published", "hours", "Run slowwave publish."
    ),
    "night_hours": Kind(
        "backlog", "Time since the last whole night, where something waits", "hours",
        "See why the schedule does not run: cron, or the Prefect worker.",
    ),
    "failed_erasures": Kind(
        "erasure", "Erasures that failed", "requests", "See slowwave requests for the error, and erase again."
    ),
    "overdue_erasures": Kind(
        "erasure", "Erasures past their due date", "requests", "Run slowwave nightly at once."
    ),
    "open_erasure_days": Kind(
        "erasure", "Age of the oldest erasure that is not done", "days", "Run slowwave nightly."
    ),
    "bad_certificates": Kind(
        "erasure", "Certificates that do not hold", "certificates",
        "Compare certificates/ with a backup, and erase again.",
    ),
    "files_ratio": Kind(
        "compaction", "Files of the table that has most a partition, against what a step merges", "times",
        "See that nights run; or write in larger portions.",
    ),
    "partition_files": Kind(
        "compaction", "Small files in the partition that has most", "files",
        "See that nights run; lower upkeep.partition_files, or write in larger portions.",
    ),
    "superseded_ratio": Kind(
        "compaction", "Bytes of superseded files, against those in use", "times",
        "Lower ingest.vacuum_after_hours, and see that nights run.",
    ),
    "landing_segments": Kind(
        "compaction", "Segments of landed rows that wait", "segments", "Run slowwave ingest more often."
    ),
    "recall_log_bytes": Kind(
        "compaction", "Bytes of the recall log that wait", "bytes", "Run slowwave ingest more often."
    ),
    "stray_generations": Kind(
        "compaction", "Generations of the index that nothing points to", "generations",
        "Run slowwave publish --force: it removes what no pointer names.",
    ),
    "quarantine_ratio": Kind(
        "quarantine", "Refused rows, of those that came", "ratio",
        "See slowwave status for the reasons, and mend the source.", is_windowed=True,
    ),
    "quarantine_rise": Kind(
        "quarantine", "Share of refused rows, against the time before", "times",
        "See what changed in the source; slowwave ingest --explain shows the first rows.", is_windowed=True,
    ),
    "broken_links": Kind(
        "audit", "Broken links of the audit chain", "links",
        "Compare audit/ with a backup: somebody changed or lost events.",
    ),
    "failed_run_ratio": Kind(
        "runs", "Failed steps, of all steps", "ratio",
        "See the errors by step in the report, or slowwave status.", is_windowed=True,
    ),
    "failing_steps": Kind(
        "runs", "Steps whose newest run failed", "steps", "Run the step by hand and read its error."
    ),
}  # fmt: skip
"""By name, in the order they are told in."""
