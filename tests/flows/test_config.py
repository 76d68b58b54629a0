"""The configuration: every mistake named, nothing taken that was not meant, and the key kept to itself."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flows.config import Config, load_config
from lake.embedders.config import EmbedderConfig
from transforms.errors import ConfigError
from transforms.policy import Policy


def config(tmp_path: Path, text: str, **environment: str) -> Config:
    file = tmp_path / "slowwave.toml"
    file.write_text(text, "utf-8")
    return load_config(str(file), environment)


def test_no_file_means_the_defaults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert load_config(None, {}) == Config()
    (tmp_path / "slowwave.toml").write_text('lake = "x"\n')
    assert load_config(None, {}).lake == "x"


def test_never_stands_for_no_end(tmp_path: Path) -> None:
    text = "[decay.half_life_days]\naction = 'never'\n[retention]\nsession_seconds = 'never'\n"
    found = config(tmp_path, text).policy
    assert found.decay.half_life_days == {**Policy().decay.half_life_days, "action": None}
    assert found.retention.session_seconds is None
    assert found.retention.ttl_seconds()["session"] == found.retention.user_cap_seconds


def test_one_number_of_a_section_is_set_and_the_others_stay(tmp_path: Path) -> None:
    found = config(tmp_path, "[decay.half_life_days]\nconversation = 14.0\n[recall]\ndefault_k = 3\n")
    default = Policy()
    assert found.policy.decay.half_life_days == {**default.decay.half_life_days, "conversation": 14.0}
    assert found.policy.recall == default.recall.model_copy(update={"default_k": 3})
    assert found.policy.hash() != default.hash()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "[recall]\nwieghts = 'two'\n",
            "unknown key recall.wieghts, did you mean weights?",
        ),
        ("[recall]\nweights = 'tow'\n", "recall.weights: unknown name tow, did you mean two?"),
        ("[recall.weights]\nrelevance = 0.7\n", "recall.weights: the weights sum to 0.7, not 1"),
        (
            "[recall.agents.planner]\nrelevance = 1.5\n",
            "recall.agents.planner: relevance: Input should be less than or equal to 1",
        ),
        (
            "[recall.agents]\nplanner = 'four'\n",
            "recall.agents.planner: unknown name four, known are five, three, two",
        ),
        ("[recall]\nweights = 5\n", "recall.weights"),
        ("[ingets]\nbatch_rows = 1\n", "unknown key ingets, did you mean ingest?"),
        ("lakes = 'x'\n", "unknown key lakes, did you mean lake?"),
        ("[embedder]\ndimension = 8\n", "unknown key embedder.dimension, did you mean dimensions?"),
        ("[[sources]]\npath = 'a'\nzone = 'UTC'\n", "unknown key sources.0.zone"),
        ("[[sources]]\npath = 'a'\ntimezones = 'UTC'\n", "did you mean timezone?"),
        ("[[sources]]\nformat = 'auto'\n", "sources.0.path: Field required"),
        ("sources = 'a'\n", "sources: "),
        ("[policy]\nx = 1\n", "unknown key policy"),
        ("[policy.recall]\nx = 1\n", "unknown key policy"),
        ("recall = 3\n", "recall: "),
        ("lake = 3\n", "lake: "),
        ("[publish]\nkeep_generations = 0\n", "publish.keep_generations: Input should be greater"),
        ("[run]\non_busy = 'never'\n", "run.on_busy: "),
        ("[context.shares]\nworking = 0.9\n", "context.shares: the shares of a context sum to"),
        ("[recall]\nx = 1\n[publish]\ny = 2\n", "unknown key publish.y"),
        ("[recall]\nx = 1\n[publish]\ny = 2\n", "unknown key recall.x"),
        ("[recall\n", "is not TOML"),
        (
            "[decay.half_life_days]\noutcme = 3\n",
            "unknown key decay.half_life_days.outcme, did you mean outcome?",
        ),
        ("[decay.half_life_days]\naction = 0\n", "decay.half_life_days.action: Input should be greater"),
        ("[decay.half_life_days]\naction = 'ever'\n", 'action: Input should be a number or "never"'),
        ("[retention]\nsession_seconds = -5\n", "retention.session_seconds: Input should be greater than 0"),
        ("[retention]\nuser_cap_seconds = 'never'\n", "retention.user_cap_seconds: "),
        (
            "[recall.type_bonus]\nworkng = 0.1\n",
            "unknown key recall.type_bonus.workng, did you mean working?",
        ),
        ("[recall.type_bonus]\nxyz = 0.1\n", "unknown key recall.type_bonus.xyz, known are episodic, "),
        (
            "[redact]\nkeep_kinds = ['emial']\n",
            "redact.keep_kinds.0: unknown name emial, did you mean email?",
        ),
        ("[redact]\nkeep_kinds = ['api_key']\n", "redact.keep_kinds.0: unknown name api_key, known are card"),
        ("[ingest]\nmin_event_at = 2010-01-01\n", "ingest.min_event_at: Input should have a time zone"),
        ("[ingest]\nbatch_rows = true\n", "ingest.batch_rows: "),
        ("[ingest]\nbatch_rows = '5'\n", "ingest.batch_rows: "),
        ("[embedder]\ntimeout_seconds = inf\n", "embedder.timeout_seconds: "),
        ("[embedder]\nconcurrency = true\n", "embedder.concurrency: "),
        (f"[ingest]\nbatch_rows = {'9' * 5000}\n", "is not TOML"),
        (f"a = {'[' * 5000}\n", "is not TOML"),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(ConfigError) as fault:
        config(tmp_path, text)
    assert told in fault.value.message
    assert fault.value.remedy


NUMBERS = [
    f"{section}.{key}"
    for section, held in [*Policy().model_dump().items(), ("embedder", EmbedderConfig().model_dump())]
    for key, value in held.items()
    if not isinstance(value, bool | str | dict | tuple | datetime) and key != "api_key"
]
NUMBERS += [
    f"{section}.{key}.{entry}"
    for section, held in Policy().model_dump().items()
    for key, value in held.items()
    if isinstance(value, dict)
    for entry in (*value, "odd")
]
VALUES = (
    st.integers()
    | st.integers(-2, 100)
    | st.floats()
    | st.text(st.characters(exclude_categories=["C"], exclude_characters="'"), max_size=8)
    | st.sampled_from(["never", 10**30, -(10**30), 2**63])
)


def as_toml(value: Any) -> str:
    return f"'{value}'" if isinstance(value, str) else str(value)


@settings(max_examples=300)
@given(st.sampled_from(NUMBERS), VALUES)
def test_any_value_of_any_number_is_taken_or_named(file: Path, name: str, value: Any) -> None:
    section, key = name.rsplit(".", 1)
    file.write_text(f"[{section}]\n{key} = {as_toml(value)}\n", "utf-8")
    found = loaded(file)
    if isinstance(found, ConfigError):
        assert found.exit_code == 4
        assert name in found.message or f"{section}: " in found.message
    else:
        held: Any = found.model_dump() if section == "embedder" else found.policy.model_dump()
        for part in name.split("."):
            held = held[part]
        assert held == (None if value == "never" else value)


def loaded(file: Path) -> Config | ConfigError:
    try:
        return load_config(str(file), {})
    except ConfigError as fault:
        return fault


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("config") / "slowwave.toml"


@pytest.mark.parametrize("content", [b"\xff\xfe", b"lake = 'a'\n\x00"])
def test_bytes_that_are_no_toml(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "c.toml").write_bytes(content)
    with pytest.raises(ConfigError, match="not TOML"):
        load_config(str(tmp_path / "c.toml"), {})


def test_a_folder_is_no_configuration(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot read"):
        load_config(str(tmp_path), {})


ENDPOINT = (
    '[embedder]\nprovider = "openai"\nmodel = "m"\ndimensions = 8\nbase_url = "http://127.0.0.1:9/v1"\n'
)


def test_the_key_comes_from_the_file_or_the_environment_and_is_never_shown(tmp_path: Path) -> None:
    def key(text: str, **environment: str) -> str | None:
        secret = config(tmp_path, text, **environment).embedder.api_key
        return secret.get_secret_value() if secret else None

    assert key(ENDPOINT) is None
    assert key(ENDPOINT, OPENAI_API_KEY="b") == "b"
    assert key(ENDPOINT, OPENAI_API_KEY="b", SLOWWAVE_API_KEY="a") == "a"
    assert key(ENDPOINT + 'api_key = "f"\n', SLOWWAVE_API_KEY="a") == "f"
    assert key("", OPENAI_API_KEY="b") is None
    assert "hush" not in repr(config(tmp_path, ENDPOINT + 'api_key = "hush"\n'))
    with pytest.raises(ConfigError) as fault:
        config(tmp_path, ENDPOINT + 'api_key = ["hush"]\n')
    assert "hush" not in str(fault.value)


RERANKER = "[reranker]\nprovider = 'openai'\nmodel = 'm'\nbase_url = 'https://rerank.example.com/v1'\n"


def test_a_reranker_takes_its_own_key_and_no_other(tmp_path: Path) -> None:
    def key(text: str, **environment: str) -> str | None:
        found = config(tmp_path, text, **environment).reranker.api_key
        return found.get_secret_value() if found else None

    assert key(RERANKER, OPENAI_API_KEY="b", SLOWWAVE_API_KEY="a") is None
    assert key(RERANKER, SLOWWAVE_RERANKER_API_KEY="r") == "r"
    assert key(RERANKER + 'api_key = "f"\n', SLOWWAVE_RERANKER_API_KEY="r") == "f"
    assert key("", SLOWWAVE_RERANKER_API_KEY="r") is None


def test_a_wrong_key_of_the_reranker_names_the_right_one(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"reranker\.time_out_seconds, did you mean timeout_seconds\?"):
        config(tmp_path, RERANKER + "time_out_seconds = 1.0\n")
    with pytest.raises(ConfigError, match=r"rerankers, did you mean reranker\?"):
        config(tmp_path, "[rerankers]\nprovider = 'none'\n")


@pytest.mark.parametrize("section", ["[ingest]\ncompact_above_files = 9\n", "[health]\nledger_files = 9\n"])
def test_a_key_that_is_gone_says_what_does_its_work(section: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"(compact_above_files|ledger_files) is gone: .*\[upkeep\]"):
        config(tmp_path, section)
