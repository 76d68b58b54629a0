-- purpose: every measure of the lake or of one tenant, night by night
-- input: metrics(tenant_hash, name, part, value, unit, as_of_at)
-- parameter: tenant_hash VARCHAR, salted hash of the tenant; empty takes the whole lake
-- parameter: until_at TIMESTAMPTZ, UTC instant; nights that reasoned later are left out
-- output: as_of_at TIMESTAMP WITH TIME ZONE, name VARCHAR, part VARCHAR, value DOUBLE, unit VARCHAR
-- source: docs/memory-metrics.md; flows/metrics.py writes a row a measure and night
select as_of_at, name, part, value, unit
from metrics
where tenant_hash = $tenant_hash and as_of_at <= $until_at
order by as_of_at, name, part
