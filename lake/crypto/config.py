"""Configuration of encryption at rest."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class EncryptionConfig(BaseModel):
    """The ``[encryption]`` section of ``slowwave.toml``; without one, no key is looked for."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    keyring: str = Field(min_length=1)
    """Folder or ``s3://`` address of the keys, outside the lake and outside its backups."""
    master_key_file: str | None = None
    """File with the base64 of 32 bytes; where unset, ``SLOWWAVE_MASTER_KEY`` holds it."""
    previous_master_key_file: str | None = None
    """The master key before it, while keys are wrapped anew; or ``SLOWWAVE_PREVIOUS_MASTER_KEY``."""
