-- purpose: how many episodes each tenant holds, over what span, and how many are past their time to live
-- input: episodes(tenant_id, user_id, session_id, retention_tier, expires_at, event_at, content_chars)
-- input: retention(retention_tier, ttl_seconds)
-- parameter: as_of TIMESTAMPTZ, UTC instant at which a row counts as expired
-- output: tenant_id VARCHAR, episodes BIGINT, users BIGINT, sessions BIGINT, expired BIGINT, content_chars
-- HUGEINT, first_event_at TIMESTAMP WITH TIME ZONE, last_event_at TIMESTAMP WITH TIME ZONE
-- source: policies, retention tiers: time to live counts from event_at; null never expires
with
    dated as (
        select
            episodes.*,
            least(
                coalesce(episodes.expires_at, 'infinity'::timestamptz),
                coalesce(episodes.event_at + to_seconds(retention.ttl_seconds), 'infinity'::timestamptz)
            ) as effective_expires_at
        from episodes
        left join retention on episodes.retention_tier = retention.retention_tier
    )
select
    tenant_id,
    count(*) as episodes,
    count(distinct user_id) as users,
    count(distinct session_id) as sessions,
    count(*) filter (where effective_expires_at <= $as_of) as expired,
    sum(content_chars) as content_chars,
    min(event_at) as first_event_at,
    max(event_at) as last_event_at
from dated
group by tenant_id
order by tenant_id
