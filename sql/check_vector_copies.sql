-- purpose: vectors that stand more than once in one vector space; none is right
-- input: vectors(tenant_id, text_hash, model_key)
-- output: tenant_id VARCHAR, text_hash VARCHAR, model_key VARCHAR, copies BIGINT
-- source: design: content already embedded is never embedded again
select tenant_id, text_hash, model_key, count(*) as copies
from vectors
group by tenant_id, text_hash, model_key
having count(*) > 1
order by tenant_id, text_hash, model_key
