-- purpose: how each user of a tenant has felt, week by week
-- input: conversations(conversation_id, tenant_id, user_id, sentiment, sentiment_label, started_at,
-- revision, is_removed)
-- parameter: tenant_id VARCHAR, id of the customer
-- parameter: user_id VARCHAR, id of the person; null takes every person of the tenant
-- parameter: from_at TIMESTAMPTZ, UTC instant; conversations that started earlier are left out
-- parameter: until_at TIMESTAMPTZ, UTC instant; conversations that started then or later are left out
-- output: user_id VARCHAR, week_at TIMESTAMP WITH TIME ZONE, conversations BIGINT, with_mood BIGINT,
-- mean_sentiment DOUBLE, negative_ratio DOUBLE
-- source: docs/summaries.md; a week starts on Monday, UTC; sentiment is -1 to 1, ratios are of
-- conversations with mood
with
    newest as (
        select *
        from conversations
        where tenant_id = $tenant_id and user_id is not null
        qualify row_number() over (partition by conversation_id order by revision desc) = 1
    ),
    wanted as (
        select user_id, sentiment, sentiment_label, date_trunc('week', started_at) as week_at
        from newest
        where
            not is_removed
            and started_at >= $from_at
            and started_at < $until_at
            and user_id = coalesce($user_id::varchar, user_id)
    )
select
    user_id,
    week_at,
    count(*) as conversations,
    count(sentiment) as with_mood,
    round(favg(sentiment), 4) as mean_sentiment,
    round(
        count(*) filter (where sentiment_label = 'negative')::double / nullif(count(sentiment), 0), 4
    ) as negative_ratio
from wanted
group by user_id, week_at
order by user_id, week_at
