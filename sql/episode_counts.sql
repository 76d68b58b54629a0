-- purpose: how many episodes each tenant holds, over what span, and how many are past their time to live
-- input: lifetimes(tenant_id, user_id, session_id, expires_at, event_at, content_chars)
-- parameter: as_of TIMESTAMPTZ, UTC instant at which a row counts as expired
-- output: tenant_id VARCHAR, episodes BIGINT, users BIGINT, sessions BIGINT, expired BIGINT, content_chars
-- HUGEINT, first_event_at TIMESTAMP WITH TIME ZONE, last_event_at TIMESTAMP WITH TIME ZONE
-- source: episodes with the expiry of transforms/retention.py, the one definition of it; null never expires
select
    tenant_id,
    count(*) as episodes,
    count(distinct user_id) as users,
    count(distinct session_id) as sessions,
    count(*) filter (where expires_at <= $as_of) as expired,
    sum(content_chars) as content_chars,
    min(event_at) as first_event_at,
    max(event_at) as last_event_at
from lifetimes
group by tenant_id
order by tenant_id
