"""What becomes of real files of other tools: a page of Markdown with a line for each of them.

    python -m benchmarks.format_files ../shared/data > docs/format-files.md

Each file is ingested into a lake of its own, with a customer and a person; where rows are refused for
want of a zone or a time, again with one. The page holds names and numbers, no text of the files.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.concurrency_readers import HashedEmbedder
from flows.commit import Tally
from flows.ingest import run_ingest
from flows.job import Job
from lake.lake import init_lake
from lake.sources import Source, open_sources
from transforms.errors import InputError
from transforms.policy import Policy
from transforms.readers.chats import Owned
from transforms.validate import Defaults

DATA = Path(__file__).parents[2] / "shared" / "data"
AS_OF = datetime(2026, 12, 1, tzinfo=UTC)
"""Later than every time in the files."""
WANTS = {"naive_time": {"timezone": "UTC"}, "missing_time": {"event_at": "2026-03-01T09:00:00Z"}}
"""What a refused row lacked, by its reason."""
HEADS = ("file", "format", "flags", "in", "landed", "duplicates", "quarantined", "left out")

PAGE = """# Real files, and what becomes of them

Public files of other tools, {files} of them, none of which is part of this repository; written by
`python -m benchmarks.format_files`. Each is ingested into an empty lake with `--tenant`, and with `--user`
unless its people have ids of their own; **zone** is `--timezone`, for times that name none, and **time** is
`--event-at`, for files without times. In every line in = landed + duplicates + quarantined + left out.
Nothing is a duplicate, as no file tells a row twice; rows told again inside a trace are `repeated`.
[What the formats are](formats.md), [what the reasons mean](data-engineers.md#quarantine).

{table}

{notes}"""

NOTES = """\
Of every file rows were read beside the source, three at least (the first, a tool call or else one from the
middle, the last), for speaker, text, time, joined calls, outcome, parent and session; of some ten that are
variants of one recording (`wrap_openai`, `doGenerate`, embeddings) only what `--explain` shows.

- `daaain_edge_cases.jsonl` is made of damaged lines on purpose; the six quarantined are those.
- `nemo_relay_atif_v1.7_real_redacted.json` has `<redacted>` where its times were. `--event-at` is for rows
  that name no time and does not replace one that cannot be read; take the field out first.
- The times in the Claude.ai samples end in a `+` without an offset, so they count as times of no zone.
- Few rows of many spans: agent frameworks tell each model call, with its whole history, through several
  layers of spans. The 24 rows of LangGraph (`langgraph-js`) are one question, one call of a tool, one answer.
- The few-shot dialogues of tau-bench show a call as `assistant: None` (`unshown_call`): neither tool nor
  arguments are known, so the result is an `observation`, a failure where it reads as an error.
- Thoughts of the orchestrator in `who_and_when/hc_*`: plans, and the step that the annotator blames, land.
  Checks of progress before every turn are `thinking`, notes of who speaks next `bookkeeping`.
- The `.chatml.json` files hold what a converter should give, and `capture-results.json` tells of a recording:
  they are no traces. In a folder such files are passed over with a line on stderr.
- Spans of embeddings (`ai-embed.json`, `ai-embed-doEmbed.json`) hold no words.
"""


@dataclass(frozen=True)
class Line:
    """What became of a file."""

    file: str
    format: str = "none"
    flags: str = ""
    tally: Tally = field(default_factory=Tally)

    def cells(self) -> list[str]:
        """As they stand in the table."""
        name = f"`{self.file}`"
        tally = self.tally
        if not tally.files:
            return [name, "not a trace", "", *[""] * 5]
        numbers = [f"{n:,}" for n in (tally.rows_in, tally.landed, tally.duplicates)]
        return [name, self.format, self.flags, *numbers, _told(tally.reasons), _told(tally.left_out)]


def files(folder: Path) -> list[str]:
    """The files below a folder, but what says where they are from."""
    found = (path for path in folder.rglob("*") if path.is_file() and path.name != "SOURCES.md")
    return sorted(path.relative_to(folder).as_posix() for path in found)


def lines(folder: Path, names: Iterable[str]) -> list[Line]:
    """A line for each of these files; those that are no trace stand at the end."""
    with tempfile.TemporaryDirectory(prefix="slowwave-files-") as scratch:
        found = [_line(folder / name, name, Path(scratch) / str(number)) for number, name in enumerate(names)]
    return sorted(found, key=lambda line: not line.tally.files)


def _line(path: Path, name: str, scratch: Path) -> Line:
    """What becomes of one file, with the flags it needs."""
    try:
        source = next(iter(open_sources(str(path))))
    except InputError:
        return Line(name)
    defaults = Defaults(tenant_id="acme", user_id=None if isinstance(source.reader, Owned) else "ada")
    tally = _ingested(source, defaults, scratch / "first")
    wanted = [reason for reason in WANTS if tally.reasons[reason]]
    for reason in wanted:
        defaults = replace(defaults, **WANTS[reason])
    if wanted:
        tally = _ingested(source, defaults, scratch / "second")
    if tally.rows_in != tally.landed + tally.duplicates + tally.quarantined + tally.left_out.total():
        raise RuntimeError(f"{name}: rows are not accounted for")
    given = {"zone": defaults.timezone, "time": defaults.event_at}
    return Line(name, source.reader.name, ", ".join(flag for flag, value in given.items() if value), tally)


def _ingested(source: Source, defaults: Defaults, folder: Path) -> Tally:
    job = Job(init_lake(str(folder)), Policy(), AS_OF, HashedEmbedder)
    return run_ingest(job, [(source, defaults)])[1]


def _told(counts: Counter[str]) -> str:
    return ", ".join(f"{reason} {count:,}" for reason, count in sorted(counts.items()))


def row(cells: Iterable[str]) -> str:
    """A line of the table."""
    return f"| {' | '.join(cells)} |"


def page(held: Sequence[Line]) -> str:
    """The page with the table."""
    rows = [list(HEADS), ["---", "---", "---", "---:", "---:", "---:", "---", "---"]]
    rows += [line.cells() for line in held]
    total = Tally()
    for line in held:
        total.add(line.tally)
    sums = (total.rows_in, total.landed, total.duplicates, total.quarantined, total.left_out.total())
    rows.append(["all", "", "", *(f"{number:,}" for number in sums)])
    return PAGE.format(files=len(held), table="\n".join(map(row, rows)), notes=NOTES)


def main() -> int:
    """Print the page."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else DATA
    if not folder.is_dir():
        print(f"{folder}: no such folder; pass one with files of other tools", file=sys.stderr)
        return 2
    print(page(lines(folder, files(folder))), end="")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
