"""How far a job is: what is counted, lines in a log, bars on terminals of all widths, figures elsewhere."""

from __future__ import annotations

import contextlib
import io
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from flows.job import Silent
from flows.progress import progress_of
from flows.progress_bars import Bars, clock, short
from flows.progress_lines import KEYS, Ticking, line_of, lines, slug
from flows.progress_memory import Memory, read_memory
from flows.progress_meter import COURSE, Meter, advancing, metered
from flows.progress_reports import description, reports
from tests.flows.lakes import Command, environment, row, write
from tests.flows.terminals import drawn
from transforms.errors import UsageError

MEMORY = Memory(100 * 2**20, 2, 50 * 2**20)
AT = datetime(2026, 6, 30, 23, 0, 5, tzinfo=UTC)
LINE = re.compile(
    r"time=\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ event=(start|progress|end|failed|stopped) task=[a-z0-9_]+ done=\d+"
    r" total=(\d+|unknown) unit=[a-z0-9_]+ seconds=\d+\.\d per_second=(\d+(\.\d)?|unknown)"
    r" eta_seconds=(\d+(\.\d)?|unknown) rss_bytes=(\d+|unknown) children=\d+ children_rss_bytes=\d+"
)


class Time:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def meter(name: str, total: int | None, done: int, seconds: float, unit: str = "rows") -> Meter:
    hand = Time()
    made = Meter(name, total, unit, hand)
    made.add(done)
    hand.now = seconds
    return made


@pytest.fixture(autouse=True)
def _course() -> Iterator[None]:
    """Nothing of another test is open."""
    COURSE.begin()
    yield
    COURSE.begin()


# What is counted


@pytest.mark.parametrize(
    ("total", "done", "seconds", "ratio", "per_second", "eta"),
    [
        (100, 25, 5.0, 0.25, 5.0, 15.0),
        (None, 25, 5.0, None, 5.0, None),
        (100, 0, 5.0, 0.0, None, None),
        (100, 120, 10.0, 1.0, 12.0, 0.0),  # more than was foretold: never less than nothing is left
        (100, 100, 0.0, 1.0, None, None),
    ],
)
def test_speed_and_end(
    total: int | None,
    done: int,
    seconds: float,
    ratio: float | None,
    per_second: float | None,
    eta: float | None,
) -> None:
    one = meter("embed", total, done, seconds)
    assert (one.ratio, one.per_second, one.eta_seconds) == (ratio, per_second, eta)


@given(st.lists(st.integers(0, 1_000)), st.integers(1, 100_000), st.floats(0.1, 1e5))
def test_what_is_done_is_the_sum_and_the_end_comes_nearer(
    counts: list[int], total: int, speed: float
) -> None:
    hand = Time()
    one, left = Meter("x", total, "rows", hand), float("inf")
    for count in counts:
        one.add(count)
        hand.now += count / speed
        if one.eta_seconds is not None:  # at an even speed
            assert one.eta_seconds <= left + 1e-6 * total
            left = one.eta_seconds
    assert one.done == sum(counts)


def test_the_clock_stands_when_it_is_over() -> None:
    hand = Time()
    one = Meter("x", 10, "rows", hand)
    hand.now = 2.0
    one.end()
    hand.now = 9.0
    assert one.seconds == 2.0


def test_an_open_task_and_the_steps_before_it_are_known_for_the_last_word() -> None:
    assert COURSE.told() == ""
    COURSE.steps += ["ingest", "embed"]
    with Silent().task("consolidate", 10, "buckets") as advance, Silent().task("embed facts", None):
        advance(3)
        assert COURSE.told() == "in consolidate at 3 of 10 buckets, after ingest, embed"
    assert COURSE.told() == "after ingest, embed"


def test_a_run_that_was_told_to_stop_stops_at_the_next_count() -> None:
    with Silent().task("embed", 10) as advance:
        advance(1)
        COURSE.stop = KeyboardInterrupt()
        with pytest.raises(KeyboardInterrupt):
            advance(1)


