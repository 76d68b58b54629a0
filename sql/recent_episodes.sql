-- purpose: the newest episodes of one session of one agent, oldest first, to reload working memory
-- input: episodes(tenant_id, agent_id, session_id, episode_id, role, speaker, kind, content, tool_name,
-- outcome, event_at)
-- parameter: tenant_id VARCHAR, id of the customer
-- parameter: agent_id VARCHAR, id of the agent
-- parameter: session_id VARCHAR, id of the conversation
-- parameter: since_at TIMESTAMPTZ, UTC instant; older episodes are left out
-- parameter: until_at TIMESTAMPTZ, UTC instant; later episodes are left out
-- parameter: max_rows BIGINT, most rows
-- output: episode_id VARCHAR, role VARCHAR, speaker VARCHAR, kind VARCHAR, content VARCHAR, tool_name
-- VARCHAR, outcome VARCHAR, event_at TIMESTAMP WITH TIME ZONE
-- source: policies, working memory: newest 15 within 24 hours
with
    in_session as (
        select *
        from episodes
        where
            tenant_id = $tenant_id
            and agent_id = $agent_id
            and session_id = $session_id
            and event_at between $since_at and $until_at
    ),
    newest as (select * from in_session order by event_at desc, episode_id limit $max_rows)
select episode_id, role, speaker, kind, content, tool_name, outcome, event_at
from newest
order by event_at, episode_id
