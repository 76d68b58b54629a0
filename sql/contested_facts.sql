-- purpose: facts that are believed at an instant although another fact of the same slot is, too; none may be
-- input: facts(tenant_id, owner, fact_id, subject_key, predicate, aspect, valid_from, valid_until,
-- recorded_at, retired_at, revision, is_removed)
-- input: single_valued(predicate)
-- parameter: as_of TIMESTAMPTZ, what was recorded later is not seen
-- output: tenant_id VARCHAR, fact_id VARCHAR, predicate VARCHAR, slot BIGINT
-- source: transforms/facts/belief.py, current; transforms/predicates.py says which predicates take one object
with
    newest as (
        select * from facts qualify row_number() over (partition by fact_id order by revision desc) = 1
    ),
    believed as (
        select *
        from newest
        where
            not is_removed
            and recorded_at <= $as_of
            and valid_from <= $as_of
            and (valid_until is null or valid_until > $as_of or retired_at > $as_of)
            and predicate in (select predicate from single_valued)
    ),
    contested as (
        select tenant_id, owner, subject_key, predicate, aspect
        from believed
        group by tenant_id, owner, subject_key, predicate, aspect
        having count(*) > 1
    ),
    numbered as (
        select *, row_number() over (order by tenant_id, owner, subject_key, predicate, aspect) as slot
        from contested
    )
select believed.tenant_id, believed.fact_id, believed.predicate, numbered.slot
from believed
inner join numbered using (tenant_id, owner, subject_key, predicate, aspect)
order by numbered.slot, believed.fact_id
