-- purpose: every request as it stood at an instant, with how long it took and whether that was in time
-- input: requests(request_id, kind, subject_kind, subject_hash, tenant_hash, basis, requested_by,
-- requested_at, due_at, state, closed_at, revision)
-- parameter: as_of TIMESTAMPTZ, a request that was closed after it was still open
-- output: request_id VARCHAR, kind VARCHAR, subject_kind VARCHAR, subject_hash VARCHAR, tenant_hash VARCHAR,
-- basis VARCHAR, requested_by VARCHAR, requested_at TIMESTAMP WITH TIME ZONE, due_at TIMESTAMP WITH TIME
-- ZONE,
-- state VARCHAR, closed_at TIMESTAMP WITH TIME ZONE, seconds DOUBLE, is_late BOOLEAN
-- source: lake/rights/requests.py; of each request the highest revision stands
with
    newest as (
        select *
        from requests
        where requested_at <= $as_of
        qualify row_number() over (partition by request_id order by revision desc) = 1
    ),
    at_instant as (
        select
            * exclude (state, closed_at),
            case when closed_at > $as_of then 'open' else state end as state,
            case when closed_at > $as_of then null else closed_at end as closed_at
        from newest
    )
select
    request_id,
    kind,
    subject_kind,
    subject_hash,
    tenant_hash,
    basis,
    requested_by,
    requested_at,
    due_at,
    state,
    closed_at,
    epoch(closed_at) - epoch(requested_at) as seconds,
    coalesce(closed_at, $as_of) > due_at as is_late
from at_instant
order by requested_at, request_id
