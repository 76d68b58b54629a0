"""Reads the token dictionary of a full-text index: a finite state transducer, format 3 of the ``fst`` crate.

Tokens share their beginnings and ends there, so no search of its bytes finds them. The machine is laid
out backwards: a node's address is that of its last byte, and its fields stand before it.
"""

from __future__ import annotations

from collections.abc import Iterator

FORMAT = 3
_HEADER, _FOOTER = 16, 20
_END = 0
"""Address of the final node that leads nowhere; it has no bytes."""
_COMMON = b"te/oasripcnw.hlm-du012g=:bf3y5&_4v9678k%?xCDASFIBEjPTzRNM+LOqHG"
"""Bytes that a node of one transition holds in six bits, by number from 1."""
_KEPT = 50_000
"""Nodes that are kept as read: words asked for one after the other begin alike."""
_INDEXED_FROM = 33
"""Transitions of a node from which on it holds a table of 256 places."""


class TokenSet:
    """The tokens of a dictionary.

    Args:
        data: The transducer's bytes.

    Raises:
        ValueError: They are no such transducer.
    """

    def __init__(self, data: bytes) -> None:
        if len(data) < _HEADER + _FOOTER or int.from_bytes(data[:8], "little") != FORMAT:
            raise ValueError("no token dictionary of a known format")
        self._data = data
        self._count = int.from_bytes(data[-20:-12], "little")
        self._root = int.from_bytes(data[-12:-4], "little")
        self._known: dict[int, dict[int, int]] = {}
        if self._root >= len(data) - _FOOTER:
            raise ValueError("a token dictionary without a root")

    def __len__(self) -> int:
        return self._count

    def __contains__(self, token: bytes) -> bool:
        address = self._root
        for byte in token:
            known = self._known.get(address)
            if known is None:
                known = self._follows(address)
                if len(self._known) < _KEPT:
                    self._known[address] = known
            follows = known.get(byte)
            if follows is None:
                return False
            address = follows
        return self._is_final(address)

    def __iter__(self) -> Iterator[bytes]:
        waiting: list[tuple[bytes, int]] = [(b"", self._root)]
        while waiting:
            token, address = waiting.pop()
            if self._is_final(address):
                yield token
            follows = self._follows(address)
            waiting.extend((token + bytes((byte,)), at) for byte, at in sorted(follows.items(), reverse=True))

    def _is_final(self, address: int) -> bool:
        return address == _END or self._data[address] >> 6 == 1

    def _follows(self, address: int) -> dict[int, int]:
        """Addresses of the next nodes by byte."""
        if address == _END:
            return {}
        kind = self._data[address] >> 6
        return self._many(address) if kind < 2 else self._one(address, is_next=kind == 3)

    def _one(self, address: int, *, is_next: bool) -> dict[int, int]:
        data, number, at = self._data, self._data[address] & 0x3F, address - 1
        if number:
            byte = _COMMON[number - 1]
        else:
            byte, at = data[at], at - 1
        if is_next:  # the node that was written just before
            return {byte: at}
        sizes = data[at]
        width, output = sizes >> 4, sizes & 15
        return {byte: self._target(at - width, width, at - width - output)}

    def _many(self, address: int) -> dict[int, int]:
        data, count, at = self._data, self._data[address] & 0x3F, address - 1
        if not count:
            count, at = data[at], at - 1
            count = 256 if count == 1 else count  # one transition has a form of its own
        sizes = data[at]
        width, output = sizes >> 4, sizes & 15
        inputs = at - (256 if count >= _INDEXED_FROM else 0) - count
        targets = inputs - count * width
        is_final = data[address] >> 6 == 1
        end = targets - count * output - (output if is_final else 0)
        return {
            data[inputs + count - 1 - place]: self._target(targets + (count - 1 - place) * width, width, end)
            for place in range(count)
        }

    def _target(self, at: int, width: int, end: int) -> int:
        back = int.from_bytes(self._data[at : at + width], "little")
        if back > end or at < _HEADER:
            raise ValueError("a token dictionary that leads out of itself")
        return end - back if back else _END
