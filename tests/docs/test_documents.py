"""What the pages list is what the code has: links, verbs, flags, exit codes, reasons, formats, fields."""

from __future__ import annotations

import ast
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from flows.cli import known_flags
from flows.engine.units import UnitsError
from transforms import errors
from transforms.policy import Policy
from transforms.policy_retention import RetentionPolicy
from transforms.readers.registry import READERS
from transforms.readers.row_shape import KNOWN_FIELDS
from transforms.validate import _rules

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def read(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def section(name: str, title: str) -> str:
    """Text below a heading, up to the next of any level."""
    return re.split(r"^#+ ", read(name).split(f" {title}\n", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]


def first_cells(text: str) -> list[str]:
    return re.findall(r"^\| `([^`|]+)`", text, re.MULTILINE)


def anchors(page: Path) -> set[str]:
    titles = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for link in LINK.findall(page.read_text("utf-8")):
        assert "://" not in link, "pages link inside the project only"
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), link
        if anchor:
            assert anchor in anchors(target), link


def commands() -> Iterator[tuple[str, str]]:
    """Page and line of every command shown."""
    for page in PAGES:
        for line in page.read_text("utf-8").splitlines():
            found = re.match(r"\$ slowwave (.*)", line)
            if found:
                yield page.name, found[1]


def test_commands_name_verbs_and_flags_that_exist() -> None:
    flags = known_flags()
    shown = list(commands())
    assert len(shown) >= 6
    for page, line in shown:
        words = line.split()
        verb = next((word for word in words if word in flags), None)
        assert verb, (page, line)
        unknown = {w for w in words if re.match(r"--[a-z]", w)} - set(flags[verb])
        assert unknown == set(), (page, line)


def test_flags_in_prose_exist() -> None:
    known = {flag for flags in known_flags().values() for flag in flags}
    pages = [ROOT / "README.md", *(ROOT / "docs" / f"{n}.md" for n in ("data-engineers", "formats"))]
    for page in pages:
        named = set(re.findall(r"(?<![\w`-])`?(--[a-z][a-z-]+)", page.read_text("utf-8")))
        assert named - known == set(), page.name


def test_exit_codes() -> None:
    table = section("docs/data-engineers.md", "Exit codes")
    shown = {
        int(code): set(re.findall(r"`(\w+)`", names))
        for code, names in re.findall(r"^\| (\d+) \|([^|]*)\|", table, re.MULTILINE)
    }
    for cls in (*vars(errors).values(), UnitsError):
        if isinstance(cls, type) and issubclass(cls, errors.SlowwaveError):
            assert cls.code in shown.pop(cls.exit_code, set()), cls
    assert set(shown) == {0, 130, 143}


def reasons_in_code() -> set[str]:
    """Reasons that readers, checks and ingest give a refused row."""
    found = {name for name, _, _ in _rules(Policy(), datetime(2026, 1, 1, tzinfo=UTC), None)}
    for folder in ("transforms", "flows"):
        for file in (ROOT / folder).rglob("*.py"):
            is_other = file.name in ("packing.py", "scoring.py") or file.name.startswith("retain")
            if not is_other and not DERIVES & set(file.parts):
                found.update(_reasons(ast.parse(file.read_text("utf-8"))))
    return found


DERIVES = {"claims", "facts", "topics", "summaries", "skills", "forgetting"}
"""Folders whose reasons are those of decisions, as those of packing and scoring are of a context."""


def _reasons(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "JsonFault":
            yield from _words(node.args[:1])
        elif isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == "reason":
                    yield from _words([value])
        elif isinstance(node, ast.keyword) and node.arg == "reason" and isinstance(node.value, ast.Call):
            yield from _words(node.value.args[:1])


def _words(nodes: list[ast.expr]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def test_quarantine_reasons() -> None:
    shown = first_cells(section("docs/data-engineers.md", "Quarantine"))
    assert shown == sorted(shown)
    assert reasons_in_code() - set(shown) == set()
    code = "\n".join(f.read_text("utf-8") for d in ("transforms", "flows") for f in (ROOT / d).rglob("*.py"))
    assert [reason for reason in shown if f'"{reason}"' not in code] == []


def test_checks_of_the_gate() -> None:
    table = read("docs/data-engineers.md").split("| check | fails when |")[1].split("\n\n")[0]
    code = "\n".join(file.read_text("utf-8") for file in (ROOT / "lake").glob("*.py"))
    assert sorted(first_cells(table)) == sorted(set(re.findall(r"\bCheck\(\s*\"(\w+)\"", code)))


def test_formats() -> None:
    table = read("docs/formats.md").split("| format |")[1].split("\n\n")[0]
    assert first_cells(table) == [reader.name for reader in READERS]


def test_row_shape() -> None:
    shown = set(re.findall(r"`(\w+)`", "\n".join(
        " ".join(line.split("|")[1:3]) for line in section("docs/formats.md", "Row shape").splitlines()
        if line.startswith("| `")
    )))  # fmt: skip
    assert shown == KNOWN_FIELDS


def test_retention_tiers() -> None:
    table = section("docs/data-engineers.md", "Retention")
    assert first_cells(table) == list(RetentionPolicy().ttl_seconds())
    default = re.search(r"`(\w+)` \(default\)", table)
    assert default is not None
    assert default[1] == RetentionPolicy().default_tier


def test_statements() -> None:
    shown = set(re.findall(r"`(\w+)`", " ".join(
        line.split("|")[1] for line in read("docs/data-engineers.md").split("| statement |")[1].splitlines()
        if line.startswith("| `")
    )))  # fmt: skip
    assert shown == {file.stem for file in (ROOT / "sql").glob("*.sql")}


@pytest.mark.parametrize("picture", sorted((ROOT / "docs" / "img").glob("*.svg")), ids=lambda p: p.name)
def test_pictures_are_whole_and_fetch_nothing(picture: Path) -> None:
    text = picture.read_text("utf-8")
    ET.fromstring(text)
    assert "@font-face" not in text
    assert "url(http" not in text
    assert "href=" not in text
