-- purpose: every line of the cost ledger in a window of time, with its month, day and the state of its run
-- input: costs(cost_id, run_id, step, tenant_hash, model_key, task, mode, requests, cached, input_tokens,
-- output_tokens, money, as_of_at)
-- input: runs(run_id, state)
-- parameter: after TIMESTAMPTZ, lines whose run reasoned later than this
-- parameter: until TIMESTAMPTZ, lines whose run reasoned at this instant or before
-- output: month VARCHAR, day DATE, as_of_at TIMESTAMP WITH TIME ZONE, run_id VARCHAR, step VARCHAR, state
-- VARCHAR,
-- tenant_hash VARCHAR, model_key VARCHAR, task VARCHAR, mode VARCHAR, requests BIGINT, cached BIGINT,
-- input_tokens BIGINT, output_tokens BIGINT, money DOUBLE
-- source: flows/job.py writes a line a run, tenant, model, task and mode; a killed run has no state
with
    known as (select * from costs where as_of_at > $after and as_of_at <= $until),
    states as (select run_id, max(state) as state from runs group by run_id)
select
    left(known.as_of_at::date::varchar, 7) as month,
    known.as_of_at::date as "day",
    known.as_of_at,
    known.run_id,
    known.step,
    states.state,
    known.tenant_hash,
    known.model_key,
    known.task,
    known.mode,
    known.requests,
    known.cached,
    known.input_tokens,
    known.output_tokens,
    known.money
from known
left join states on states.run_id = known.run_id
order by known.as_of_at, known.cost_id
