-- purpose: what each agent of a customer can do, what it learnt from failures, and habits of its users
-- input: procedures(procedure_id, tenant_id, user_id, agent_id, kind, trigger, tool_sequence, policy,
-- success_count, failure_count, success_rate, average_reward, helpful_count, wrong_count, is_suggested,
-- session_count, last_event_at, revision, is_removed)
-- parameter: tenant_id VARCHAR, id of the customer
-- output: agent_id VARCHAR, user_id VARCHAR, kind VARCHAR, trigger VARCHAR, tools VARCHAR, policy VARCHAR,
-- success_count INTEGER, failure_count INTEGER, success_rate FLOAT, average_reward FLOAT, helpful_count
-- INTEGER, wrong_count INTEGER, is_suggested BOOLEAN, session_count INTEGER, last_event_at TIMESTAMP WITH
-- TIME ZONE
-- source: transforms/skills counts them; of each row the highest revision stands, unless it is removed
with
    newest as (
        select *
        from procedures
        where tenant_id = $tenant_id
        qualify row_number() over (partition by procedure_id order by revision desc) = 1
    ),
    standing as (select * from newest where not is_removed)
select
    agent_id,
    user_id,
    kind,
    trigger,
    array_to_string(tool_sequence, ' → ') as tools,
    policy,
    success_count,
    failure_count,
    success_rate,
    average_reward,
    helpful_count,
    wrong_count,
    is_suggested,
    session_count,
    last_event_at
from standing
order by agent_id, user_id, kind, is_suggested desc, success_rate desc, trigger, procedure_id
