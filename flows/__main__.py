"""The command ``slowwave``: parse, run one verb, print data to stdout and talk to stderr."""

from __future__ import annotations

import io
import json
import os
import sys
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Any

from flows.cli import parse
from flows.progress_meter import COURSE
from flows.stopping import READING, Stopped, stoppable
from lake.faults import is_unreadable_file
from transforms.errors import LakeError, SlowwaveError, StorageError

if TYPE_CHECKING:
    from collections.abc import Sequence


_BLAS = ("OPENBLAS_NUM_THREADS", "1")
"""Read as numpy is loaded. Our matrices are small: more threads of BLAS wait for each other and take more CPU
time for the same work."""
_DAMAGED = "Restore its tables from a backup of the lake."


class _StoppedError(SlowwaveError):
    """A signal stopped the run."""

    code = "interrupted"

    def __init__(self, stopped: Stopped) -> None:
        super().__init__(stopped.message, stopped.remedy)
        self.exit_code = stopped.exit_code


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line. Returns the exit code: 0, or that of the error's class."""
    os.environ.setdefault(*_BLAS)
    arguments = list(sys.argv[1:] if argv is None else argv)
    flags = arguments[: arguments.index("--")] if "--" in arguments else arguments
    wants_json = "--json" in flags
    with stoppable(lambda stopped: _fail(_StoppedError(stopped), wants_json)):
        return _ended(arguments, wants_json)


def _ended(arguments: list[str], wants_json: bool) -> int:
    """Run the call, and turn whatever ends it early into a line and an exit code."""
    try:
        return _run(arguments, wants_json)
    except SlowwaveError as error:
        return _fail(error, wants_json)
    except Stopped as stopped:
        return _fail(_StoppedError(stopped), wants_json)
    except BaseException as error:  # the one place where a fault of ours becomes a line
        if isinstance(COURSE.stop, Stopped):  # a library made another error of it
            return _fail(_StoppedError(COURSE.stop), wants_json)
        is_unreadable = is_unreadable_file(error)
        if os.environ.get("SLOWWAVE_TRACEBACK") or not (is_unreadable or isinstance(error, Exception)):
            raise
        if is_unreadable:
            return _fail(LakeError("a table of the lake holds a damaged data file", _DAMAGED), wants_json)
        fault = SlowwaveError(
            f"unexpected {type(error).__name__}",
            "Run again with SLOWWAVE_TRACEBACK=1 and report what it prints.",
        )
        fault.code = "internal"
        return _fail(fault, wants_json)


def _run(arguments: list[str], wants_json: bool) -> int:
    """Run the verb. Whatever a library prints on the way is talk, so it goes to stderr."""
    said = io.StringIO()
    try:
        with redirect_stdout(said):
            options = parse(arguments)
    except SystemExit:  # --help and --version
        return _emit(_document({"help": said.getvalue()}) if wants_json else said.getvalue().rstrip(), 0)
    COURSE.begins_anew = options.verb in READING
    with redirect_stdout(sys.stderr):
        from flows import verbs

        output = verbs.run(options)
    COURSE.close()
    return _emit(_document(output.data) if wants_json else output.text, output.exit_code)


def _document(data: dict[str, Any]) -> str:
    """JSON; what a terminal would take for a command, or not show, is escaped: the values are the same."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False)
    return (
        text if text.isprintable() else "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)
    )


def _emit(text: str, exit_code: int) -> int:
    """Print to stdout, in UTF-8 wherever the terminal takes it; what cannot be written is escaped."""
    try:
        _write(sys.stdout, text)
    except BrokenPipeError:  # the reader of our output has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        fault = StorageError(f"cannot write the output: {error.strerror}", "Send it elsewhere.")
        return _fail(fault, wants_json=False)
    return exit_code


def _write(stream: Any, text: str) -> None:
    encoding = getattr(stream, "encoding", None) or "utf-8"
    # A lone surrogate of an argument has no bytes; in JSON its escape is the very character.
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")
    stream.flush()


def _fail(error: SlowwaveError, wants_json: bool) -> int:
    COURSE.close()
    if wants_json:
        return _emit(_document({"error": error.as_dict()}), error.exit_code)
    told = " ".join(f"slowwave: {error}".split())  # it may quote a name that commands a terminal
    _write(sys.stderr, "".join(c if c.isprintable() else ascii(c)[1:-1] for c in told))
    return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
