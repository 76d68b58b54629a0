"""The sessions of a reader: what ``Recall`` offers of working memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lake.online.reader import Reader
from lake.online.working_log import SessionName
from transforms.errors import UsageError
from transforms.schemas import SENSITIVITIES
from transforms.scopes import require_plain

if TYPE_CHECKING:
    from lake.online.working import Session
    from lake.online.working_sums import SumUp


class Sessions(Reader):
    """Opens sessions of a lake."""

    def session(
        self,
        *,
        tenant: str,
        agent: str,
        session_id: str,
        user: str | None = None,
        sum_up: SumUp | None = None,
    ) -> Session:
        """The working memory of an open session: its newest rows, its summary and the state of its task.

        Nothing is read or written before the first call of it. It lives until its rows and its state are past
        their time (``working``, ``retention``), and survives the process.

        Args:
            tenant: Customer.
            agent: Agent.
            session_id: Conversation or run.
            user: Person; None for a session of nobody in particular, which holds rows of anybody.
            sum_up: Makes the summary of what leaves the window, in the background; by rule where None.

        Raises:
            UsageError: An id is empty, too long, of another type, reserved for shared memory, or holds a
                control character.
        """
        from lake.online.working import Session

        name = SessionName(tenant, agent, session_id, user)
        require_plain(tenant, agent)
        if max(map(len, (tenant, agent, session_id, user or ""))) > self._policy.ingest.max_id_chars:
            raise UsageError("an id is longer than any that lands", "Pass the ids that rows are landed with.")
        return Session(self._lake, name, self._policy, sum_up=sum_up)

    def working_rows(
        self, *, tenant: str, agent: str | None, session: str | None, user: str | None = None
    ) -> list[dict[str, Any]]:
        """What the working share of a context is filled with; none where no agent or no session is named.

        Args:
            tenant: Customer.
            agent: Agent.
            session: Conversation.
            user: Person.

        Returns:
            ``schemas.MEMORIES`` of tier working, instants in microseconds since 1970: state and summary,
            then the rows of the window by time. A session that nobody has opened is not opened by this,
            and has none.
        """
        if agent is None or session is None:
            return []
        from lake.online.working_file import read
        from lake.online.working_memories import shown_rows

        name = SessionName(tenant, agent, session, user)
        if not read(self._lake, name.key(self._lake)):
            return []
        opened = self.session(tenant=tenant, agent=agent, session_id=session, user=user)
        shown = SENSITIVITIES[: SENSITIVITIES.index(self._policy.recall.max_sensitivity) + 1]
        return [row for row in shown_rows(opened.memories()) if row["sensitivity"] in shown]
