"""Summaries in a search: behind the turns that they cite."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lake.online.asked import Asked
from lake.online.contested import Floats, Payloads
from transforms.digests import digest_shares
from transforms.route_effects import Effect
from transforms.scope_columns import Positions, ScopeColumns


def behind_turns(
    asked: Asked, columns: ScopeColumns, routed: Effect, ranks: Floats, payloads: Payloads
) -> tuple[Effect, Floats]:
    """The effect and the relevance once summaries stand behind the turns that answer for themselves.

    Who asks for all about a topic, or for nothing in particular, wants the summary.
    """
    if routed.is_newest_first or (asked.route is not None and asked.route.kind in ("topic", "general")):
        return routed, ranks

    def cited(places: Positions) -> list[list[str]]:
        return [row["source_refs"] for row in payloads(places)]

    shares = digest_shares(ranks, columns, cited, asked.policy.recall)
    if shares is None:
        return routed, ranks
    share = shares if routed.share is None else routed.share * shares
    return replace(routed, share=share), np.where(ranks > 0, ranks * shares, ranks)
