"""What a reader offers beside searching: what past work suggests for a task at hand."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from lake.online.reader import Reader
from lake.scope import Scope

if TYPE_CHECKING:
    from lake.online.experience import AttemptShelf
    from transforms.experience import Hint


class Experienced(Reader):
    """A reader that knows how past attempts ended."""

    _attempts: AttemptShelf | None = None

    def experience(
        self,
        query: str,
        *,
        tenant: str,
        user: str | None = None,
        agent: str | None = None,
        session: str | None = None,
        tenant_wide: bool = False,
        k: int = 5,
        as_of: datetime | str | None = None,
    ) -> list[Hint]:
        """What past attempts suggest for a task, the most alike first.

        A success is a ``hint``, a failure for a reason that lasts a ``different_approach``, and a
        ``procedure`` is what worked in more than ``skills.min_success_rate`` of at least
        ``skills.min_attempts`` runs. A failure that passes by itself, such as a time-out, gives nothing.

        Args:
            query: The task at hand.
            tenant: As for ``search``, like the other scope arguments.
            user: Person.
            agent: Agent.
            session: Conversation.
            tenant_wide: The whole tenant.
            k: Most hints.
            as_of: As for ``search``.

        Raises:
            UsageError: As ``search``.
        """
        from lake.online.experience import AttemptShelf, experience

        scope = Scope(tenant, user, agent, session, tenant_wide)
        asked = self._asked(
            query, (scope,), self._filters(as_of, None), self._policy.context.candidates, None
        )
        with self._lock:
            if self._attempts is None:
                self._attempts = AttemptShelf(self._lake)
        return experience(self._searcher, self._attempts, asked, k)
