-- purpose: episode ids that stand more than once; none is right
-- input: episodes(tenant_id, episode_id)
-- output: tenant_id VARCHAR, episode_id VARCHAR, copies BIGINT
-- source: design: every input row ends in episodes or in quarantine, exactly once
select tenant_id, episode_id, count(*) as copies
from episodes
group by tenant_id, episode_id
having count(*) > 1
order by tenant_id, episode_id
