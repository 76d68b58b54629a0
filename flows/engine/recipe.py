"""A job as plain data, so that another process makes the same job of it; secrets are not part of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import SecretStr

from flows.config import KEY_VARIABLES, Config, with_keys
from transforms.errors import ConfigError

if TYPE_CHECKING:
    from lake.lake import Lake

EMBEDDER, PREVIOUS, MODEL = "embedder", "embedder.previous", "model"
"""Places of keys: sections of the configuration."""
_NO_KEY = {"api_key"}
_SENT: dict[str, Any] = {
    "embedder": {"api_key": True, "previous": _NO_KEY},
    "model": _NO_KEY,
    # What no unit asks for: fewer things leave this machine.
    **dict.fromkeys(("lake", "engine", "preset", "policy", "reranker", "sources"), True),
}
"""What of a configuration is left out of a recipe."""


@dataclass(frozen=True)
class Recipe:
    """All that a job depends on, without a key or password.

    Attributes:
        lake: Address of the lake, absolute where it is a path.
        config: The configuration (``flows.config.Config``) as JSON; keys are read from the worker's own
            environment.
        as_of: ISO 8601.
        lake_id: Of the lake; a worker that finds another one there does not touch it.
        keyed: Places that need a key.
    """

    lake: str
    config: str
    as_of: str
    lake_id: str = ""
    keyed: tuple[str, ...] = ()


def recipe_of(config: Config, lake: Lake, as_of: datetime) -> Recipe:
    """The recipe of a job; paths in it are absolute, for workers that started in another folder."""
    embedder, crypto = config.embedder, config.encryption
    before = embedder.previous
    if before is not None:
        before = before.model_copy(update=_absolute(before.folder, before.package))
    given: dict[str, Any] = {
        "embedder": embedder.model_copy(
            update={**_absolute(embedder.folder, embedder.package), "previous": before}
        )
    }
    if crypto is not None:
        files = ("master_key_file", "previous_master_key_file", "keyring")
        held = {name: getattr(crypto, name) for name in files if getattr(crypto, name)}
        given["encryption"] = crypto.model_copy(update={name: _placed(path) for name, path in held.items()})
    sent = config.model_copy(update=given).model_dump_json(exclude=_SENT)
    return Recipe(lake.storage.uri, sent, as_of.isoformat(), lake.lake_id, tuple(secrets_of(config)))


def _absolute(folder: str, package: str) -> dict[str, str]:
    return {"folder": _placed(folder)} if folder and not package else {}


def _placed(path: str) -> str:
    return path if "://" in path else str(Path(path).expanduser().absolute())


def secrets_of(config: Config) -> dict[str, str]:
    """Keys of the services that units may ask, by place."""
    return {place: key.get_secret_value() for place, key in _keys(config)}


def _keys(config: Config) -> Iterator[tuple[str, SecretStr]]:
    before = config.embedder.previous
    sections = ((EMBEDDER, config.embedder), (PREVIOUS, before), (MODEL, config.model))
    for place, section in sections:
        if section is not None and section.api_key is not None:
            yield place, section.api_key


def with_secrets(config: Config, secrets: Mapping[str, str]) -> Config:
    """The configuration with keys in their places."""

    def keyed(section: Any, place: str) -> Any:
        key = secrets.get(place)
        return section if key is None else section.model_copy(update={"api_key": SecretStr(key)})

    before = config.embedder.previous
    embedder = keyed(config.embedder, EMBEDDER)
    if before is not None:
        embedder = embedder.model_copy(update={"previous": keyed(before, PREVIOUS)})
    return config.model_copy(update={"embedder": embedder, "model": keyed(config.model, MODEL)})


def config_for(recipe: Recipe, secrets: Mapping[str, str], environment: Mapping[str, str]) -> Config:
    """The configuration of a recipe, with keys handed over, else those of the environment.

    Raises:
        ConfigError: A key is missing.
    """
    config = with_keys(with_secrets(Config.model_validate_json(recipe.config), secrets), environment)
    missing = sorted(set(recipe.keyed) - secrets_of(config).keys())
    if missing:
        raise ConfigError(f"a worker has no key for [{missing[0]}]", _remedy())
    return config


def require_in_environment(
    recipe: Recipe, secrets: Mapping[str, str], environment: Mapping[str, str]
) -> None:
    """Refuse keys that workers of another machine cannot have: those that only the configuration holds.

    Raises:
        ConfigError: Names the section.
    """
    bare = with_keys(Config.model_validate_json(recipe.config), environment)
    found = secrets_of(bare)
    for place in recipe.keyed:
        if found.get(place) != secrets.get(place):
            raise ConfigError(f"the key of [{place}] stands in the configuration file only", _remedy())


def _remedy() -> str:
    names = " or ".join(KEY_VARIABLES)
    return f"Set {names} for this run and for the workers; a key is never sent to workers of a cluster."
