"""Claims to facts in plain Python, one claim after the other over dictionaries.

Two uses: what ``transforms.facts.reconcile`` is measured against, and the oracle its tests hold it to.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime
from operator import itemgetter
from typing import Any

from transforms.declarations import SENSITIVITIES
from transforms.derived import CLAIM_SOURCES
from transforms.ids import row_id
from transforms.policy import Policy
from transforms.predicates import BY_NAME, SINGLE_VALUED

Row = dict[str, Any]
RANK = {source: rank for rank, source in enumerate(CLAIM_SOURCES)}
SINGLE = set(SINGLE_VALUED)


def plain_reconcile(claims: Iterable[Row], policy: Policy) -> tuple[list[Row], list[Row]]:
    """Facts and decisions of claims: dicts of ``schemas.CLAIMS`` with object_group and similarity."""
    facts: list[Row] = []
    decisions: dict[str, Row] = {}
    for (is_single, *_), slot in _slots(claims).items():
        slot.sort(key=_order)
        facts += plain_fold(slot, is_single, policy, decisions)
    facts.sort(key=itemgetter("tenant_id", "owner", "subject_key", "predicate", "valid_from", "fact_id"))
    made = sorted(decisions.values(), key=itemgetter("tenant_id", "owner", "item_id"))
    return facts, made


def plain_fold(slot: list[Row], is_single: bool, policy: Policy, decisions: dict[str, Row]) -> list[Row]:
    """Facts of one slot, of its claims in order; ``decisions`` takes what is decided, by claim."""
    rows = _walk(slot, is_single, policy, decisions)
    _close(rows)
    return [_fact(row, policy) for row in rows if row["claims"]]


def _order(claim: Row) -> tuple[Any, ...]:
    return (claim["event_at"], -RANK[claim["source"]], claim["episode_id"], claim["span_start"],
            claim["span_end"], claim["claim_id"])  # fmt: skip


def _slots(claims: Iterable[Row]) -> dict[tuple[Any, ...], list[Row]]:
    slots: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    of_base: dict[tuple[Any, ...], set[str]] = defaultdict(set)
    for_all = []
    for claim in claims:
        base = (claim["tenant_id"], claim["owner"], claim["subject_key"], claim["predicate"], claim["aspect"])
        if claim["predicate"] in SINGLE:
            slots[True, base, ""].append(claim)
        elif claim["operation"] == "retract" and not claim["object_key"]:
            for_all.append((base, claim))
        else:
            slots[False, base, claim["object_group"]].append(claim)
            of_base[base].add(claim["object_group"])
    for base, claim in for_all:
        for group in of_base[base] or {""}:
            slots[False, base, group].append(claim)
    return slots


def _walk(slot: list[Row], is_single: bool, policy: Policy, decisions: dict[str, Row]) -> list[Row]:
    """Rows that the claims of one slot open and close, and the decision on each claim."""
    rows: list[Row] = []
    now: Row | None = None
    waiting: dict[tuple[str, str], list[Row]] = {}
    heard: dict[tuple[str, str], set[tuple[bool, str]]] = {}
    for claim in slot:
        rank, group, polarity = RANK[claim["source"]], claim["object_group"], claim["polarity"]
        if now is not None and now["until"] is not None and now["until"] <= claim["event_at"]:
            now, waiting, heard = None, {}, {}
        is_weaker = now is not None and rank < now["rank"]
        if claim["operation"] == "retract":
            waiting, heard = {}, {}
            if now is None or (claim["object_key"] and group != now["group"]):
                _decide(decisions, claim, ("NOOP", "nothing_to_retract"))
            elif is_weaker:
                _decide(decisions, claim, ("NOOP", "weaker_source"), other=now, standing=now["best"])
            else:
                _decide(decisions, claim, ("DELETE", "retracted"), result=now, standing=now["best"])
                now["ended_by"], now["reason"] = claim, "retracted"
                rows.append({"claims": [], "opening": claim})
                now = None
            continue
        is_denial = is_single and polarity == "negative"
        is_same = now is not None and group == now["group"] and polarity == now["polarity"]
        if is_denial and (now is None or group != now["group"]):
            _decide(decisions, claim, ("NOOP", "negates_nothing"))
            continue
        if now is not None and is_same and rank <= now["rank"]:
            if is_weaker:
                _decide(decisions, claim, ("NOOP", "weaker_confirmation"), result=now)
                continue
            _rest(now, claim)
            now["best"] = max(now["best"], claim["confidence"])
            if claim["valid_until"] is not None:
                now["until"] = claim["valid_until"]
            reason = "confirmed" if claim["object_key"] == now["opening"]["object_key"] else "merged"
            _decide(decisions, claim, ("NOOP", reason), result=now, sessions=len(now["sessions"]))
            continue
        if is_weaker and now is not None:
            _decide(decisions, claim, ("NOOP", "weaker_source"), other=now, standing=now["best"])
            continue
        confidence, line, said = claim["confidence"], (group, polarity), 0
        waited: list[Row] = []
        if rank == 0:
            waited = waiting.setdefault(line, [])
            heard.setdefault(line, set()).add(_session(claim))
            said, confidence = len(heard[line]), max([confidence, *(c["confidence"] for c in waited)])
            if said < policy.facts.min_sessions:
                waited.append(claim)
                _decide(decisions, claim, ("NOOP", "awaits_support"), sessions=said)
                continue
        if now is not None and not is_same and rank == now["rank"] and confidence < now["best"]:
            waited.append(claim)
            _decide(
                decisions, claim, ("NOOP", "less_confident"), other=now, standing=now["best"], sessions=said
            )
            continue
        if is_denial and now is not None:
            _decide(decisions, claim, ("DELETE", "negated"), result=now, standing=now["best"], sessions=said)
            for before in waited:
                sessions = _evidence_sessions(decisions, before)
                _decide(decisions, before, ("NOOP", "supports"), result=now, sessions=sessions)
            now["ended_by"], now["reason"] = claim, "negated"
            rows.append({"claims": [], "opening": claim})
            now, waiting, heard = None, {}, {}
            continue
        row: Row = {"opening": claim, "claims": [], "sessions": set(), "group": group, "polarity": polarity,
                    "rank": rank, "best": confidence, "until": claim["valid_until"], "supersedes": now,
                    "ended_by": None, "fact_id": row_id(claim["tenant_id"], claim["claim_id"])}  # fmt: skip
        for before in waited:
            _rest(row, before)
            _decide(decisions, before, ("NOOP", "supports"), result=row, sessions=len(row["sessions"]))
        _rest(row, claim)
        said = len(row["sessions"])
        if now is None:
            _decide(decisions, claim, ("ADD", "new"), result=row, sessions=said)
        else:
            rule = ("UPDATE", "confirmed_by_stronger" if is_same else "superseded")
            _decide(decisions, claim, rule, result=row, other=now, standing=now["best"], sessions=said)
            now["ended_by"], now["reason"], now["superseded_by"] = claim, "superseded", row
        rows.append(row)
        now, waiting, heard = row, {}, {}
    return rows


def _rest(row: Row, claim: Row) -> None:
    row["claims"].append(claim)
    row["sessions"].add(_session(claim))


def _session(claim: Row) -> tuple[bool, str]:
    session = claim["session_id"]
    return (True, claim["episode_id"]) if session is None else (False, session)


def _evidence_sessions(decisions: dict[str, Row], claim: Row) -> int:
    sessions: int = decisions[claim["claim_id"]]["evidence"]["sessions"]
    return sessions


def _decide(
    decisions: dict[str, Row],
    claim: Row,
    rule: tuple[str, str],
    result: Row | None = None,
    other: Row | None = None,
    standing: float | None = None,
    sessions: int = 0,
) -> None:
    """Note a decision; of a retraction of all objects the deletions, then the refusals, outweigh the rest."""
    evidence = {"confidence": round(claim["confidence"], 4)}
    if sessions:
        evidence["sessions"] = sessions
    if rule[1] == "merged" and claim["similarity"] is not None:
        evidence["similarity"] = round(claim["similarity"], 4)
    if standing is not None:
        evidence["standing_confidence"] = round(standing, 4)
    instants = [row["opening"]["recorded_at"] for row in (result, other) if row is not None]
    made = {
        **{name: claim[name] for name in ("tenant_id", "tenant_bucket", "owner", "user_id", "agent_id")},
        "item_id": claim["claim_id"],
        "item_kind": "claim",
        "operation": rule[0],
        "reason": rule[1],
        "result_id": result and result["fact_id"],
        "other_id": other and other["fact_id"],
        "evidence": evidence,
        "decided_at": max([claim["recorded_at"], *instants]),
    }
    is_for_all = claim["operation"] == "retract" and not claim["object_key"]
    before = decisions.get(claim["claim_id"]) if is_for_all else None
    if before is None:
        decisions[claim["claim_id"]] = made
        return
    merit = {"retracted": 0, "weaker_source": 1, "nothing_to_retract": 2}
    retired = before["evidence"].pop("retired", int(before["reason"] == "retracted"))
    retired += made["reason"] == "retracted"
    best = min(
        before, made, key=lambda row: (merit[row["reason"]], row["result_id"] or "", row["other_id"] or "")
    )
    if retired > 1:
        best["evidence"]["retired"] = retired
    decisions[claim["claim_id"]] = best


def _close(rows: list[Row]) -> None:
    """Say of each row when it ends and when that was learned: by the earliest of what came after it."""
    valid: datetime | None = None
    recorded: datetime | None = None
    for row in reversed(rows):
        if row["claims"]:
            opening = row["opening"]
            ends = [instant for instant in (row["until"], valid) if instant is not None]
            row["valid_until"] = max(opening["valid_from"], min(ends)) if ends else None
            row["retired_at"] = None
            if row["ended_by"] is not None:
                learned = [instant for instant in (row["until"], recorded) if instant is not None]
                row["retired_at"] = max(opening["recorded_at"], row["valid_until"], min(learned))
        decider = row["opening"]
        valid = decider["valid_from"] if valid is None else min(valid, decider["valid_from"])
        recorded = decider["recorded_at"] if recorded is None else min(recorded, decider["recorded_at"])


def _fact(row: Row, policy: Policy) -> Row:
    opening, claims = row["opening"], row["claims"]
    shown = opening
    if len(claims) > 1:
        ordered = sorted(claims, key=_order)
        shown = max(enumerate(ordered), key=lambda c: (c[1]["confidence"], len(c[1]["object"]), c[0]))[1]
    sessions = len(row["sessions"])
    best = max(c["confidence"] for c in claims)
    confidence = 1 - (1 - best) * (1 - policy.facts.confirm_gain) ** (sessions - 1)
    source = opening["source"]
    if source == "tool_result":
        if sessions >= policy.facts.min_sessions:
            source, confidence = "consolidated", min(c["confidence"] for c in claims)
        confidence = min(confidence, policy.claims.max_tool_confidence)
    expiries = [c["expires_at"] for c in claims]
    agents = {c["agent_id"] for c in claims}
    supersedes, superseded_by = row["supersedes"], row.get("superseded_by")
    predicate = BY_NAME.get(opening["predicate"])
    return {
        "fact_id": row["fact_id"],
        **{n: opening[n] for n in ("tenant_id", "tenant_bucket", "owner", "user_id")},
        "agent_id": opening["agent_id"] if len(agents) == 1 else None,
        "kind": predicate.kind if predicate else "fact",
        **{n: shown[n] for n in ("fact", "subject")},
        **{n: opening[n] for n in ("subject_key", "predicate", "aspect")},
        **{n: shown[n] for n in ("object", "object_key")},
        "polarity": opening["polarity"],
        "confidence": confidence,
        "importance": max(c["importance"] for c in claims),
        "trust": min(c["trust"] for c in claims),
        "sensitivity": max((c["sensitivity"] for c in claims), key=SENSITIVITIES.index),
        "source": source,
        "source_refs": sorted({c["episode_id"] for c in claims}),
        "claim_ids": [c["claim_id"] for c in claims],
        "span_episode_id": shown["episode_id"],
        **{n: shown[n] for n in ("span_start", "span_end")},
        "support": len(claims),
        "session_count": sessions,
        "supersedes": supersedes and supersedes["fact_id"],
        "superseded_by": superseded_by and superseded_by["fact_id"],
        "valid_from": opening["valid_from"],
        "valid_until": row["valid_until"],
        "first_mentioned_at": claims[0]["event_at"],
        "last_confirmed_at": claims[-1]["event_at"],
        "recorded_at": opening["recorded_at"],
        "retired_at": row["retired_at"],
        "retired_reason": row.get("reason"),
        "is_pinned": False,
        "retention_tier": policy.facts.retention_tier,
        "expires_at": None if None in expiries else max(expiries),
    }
