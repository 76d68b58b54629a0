"""Damages sources, for tests that no reader falls over or loses a row."""

from __future__ import annotations

import copy
import json
import random

WRONG: tuple[object, ...] = (
    None,
    True,
    7,
    -1.5,
    "",
    "\ud800",
    "x" * 40,
    [],
    {},
    [[]],
    [None, 3],
    {"a": {"b": 1}},
)
"""Values of every type, for a field that holds another."""


def damaged_bytes(data: bytes, seed: int) -> bytes:
    """The source cut off, with flipped bytes, with two stretches swapped, or with one doubled."""
    chance = random.Random(seed)
    first, last = sorted(chance.randrange(len(data) + 1) for _ in range(2))
    form = seed % 4
    if form == 0:
        return data[:last]
    if form == 1:
        flipped = bytearray(data)
        for _ in range(8):
            flipped[chance.randrange(len(data))] = chance.randrange(256)
        return bytes(flipped)
    if form == 2:
        return data[last:] + data[first:last] + data[:first]
    return data[:last] + data[first:]


def damaged_json(value: object, seed: int) -> bytes:
    """The JSON with a few of its fields or items of a wrong type, or gone."""
    chance = random.Random(seed)
    whole = [copy.deepcopy(value)]
    for _ in range(chance.randrange(1, 5)):
        place: object = whole
        for _ in range(chance.randrange(1, 9)):
            keys = list(place) if isinstance(place, dict) else list(range(len(place)))  # type: ignore[arg-type]
            if not keys:
                break
            key = chance.choice(keys)
            inner = place[key]  # type: ignore[index]
            if not isinstance(inner, dict | list) or not inner or chance.random() < 0.1:
                if isinstance(place, dict) and chance.random() < 0.3:
                    del place[key]
                else:
                    place[key] = copy.deepcopy(chance.choice(WRONG))  # type: ignore[index]
                break
            place = inner
    return json.dumps(whole[0]).encode()
