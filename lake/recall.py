"""Recall online: search and context inside a scope, from the live generation and the fresh tail.

Importing this module loads no index library, no model and no orchestrator.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from lake import arguments
from lake.answers import Answer, Context, Memory, answer
from lake.arguments import MOST_ROWS
from lake.online.believing import Beliefs
from lake.online.experienced import Experienced
from lake.online.logged import Logged
from lake.online.query_vector import OwnVector
from lake.online.sessions import Sessions
from lake.online.shares import Shares
from lake.scope import Scope
from transforms.embedding import vector_space
from transforms.floor import floor_of
from transforms.scripts import script

__all__ = ["Answer", "Context", "Memory", "Recall"]


class Recall(Beliefs, Experienced, Logged, Sessions, Shares):
    """Reads one lake. Make one and keep it: it holds the opened index. Safe between threads.

    Args:
        lake: A lake or its address.
        policy: Weights and limits; the default policy where None.
        embedder: The model that embeds queries; the local default where None. It must be the one
            that the live generation was built with.
        reranker: Orders the best rows of each search anew; none where None. Its failures change nothing
            but the order, and an answer's ``reranked`` names them.
        keys: The keys of an encrypted lake; a ``Lake`` may bring its own. Without them its published
            memories are recalled only until something lands after them, which raises a ``LakeError``.
    """

    def search(
        self,
        query: str,
        *,
        tenant: str,
        user: str | None = None,
        agent: str | None = None,
        session: str | None = None,
        tenant_wide: bool = False,
        also: Sequence[str] = (),
        k: int | None = None,
        kinds: Sequence[str] | None = None,
        as_of: datetime | str | None = None,
        partial: bool = False,
        weights: str | Mapping[str, float] | None = None,
        vector: OwnVector | None = None,
        space: str | None = None,
    ) -> Answer:
        """The best memories of a scope for a query, best first.

        Args:
            query: What to look for, in any language. Words beyond its first 8,000 characters are not
                looked for.
            tenant: Customer; always.
            user: Person. At least one of user, agent and session, or ``tenant_wide``.
            agent: Agent.
            session: Conversation.
            tenant_wide: Search all users and agents of the tenant.
            also: What is read besides: ``user``, ``agent`` (what it holds of no person), ``team:<id>``,
                ``teams`` (all of the caller's), ``tenant``, ``system``; see ``lake.sharing.reading``.
            k: Most rows; the policy's ``default_k`` where None.
            kinds: Only these kinds.
            as_of: The instant to answer at, a datetime or ISO 8601 text with a zone: rows expired at
                it, or of a later event, are not served. Where None it is now, and a row whose
                writer's clock is ahead is served. A call as of an instant is not logged.
            partial: With ``as_of``, be content with what the lake still holds of what stood then.
            weights: ``five``, ``three``, ``two``, or numbers by factor that sum to 1; None: those that the
                policy gives the agent (``recall.agents``), else its own (``recall.weights``).
            vector: The query's vector, where the caller has embedded it; always with ``space``.
            space: Its vector space, which must be this reader's (``Recall.space``).

        Raises:
            UsageError: No scope, an empty query, a k below 1, an unknown kind, an as_of without zone,
                unknown weights, a vector that is none, an argument of another type; or the caller is no
                member of the team.
            HistoryError: Retention has deleted since what stood at ``as_of``, and no version holds it.
            ModelMismatchError: The index, or the vector, is of another model.
        """
        began = time.perf_counter()
        scopes = self._scopes(Scope(tenant, user, agent, session, tenant_wide), also)
        wanted = self._policy.recall.default_k if k is None else arguments.count("k", k, MOST_ROWS)
        candidates = max(wanted, self._policy.recall.candidates)
        filters, own = self._filters(as_of, kinds, partial=partial), (vector, space)
        asked = self._asked(query, scopes, filters, candidates, wanted, weights, own)
        found = self._searcher.ranked(asked)
        told = answer(found, asked)
        told.call_id = self._log.record(asked, found, "search", [memory.id for memory in told], began=began)
        return told

    def context(
        self,
        query: str,
        *,
        tenant: str,
        user: str | None = None,
        agent: str | None = None,
        session: str | None = None,
        tenant_wide: bool = False,
        also: Sequence[str] = (),
        budget: int | None = None,
        preset: str | None = None,
        model_context: int | None = None,
        system_prompt: str = "",
        reserve: int | None = None,
        as_of: datetime | str | None = None,
        partial: bool = False,
    ) -> Context:
        """Memories for a query, packed into a token budget as delimited data.

        Args:
            query: What the prompt is about.
            tenant: As for ``search``, like the other scope arguments.
            user: Person.
            agent: Agent.
            session: Conversation.
            tenant_wide: Search the whole tenant.
            also: As for ``search``.
            budget: Most tokens of the text; the policy's default where None.
            preset: ``small`` or ``large``: a budget, and how many candidates it is filled from.
            model_context: Tokens of the model's window, in place of a budget: what the system prompt, the
                query and the answer leave of it is the budget.
            system_prompt: Counted with ``model_context``.
            reserve: Tokens kept for the answer with ``model_context``; the policy's where None.
            as_of: As for ``search``.
            partial: As for ``search``.

        Raises:
            HistoryError: As ``search``.
            UsageError: As ``search``, or a budget below 1, a window with no room, an unknown preset.
        """
        from lake.online.contexts import Window, packed

        began = time.perf_counter()
        scopes = self._scopes(Scope(tenant, user, agent, session, tenant_wide), also)
        window = Window(preset, budget, model_context, system_prompt, reserve)
        policy = window.policy(self._policy.context)
        tokens = window.tokens(policy, query)
        filters = self._filters(as_of, None, partial=partial)
        asked = self._asked(query, scopes, filters, policy.candidates, None)
        found = self._searcher.ranked(asked)
        base = self._searcher.base_facts(asked, self._policy.routing.base_facts)
        space = vector_space(self._model().model_key)
        floor = floor_of(self._policy.recall, space, found.background, script(asked.text))
        is_now = as_of is None
        working = self.working_rows(tenant=tenant, agent=agent, session=session, user=user) if is_now else []
        told = packed(found, asked, policy, tokens, floor=floor, base=base, working=working)
        sizes = told.tokens_of
        given = sizes.keys()
        call_id = self._log.record(asked, found, "context", given, sizes, began=began, budget=tokens)
        return replace(told, call_id=call_id, reranked=found.reranked)
