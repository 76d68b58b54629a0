-- purpose: the newest ledger rows
-- input: runs(run_id, step, state, as_of_at, started_at, rows_in, rows_out, rejected, duplicates, seconds,
-- peak_bytes, generation, error)
-- parameter: max_rows BIGINT, most rows
-- output: step VARCHAR, state VARCHAR, as_of_at TIMESTAMP WITH TIME ZONE, started_at TIMESTAMP WITH TIME
-- ZONE, rows_in BIGINT, rows_out BIGINT, rejected BIGINT, duplicates BIGINT, seconds DOUBLE, peak_bytes
-- BIGINT, generation VARCHAR, error VARCHAR
-- source: flows/job.py writes the ledger
select
    step,
    state,
    as_of_at,
    started_at,
    rows_in,
    rows_out,
    rejected,
    duplicates,
    seconds,
    peak_bytes,
    generation,
    error
from runs
order by started_at desc, run_id
limit $max_rows
