-- purpose: refused rows by reason
-- input: quarantine(reason, source, quarantined_at)
-- output: reason VARCHAR, rows BIGINT, sources VARCHAR, last_at TIMESTAMP WITH TIME ZONE
-- source: transforms/validate.py names the reasons
select
    reason,
    count(*) as rows,
    string_agg(distinct source, ', ' order by source) as sources,
    max(quarantined_at) as last_at
from quarantine
group by reason
order by rows desc, reason
