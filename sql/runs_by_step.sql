-- purpose: how often each step ran and failed in a window, and how its newest run ended
-- input: runs(run_id, step, state, as_of_at, started_at, rows_out, seconds, error)
-- parameter: since TIMESTAMPTZ, runs that reasoned after this instant are counted
-- parameter: as_of TIMESTAMPTZ, later runs are not seen
-- output: step VARCHAR, runs BIGINT, failed BIGINT, rows_out BIGINT, seconds DOUBLE, last_state VARCHAR,
-- last_error VARCHAR, last_at TIMESTAMP WITH TIME ZONE, last_done_at TIMESTAMP WITH TIME ZONE
-- source: flows/job.py writes the ledger; a run that changed nothing is not in it
with
    known as (select * from runs where as_of_at <= $as_of),
    newest as (
        select *
        from known
        qualify row_number() over (partition by step order by started_at desc, run_id desc) = 1
    ),
    ended as (
        select step, max(as_of_at) filter (where state = 'done') as last_done_at from known group by step
    ),
    counted as (
        select
            step,
            count(*) as runs,
            count(*) filter (where state = 'failed') as failed,
            sum(rows_out) as rows_out,
            avg(seconds) as seconds
        from known
        where as_of_at > $since
        group by step
    )
select
    newest.step,
    coalesce(counted.runs, 0) as runs,
    coalesce(counted.failed, 0) as failed,
    coalesce(counted.rows_out, 0)::bigint as rows_out,
    counted.seconds,
    newest.state as last_state,
    newest.error as last_error,
    newest.as_of_at as last_at,
    ended.last_done_at
from newest
inner join ended using (step)
left join counted using (step)
order by newest.step
