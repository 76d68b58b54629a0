-- purpose: facts of one owner that are believed, as known at one instant, to hold at another
-- input: facts(tenant_id, owner, fact_id, fact, subject_key, predicate, aspect, object, polarity, confidence,
-- valid_from, valid_until, recorded_at, retired_at, revision, is_removed)
-- parameter: tenant_id VARCHAR, id of the customer
-- parameter: owner VARCHAR, user: and the user, or agent: and the agent
-- parameter: known_at TIMESTAMPTZ, UTC instant; what was recorded later is not seen
-- parameter: valid_at TIMESTAMPTZ, UTC instant at which facts hold; a later one than known_at counts as it
-- output: fact_id VARCHAR, fact VARCHAR, subject_key VARCHAR, predicate VARCHAR, aspect VARCHAR,
-- object VARCHAR, polarity VARCHAR, confidence FLOAT, valid_from TIMESTAMP WITH TIME ZONE,
-- valid_until TIMESTAMP WITH TIME ZONE
-- source: transforms/facts/belief.py, current; docs/facts.md says where a fold of the claims differs
with
    newest as (
        select *
        from facts
        where tenant_id = $tenant_id and owner = $owner
        qualify row_number() over (partition by fact_id order by revision desc) = 1
    ),
    standing as (select *, least($valid_at, $known_at) as asked_at from newest where not is_removed)
select fact_id, fact, subject_key, predicate, aspect, object, polarity, confidence, valid_from, valid_until
from standing
where
    recorded_at <= $known_at
    and valid_from <= asked_at
    and (valid_until is null or valid_until > asked_at or retired_at > $known_at)
order by subject_key, predicate, aspect, object, polarity, valid_from, fact_id
