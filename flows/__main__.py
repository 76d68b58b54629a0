"""The command ``slowwave``: parse, run one verb, print data to stdout and talk to stderr."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING

from flows.cli import parse
from transforms.errors import SlowwaveError

if TYPE_CHECKING:
    from collections.abc import Sequence

INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line. Returns the exit code: 0, or that of the error's class."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    wants_json = "--json" in arguments
    try:
        options = parse(arguments)
        from flows import verbs

        output = verbs.run(options)
        print(json.dumps(output.data, ensure_ascii=False) if options.json else output.text)
        sys.stdout.flush()
        return output.exit_code
    except SlowwaveError as error:
        return _fail(error, wants_json)
    except KeyboardInterrupt:
        print("slowwave: stopped; run the same command again to go on", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # the reader of our output has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if os.environ.get("SLOWWAVE_TRACEBACK"):
            raise
        fault = SlowwaveError(
            f"unexpected {type(error).__name__}",
            "Run again with SLOWWAVE_TRACEBACK=1 and report what it prints.",
        )
        fault.code = "internal"
        return _fail(fault, wants_json)


def _fail(error: SlowwaveError, wants_json: bool) -> int:
    if wants_json:
        print(json.dumps({"error": error.as_dict()}, ensure_ascii=False))
    else:
        remedy = f" {error.remedy}" if error.remedy else ""
        end = "" if error.message.endswith((".", "?", "!")) else "."
        print(f"slowwave: {error.message}{end}{remedy}", file=sys.stderr)
    return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
