"""``slowwave.toml`` and the environment, checked: a wrong key is an error that names the right one.

TOML has no null, so ``"never"`` stands for it where a lifetime or a half-life may be endless.
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, SecretStr, ValidationError

from flows.engine.config import EngineConfig
from lake.crypto.config import EncryptionConfig
from lake.embedders.config import EmbedderConfig
from lake.models.config import ModelConfig
from lake.rerankers.config import RerankerConfig
from transforms.errors import ConfigError
from transforms.policy import Policy
from transforms.presets import PRESETS, Preset

FILE_NAME = "slowwave.toml"
KEY_VARIABLES = ("SLOWWAVE_API_KEY", "OPENAI_API_KEY")
RERANKER_KEY_VARIABLE = "SLOWWAVE_RERANKER_API_KEY"
"""Its own: a reranker is often somebody else's service than the other models."""


class SourceConfig(BaseModel):
    """One ``[[sources]]`` entry: what ``nightly`` ingests, and the scope of rows that name none."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: str
    format: str = "auto"
    tenant: str | None = None
    user: str | None = None
    agent: str | None = None
    session: str | None = None
    timezone: str | None = None
    event_at: str | None = None
    only_tenant: bool = False


class Config(BaseModel):
    """Everything a run may be told by file or environment."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    lake: str | None = None
    embedder: EmbedderConfig = EmbedderConfig()
    model: ModelConfig | None = None
    reranker: RerankerConfig = RerankerConfig()
    encryption: EncryptionConfig | None = None
    engine: EngineConfig = EngineConfig()
    preset: Preset = "tiers"
    policy: Policy = Policy()
    sources: tuple[SourceConfig, ...] = ()


def load_config(path: str | None, environment: Mapping[str, str] | None = None) -> Config:
    """Read the file (``slowwave.toml`` here, where none is named) and the key from the environment.

    Raises:
        ConfigError: The file is missing, not TOML, or holds an unknown key or a wrong value.
    """
    environment = os.environ if environment is None else environment
    file = Path(path) if path else Path(FILE_NAME)
    raw: dict[str, Any] = {}
    if path or file.is_file():
        raw = _read(file)
    return with_keys(_checked(raw, file), environment)


def with_keys(config: Config, environment: Mapping[str, str]) -> Config:
    """The configuration with the keys of an environment where it has none itself."""
    key = next((environment[v] for v in KEY_VARIABLES if environment.get(v)), None)
    if key and config.embedder.provider == "openai" and config.embedder.api_key is None:
        embedder = config.embedder.model_copy(update={"api_key": SecretStr(key)})
        config = config.model_copy(update={"embedder": embedder})
    before = config.embedder.previous
    if key and before and before.api_key is None and _is_keyed(config.embedder, before):
        keyed = before.model_copy(update={"api_key": SecretStr(key)})
        embedder = config.embedder.model_copy(update={"previous": keyed})
        config = config.model_copy(update={"embedder": embedder})
    if key and config.model and config.model.api_key is None:
        model = config.model.model_copy(update={"api_key": SecretStr(key)})
        config = config.model_copy(update={"model": model})
    own = environment.get(RERANKER_KEY_VARIABLE)
    if own and config.reranker.provider == "openai" and config.reranker.api_key is None:
        reranker = config.reranker.model_copy(update={"api_key": SecretStr(own)})
        config = config.model_copy(update={"reranker": reranker})
    return config


def amended_policy(path: str | None, text: str) -> Policy:
    """The policy of a file with the keys of another document set in it, as its owner would set them.

    Args:
        path: The file; None: ``slowwave.toml`` here where there is one, else the defaults.
        text: TOML.

    Raises:
        ConfigError: Either does not hold what it may.
    """
    file = Path(path) if path else Path(FILE_NAME)
    return _over(path, tomllib.loads(text), file)


def policy_over(path: str | None, other: str) -> Policy:
    """The policy of a file with the keys of another file over them: all of a policy, or what differs.

    Args:
        path: As for ``amended_policy``.
        other: The other file.

    Raises:
        ConfigError: Either does not hold what it may, or the other one is not there.
    """
    return _over(path, _read(Path(other)), Path(other))


