"""What a reader offers beside searching: giving an agent what another one knows."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from lake.online.reader import Reader
from lake.scope import Filters, Scope
from transforms.schemas import SENSITIVITIES

if TYPE_CHECKING:
    from lake.rights.tombstones import Tombstones
    from lake.sharing.share import Shared


class Shares(Reader):
    """A reader that shares between agents."""

    def share(
        self,
        query: str,
        *,
        tenant: str,
        from_agent: str,
        to_agent: str,
        user: str | None = None,
        k: int | None = None,
    ) -> Shared:
        """Give an agent what another one knows about a query, as far as a grant lets it.

        Args:
            query: What the receiving agent asks.
            tenant: Customer of both.
            from_agent: Whose memories are searched.
            to_agent: Who gets copies of them, in its own episodic memory.
            user: Only memories of this person.
            k: Most copies; ``sharing.default_k`` where None.

        Returns:
            What was shared, and what was withheld and why.

        Raises:
            UsageError: As ``search``, or an id is reserved, or the two agents are one.
        """
        from lake.sharing.share import Sharing

        return Sharing(self._lake, self._policy, self._found).share(
            query, tenant, from_agent, to_agent, user, k
        )

    def _found(self, query: str, scope: Scope, tombstones: Tombstones, now: datetime) -> list[dict[str, Any]]:
        """Rows of ``schemas.MEMORIES`` that sharing chooses from, best first."""
        filters = Filters(as_of=now, max_sensitivity=SENSITIVITIES[-1], tombstones=tombstones)
        most = self._policy.sharing.candidates
        ranked = self._searcher.ranked(self._asked(query, (scope,), filters, most, most))
        return [ranked.found.rows[place] for place in ranked.kept()[:most]]
