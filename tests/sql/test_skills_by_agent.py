"""The answer of ``skills_by_agent`` on a small visible table."""

from __future__ import annotations

from datetime import UTC, datetime

import polars as pl

from lake import queries
from transforms.schemas import PROCEDURES

NOON = datetime(2026, 3, 14, 12, tzinfo=UTC)


def test_what_stands_of_one_customer_best_first() -> None:
    rows = [
        # id, tenant, agent, kind, trigger, suggested, rate, revision, removed
        ("p1", "a", "g", "procedure", "mail", False, 0.5, 1, False),
        ("p1", "a", "g", "procedure", "mail", True, 0.8, 2, False),
        ("p2", "a", "g", "procedure", "post", True, 0.9, 1, False),
        ("p3", "a", "g", "procedure", "gone", True, 0.9, 1, False),
        ("p3", "a", "g", "procedure", "gone", True, 0.9, 2, True),
        ("p4", "a", "g", "lesson", "mail", True, None, 1, False),
        ("p5", "b", "g", "procedure", "mail", True, 1.0, 1, False),
        ("p6", "a", "f", "procedure", "draw", False, 0.1, 1, False),
    ]
    names = ["procedure_id", "tenant_id", "agent_id", "kind", "trigger", "is_suggested", "success_rate",
             "revision", "is_removed"]  # fmt: skip
    shown = pl.DataFrame(rows, schema={n: PROCEDURES.polars[n] for n in names}, orient="row")
    rest = {n: t for n, t in PROCEDURES.polars.items() if n not in names}
    held = shown.with_columns(pl.lit(None, t).alias(n) for n, t in rest.items()).with_columns(
        tool_sequence=pl.lit(["open", "send"]), last_event_at=pl.lit(NOON, PROCEDURES.polars["last_event_at"])
    )
    wanted = queries.statement("skills_by_agent")
    for seed in (1, 2):
        mixed = held.select(wanted.inputs["procedures"]).sample(fraction=1.0, shuffle=True, seed=seed)
        found = queries.run(wanted, {"procedures": mixed}, {"tenant_id": "a"})
        assert found.select("agent_id", "kind", "trigger", "is_suggested").rows() == [
            ("f", "procedure", "draw", False),
            ("g", "lesson", "mail", True),
            ("g", "procedure", "post", True),
            ("g", "procedure", "mail", True),
        ]
        assert set(found["tools"]) == {"open → send"}
        assert found["last_event_at"].to_list() == [NOON] * 4