def _over(path: str | None, keys: dict[str, Any], told: Path) -> Policy:
    file = Path(path) if path else Path(FILE_NAME)
    raw = _read(file) if path or file.is_file() else {}
    return _checked(_merged(raw, keys), told).policy


def _is_keyed(now: EmbedderConfig, before: EmbedderConfig) -> bool:
    """Whether the key of the environment is the previous model's, too: never sent to another endpoint."""
    is_only_one = now.provider != "openai" or now.base_url == before.base_url
    return before.provider == "openai" and is_only_one


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text("utf-8"))
    except FileNotFoundError as error:
        raise ConfigError(f"no configuration file {file}", "Name a file that exists.") from error
    except OSError as error:
        raise ConfigError(f"cannot read {file}: {error.strerror}", "Check its permissions.") from error
    except (ValueError, RecursionError) as error:  # no TOML, no UTF-8, a number of 5,000 digits, deep nesting
        raise ConfigError(f"{file} is not TOML: {error}", "Mend the line it names.") from error


def _checked(raw: dict[str, Any], file: Path) -> Config:
    known = set(Config.model_fields) - {"policy"}
    sections = {k: v for k, v in raw.items() if k not in known}
    preset = raw.get("preset")
    chosen = PRESETS.get(preset, {}) if isinstance(preset, str) else {}
    policy = _merged(_merged(Policy().model_dump(), chosen), sections)
    shaped = {**{k: v for k, v in raw.items() if k in known}, "policy": policy}
    try:
        return Config.model_validate(shaped)
    except ValidationError as error:
        faults = [_fault(fault) for fault in error.errors(include_input=False, include_url=False)]
        raise ConfigError(
            f"{file}: {'; '.join(faults)}", "See docs/configuration.md for every key."
        ) from error


def _merged(defaults: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """Defaults overridden key by key, so that one half-life can be set without naming them all."""
    both = dict(defaults)
    for key, value in given.items():
        held = defaults.get(key)
        both[key] = _merged(held, value) if isinstance(held, dict) and isinstance(value, dict) else value
    return both


def _fault(fault: Any) -> str:
    place = [str(part) for part in fault["loc"]]
    where = place[1:] if place[:1] == ["policy"] else place  # its sections stand at the top of the file
    name = ".".join(where)
    if name in _REMOVED:
        return f"{name} is gone: {_REMOVED[name]}"
    if fault["type"] == "extra_forbidden":
        return f"unknown key {_shown(name)}{_hint(where[-1], _siblings(where[:-1]))}"
    if fault["type"] == "unknown_name":
        told, known = fault["ctx"]["name"], fault["ctx"]["known"]
        hint = _hint(told, known.split(", ")) or f", known are {known}"
        is_key = where[-1] == "[key]"
        if is_key:
            return f"unknown key {_shown('.'.join(where[:-1]))}{hint}"
        return f"{_shown(name)}: unknown name {_shown(told)}{hint}"
    return f"{_shown(name) or 'file'}: {fault['msg'].removeprefix('Value error, ')}"


_REMOVED = {
    "ingest.compact_above_files": "nights merge small files as section [upkeep] says",
    "health.ledger_files": "nights merge small files as section [upkeep] says",
}
"""Keys of earlier checkouts, and what does their work now."""


def _shown(name: str) -> str:
    """A name out of the file, without the secret that it may be by mistake."""
    from transforms.redact import redact_text  # heavy, and needed for a fault only

    return redact_text(name)[0]


def _hint(told: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(told, known, n=1)
    return f", did you mean {near[0]}?" if near else ""


_SECTIONS: dict[str, type[BaseModel]] = {
    "embedder": EmbedderConfig,
    "model": ModelConfig,
    "reranker": RerankerConfig,
    "encryption": EncryptionConfig,
    "engine": EngineConfig,
    "sources": SourceConfig,
}
"""Sections beside the policy's, and the keys of each."""


def _siblings(parents: list[str]) -> list[str]:
    """Keys that may stand where the unknown one stood."""
    if not parents:
        return [*Policy.model_fields, *(name for name in Config.model_fields if name != "policy")]
    if parents[0] in _SECTIONS:
        return list(_SECTIONS[parents[0]].model_fields)
    section = Policy.model_fields.get(parents[0])
    kind = section.annotation if section else None
    return list(kind.model_fields) if isinstance(kind, type) and issubclass(kind, BaseModel) else []
