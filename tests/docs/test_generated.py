"""The generated pages are those that the code makes now, and say something of every key."""

from __future__ import annotations

import importlib.util
import re
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

from flows.config import load_config
from transforms.policy import Policy
from transforms.schemas import MEMORIES, STORED
from transforms.tuning.space import space_of

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["configuration.md", "tables.md"])
def test_committed_page_is_the_one_that_the_code_makes(generate: ModuleType, name: str) -> None:
    committed = (ROOT / "docs" / name).read_text("utf-8")
    assert committed == generate.documents()[name], "run: python docs/generate.py"


def test_every_key_has_a_meaning(generate: ModuleType) -> None:
    rows = re.findall(r"^\| `(\w+)` \|.*\| ([^|]*) \|$", generate.configuration(), re.MULTILINE)
    assert len(rows) > 70
    assert [key for key, meaning in rows if not meaning.strip()] == []


def test_meanings_stand_for_keys_that_exist(generate: ModuleType) -> None:
    page = generate.configuration()
    sections = re.split(r"^## \[+(\w+)\]+$", page, flags=re.MULTILINE)[1:]
    keys = {
        f"{name}.{key}"
        for name, body in zip(sections[::2], sections[1::2], strict=True)
        for key in re.findall(r"^\| `(\w+)` ", body, re.MULTILINE)
    }
    assert set(generate.MEANINGS) - keys == set()


def test_every_policy_key_is_read_somewhere() -> None:
    code = "\n".join(
        file.read_text("utf-8")
        for folder in ("flows", "lake", "transforms")
        for file in (ROOT / folder).rglob("*.py")
    )
    sections = {name: getattr(Policy(), name) for name in Policy.model_fields}
    keys = [(name, key) for name, section in sections.items() for key in type(section).model_fields]
    by_name = {"retention", "trust"}  # read by a name that is put together
    unread = [f"{n}.{k}" for n, k in keys if n not in by_name and not re.search(rf"\.{k}\b", code)]
    assert unread == []


def test_every_stored_column_is_documented(generate: ModuleType) -> None:
    page = generate.tables()
    for table in (*STORED, MEMORIES):
        section = page.split(f"## {table.name}\n")[1].split("\n## ")[0]
        assert re.findall(r"^\| `(\w+)` ", section, re.MULTILINE) == table.names


def test_the_example_configuration_loads(generate: ModuleType, tmp_path: Path) -> None:
    example = re.search(r"```toml\n(.*?)```", generate.configuration(), re.DOTALL)
    assert example is not None
    (tmp_path / "slowwave.toml").write_text(example[1], "utf-8")
    config = load_config(str(tmp_path / "slowwave.toml"), {})
    assert config.policy.decay.half_life_days["conversation"] == 14.0
    assert config.policy.decay.half_life_days["summary"] == 30.0
    assert config.sources[0].tenant == "acme"


def test_toml_of_every_page_loads(tmp_path: Path) -> None:
    found = 0
    for page in sorted((ROOT / "docs").glob("*.md")):
        for text in re.findall(r"```toml\n(.*?)```", page.read_text("utf-8"), re.DOTALL):
            tree = tomllib.loads(text)
            found += 1
            if text.startswith("# grid.toml"):
                space_of(tree, Policy())
                continue
            (tmp_path / "slowwave.toml").write_text(text, "utf-8")
            load_config(str(tmp_path / "slowwave.toml"), {})
    assert found >= 3
