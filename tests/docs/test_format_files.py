"""``docs/format-files.md``: a line for every real file, and for the first of each format today's figures."""

from __future__ import annotations

from pathlib import Path

from benchmarks.format_files import files, lines, row

PAGE = Path(__file__).parents[2] / "docs" / "format-files.md"
SLOW = ("locomo/",)


def table() -> dict[str, str]:
    told = [line for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    by_file = {line.split("`")[1]: line for line in told}
    assert len(by_file) == len(told)
    return by_file


def test_every_file_has_a_line(real_data: Path) -> None:
    assert sorted(table()) == files(real_data)
    assert f" {len(table())} of them" in PAGE.read_text()


def test_the_figures_are_those_of_a_fresh_run(real_data: Path) -> None:
    told = table()
    firsts = {line.split(" | ")[1]: name for name, line in reversed(told.items())}
    chosen = [name for name in firsts.values() if not name.startswith(SLOW)]
    assert len(chosen) > 10
    chosen.sort(key=list(told).index)
    assert [row(line.cells()) for line in lines(real_data, chosen)] == [told[name] for name in chosen]


def test_every_row_of_a_file_is_accounted_for() -> None:
    for line in table().values():
        cells = [cell.strip() for cell in line.strip("| ").split(" | ")]
        if "not a trace" in cells:
            continue
        rows_in, *others = [
            sum(int(word.replace(",", "")) for word in cell.replace(", ", " ").split() if word[0].isdigit())
            for cell in line.split("|")[4:9]
        ]
        assert rows_in == sum(others), line
