"""All rules, in order of precedence: of two that read the same words the first counts."""

from __future__ import annotations

from transforms.claims import (
    rules_choice,
    rules_denial,
    rules_health,
    rules_home,
    rules_person,
    rules_plan,
    rules_reply,
    rules_ruling,
    rules_system,
    rules_taste,
    rules_tool,
    rules_undone,
    rules_work,
    rules_world,
)
from transforms.claims.rule import Rule

USER_RULES: tuple[Rule, ...] = (
    *rules_undone.RULES,
    *rules_denial.RULES,
    *rules_choice.RULES,
    *rules_reply.RULES,
    *rules_health.RULES,
    *rules_taste.RULES,
    *rules_ruling.RULES,
    *rules_plan.RULES,
    *rules_system.RULES,
    *rules_person.IDENTITY,
    *rules_work.RULES,
    *rules_home.RULES,
    *rules_person.FAMILY,
    *rules_world.RULES,
)
TOOL_RULES: tuple[Rule, ...] = rules_tool.RULES
