-- purpose: how much of each tenant's memory each agent was given, and for how many people
-- input: recalls(call_id, tenant_id, agent_id, user_id, recalled_at)
-- parameter: as_of TIMESTAMPTZ, recalls until this instant
-- output: tenant_id VARCHAR, agent_id VARCHAR, calls BIGINT, memories BIGINT, users BIGINT, last_at TIMESTAMP
-- WITH TIME ZONE
-- source: lake/recall.py leaves one row a memory and call
select
    tenant_id,
    agent_id,
    count(distinct call_id) as calls,
    count(*) as memories,
    count(distinct user_id) as users,
    max(recalled_at) as last_at
from recalls
where recalled_at <= $as_of
group by tenant_id, agent_id
order by tenant_id, agent_id nulls first
