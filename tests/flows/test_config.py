"""The configuration: every mistake named, nothing taken that was not meant, and the key kept to itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from flows.config import Config, load_config
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
            "[recall]\nrecency_wieght = 0.1\n",
            "unknown key recall.recency_wieght, did you mean recency_weight?",
        ),
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
        ("[context.shares]\nworking = 0.9\n", "the shares of a context sum to"),
        ("[recall]\nx = 1\n[publish]\ny = 2\n", "unknown key publish.y"),
        ("[recall]\nx = 1\n[publish]\ny = 2\n", "unknown key recall.x"),
        ("[recall\n", "is not TOML"),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(ConfigError) as fault:
        config(tmp_path, text)
    assert told in fault.value.message
    assert fault.value.remedy


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
