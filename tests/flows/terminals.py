"""A command on a terminal of a width, and what stands on its screen when it has ended."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_ROWS = 40
_PART = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])|([\r\n])|([^\x1b\r\n]+)")


@dataclass(frozen=True)
class Screen:
    """What was drawn."""

    lines: list[str]
    is_cursor_shown: bool
    exit_code: int


def drawn(command: Sequence[str], columns: int, variables: Mapping[str, str]) -> Screen:
    """Run a command with all its streams on a terminal."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", _ROWS, columns, 0, 0))
    process = subprocess.Popen(
        command,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**variables, "TERM": "xterm-256color"},
        start_new_session=True,
    )
    os.close(theirs)
    said = bytearray()
    while True:
        try:
            part = os.read(ours, 65_536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        said += part
    os.close(ours)
    code = process.wait(60)
    text = said.decode()
    return Screen(_lines(text, columns), text.rfind("\x1b[?25h") >= text.rfind("\x1b[?25l"), code)


def _lines(text: str, columns: int) -> list[str]:
    """The screen, without empty lines; fails where a line was longer than the terminal is wide."""
    screen: dict[int, str] = {}
    row = column = 0
    for numbers, letter, end, plain in _PART.findall(text):
        if plain:
            before = screen.get(row, "").ljust(column)
            screen[row] = before[:column] + plain + before[column + len(plain) :]
            column += len(plain)
            assert column <= columns, f"a line is longer than {columns} columns: {plain!r}"
        elif end:
            row, column = (row + 1, 0) if end == "\n" else (row, 0)
        elif letter == "A":
            row -= int(numbers or 1)
        elif letter == "K":
            screen[row] = "" if numbers == "2" else screen.get(row, "")[:column]
    return [line.rstrip() for _, line in sorted(screen.items()) if line.strip()]
