"""TOML of policy values: whatever is written reads back the same."""

from __future__ import annotations

import tomllib

from hypothesis import given
from hypothesis import strategies as st

from transforms.tuning.toml_text import toml_text, tree_of

NAMES = st.text(st.characters(exclude_characters=".", exclude_categories=["Cs"]), min_size=1, max_size=6)
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    st.lists(st.integers(0, 9), max_size=3),
)


def test_a_file_reads_as_slowwave_toml_does() -> None:
    changes = {
        "decay.half_life_days.conversation": 30.0,
        "decay.half_life_days.outcome": None,
        "recall.closeness_power": 1e-7,
        "recall.default_k": 12,
        "decay.refresh": "used",
    }
    assert toml_text(changes, ["measured on\n7 calls", ""]) == (
        "# measured on 7 calls\n#\n\n"
        '[decay]\nrefresh = "used"\n\n'
        '[decay.half_life_days]\nconversation = 30.0\noutcome = "never"\n\n'
        "[recall]\ncloseness_power = 1e-07\ndefault_k = 12\n"
    )


@given(st.dictionaries(st.tuples(NAMES, NAMES), VALUES), st.lists(st.text(max_size=9), max_size=2))
def test_what_is_written_reads_back(told: dict[tuple[str, str], object], comments: list[str]) -> None:
    changes = {".".join(key): value for key, value in told.items()}
    encodable = [comment.encode("utf-8", "replace").decode() for comment in comments]
    assert tomllib.loads(toml_text(changes, encodable)) == tree_of(changes)


@given(st.floats(allow_nan=False), st.lists(NAMES, min_size=1, max_size=4))
def test_a_number_stays_a_float_at_any_depth(value: float, names: list[str]) -> None:
    found = tomllib.loads(toml_text({".".join(names): value}))
    for name in names:
        found = found[name]
    assert isinstance(found, float)
    assert found == value
