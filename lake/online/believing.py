"""What a reader offers beside searching: what is held to be true, and why."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from lake import arguments
from lake.online.reader import Reader
from lake.scope import Scope
from transforms.embedding import vector_space

if TYPE_CHECKING:
    from lake.beliefs import Fact
    from lake.chain import Chain


class Beliefs(Reader):
    """A reader that knows the facts of a scope."""

    def facts(
        self,
        *,
        tenant: str,
        user: str | None = None,
        agent: str | None = None,
        session: str | None = None,
        tenant_wide: bool = False,
        as_of: datetime | str | None = None,
        recorded_by: datetime | str | None = None,
        history: bool = False,
        partial: bool = False,
    ) -> list[Fact]:
        """What is held to be true of a scope, last confirmed first.

        Args:
            tenant: Customer; always.
            user: Person. At least one of user and agent, or ``tenant_wide``.
            agent: Agent.
            session: None: facts are of a user or an agent.
            tenant_wide: All users and agents of the tenant.
            as_of: What was true at this instant by what had been said until then; now where None.
            recorded_by: Only by what the lake held at this instant, whatever has been landed since.
            history: Facts that no longer hold, too.
            partial: As for ``search``.

        Raises:
            UsageError: As ``search``, or a session.
            HistoryError: As ``search``.
        """
        from lake.beliefs import facts_of, scope_of

        at, known = arguments.instant(as_of), arguments.instant(recorded_by)
        return facts_of(
            self._lake,
            scope_of(tenant, user, agent, session, tenant_wide),
            self._policy,
            at or datetime.now(UTC),
            is_replay=at is not None,
            recorded_by=known,
            has_history=history,
            is_partial=partial,
            space=lambda: vector_space(self._model().model_key),
        )

    def explain(
        self,
        row_id: str,
        *,
        tenant: str,
        user: str | None = None,
        agent: str | None = None,
        session: str | None = None,
        tenant_wide: bool = False,
        also: Sequence[str] = (),
    ) -> Chain:
        """Why a memory is there: the words it rests on, and every decision between them and it.

        Args:
            row_id: Id of a memory, fact, claim, topic, conversation or attempt, or the first eight
                characters of it or more.
            tenant: As for ``search``, like the other scope arguments.
            user: Person.
            agent: Agent.
            session: Conversation.
            tenant_wide: The whole tenant.
            also: As for ``search``: the row may be of one of these.

        Raises:
            UsageError: As ``search``, or the scope holds no such row, or several whose ids begin so.
        """
        from lake.chain import chain_in

        scopes = self._scopes(Scope(tenant, user, agent, session, tenant_wide), also)
        return chain_in(self._lake, scopes, arguments.question(row_id), self._policy.recall.max_sensitivity)
