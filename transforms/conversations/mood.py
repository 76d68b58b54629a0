"""Mood of what a person writes: words of a lexicon, turned by negation, strength and contrast.

Valences are added as in VADER (Hutto and Gilbert, 2014), whose squashing ``s / sqrt(s² + 15)`` brings a
sum to -1..1. Only texts that a prefilter over all texts finds are read one by one, each distinct text once.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from functools import lru_cache

import polars as pl

from transforms.conversations.mood_words import (
    EMOJI,
    LEXICON,
    NEUTRAL,
    OTHER,
    PHRASES,
    SMILEYS,
    UNSPACED,
)

SQUASH = 15.0
NEGATED = -0.7
"""A denied word says the opposite, more weakly: not happy, not bad."""
STRONGER, WEAKER = 1.4, 0.6
BEFORE_BUT, AFTER_BUT = 0.7, 1.2
_REACH = 3
"""Words back that a negation or an intensifier reaches; four in German and French catch no more."""
MAX_CHARS = 4_000
"""Mood stands in what a person types, not in a file they paste."""

_UNSPACED_RANGE = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
_WORD = re.compile(rf"[^\W\d_{_UNSPACED_RANGE}]+(?:['’-][^\W\d_{_UNSPACED_RANGE}]+)*|[{_UNSPACED_RANGE}]+|[!]+")
_BLOCK = re.compile(
    r"\[REDACTED:\w+\]|```.*?(?:```|$)|`[^`\n]*`|https?://\S+|(?m:^\s*>.*$)|“[^”]*”|„[^“”]*[“”]|\"[^\"\n]{3,}\"|«[^»]*»",
    re.S,
)
_NEUTRAL = re.compile(rf"\b(?:{NEUTRAL})\b")
_PHRASES = [
    (valence, re.compile(rf"(?<!\w)(?:{words})(?!\w)|(?:{words})(?<=[^\x00-\u2fff])"))
    for valence, words in PHRASES.items()
]
_ANY_PHRASE = re.compile("|".join(f"(?:{words})" for words in PHRASES.values()))
_SENTENCE_END = re.compile(r"[.!?。！？\n]+(?=\s|$|[^\x00-\u2fff])")
_CLAUSE = re.compile(r"[.;:!?。！？；…\n]+|,|，|、")
_BUT = re.compile(
    r"\b(?:but|however|although|though|yet|except|aber|jedoch|obwohl|pero|aunque|mais|pourtant|ma|però|mas|porém|но|зато)\b"
    r"|但是?|不过|可是|けど|けれど|でも|しかし|ですが|だが|하지만|그런데"
)
_IF = re.compile(r"^\s*(?:if|in case|unless|falls|wenn|si|se|если|如果|要是|もし)\b")
_NOT = frozenset(
    "not no never none nothing nobody neither nor without hardly barely cannot can't don't doesn't didn't isn't wasn't"
    " aren't weren't won't wouldn't couldn't shouldn't haven't hasn't hadn't ain't dont doesnt didnt isnt wasnt wont cant"
    " nicht kein keine keinen keiner nie niemals ohne kaum no nunca jamás sin ni ne pas jamais sans plus aucun non mai"
    " senza não nem nunca sem не ни без никогда нет".split()
)
_MORE = frozenset(
    "very really so extremely totally absolutely incredibly super truly completely utterly insanely such deeply"
    " sehr total echt wirklich so extrem absolut richtig muy tan realmente totalmente très vraiment tellement trop"
    " molto davvero tanto muito tão realmente очень так совсем".split()
)
_LESS = frozenset(
    "slightly somewhat a-bit kinda bit little fairly rather quite mildly etwas bisschen ziemlich leicht un-poco algo"
    " poco peu assez abbastanza pouco немного слегка".split()
)
_SARCASM = re.compile(
    r"^\W*(?:(?:oh|well|yeah|yay|wow|ah|ach|na)\W+)?(?:just )?(?:great|wonderful|fantastic|perfect|lovely|brilliant|nice|awesome"
    r"|amazing|excellent|super|toll|klasse|wunderbar|großartig|genial|perfecto|parfait|bravo|fun)\b[^.!?…]{0,12}[,.!…]\W*"
    r"(?=.*\b(?:again|another|crash\w*|fail\w*|broke\w*|lost|down|error\w*|won'?t|doesn'?t|didn'?t|still|gone|deleted|late|cancel\w*"
    r"|delay\w*|nothing works|wieder|kaputt|schon wieder|nochmal|weg|otra vez|de nuevo|encore|en panne|ancora|опять|снова)\b)"
    r"|\bthanks (?:a lot )?for nothing\b|\bjust what i (?:needed|wanted)\b|\bexactly what i (?:needed|wanted) (?:today|right now|on a)"
    r"|\b(?:i )?(?:just |really )?love (?:it )?(?:how|when|that)\b.{0,60}\b(?:fail\w*|crash\w*|again|lose\w*|lost|break\w*|ignor\w*|late|wait\w*|never|nobody|doesn'?t|deletes?)\b"
    r"|\byeah,? right\b|\bas if\b!|\bwhat could (?:possibly )?go wrong\b|\bhow (?:nice|wonderful|lovely) of (?:it|them|you) to\b"
    r"|\bbest .{0,20} ever\b.{0,10}\bnot\b|\bsuper hilfreich\b.{0,4}🙄|(?:great|nice|good|sure|lovely|fun|awesome|wonderful|thanks|toll|super|genial)\b[^.!?]{0,40}[.!…]*\s*(?:🙄|🙃|/s\b)"
    r"|\bvielen dank (?:auch )?für nichts\b|\bna (?:toll|super|prima|bravo)\b|\bgracias por nada\b|\bmerci pour rien\b|真是谢谢了|呵呵"
)
_NEGATED_AFTER = re.compile(r"^(?:く|い|しく)?(?:じゃ|では|は)?(?:な(?:い|か|く)|ありませ)|^く(?:な(?:い|か)|ありませ)|^(?:지|하지) ?(?:않|못)")
_NEGATED_BEFORE = re.compile(r"(?:不|没|沒|別|别|无|未|不太|不怎么|不是很|没有|안|못|안 )$")
_FUNCTION_WORDS = {
    "en": "the a an i you it is was are this that and of to in my me we for on with have just so not be am what at",
    "de": "der die das ich du ist war und nicht ein eine mit mir mich es wir zu den auf für habe bin sie was im dem",
    "es": "el la los las yo es está y no un una con me mi que de en por para se lo estoy muy qué del al",
    "fr": "le la les je tu est et ne pas un une avec me mon ma que de en pour ce c'est suis très du des j'ai il au",
    "it": "il lo gli io è e non un una con mi che di in per sono molto questo ho della del al",
    "pt": "o os as eu é está e não um uma com me meu minha que de em por para muito estou isso do da",
    "ru": "я ты он она это и не в на с что как мне меня мы но у за так очень был",
}


def _entries(table: dict[float, str]) -> dict[str, float]:
    return {word: valence for valence, words in table.items() for word in words.split()}


def _split_stems(table: dict[str, float]) -> tuple[dict[str, float], dict[str, float]]:
    whole = {w: v for w, v in table.items() if not w.endswith("*")}
    return whole, {w[:-1]: v for w, v in table.items() if w.endswith("*")}


_WORDS = {language: _split_stems(_entries(table)) for language, table in (LEXICON | {"other": OTHER}).items()}
_STEMS_ANYWHERE = _entries(UNSPACED)
_ANYWHERE = re.compile("|".join(map(re.escape, sorted(_STEMS_ANYWHERE, key=lambda s: (-len(s), s)))))
_SIGNS = _entries(EMOJI) | {sign: valence for valence, signs in SMILEYS.items() for sign in signs}
_SIGN = re.compile(
    "|".join(
        re.escape(s) if not s[-1].isalpha() else rf"(?<!\w){re.escape(s)}(?!\w)"
        for s in sorted(_SIGNS, key=lambda s: (-len(s), s))
    )
)
_SPOKEN: dict[str, tuple[str, ...]] = {
    word: tuple(name for name, words in _FUNCTION_WORDS.items() if word in words.split())
    for word in " ".join(_FUNCTION_WORDS.values()).split()
}
_LONG = 6
_HINTS = sorted(
    {w for whole, stems in _WORDS.values() for w in (*whole, *stems)} | set(_STEMS_ANYWHERE) | {s.lower() for s in _SIGNS}
)
_PHRASE_HINT = "(?i)" + "|".join(f"(?:{words})" for words in PHRASES.values())


def moods(texts: pl.Series) -> pl.DataFrame:
    """Positive and negative mood of each text.

    Args:
        texts: String.

    Returns:
        Float64 ``positive`` and ``negative``, sums of valence, both at or above 0, a row each, in order;
        null where a text holds no word or sign of mood.
    """
    short = texts.str.slice(0, MAX_CHARS)
    lower = short.str.to_lowercase()
    hit = lower.str.contains_any(_HINTS) | lower.str.contains(_PHRASE_HINT)
    distinct = short.filter(hit.fill_null(False)).unique()
    found = [mood(text) for text in distinct]
    schema = {"text": pl.String, "positive": pl.Float64, "negative": pl.Float64}
    known = pl.DataFrame(
        {"text": distinct, "positive": [f and f[0] for f in found], "negative": [f and f[1] for f in found]},
        schema=schema,
    )
    joined = short.rename("text").to_frame().join(known, on="text", how="left", maintain_order="left")
    return joined.select("positive", "negative")


def squash(total: float) -> float:
    """A sum of valences on the scale -1 to 1."""
    return total / math.sqrt(total * total + SQUASH)


def mood(text: str) -> tuple[float, float] | None:
    """Sums of positive and of negative valence of a text, or None where nothing carries mood."""
    plain = _BLOCK.sub(" ", text).replace("’", "'").replace("\ufe0f", "")
    found = [_SIGNS[m.group()] for m in _SIGN.finditer(plain)]
    if _SARCASM.search(plain.lower()):
        return 0.0, 2.0 + sum(-v for v in found if v < 0)
    lower = _NEUTRAL.sub(" ", _SIGN.sub(" ", plain).lower())
    if _ANY_PHRASE.search(lower):
        for valence, phrase in _PHRASES:
            lower, count = phrase.subn(" ", lower)
            found.extend([valence] * count)
    language = _language(lower)
    for clause, weight in _clauses(lower):
        found.extend(valence * weight for valence in _valences(clause, language))
    if not found:
        return None
    return sum(v for v in found if v > 0), -sum(v for v in found if v < 0)


def _clauses(text: str) -> list[tuple[str, float]]:
    """Clauses with their weight: what comes after "but" counts for more than what comes before."""
    clauses: list[tuple[str, float]] = []
    for sentence in _SENTENCE_END.split(text):
        parts = _BUT.split(sentence)
        for i, part in enumerate(parts):
            weight = 1.0 if len(parts) == 1 else AFTER_BUT if i == len(parts) - 1 else BEFORE_BUT
            pieces = [p for p in _CLAUSE.split(part) if p.strip()]
            clauses.extend((piece, weight) for piece in pieces if not _IF.match(piece))
    return clauses


def _language(text: str) -> str | None:
    """The language whose function words stand in the text most often; None where none or several do."""
    hits = Counter(name for word in _WORD.findall(text) for name in _SPOKEN.get(word, ()))
    top = hits.most_common(2)
    if not top or (len(top) == 2 and top[0][1] == top[1][1]):
        return None
    return top[0][0]


def _valences(clause: str, language: str | None) -> list[float]:
    found = []
    tokens = _WORD.findall(clause)
    for at, token in enumerate(tokens):
        valence = _lookup(token, language)
        if valence is not None:
            found.append(valence * _turn(tokens[max(0, at - _REACH) : at], valence, language))
    for match in _ANYWHERE.finditer(clause):
        valence = _STEMS_ANYWHERE[match.group()]
        before, after = clause[max(0, match.start() - 4) : match.start()], clause[match.end() : match.end() + 6]
        is_denied = _NEGATED_BEFORE.search(before) or _NEGATED_AFTER.match(after)
        found.append(valence * (NEGATED if is_denied else 1.0))
    return found


def _turn(before: list[str], valence: float, language: str | None) -> float:
    """What the words before one make of it."""
    factor = 1.0
    for word in before:
        if word in _NOT or word.endswith("n't"):
            # "No, great" answers a question; it denies nothing.
            factor = factor if word == "no" and language == "en" and valence > 0 else NEGATED
        elif word in _MORE:
            factor *= STRONGER
        elif word in _LESS:
            factor *= WEAKER
    return factor


@lru_cache(maxsize=65_536)
def _lookup(word: str, language: str | None) -> float | None:
    """Valence of a word: in its language; else, where that is unknown, in any.

    A word that is long enough to belong to one language only counts among words of another, too.
    """
    if language is None:
        return next((v for name in _WORDS if (v := _in_language(word, name)) is not None), None)
    found = _in_language(word, language)
    if found is not None or len(word) < _LONG or language in _SPOKEN.get(word, ()):
        return found
    return next((whole[word] for whole, _ in _WORDS.values() if word in whole), None)


def _in_language(word: str, language: str) -> float | None:
    whole, stems = _WORDS[language]
    if word in whole:
        return whole[word]
    return next((stems[word[:end]] for end in range(len(word), 2, -1) if word[:end] in stems), None)
