"""Tests that run beside each other are given ports of their own."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests import ports

FIRST = 4_321
OTHER = f"""
import secrets, sys
from tests.ports import free_ports
secrets.randbelow = lambda _: {FIRST}
print(*free_ports(3, above=10_000), flush=True)
sys.stdin.read()
"""


def test_two_processes_are_given_no_port_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports.secrets, "randbelow", lambda _: FIRST)
    with subprocess.Popen(
        [sys.executable, "-c", OTHER],
        cwd=Path(__file__).resolve().parents[1],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdout is not None
        taken = [int(port) for port in other.stdout.readline().split()]
        mine = ports.free_ports(3) + ports.free_ports(3)
        other.communicate()
    assert len(taken) == 3
    assert len({*taken, *mine}) == 9


def test_what_somebody_listens_on_is_not_given(monkeypatch: pytest.MonkeyPatch) -> None:
    (port,) = ports.free_ports(1, above=10_000)
    monkeypatch.setattr(ports, "_hold", lambda _: True)
    monkeypatch.setattr(ports.secrets, "randbelow", lambda _: port - ports.LOWEST)
    assert ports.free_ports(1) == [port]
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", port))
        assert ports.free_ports(1) != [port]
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", port + 10_000))
        assert ports.free_ports(1) == [port]
        assert ports.free_ports(1, above=10_000) != [port]
