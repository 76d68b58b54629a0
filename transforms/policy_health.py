"""Thresholds of the health report: where a check warns and where it fails."""

from __future__ import annotations

from pydantic import Field

from transforms.policy_entries import Section


class HealthPolicy(Section):
    """One check per way in which a memory goes wrong, with the values from which on it warns and fails."""

    window_days: float = Field(30.0, gt=0, le=36_500)
    """How far back rates and recalls are looked at."""
    min_rows: int = Field(50, ge=1, le=1_000_000_000)
    """Fewest rows or calls that a share or mean is taken of; of fewer it is not known."""
    min_writers: int = Field(3, ge=2, le=1_000_000)
    """Fewest agents or sessions of a tenant among which one can write too much."""
    usual_refused_ratio: float = Field(0.01, gt=0, le=1)
    """A share of refused rows that is usual, whatever it was before."""
    flood_chars: int = Field(40, ge=1, le=1_000_000)
    """A shorter text may come as often as it likes: it is a greeting or an answer in a word."""
    low_trust: float = Field(0.4, ge=0, le=1)
    """A row trusted no more than this is of low trust."""
    weak_relevance: float = Field(0.3, ge=0, le=1)
    """A best row less relevant than this does not answer."""
    sample_calls: int = Field(2_000, ge=1, le=10_000_000)
    """Calls of the window that are looked at, about, where there are more."""
    sample_answers: int = Field(200, ge=1, le=1_000_000)
    """Of these, answers whose rows are compared with each other by vector."""
    sample_rows: int = Field(2_000, ge=1, le=1_000_000)
    """Rows of the live index, on each side of the window, whose vectors are averaged."""
    small_file_bytes: int = Field(1_000_000, ge=1, le=1_000_000_000_000)
    """A smaller data file is one to be merged."""
    free_bytes: int = Field(100_000_000, ge=0, le=1_000_000_000_000_000)
    """Up to so many superseded bytes nothing is said of them."""
    trend_nights: int = Field(14, ge=2, le=1_000)
    """Last nights that the page shows."""
    overdue_rows_warn: float = Field(1.0, ge=0, le=1_000_000_000_000)
    """Rows that are past their time to live, and past `rights.late_after_seconds` after it, and still
    there."""
    overdue_rows_fail: float = Field(1.0, ge=0, le=1_000_000_000_000)
    """From here on check `growth` fails."""
    net_growth_ratio_warn: float = Field(0.5, ge=0, le=1_000_000)
    """Rows that came in the window less those that retention took out, over the rows now held."""
    net_growth_ratio_fail: float = Field(0.9, ge=0, le=1_000_000)
    """From here on check `growth` fails."""
    bytes_per_row_ratio_warn: float = Field(2.0, ge=0, le=1_000_000)
    """Bytes of the tables per episode, over what they were at the start of the window."""
    bytes_per_row_ratio_fail: float = Field(4.0, ge=0, le=1_000_000)
    """From here on check `growth` fails."""
    ledger_bytes_warn: float = Field(2_000_000_000.0, ge=0, le=1_000_000_000_000_000_000)
    """Bytes of tables that have no time to live: runs, measures, costs, removals, requests."""
    ledger_bytes_fail: float = Field(20_000_000_000.0, ge=0, le=1_000_000_000_000_000_000)
    """From here on check `growth` fails."""
    fullest_user_ratio_warn: float = Field(1.1, ge=0, le=1_000_000)
    """Episodes of the fullest person or agent over `capacity.episodes`."""
    fullest_user_ratio_fail: float = Field(2.0, ge=0, le=1_000_000)
    """From here on check `growth` fails."""
    retired_in_index_rows_warn: float = Field(1.0, ge=0, le=1_000_000_000_000)
    """Rows of the live index that the lake no longer believes or holds."""
    retired_in_index_rows_fail: float = Field(100.0, ge=0, le=1_000_000_000_000)
    """From here on check `stale` fails."""
    stale_served_ratio_warn: float = Field(0.01, ge=0, le=1)
    """Served facts that had been retired before the call, of all served facts."""
    stale_served_ratio_fail: float = Field(0.05, ge=0, le=1)
    """From here on check `stale` fails."""
    expired_served_rows_warn: float = Field(1.0, ge=0, le=1_000_000_000_000)
    """Rows that were served after their time to live."""
    expired_served_rows_fail: float = Field(1.0, ge=0, le=1_000_000_000_000)
    """From here on check `stale` fails."""
    served_age_days_warn: float = Field(365.0, ge=0, le=36_500)
    """Median age of what is served."""
    served_age_days_fail: float = Field(1_095.0, ge=0, le=36_500)
    """From here on check `stale` fails."""
    contradicting_slots_warn: float = Field(1.0, ge=0, le=1_000_000_000_000)
    """Slots that take one fact at a time and hold two."""
    contradicting_slots_fail: float = Field(10.0, ge=0, le=1_000_000_000_000)
    """From here on check `contradiction` fails."""
    contradictions_served_ratio_warn: float = Field(0.01, ge=0, le=1)
    """Answers that hold two facts of such a slot, of all answers."""
    contradictions_served_ratio_fail: float = Field(0.05, ge=0, le=1)
    """From here on check `contradiction` fails."""
    low_trust_rise_ratio_warn: float = Field(0.2, ge=0, le=1)
    """Share of rows of low trust among the new ones, less the same share before."""
    low_trust_rise_ratio_fail: float = Field(0.5, ge=0, le=1)
    """From here on check `poisoning` fails."""
    injection_ratio_warn: float = Field(0.01, ge=0, le=1)
    """Rows that read as an instruction to the agent, of all rows that came."""
    injection_ratio_fail: float = Field(0.1, ge=0, le=1)
    """From here on check `poisoning` fails."""
    writer_rise_ratio_warn: float = Field(0.5, ge=0, le=1)
    """Share of a tenant's new claims that one agent, session or kind of source wrote, less its share
    before."""
    writer_rise_ratio_fail: float = Field(0.8, ge=0, le=1)
    """From here on check `poisoning` fails."""
    tool_trust_rows_warn: float = Field(1.0, ge=0, le=1_000_000_000_000)
    """Facts from tools that are trusted more than `trust.tool`."""
    tool_trust_rows_fail: float = Field(1.0, ge=0, le=1_000_000_000_000)
    """From here on check `poisoning` fails."""
    flood_ratio_warn: float = Field(0.3, ge=0, le=1)
    """Share of a tenant's sessions that one long text came in."""
    flood_ratio_fail: float = Field(0.6, ge=0, le=1)
    """From here on check `poisoning` fails."""
    low_trust_served_ratio_warn: float = Field(0.5, ge=0, le=1)
    """Served rows of low trust, of all served rows that are still held."""
    low_trust_served_ratio_fail: float = Field(0.9, ge=0, le=1)
    """From here on check `poisoning` fails."""
    foreign_index_warn: float = Field(1.0, ge=0, le=1_000_000)
    """Live indexes of another vector space than the configured one."""
    foreign_index_fail: float = Field(1.0, ge=0, le=1_000_000)
    """From here on check `drift` fails."""
    other_space_ratio_warn: float = Field(0.05, ge=0, le=1)
    """Vectors of spaces that are not configured, of all vectors."""
    other_space_ratio_fail: float = Field(0.6, ge=0, le=1)
    """From here on check `drift` fails."""
    bare_ratio_warn: float = Field(0.01, ge=0, le=1)
    """Rows of the live index without a vector, of those looked at."""
    bare_ratio_fail: float = Field(0.05, ge=0, le=1)
    """From here on check `drift` fails."""
    mean_shift_warn: float = Field(0.4, ge=0, le=2)
    """Cosine distance of the mean vector of what happened in the window from that of what happened
    before."""
    mean_shift_fail: float = Field(0.8, ge=0, le=2)
    """From here on check `drift` fails."""
    cosine_fall_warn: float = Field(0.05, ge=0, le=2)
    """How much lower the mean cosine of a question to its best hit is in the later half of the window than
    in the earlier."""
    cosine_fall_fail: float = Field(0.15, ge=0, le=2)
    """From here on check `drift` fails."""
    similar_pairs_ratio_warn: float = Field(0.05, ge=0, le=1)
    """Pairs of rows of one answer that say the same, of all pairs."""
    similar_pairs_ratio_fail: float = Field(0.2, ge=0, le=1)
    """From here on check `crowding` fails."""
    empty_ratio_warn: float = Field(0.3, ge=0, le=1)
    """Calls that were given nothing, of all calls."""
    empty_ratio_fail: float = Field(0.6, ge=0, le=1)
    """From here on check `irrelevance` fails."""
    weak_ratio_warn: float = Field(0.3, ge=0, le=1)
    """Answers whose best row is less relevant than `weak_relevance`, of all answers to a question."""
    weak_ratio_fail: float = Field(0.6, ge=0, le=1)
    """From here on check `irrelevance` fails."""
    damaged_generations_warn: float = Field(1.0, ge=0, le=1_000_000)
    """Live generations of the index, one a vector space, that cannot be opened and searched."""
    damaged_generations_fail: float = Field(1.0, ge=0, le=1_000_000)
    """From here on check `index` fails."""
    landed_hours_warn: float = Field(26.0, ge=0, le=1_000_000)
    """Age of the oldest landed row that no night has ingested."""
    landed_hours_fail: float = Field(50.0, ge=0, le=1_000_000)
    """From here on check `backlog` fails."""
    unembedded_hours_warn: float = Field(26.0, ge=0, le=1_000_000)
    """Age of the oldest episode that came after the last embedding."""
    unembedded_hours_fail: float = Field(50.0, ge=0, le=1_000_000)
    """From here on check `backlog` fails."""
    unconsolidated_hours_warn: float = Field(26.0, ge=0, le=1_000_000)
    """Age of the oldest episode that came after the last consolidation."""
    unconsolidated_hours_fail: float = Field(50.0, ge=0, le=1_000_000)
    """From here on check `backlog` fails."""
    unpublished_hours_warn: float = Field(26.0, ge=0, le=1_000_000)
    """Age of the oldest episode that the live index was built without."""
    unpublished_hours_fail: float = Field(50.0, ge=0, le=1_000_000)
    """From here on check `backlog` fails."""
    night_hours_warn: float = Field(26.0, ge=0, le=1_000_000)
    """Time since the last whole night, where something waits for one."""
    night_hours_fail: float = Field(50.0, ge=0, le=1_000_000)
    """From here on check `backlog` fails."""
    failed_erasures_warn: float = Field(1.0, ge=0, le=1_000_000_000_000)
    """Erasures that were tried and failed."""
    failed_erasures_fail: float = Field(1.0, ge=0, le=1_000_000_000_000)
    """From here on check `erasure` fails."""
    overdue_erasures_warn: float = Field(1.0, ge=0, le=1_000_000_000_000)
    """Erasures past their due date."""
    overdue_erasures_fail: float = Field(1.0, ge=0, le=1_000_000_000_000)
    """From here on check `erasure` fails."""
    open_erasure_days_warn: float = Field(2.0, ge=0, le=36_500)
    """Age of the oldest erasure that is not done."""
    open_erasure_days_fail: float = Field(14.0, ge=0, le=36_500)
    """From here on check `erasure` fails."""
    bad_certificates_warn: float = Field(1.0, ge=0, le=1_000_000_000_000)
    """Certificates that do not match their hash or the audit, or that name a leak."""
    bad_certificates_fail: float = Field(1.0, ge=0, le=1_000_000_000_000)
    """From here on check `erasure` fails."""
    files_ratio_warn: float = Field(1.0, ge=0, le=1_000_000)
    """Data files of the table that has most a partition, over `upkeep.step_files` a partition."""
    files_ratio_fail: float = Field(2.0, ge=0, le=1_000_000)
    """From here on check `compaction` fails."""
    partition_files_warn: float = Field(200.0, ge=0, le=1_000_000_000)
    """Small files in the partition that has most of them."""
    partition_files_fail: float = Field(1_000.0, ge=0, le=1_000_000_000)
    """From here on check `compaction` fails."""
    superseded_ratio_warn: float = Field(3.0, ge=0, le=1_000_000)
    """Bytes of files that no current version needs, over bytes that it needs."""
    superseded_ratio_fail: float = Field(10.0, ge=0, le=1_000_000)
    """From here on check `compaction` fails."""
    landing_segments_warn: float = Field(1_000.0, ge=0, le=1_000_000_000_000)
    """Segments of landed rows that wait."""
    landing_segments_fail: float = Field(10_000.0, ge=0, le=1_000_000_000_000)
    """From here on check `compaction` fails."""
    recall_log_bytes_warn: float = Field(250_000_000.0, ge=0, le=1_000_000_000_000_000_000)
    """Bytes of the recall log that wait."""
    recall_log_bytes_fail: float = Field(2_000_000_000.0, ge=0, le=1_000_000_000_000_000_000)
    """From here on check `compaction` fails."""
    stray_generations_warn: float = Field(1.0, ge=0, le=1_000_000_000)
    """Generations of the index on disk that nothing points to."""
    stray_generations_fail: float = Field(5.0, ge=0, le=1_000_000_000)
    """From here on check `compaction` fails."""
    quarantine_ratio_warn: float = Field(0.05, ge=0, le=1)
    """Refused rows, of all rows that came in the window."""
    quarantine_ratio_fail: float = Field(0.3, ge=0, le=1)
    """From here on check `quarantine` fails."""
    quarantine_rise_warn: float = Field(3.0, ge=0, le=1_000_000_000)
    """That share over the same share before the window."""
    quarantine_rise_fail: float = Field(10.0, ge=0, le=1_000_000_000)
    """From here on check `quarantine` fails."""
    broken_links_warn: float = Field(1.0, ge=0, le=1_000_000)
    """Whether the audit chain is broken."""
    broken_links_fail: float = Field(1.0, ge=0, le=1_000_000)
    """From here on check `audit` fails."""
    failed_run_ratio_warn: float = Field(0.1, ge=0, le=1)
    """Failed steps, of all steps in the window."""
    failed_run_ratio_fail: float = Field(0.5, ge=0, le=1)
    """From here on check `runs` fails."""
    failing_steps_warn: float = Field(1.0, ge=0, le=1_000_000)
    """Steps whose newest run failed."""
    failing_steps_fail: float = Field(3.0, ge=0, le=1_000_000)
    """From here on check `runs` fails."""
