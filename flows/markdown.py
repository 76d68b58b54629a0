"""A run's manifest as Markdown, for whoever reads it in a browser: counts and names only, escaped."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from typing import Any

COLUMNS = ("name", "state", "rows_in", "rows_out", "rejected", "duplicates", "seconds")
_MARKS = re.compile(r"([\\`*_\[\]|~])")


def escaped(text: object) -> str:
    """Text that Markdown and HTML show as it is, on one line, also inside a table cell."""
    return _MARKS.sub(r"\\\1", html.escape(" ".join(str(text).split()), quote=False))


def manifest_markdown(manifest: Mapping[str, Any]) -> str:
    """One table row a step, then what was refused and what is live.

    Args:
        manifest: What a flow returns: ``as_of``, ``steps``, ``generation`` and ``skipped_files``.
    """
    lines = [f"As of {escaped(manifest['as_of'])}.", ""]
    lines += [_row(name.replace("_", " ") for name in COLUMNS), _row("---" for _ in COLUMNS)]
    lines += [_row(escaped(_shown(step[name])) for name in COLUMNS) for step in manifest["steps"]]
    lines.append("")
    for step in manifest["steps"]:
        lines += [
            f"- {escaped(title)}: {_counts(step[key])}"
            for key, title in _DETAILS.items()
            if step.get(key) and isinstance(step[key], Mapping)  # publish counts facts in a number
        ]
        lines += [f"- {title}: {step[key]:,}" for key, title in _WITHHELD.items() if step.get(key)]
    if manifest["skipped_files"]:
        lines.append(f"- files that no reader takes: {manifest['skipped_files']:,}")
    if manifest["generation"]:
        lines.append(f"- live: {escaped(manifest['generation'])}")
    return "\n".join(lines)


_DETAILS = {
    "reasons": "quarantined",
    "left_out": "left out",
    "checks": "checks passed",
    "facts": "facts",
    "claims_refused": "claims refused",
}
"""Keys of a step that hold names with counts or figures, and their titles."""


_WITHHELD = {"expired": "rows past their time to live", "injected": "injected context, never served"}
"""Keys of a step that count what was not published, and their titles."""


def _row(cells: Any) -> str:
    return f"| {' | '.join(cells)} |"


def _shown(value: object) -> str:
    return f"{value:,}" if isinstance(value, int | float) else str(value)


def _counts(named: Mapping[str, Any]) -> str:
    return "; ".join(f"{escaped(name)} {escaped(_shown(value))}" for name, value in named.items())
