"""What a reader offers beside searching: feedback on what was used, and the log of its calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lake.online.reader import Reader
from lake.scope import Scope
from transforms.embedding import vector_space

if TYPE_CHECKING:
    from lake.online.recall_log import LogStats


class Logged(Reader):
    """A reader whose calls are logged."""

    @property
    def space(self) -> str:
        """The vector space of this reader's model."""
        return vector_space(self._model().model_key)

    def used(
        self,
        ids: Sequence[str],
        *,
        tenant: str,
        call_id: str | None = None,
        user: str | None = None,
        agent: str | None = None,
        session: str | None = None,
    ) -> None:
        """Say which memories of an answer were of use; logged off the hot path, folded by the next night.

        Args:
            ids: Of memories; one that the call did not give is passed over and counted.
            tenant: Customer; always.
            call_id: Of the answer or context (its ``call_id``). Where None, for each memory the newest call
                that gave it inside the scope named here.
            user: Person; None leaves it open, like the next two.
            agent: Agent.
            session: Conversation.

        Raises:
            UsageError: An argument of another type, or neither a call nor a part of the scope.
        """
        scope = Scope(tenant, user, agent, session, is_tenant_wide=call_id is not None)
        self._log.used(ids, call_id, scope)

    def flush(self) -> None:
        """Write what waits to be logged."""
        self._log.flush()

    def close(self) -> None:
        """``flush``, and stop the log's thread. The reader can be used on."""
        self._log.close()

    def log_stats(self) -> LogStats:
        """What became of this reader's calls in the log of recalls."""
        return self._log.stats()
