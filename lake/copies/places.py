"""Where copies of a lake are known to lie: what an erasure has to tell of."""

from __future__ import annotations

import json

from lake.lake import Lake

PLACES = "state/backups.json"


def places(lake: Lake) -> list[str]:
    """Addresses of the lake's backups, also of those that were begun and never finished."""
    try:
        held = json.loads(lake.storage.read(PLACES) or b"[]")
    except ValueError:
        return []
    return [place for place in held if isinstance(place, str)] if isinstance(held, list) else []


def note_place(lake: Lake, uri: str) -> None:
    """Remember one, before anything is copied there."""
    known = places(lake)
    if uri not in known:
        lake.storage.write(PLACES, json.dumps(sorted({*known, uri})).encode())
