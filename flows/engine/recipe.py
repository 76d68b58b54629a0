"""A job as plain data, so that another process makes the same job of it; secrets are not part of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Recipe:
    """All that a job depends on, without a key or password.

    Attributes:
        lake: Address of the lake, absolute where it is a path.
        config: The configuration (``flows.config.Config``) as JSON; keys are read from the worker's own
            environment.
        as_of: ISO 8601.
    """

    lake: str
    config: str
    as_of: str