@pytest.mark.parametrize(("error", "event"), [(ValueError(), "failed"), (KeyboardInterrupt(), "stopped")])
def test_a_task_that_breaks_off_says_how(error: BaseException, event: str) -> None:
    told: list[str] = []
    with pytest.raises(type(error)), metered("x", 1, "rows", lambda name, _: told.append(name)):
        raise error
    assert told == ["start", event]


def test_a_generator_that_nobody_reads_to_its_end_is_closed() -> None:
    told: list[str] = []

    def counted(total: int) -> Iterator[int]:
        with metered("x", total, "rows", lambda name, _: told.append(name)) as one:
            for number in range(total):
                one.add(1)
                yield number

    first = counted(3)
    next(first)
    first.close()
    assert list(counted(2)) == [0, 1]
    assert told == ["start", "stopped", "start", "end"]
    assert COURSE.open == []


# Lines


def test_a_line_reads_so() -> None:
    at = AT.astimezone(timezone(timedelta(hours=5)))
    assert line_of("progress", meter("Embed: episodes", 1_000, 250, 10.0), MEMORY, at) == (
        "time=2026-06-30T23:00:05Z event=progress task=embed_episodes done=250 total=1000 unit=rows"
        " seconds=10.0 per_second=25"
        " eta_seconds=30 rss_bytes=104857600 children=2 children_rss_bytes=52428800"
    )
    assert line_of("start", meter("check", None, 0, 0.0), Memory(), AT) == (
        "time=2026-06-30T23:00:05Z event=start task=check done=0 total=unknown unit=rows seconds=0.0"
        " per_second=unknown eta_seconds=unknown rss_bytes=unknown children=0 children_rss_bytes=0"
    )


@given(st.text(), st.one_of(st.none(), st.integers(0, 10**12)), st.integers(0, 10**12), st.floats(0, 1e6))
def test_every_line_has_the_same_keys_and_no_other_characters(
    name: str, total: int | None, done: int, seconds: float
) -> None:
    line = line_of("end", meter(name, total, done, seconds, unit=name), MEMORY, AT)
    assert LINE.fullmatch(line), line
    assert tuple(pair.split("=")[0] for pair in line.split(" ")) == KEYS


def test_lines_come_at_the_start_then_now_and_then_then_at_the_end() -> None:
    written: list[str] = []
    with lines(0.02, written.append).task("embed", 100) as advance:
        advance(40)
        _wait(lambda: len(written) >= 3)
        advance(60)
    events = [re.search("event=([a-z]+)", line)[1] for line in written]  # type: ignore[index]
    assert events[0] == "start"
    assert events[-1] == "end"
    assert set(events[1:-1]) == {"progress"}
    assert "done=40 total=100" in written[1]
    assert "done=100 total=100" in written[-1]
    count = len(written)
    time.sleep(0.08)
    assert len(written) == count  # nothing ticks on


def test_tasks_inside_a_task_are_told_beside_it() -> None:
    told: list[tuple[str, str]] = []
    ticking = Ticking(lambda event, one: told.append((event, one.name)), 60)
    with ticking.task("outer", None), ticking.task("inner", 5):
        pass
    assert told == [("start", "outer"), ("start", "inner"), ("end", "inner"), ("end", "outer")]


def test_nothing_to_do_is_not_told() -> None:
    written: list[str] = []
    with lines(60, written.append).task("fold recalls", 0, "segments"):
        pass
    assert written == []


# Bars


@pytest.mark.parametrize("columns", [40, 60, 80, 120, 200])
def test_bars_fit_the_terminal(columns: int) -> None:
    stream = io.StringIO()
    console = Console(
        file=stream, width=columns, force_terminal=True, color_system=None, legacy_windows=False
    )
    bars = Bars(console)
    with bars.task("embed episodes of a very long name", 1_234_567) as advance:
        advance(1_234_567)
    with contextlib.suppress(ValueError), bars.task("check", None, "buckets"):
        raise ValueError
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", stream.getvalue()).replace("\r", "\n").splitlines()
    assert max(map(len, plain)) < columns
    [done] = [line for line in plain if "done" in line]
    assert "embed episodes" in done
    assert "1.23M" in done
    assert any("check" in line and "fail" in line for line in plain)
    if columns >= 60:
        assert "MiB" in done


