"""Whether two objects whose vectors are close may say the same: what a vector does not see must agree.

A mean of word vectors hardly moves when one number, name or *not* changes, and not at all when two
words change places. The lists are closed and small; a word they miss leaves the decision to the cosine.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cache, lru_cache

from transforms.facts.wording import are_forms

_NUMBERS = (
    "zero null|one first once uno eins|two second twice zwei dos deux|"
    "three third thrice drei tres trois|four fourth vier cuatro quatre|five fifth fünf cinco cinq|"
    "six sixth sechs seis|seven seventh sieben siete sept|eight eighth acht ocho huit|"
    "nine ninth neun nueve neuf|ten tenth zehn diez dix|"
    "eleven eleventh elf|twelve twelfth dozen zwölf doce douze"
)
_FRACTIONS = {"half": "1/2", "halb": "1/2", "medio": "1/2", "demi": "1/2", "double": "2", "single": "1"}
_NEGATIONS = (
    "no not never none nothing nobody without neither nor cannot non lacks avoid avoids avoiding except"
    " nicht kein keine keinen keiner nie ohne sin nunca jamás ningún ninguna pas jamais sans aucun aucune"
    " non senza mai nessun não nunca sem nenhum не нет без никогда нельзя niet geen zonder nie bez inte utan"
)
_NEGATING_SIGNS = ("不", "没", "沒", "无", "無", "别", "ない", "ません", "なし", "안 ", "없", "않")
_CLASSES = (
    "left right|north/northern south/southern east/eastern west/western|up down|on off|in out|top bottom|"
    "front back rear|upper lower|aisle window middle|inside outside|indoor/indoors outdoor/outdoors|"
    "morning noon afternoon evening night midnight|early late|before after|am pm|weekday weekend|"
    "monday tuesday wednesday thursday friday saturday sunday|"
    "january february march april may june july august september october november december|"
    "spring summer autumn/fall winter|millisecond seconds minute hour day week month quarter year decade|"
    "hourly daily weekly monthly quarterly yearly/annually/annual|today tomorrow yesterday|"
    "hot cold warm cool|sweet dry sour bitter salty|loud quiet|long short|spicy mild|large/big small/little|"
    "high low|old new|young old|dark light|with without|always never|allow/allowed deny/denied|"
    "enable/enabled disable/disabled|open closed|start stop|begin end|buy sell|win lose|push pull|"
    "increase decrease|raise lower|minimum maximum|min max|accept reject|include exclude|add remove|"
    "read write|input output|public private|internal external|first last|cheap expensive|fast slow|"
    "fresh frozen|raw cooked|hard soft|male female|married divorced|chronic acute|junior senior|"
    "assistant associate|acoustic electric|frontend backend|dev staging prod|development production|"
    "love hate|like dislike|join leave|arrive depart|arrival departure|import export|upload download|"
    "red orange yellow green blue purple pink brown black white grey/gray|"
    "mother father sister brother daughter son wife husband aunt uncle niece nephew cousin"
    " grandmother grandfather granddaughter grandson girlfriend boyfriend|cat dog|"
    "euro dollar pound yen franc|kg g mg lb|km m cm mm mile|kb mb gb tb|"
    "links rechts|morgens abends|früh spät|warm kalt|groß klein|vor nach|mit ohne|rot weiß schwarz grün blau|"
    "izquierda derecha|mañana tarde noche|antes después|caliente frío|grande pequeño|con sin|tinto blanco|"
    "gauche droite|matin soir|avant après|chaud froid|grand petit|avec sans|rouge blanc noir vert bleu|"
    "левый правый|слева справа|утром вечером|утро вечер|до после|горячий холодный|большой маленький|с без"
)
"""Words that exclude each other, ``/`` between those that do not: where both have some, they must agree."""
_SIGN_CLASSES = (
    "左右", "上下", "前后", "前後", "早晚", "大小", "冷热", "冷熱", "红绿黑白", "紅綠黒黑白", "男女",
    "东西南北", "東西南北", "猫狗", "犬猫", "春夏秋冬", "新旧", "高低", "内外", "朝夜夕",
)  # fmt: skip
"""The same of scripts without blanks: of these characters."""
_ORDERING = (
    "over than before after from into for instead versus but without no not rather statt als von vor nach"
    " sobre antes desde sin avant après plutôt depuis sans вместо до после из без чем"
)
"""Where one of these stands, words that change places change the meaning."""
_PREFIXES = ("un", "in", "im", "ir", "il", "dis", "non", "anti", "de", "mis", "hypo", "hyper", "не")
_FILLERS = (
    "a an the of in on at to with by and or who that which as is are be her his my our your their its it"
    " this these those some any all each every named called always"
    " der die das den dem des ein eine einen einem einer und oder in im am zu zum zur mit auf bei"
    " el la los las un una unos unas y o de del en al con su mi le les une et ou du des au aux à dans"
    " и или в во на с со к у о об по"
)
"""Words that may come or go."""
_LEGAL_FORMS = "inc ltd llc corp corporation gmbh ag co company plc sa"
"""Capitalised words that are no name."""
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_CHUNK = re.compile(r"\S+")
_EDGES = "\"'`.,;:!?()[]{}<>«»„“”‘’…"
_MEASURE = re.compile(r"([-+]?\d+(?:[.,]\d+)*)([^\W\d_]{1,3}|%)?")
_CODE = re.compile(r"\d|[_@/\\#+=~&|:]|\w\.\w|[a-z][A-Z]")


@dataclass(frozen=True)
class Signature:
    """What of a text must agree.

    Attributes:
        words: Case-folded words in order.
        names: Case-folded words that are written with a capital, in order.
        codes: Numbers, and words with digits or signs inside, sorted.
        negations: How many words deny.
        classes: Of each list of words that exclude each other, those that stand in it.
    """

    words: tuple[str, ...]
    names: tuple[str, ...]
    codes: tuple[str, ...]
    negations: int
    classes: frozenset[tuple[int, str]]


@cache
def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


@cache
def _tables() -> tuple[dict[str, str], dict[str, tuple[tuple[int, str], ...]]]:
    """Number of each word for one, and the lists, with its place there, of each word that excludes others."""
    numbers = {w: f"{n}" for n, ws in enumerate(_NUMBERS.split("|")) for w in ws.split()} | _FRACTIONS
    classes: dict[str, tuple[tuple[int, str], ...]] = {}
    for n, words in enumerate(_CLASSES.split("|")):
        for member in words.split():
            for word in member.split("/"):
                classes[word] = (*classes.get(word, ()), (n, member))
    return numbers, classes


@lru_cache(maxsize=65_536)
def signature(text: str) -> Signature:
    """What of a text must agree for it to say what another says."""
    (numbers, classes), denying = _tables(), _set(_NEGATIONS)
    plain = unicodedata.normalize("NFKC", text).replace("’", "'")
    shown = _WORD.findall(plain)
    words = tuple(w.casefold().removesuffix("'s") for w in shown)
    codes = sorted([c for chunk in _CHUNK.findall(plain) for c in _codes(chunk.strip(_EDGES))])
    codes += sorted(numbers[w] for w in words if w in numbers)
    found = {member for w in words for form in _forms(w) for member in classes.get(form, ())}
    denials = sum(w in denying or w.endswith("n't") for w in words)
    if not plain.isascii():
        found |= {(-1 - n, c) for n, chars in enumerate(_SIGN_CLASSES) for c in plain if c in chars}
        denials += sum(plain.count(sign) for sign in _NEGATING_SIGNS)
    names = tuple(w.casefold() for w in shown if w[0].isupper() and w.casefold() not in _set(_LEGAL_FORMS))
    return Signature(words, names, tuple(sorted(codes)), denials, frozenset(found))


def _codes(chunk: str) -> list[str]:
    """Number of a chunk, or the chunk itself where it is an id, an address or a piece of code."""
    measure = _MEASURE.fullmatch(chunk)
    if measure:
        return [re.sub(r",(?=\d{3}(\D|$))", "", measure[1])]
    return [chunk.casefold()] if _CODE.search(chunk) else []


def _forms(word: str) -> tuple[str, ...]:
    """A word and its singular."""
    return (word, word[:-1]) if len(word) > 3 and word.endswith("s") else (word,)


def agree(left: Signature, right: Signature) -> bool:
    """Whether nothing that a vector misses speaks against the two being the same. Symmetric."""
    if left.codes != right.codes or left.negations != right.negations:
        return False
    if not _classes_agree(left, right):
        return False
    if not _names_agree(left, right) or _are_substituted(left.words, right.words):
        return False
    return not (_are_opposed(left.words, right.words) or _are_swapped(left.words, right.words))


def _classes_agree(left: Signature, right: Signature) -> bool:
    shared = {n for n, _ in left.classes} & {n for n, _ in right.classes}
    return {c for c in left.classes if c[0] in shared} == {c for c in right.classes if c[0] in shared}


def _names_agree(left: Signature, right: Signature) -> bool:
    """Whether not both have names of their own, and one adds none in front: *New York* is not *York*."""
    if _has_unknown(left.names, right.words) and _has_unknown(right.names, left.words):
        return False
    if not left.names or not right.names or set(left.names) == set(right.names):
        return True
    return are_forms(left.names[0], right.names[0])


def _has_unknown(names: tuple[str, ...], words: tuple[str, ...]) -> bool:
    """Whether one of the names is none of the words, in the singular or the plural."""
    held = {form for word in words for form in _forms(word)}
    return any(held.isdisjoint(_forms(name)) for name in names)


def _are_substituted(left: tuple[str, ...], right: tuple[str, ...]) -> bool:
    """Whether each has a word of its own that is no form of a word that only the other has.

    A vector does not tell a synonym from a sibling, *film, movie* from *thick, thin*: neither is merged.
    """
    numbers, classes = _tables()
    dropped = _set(_FILLERS) | _set(_NEGATIONS)
    mine, yours = (
        [w for w in one if w not in other and w not in dropped and w not in numbers and not w[0].isdigit()]
        for one, other in ((left, right), (right, left))
    )
    if "".join(mine) == "".join(yours):
        return False
    few, many = sorted((mine, yours), key=len)
    return not all(any(_are_alike(one, other, classes) for other in many) for one in few)


def _are_alike(one: str, other: str, classes: dict[str, tuple[tuple[int, str], ...]]) -> bool:
    return are_forms(one, other) or bool(set(classes.get(one, ())) & set(classes.get(other, ())))


def _are_opposed(left: tuple[str, ...], right: tuple[str, ...]) -> bool:
    """Whether a word of one is a word of the other with a prefix that turns it around."""
    mine, yours = set(left) - set(right), set(right) - set(left)
    return any(p + w in yours for w in mine for p in _PREFIXES) or any(
        p + w in mine for w in yours for p in _PREFIXES
    )


def _are_swapped(left: tuple[str, ...], right: tuple[str, ...]) -> bool:
    """Whether words of both stand in another order, where order counts."""
    ordering = _set(_ORDERING)
    if ordering.isdisjoint(left) or ordering.isdisjoint(right):
        return False
    shared = set(left) & set(right) - ordering
    return [w for w in left if w in shared] != [w for w in right if w in shared]
