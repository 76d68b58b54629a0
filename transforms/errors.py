"""Every error slowwave raises on purpose, and the exit code of its class."""

from __future__ import annotations

from typing import Any


class SlowwaveError(Exception):
    """Base of all expected failures: a message that says what, and a remedy.

    Args:
        message: What happened, with names, counts and up to three ids; never content.
        remedy: What the caller can do about it, one sentence.
    """

    code = "error"
    exit_code = 1

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        """Message and remedy as sentences of one line."""
        end = "" if self.message.endswith((".", "?", "!")) else "."
        return f"{self.message}{end} {self.remedy}".strip() if self.remedy else self.message

    def as_dict(self) -> dict[str, Any]:
        """The shape that ``--json`` prints: code, message, remedy."""
        return {"code": self.code, "message": self.message, "remedy": self.remedy}


class UsageError(SlowwaveError):
    """The call itself is wrong: a flag, a missing scope, an impossible value."""

    code, exit_code = "usage", 2


class InputError(SlowwaveError):
    """A source cannot be read at all: missing, unknown format, not a file."""

    code, exit_code = "input", 3


class ConfigError(SlowwaveError):
    """A configuration file or value is wrong."""

    code, exit_code = "config", 4


class LakeError(SlowwaveError):
    """The lake is missing, of another version, damaged or not permitted."""

    code, exit_code = "lake", 5


class EndpointError(SlowwaveError):
    """A model endpoint cannot be reached or refuses the call."""

    code, exit_code = "endpoint", 6


class CheckError(SlowwaveError):
    """A quality gate failed; what was live stays live."""

    code, exit_code = "check", 7


class BusyError(SlowwaveError):
    """Another run holds the lock and the policy is to decline."""

    code, exit_code = "busy", 8


class StorageError(SlowwaveError):
    """The disk or object store refused a write: full, read-only, gone."""

    code, exit_code = "storage", 9


class HistoryError(SlowwaveError):
    """The lake no longer holds all that stood at the instant that was asked for."""

    code, exit_code = "history", 11


class ModelMismatchError(SlowwaveError):
    """Vectors of another embedding model than the index holds."""

    code, exit_code = "model", 10