def test_a_task_that_counts_nothing_shows_no_count() -> None:
    stream = io.StringIO()
    with Bars(Console(file=stream, width=80, force_terminal=True, color_system=None)).task("check", None):
        pass
    [line] = [line for line in re.split("[\r\n]", stream.getvalue()) if "done" in line]
    assert "rows" not in line
    assert re.search("━ +done 0:0[01]", line)


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="only Linux tells of other processes")
def test_processes_are_told_whole_or_not_at_all() -> None:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        for columns in range(98, 112):
            stream = io.StringIO()
            console = Console(file=stream, width=columns, force_terminal=True, color_system=None)
            with Bars(console).task("embed", 5) as advance:
                advance(5)
            [line] = [line for line in re.split("[\r\n]", stream.getvalue()) if "done" in line]
            assert re.search(r"MiB( \d+ proc)?$", line.rstrip()), line
            assert ("proc" in line) == (columns > 106)
    finally:
        child.kill()
        child.wait()


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_bars_on_a_real_terminal_leave_a_line_a_task_and_the_cursor(columns: int, tmp_path: Path) -> None:
    script = tmp_path / "show.py"
    script.write_text(
        "import sys, time\n"
        "from flows.progress_bars import Bars\n"
        "bars = Bars()\n"
        "with bars.task('outer', None) as out, bars.task('inner of a long name', 40) as advance:\n"
        "    for _ in range(4):\n"
        "        advance(10); out(1); time.sleep(0.1)\n"
        "    print('something else is said', file=sys.stderr)\n"
    )
    screen = drawn([sys.executable, str(script)], columns, environment())
    assert [line.split()[0] for line in screen.lines] == ["something", "inner", "outer"]
    assert all("done" in line and "MiB" in line for line in screen.lines[1:])
    assert screen.is_cursor_shown


@pytest.mark.parametrize(
    ("count", "told"),
    [(0, "0"), (7.25, "7.2"), (999, "999"), (9_999, "9,999"), (12_345, "12.3k"), (999_499, "999k"),
     (999_999, "1M"), (1_230_000, "1.23M"), (45_600_000, "45.6M"), (7.8e9, "7.8G")],
)  # fmt: skip
def test_counts_are_short(count: float, told: str) -> None:
    assert short(count) == told


def test_times_read_as_a_clock() -> None:
    assert [clock(s) for s in (0.4, 42, 725, 10_930)] == ["0:00", "0:42", "12:05", "3:02:10"]


# Figures elsewhere


class Board:
    """Keeps what it is shown."""

    def __init__(self, *, is_away: bool = False) -> None:
        self.shown: dict[str, list[tuple[float, str]]] = {}
        self.is_away = is_away

    def create(self, key: str, ratio: float, told: str) -> str | None:
        if self.is_away:
            return None
        self.shown[key] = [(ratio, told)]
        return key

    def update(self, known_by: str, ratio: float, told: str) -> None:
        self.shown[known_by].append((ratio, told))


def test_a_figure_a_task_is_made_and_kept_current() -> None:
    board, log = Board(), list[str]()
    with reports(log.append, board, 0.02).task("Embed: facts", 10) as advance:
        advance(5)
        _wait(lambda: len(board.shown["slowwave-progress-embed-facts"]) >= 2)
        advance(5)
    ratios = [ratio for ratio, _ in board.shown["slowwave-progress-embed-facts"]]
    assert (ratios[0], ratios[1], ratios[-1]) == (0.0, 0.5, 1.0)
    assert board.shown["slowwave-progress-embed-facts"][-1][1].startswith("embed facts: 10 of 10 rows, ")
    assert all(LINE.fullmatch(line) for line in log)


def test_a_board_that_is_away_stops_no_job() -> None:
    board = Board(is_away=True)
    with reports(lambda _: None, board, 60).task("embed", 10) as advance:
        advance(10)
    assert board.shown == {}


def test_a_figure_says_so() -> None:
    assert description("progress", meter("embed", 1_000, 250, 10.0), MEMORY) == (
        "embed: 250 of 1,000 rows, 25 a second, 30 s left, 150 MiB in 3 processes"
    )
    assert description("stopped", meter("check", None, 0, 2.0), Memory()) == (
        "check: 0 rows, stopped after 2.0 s"
    )
    assert description("end", meter("check", None, 1, 2.0), Memory(2**20)).endswith("1 MiB in 1 process")


