-- purpose: how many memories retention took out, day by day, tenant, table and reason
-- input: removals(as_of_at, tenant_hash, table, reason, rows_removed)
-- parameter: from_at TIMESTAMPTZ, UTC instant; runs that reasoned at it or earlier are left out
-- parameter: until_at TIMESTAMPTZ, UTC instant; runs that reasoned later are left out
-- output: day_at TIMESTAMP WITH TIME ZONE, tenant_hash VARCHAR, table VARCHAR, reason VARCHAR, removed BIGINT
-- source: docs/memory-metrics.md; flows/retain.py writes the ledger. Traces, claims and lineage are no
-- memories; what went to cold storage has the reason cold
select
    date_trunc('day', as_of_at) as day_at, tenant_hash, "table", reason, sum(rows_removed)::bigint as removed
from removals
where
    as_of_at > $from_at
    and as_of_at <= $until_at
    and rows_removed > 0
    and "table" in ('episodes', 'facts', 'summaries', 'procedures', 'cold')
group by all
order by day_at, tenant_hash, "table", reason
