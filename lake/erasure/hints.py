"""``lake.hints`` under the name by which erasure knows it."""

from __future__ import annotations

from lake.hints import carry_over, settled_version

__all__ = ["carry_over", "settled_version"]
