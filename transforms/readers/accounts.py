"""Whose export it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from transforms.readers.records import Record


def several_accounts(records: Sequence[Record], account: Callable[[Mapping[str, object]], object]) -> bool:
    """Whether the conversations of one export belong to more than one account.

    The export of one person does not name its user: the caller does, and the vendor's account id
    stays in metadata. In an export of several people each row must name its own, or they mix.
    """
    found = {
        str(account(r.value)) for r in records if isinstance(r.value, dict) and account(r.value) is not None
    }
    return len(found) > 1
