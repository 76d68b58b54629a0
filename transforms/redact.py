"""Redaction: secrets and PII become ``[REDACTED:kind]`` before a text is stored, embedded or logged.

A text is folded first (look-alike characters, invisible ones and escapes undone), searched by
the rules of ``redact_rules``, and the findings are cut out of the original. For a series one
prefilter in Rust picks the few rows that the exact rules then read.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import polars as pl

from transforms.errors import ConfigError
from transforms.redact_rules import (
    CREDENTIAL_KINDS,
    FAMILIES,
    FAMILY_INDEX,
    HAS_DIGITS,
    KINDS,
    PREFILTER,
    RULES,
    Rule,
    Span,
)

_HYPHENS = "\u2010\u2011\u2012\u2013\u2212\ufe58\ufe63"
_SPACES = "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
_INVISIBLE = (
    "\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff\U000e0000-\U000e007f"
)
_QUOTES = {"\u201c": '"', "\u201d": '"', "\u2018": "'", "\u2019": "'"}
_FOLDED = {
    **{0xFF01 + i: chr(0x21 + i) for i in range(94)},
    **{ord(c): "-" for c in _HYPHENS},
    **{ord(c): " " for c in _SPACES},
    **{ord(k): v for k, v in _QUOTES.items()},
    0xFE52: ".",
    0xFE6B: "@",
    0xFE55: ":",
}
_MARK_START = "[REDACTED:"
_MARK = re.compile(rf"\[REDACTED:(?:{'|'.join(KINDS)})\]")
_HIDDEN = re.compile(rf"[{_INVISIBLE}]+|(?<!\\)\\++(?=[\"'/nrt])")
_STRANGE = "[" + "".join(map(chr, _FOLDED)).replace("-", "") + _INVISIBLE + "]" + r"|\\[\"'/nrt]|\[REDACTED:"
"""Where folding would change a text; only such texts are folded before the prefilter."""
_MAX_PASSES = 8
_FEW, _FEW_BYTES = 8, 20_000
"""Most rows, and bytes of all of them, that are read by every rule at once."""


@dataclass(frozen=True, slots=True)
class Folded:
    """A text in plain form, with the way back.

    Args:
        text: The folded text.
        starts: Folded positions at which the shift grows, ascending.
        shifts: Characters removed before each of ``starts``, ascending.
    """

    text: str
    starts: tuple[int, ...] = ()
    shifts: tuple[int, ...] = ()

    def origin(self, position: int) -> int:
        """Position in the original text of the folded character at ``position``."""
        at = bisect_right(self.starts, position)
        return position + (self.shifts[at - 1] if at else 0)


def _blank(mark: re.Match[str]) -> str:
    # Letters at both edges: what was no boundary before the cut is none after it.
    return "X" + "\n" * (len(mark.group()) - 2) + "X"


def fold(text: str) -> Folded:
    """Undoes what hides a secret: full-width forms, odd hyphens and spaces, invisible characters.

    Backslash escapes of quotes, slashes and line ends are undone too, so JSON inside JSON reads
    like JSON; marks of an earlier redaction become blank, so nothing matches inside them.
    """
    if _MARK_START in text:
        text = _MARK.sub(_blank, text)
    if not text.isascii():
        text = text.translate(_FOLDED)
    elif "\\" not in text:
        return Folded(text)
    pieces, starts, shifts = [], [], []
    read = kept = removed = 0
    for m in _HIDDEN.finditer(text):
        pieces.append(text[read : m.start()])
        kept += m.start() - read
        removed += m.end() - m.start()
        read = m.end()
        starts.append(kept)
        shifts.append(removed)
        if m.group()[0] == "\\" and text[read] in "nrt":
            pieces.append("\n")
            kept += 1
            read += 1
    if not starts:
        return Folded(text)
    return Folded("".join(pieces) + text[read:], tuple(starts), tuple(shifts))


def _find(text: str, rules: Sequence[Rule]) -> list[tuple[int, int, str]]:
    """Findings in folded text as (start, end, kind), disjoint, ascending."""
    lower = text.lower()
    taken: list[tuple[int, int, str]] = []
    has_digits = HAS_DIGITS.search(text) is not None
    for rule in rules:
        if rule.needs_digits and not has_digits:
            continue
        if rule.words:
            where = lower if rule.is_lower else text
            for word in rule.words:
                if word in where:
                    break
            else:
                continue
        found = [(start, end, rule.kind) for start, end in rule.find(text) if start < end]
        if found:
            taken = _merge(taken, found)
    return taken


def _merge(
    taken: list[tuple[int, int, str]], found: list[tuple[int, int, str]]
) -> list[tuple[int, int, str]]:
    """Both lists, ascending and disjoint; on an overlap the earlier finding keeps its kind.

    A later credential that reaches further widens the earlier one (a password that holds a token
    goes whole); other kinds do not (in ``://user:pass@host.com`` the host stays).
    """
    ordered = sorted([(s, 0, e, k) for s, e, k in taken] + [(s, 1, e, k) for s, e, k in found])
    kept: list[tuple[int, int, int, str]] = []
    for start, order, end, kind in ordered:
        if not kept or start >= kept[-1][2]:
            kept.append((start, order, end, kind))
            continue
        last_start, last_order, last_end, last_kind = kept[-1]
        first_kind = kind if order < last_order else last_kind
        later_kind = last_kind if order < last_order else kind
        if later_kind in CREDENTIAL_KINDS:
            kept[-1] = (last_start, min(order, last_order), max(end, last_end), first_kind)
        elif order < last_order:
            kept[-1] = (start, order, end, kind)
    return [(s, e, k) for s, _, e, k in kept]


def _touches_mark(marks: list[Span], start: int, end: int, kind: str) -> bool:
    """Whether a finding overlaps an earlier mark; a private key may swallow marks whole."""
    at = bisect_right(marks, start, key=lambda mark: mark[1])
    if at == len(marks) or marks[at][0] >= end:
        return False
    last = marks[bisect_left(marks, end, key=lambda mark: mark[0]) - 1]
    return kind != "private_key" or marks[at][0] < start or last[1] > end


def redact_text(text: str, keep: Collection[str] = ()) -> tuple[str, tuple[str, ...]]:
    """One text without its secrets and PII, and the sorted kinds that were found.

    Kinds in ``keep`` are found and named but stay in the text. Repeated until nothing more is
    found, since cutting one finding out can free another; so a redacted text stays as it is.
    """
    return _redact(text, keep, RULES)


def _redact(text: str, keep: Collection[str], rules: Sequence[Rule]) -> tuple[str, tuple[str, ...]]:
    kinds: set[str] = set()
    for _ in range(_MAX_PASSES):
        folded = fold(text)
        marks = [m.span() for m in _MARK.finditer(text)] if _MARK_START in text else []
        pieces, read = [], 0
        for folded_start, folded_end, kind in _find(folded.text, rules):
            start, end = folded.origin(folded_start), folded.origin(folded_end - 1) + 1
            if marks and _touches_mark(marks, start, end, kind):
                continue
            kinds.add(kind)
            if kind not in keep:
                pieces += [text[read:start], f"[REDACTED:{kind}]"]
                read = end
        if not pieces:
            break
        text = "".join(pieces) + text[read:]
    return text, tuple(sorted(kinds))


def plain_texts(texts: pl.Series) -> pl.Series:
    """The folded text of each; only texts that folding would change are touched."""
    odd = texts.str.contains(_STRANGE).fill_null(False).arg_true()
    if not odd.len():
        return texts
    folded = pl.Series([fold(text).text for text in texts.gather(odd)], dtype=pl.String)
    return texts.clone().scatter(odd, folded)


def candidates(texts: pl.Series) -> pl.Series:
    """Boolean series: which texts may hold a finding. Never false where ``redact_text`` finds one."""
    return plain_texts(texts).str.contains(PREFILTER).fill_null(False)


def _are_few(texts: pl.Series) -> bool:
    """A landed row or two: every rule reads them sooner than the prefilter would choose."""
    return texts.len() <= _FEW and texts.str.len_bytes().sum() <= _FEW_BYTES


def _rules_by_row(texts: pl.Series) -> list[tuple[Rule, ...]]:
    """For each text the rules whose family's prefilter matches it, in order of priority."""
    if _are_few(texts):
        return [tuple(RULES)] * texts.len()
    plain = plain_texts(texts)
    masks = pl.zeros(texts.len(), dtype=pl.Int64, eager=True)
    for n, family in enumerate(FAMILIES):
        masks += plain.str.contains(family).cast(pl.Int64) * 2**n
    by_mask = {
        mask: tuple(r for r, n in zip(RULES, FAMILY_INDEX, strict=True) if mask >> n & 1)
        for mask in masks.unique()
    }
    return [by_mask[mask] for mask in masks]


def redact(texts: pl.Series, *, keep_kinds: Collection[str] = ()) -> pl.DataFrame:
    """Redacts every text of a series.

    Args:
        texts: String series; null stays null.
        keep_kinds: Kinds that are reported but left in the text. Credentials cannot be kept.

    Returns:
        As many rows, in order: ``text`` String, ``redactions`` List(String), the sorted distinct
        kinds found (empty for none).

    Raises:
        ConfigError: ``keep_kinds`` names an unknown kind, or one that holds credentials.
    """
    wrong = sorted(set(keep_kinds) - (set(KINDS) - CREDENTIAL_KINDS))
    if wrong:
        raise ConfigError(
            f"redact.keep_kinds: {', '.join(wrong)} cannot be kept",
            f"Choose from {', '.join(k for k in KINDS if k not in CREDENTIAL_KINDS)}.",
        )
    texts = texts.cast(pl.String).rename("text")
    rows = (texts.is_not_null() if _are_few(texts) else candidates(texts)).arg_true()
    read = texts.gather(rows)
    done = [_redact(t, keep_kinds, rules) for t, rules in zip(read, _rules_by_row(read), strict=True)]
    groups = sorted({kinds for _, kinds in done} | {()})
    code = {kinds: n for n, kinds in enumerate(groups)}
    codes = pl.zeros(texts.len(), dtype=pl.UInt32, eager=True)
    if done:
        texts = texts.clone().scatter(rows, pl.Series([text for text, _ in done], dtype=pl.String))
        codes = codes.scatter(rows, pl.Series([code[kinds] for _, kinds in done], dtype=pl.UInt32))
    lists = pl.Series("redactions", [list(g) for g in groups], dtype=pl.List(pl.String))
    return pl.DataFrame([texts, lists.gather(codes).rename("redactions")])
