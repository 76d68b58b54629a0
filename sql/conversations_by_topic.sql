-- purpose: what a user's conversations were about, the most frequent terms first
-- input: conversations(conversation_id, tenant_id, user_id, topics, sentiment, started_at, revision,
-- is_removed)
-- parameter: tenant_id VARCHAR, id of the customer
-- parameter: user_id VARCHAR, id of the person
-- parameter: from_at TIMESTAMPTZ, UTC instant; conversations that started earlier are left out
-- parameter: until_at TIMESTAMPTZ, UTC instant; conversations that started then or later are left out
-- parameter: max_rows BIGINT, most rows
-- output: topic VARCHAR, conversations BIGINT, mean_sentiment DOUBLE, last_at TIMESTAMP WITH TIME ZONE
-- source: docs/summaries.md; sentiment is -1 to 1, null where none of them carries mood
with
    newest as (
        select *
        from conversations
        where tenant_id = $tenant_id and user_id = $user_id
        qualify row_number() over (partition by conversation_id order by revision desc) = 1
    ),
    named as (
        select unnest(list_distinct(topics)) as topic, sentiment, started_at
        from newest
        where not is_removed and started_at >= $from_at and started_at < $until_at
    )
select
    topic, count(*) as conversations, round(favg(sentiment), 4) as mean_sentiment, max(started_at) as last_at
from named
group by topic
order by conversations desc, last_at desc, topic
limit $max_rows
