"""Progress of a flow run: Prefect's progress artifacts, its log, and its way of stopping a run.

With ``flows.prefect_flows`` and ``flows.prefect_steps`` the only modules that import Prefect.
"""

from __future__ import annotations

from uuid import UUID

from httpx import HTTPError
from prefect import get_run_logger
from prefect.artifacts import create_progress_artifact, update_progress_artifact
from prefect.exceptions import ExternalSignal, PrefectException

from flows import stopping
from flows.job import Progress
from flows.progress_reports import reports
from transforms.policy import Policy

UNSHOWN = (HTTPError, PrefectException, OSError, RuntimeError)
"""Faults of the server, or on the way to it: a figure that cannot be shown fails no job."""

stopping.KINDS.append(ExternalSignal)  # what its engine raises at SIGTERM


class _Artifacts:
    """See ``flows.progress_reports.Board``."""

    def create(self, key: str, ratio: float, description: str) -> UUID | None:
        try:
            made = create_progress_artifact(100 * ratio, key, description)
        except UNSHOWN:
            return None
        return made if isinstance(made, UUID) else None

    def update(self, known_by: UUID, ratio: float, description: str) -> None:
        try:
            update_progress_artifact(known_by, 100 * ratio, description)
        except UNSHOWN:
            return


def run_progress(policy: Policy) -> Progress:
    """Progress of the flow run that this is called in."""
    log = get_run_logger()
    return reports(lambda line: log.info("%s", line), _Artifacts(), policy.run.progress_seconds)
