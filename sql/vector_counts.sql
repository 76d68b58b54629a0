-- purpose: vectors by vector space
-- input: vectors(model_key, dimensions, embedded_at)
-- output: model_key VARCHAR, dimensions INTEGER, vectors BIGINT, last_at TIMESTAMP WITH TIME ZONE
-- source: transforms/embedding.py names the spaces
select model_key, dimensions, count(*) as vectors, max(embedded_at) as last_at
from vectors
group by model_key, dimensions
order by model_key, dimensions
