"""The script that a text is mostly written in: models place texts of one script near each other."""

from __future__ import annotations

import re

_SCRIPTS = {
    "latin": "A-Za-z\u00c0-\u024f\u1e00-\u1eff",
    "greek": "\u0370-\u03ff\u1f00-\u1fff",
    "cyrillic": "\u0400-\u052f",
    "hebrew": "\u0590-\u05ff",
    "arabic": "\u0600-\u06ff\u0750-\u077f\ufb50-\ufdff\ufe70-\ufeff",
    "indic": "\u0900-\u0dff",
    "thai": "\u0e00-\u0eff",
    "hangul": "\u1100-\u11ff\u3130-\u318f\uac00-\ud7af",
    "kana": "\u3040-\u30ff\u31f0-\u31ff",
    "han": "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff",
}
_LETTERS = {name: re.compile(f"[{ranges}]") for name, ranges in _SCRIPTS.items()}
_LETTERS_A_WORD = {"han": 3, "kana": 2, "hangul": 2}
"""One of these letters says as much as several of an alphabet."""
OTHER = "other"


def script(text: str) -> str:
    """Name of the script; ``other`` for one that is not listed, or a text without letters.

    Japanese is told by its kana, however many characters of its text are Han.
    """
    if text.isascii():
        return "latin" if any(map(str.isalpha, text)) else OTHER
    letters = {name: len(found.findall(text)) for name, found in _LETTERS.items()}
    counts = {name: count * _LETTERS_A_WORD.get(name, 1) for name, count in letters.items()}
    if counts["kana"]:
        counts["kana"] += counts["han"]
    best = max(counts, key=lambda name: counts[name])
    return best if counts[best] else OTHER
