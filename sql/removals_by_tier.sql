-- purpose: what retention took out, by tenant, table and tier, and what waited when it was last looked at
-- input: removals(run_id, as_of_at, tenant_hash, table, tier, reason, rows_removed, rows_waiting, rows_late)
-- parameter: as_of TIMESTAMPTZ, only runs that reasoned at this instant or before
-- output: tenant_hash VARCHAR, table VARCHAR, tier VARCHAR, removed BIGINT, late BIGINT, waiting BIGINT
-- source: flows/retain.py writes the ledger, one row a run, tenant, table, tier and reason
with
    known as (select * from removals where as_of_at <= $as_of),
    by_reason as (
        select
            tenant_hash,
            "table",
            tier,
            reason,
            sum(rows_removed) as removed,
            sum(rows_late) as late,
            arg_max(rows_waiting, (as_of_at, run_id)) as waiting
        from known
        group by all
    )
select
    tenant_hash,
    "table",
    tier,
    sum(removed)::bigint as removed,
    sum(late)::bigint as late,
    sum(waiting)::bigint as waiting
from by_reason
group by all
order by tenant_hash, "table", tier
