"""Which rows of a scope may be served: filters and tombstones as masks over its scoring columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lake.scope import Filters
from transforms.scope_columns import KINDS, SENSITIVITY_CODES, SEPARATOR, ScopeColumns

if TYPE_CHECKING:
    from lake.rights.tombstones import Tombstones

Mask = NDArray[np.bool_]


def served(columns: ScopeColumns, filters: Filters) -> Mask:
    """Which rows the filters let through, tombstones apart."""
    first, last = filters.events_us
    mask: Mask = columns.expires_us > filters.now_us
    if filters.max_sensitivity != SENSITIVITY_CODES[-1]:
        mask &= columns.sensitivity <= SENSITIVITY_CODES.index(filters.max_sensitivity)
    if first is not None:
        mask &= columns.event_us >= first
    if last is not None:
        mask &= columns.event_us < last
    if filters.kinds is not None:
        mask &= np.isin(columns.kind, [KINDS.index(kind) for kind in filters.kinds if kind in KINDS])
    return mask


def refused(columns: ScopeColumns, tenant: str, tombstones: Tombstones) -> Mask:
    """Which rows of a tenant are refused by their owners' tombstones.

    Those of single memories, and of what rests on one, are looked at where a row's payload is read.
    """
    mask = np.zeros(len(columns), np.bool_)
    codes = np.stack([columns.user, columns.agent, columns.session], axis=1)
    owners, inverse = np.unique(codes, axis=0, return_inverse=True)
    for number, (user, agent, session) in enumerate(owners.tolist()):
        key = _name(columns.session_names, session)
        until = tombstones.until_us(
            (
                tenant,
                _name(columns.user_names, user),
                _name(columns.agent_names, agent),
                key.partition(SEPARATOR)[2] if key else None,
            )
        )
        if until is not None:
            mask |= (inverse.reshape(-1) == number) & (columns.event_us <= until)
    return mask


def _name(names: Sequence[str], code: int) -> str | None:
    return None if code < 0 else names[code]
