-- purpose: how many episodes entered the lake, day by day
-- input: runs(step, state, as_of_at, rows_out)
-- parameter: from_at TIMESTAMPTZ, UTC instant; runs that reasoned at it or earlier are left out
-- parameter: until_at TIMESTAMPTZ, UTC instant; runs that reasoned later are left out
-- output: day_at TIMESTAMP WITH TIME ZONE, landed BIGINT
-- source: docs/memory-metrics.md; flows/job.py writes a row a step, those that are gone by now counted
select date_trunc('day', as_of_at) as day_at, sum(rows_out)::bigint as landed
from runs
where step = 'ingest' and state = 'done' and as_of_at > $from_at and as_of_at <= $until_at
group by day_at
order by day_at
