"""Words of a question for routing: what it asks about, once times and small words are taken out."""

from __future__ import annotations

import re
import unicodedata

from transforms.topics.stop_words import HAN_FUNCTION, STOP_WORDS

_TALK = [
    "happen",
    "happens",
    "happened",
    "happening",
    "discuss",
    "discussed",
    "discussing",
    "discussion",
    "discussions",
    "talked",
    "talking",
    "talks",
    "chat",
    "chats",
    "chatted",
    "chatting",
    "session",
    "sessions",
    "conversation",
    "conversations",
    "mention",
    "mentioned",
    "remember",
    "recall",
    "memory",
    "memories",
    "summary",
    "summaries",
    "summarise",
    "summarize",
    "summarised",
    "recap",
    "news",
    "catch",
    "notes",
    "note",
    "history",
    "topic",
    "topics",
    "spoke",
    "speak",
    "spoken",
    "speaking",
    "cover",
    "covered",
    "show",
    "list",
    "tell",
    "told",
    "ask",
    "asked",
    "say",
    "said",
    "done",
    "did",
    "do",
    "new",
    "latest",
    "newest",
    "recent",
    "recently",
    "most",
    "earlier",
    "previous",
    "previously",
    "stuff",
    "events",
    "event",
    "everything",
    "anything",
    "activity",
    "activities",
    "update",
    "updates",
    "going",
    "happening",
    "met",
    "us",
    "we",
    "i",
    "you",
    "me",
    "my",
    "our",
    "your",
    "besprochen",
    "gesprochen",
    "geredet",
    "passiert",
    "gemacht",
    "gesagt",
    "sitzung",
    "gespräch",
    "unterhalten",
    "los",
    "war",
    "gewesen",
    "haben",
    "parlé",
    "discuté",
    "passé",
    "fait",
    "dit",
    "séance",
    "conversation",
    "dernière",
    "dernier",
    "dernières",
    "derniers",
    "hablamos",
    "hablado",
    "hicimos",
    "pasó",
    "dicho",
    "sesión",
    "conversación",
    "última",
    "último",
    "últimas",
    "últimos",
]
_EMPTY = STOP_WORDS | frozenset(_TALK)
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]")
_HAN_TALK = frozenset(
    HAN_FUNCTION
    + "聊谈談讨討论論话話会會议議事做干何発发發生情内容问問次回最近記记憶忆得知道告诉訴什麼嘛哪怎样為为"
)
_ENDINGS = ("'s", "’s")
_ELIDED = re.compile(r"(?:qu|[cdjlmnst])['’](?=\w{2})")
"""French: *qu'avons* is *avons*."""


def folded(text: str) -> str:
    """NFKC, case-folded: the form in which words are compared."""
    return unicodedata.normalize("NFKC", text).casefold()


def words_of(text: str) -> list[str]:
    """Words of a text, folded, without possessives; a run of Han or kana is one word."""
    found = []
    for word in _WORD.findall(folded(text)):
        bare = word[:-2] if word.endswith(_ENDINGS) else word
        found.append(_ELIDED.sub("", bare, count=1).replace("’", "'") if "'" in bare or "’" in bare else bare)
    return found


def stem(word: str) -> str:
    """A word without the endings of English number and tense; the same for rows and for questions."""
    if len(word) <= 3 or not word.isascii():
        return word
    for ending, becomes in (("ies", "y"), ("sses", "ss"), ("ing", ""), ("ed", ""), ("es", ""), ("s", "")):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            bare = word[: -len(ending)] + becomes
            if ending in ("ing", "ed") and len(bare) > 3 and bare[-1] == bare[-2] and bare[-1] not in "lsz":
                bare = bare[:-1]
            return bare.removesuffix("e") if len(bare) > 3 else bare
    return word.removesuffix("e") if len(word) > 3 else word


def stems_of(text: str) -> list[str]:
    """Stems of the words of a text, those left out that say nothing about a subject."""
    return [stem(word) for word in words_of(text) if not is_small(word)]


def is_small(word: str) -> bool:
    """Whether a folded word says nothing about a subject."""
    if _HAN.search(word):
        return False
    return word in STOP_WORDS or word.replace("'", "") in STOP_WORDS


def asks_of_something(text: str) -> bool:
    """Whether a question, its times taken out, holds a word that memories can be told apart by."""
    han = [c for c in text if _HAN.match(c)]
    if len([c for c in han if c not in _HAN_TALK]) >= 2:
        return True
    words = [word for word in words_of(text) if not _HAN.search(word)]
    return any(
        word not in _EMPTY and word.replace("'", "") not in _EMPTY and not _is_kana(word) for word in words
    )


def _is_kana(word: str) -> bool:
    return all("\u3040" <= c <= "\u30ff" for c in word)


def names_in(text: str) -> set[str]:
    """Words inside sentences that start with a capital, folded: most are names."""
    found = set()
    for match in re.finditer(r"(?<![.!?\n] )(?<!^)(?<=\s)([^\W\d_a-z][^\W\d_]+)", text):
        word = match.group(1)
        if not word.isupper() and not _HAN.search(word):
            found.add(folded(word).removesuffix("'s"))
    return {word for word in found if word not in _EMPTY}