# Memory, and who shows what


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="only Linux tells of other processes")
def test_memory_is_that_of_this_process_and_of_those_it_started() -> None:
    before = read_memory()
    code = "import time; held = bytearray(64_000_000); print('ready', flush=True); time.sleep(60)"
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    try:
        assert child.stdout is not None
        child.stdout.readline()
        now = read_memory()
    finally:
        child.kill()
        child.communicate()
    assert now.children == before.children + 1
    assert now.children_bytes - before.children_bytes > 64_000_000
    assert now.own_bytes is not None
    assert now.own_bytes > 20_000_000
    assert read_memory().children == before.children


def test_auto_is_bars_on_a_terminal_lines_elsewhere_and_nothing_beside_json(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    assert isinstance(progress_of("auto", 30, is_json=False), Ticking)
    assert isinstance(progress_of("auto", 30, is_json=True), Silent)
    assert isinstance(progress_of("lines", 30, is_json=True), Ticking)
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("TERM", "xterm")
    assert isinstance(progress_of("auto", 30, is_json=False), Bars)
    assert isinstance(progress_of("none", 30, is_json=False), Silent)
    monkeypatch.setenv("TERM", "dumb")
    assert isinstance(progress_of("auto", 30, is_json=False), Ticking)
    with pytest.raises(UsageError, match="no progress loud"):
        progress_of("loud", 30, is_json=False)


def test_json_is_alone_on_stdout_and_lines_name_no_file(tmp_path: Path, command: Command) -> None:
    file = write(tmp_path / "ana.jsonl", [row(n) for n in range(3)])
    assert command("--lake", tmp_path / "lake", "init", "--buckets", "2").code == 0
    call = ("--lake", tmp_path / "lake", "--json", "ingest", file, "--as-of", "2026-07-01T00:00:00Z")
    quiet = command(*call, "--progress", "auto")
    assert (quiet.json["landed"], quiet.err) == (3, "")
    told = command(*call, "--progress", "lines", "--user", "ana")
    assert told.json["landed"] == 0
    assert told.err
    assert all(LINE.fullmatch(line) for line in told.err.splitlines())
    assert "ana" not in told.err


def test_the_environment_says_it_for_all_calls(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write(tmp_path / "a.jsonl", [row(n) for n in range(3)])
    assert command("--lake", tmp_path / "lake", "init", "--buckets", "2").code == 0
    monkeypatch.setenv("SLOWWAVE_PROGRESS", "lines")
    assert (
        f"event=end task=ingest done={file.stat().st_size}"
        in command("--lake", tmp_path / "lake", "ingest", file).err
    )
    monkeypatch.setenv("SLOWWAVE_PROGRESS", "loud")
    said = command("--lake", tmp_path / "lake", "--json", "ingest", file)
    assert said.error["code"] == "usage"


def test_a_count_from_many_threads_is_whole() -> None:
    from concurrent.futures import ThreadPoolExecutor

    one = Meter("x", 20_000)
    advance: Any = advancing(one)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: [advance(1) for _ in range(1_000)], range(20)))
    assert one.done == 20_000


def _wait(is_so: Any) -> None:
    for _ in range(1_000):
        if is_so():
            return
        time.sleep(0.01)
    raise AssertionError("it did not come")


def test_slugs_have_no_quotes_to_need() -> None:
    assert [slug(name) for name in ("erase: verify", "  Äpfel & co ", "")] == [
        "erase_verify",
        "pfel_co",
        "task",
    ]
    assert slug("a b", "-") == "a-b"


def test_many_short_tasks_of_one_name_are_not_told_each() -> None:
    written: list[str] = []
    progress = lines(1_000.0, written.append)
    for n in range(500):
        with progress.task("ingest", 10) as advance:
            advance(10)
        if n == 400:
            with pytest.raises(ValueError, match="broken"), progress.task("ingest", 10):
                raise ValueError("broken")
    assert len(written) == 41
    assert [line.split()[1] for line in written][-1] == "event=failed"
