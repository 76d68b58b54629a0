"""What in a text is the speaker's own plain word: sentences without quotes, code, questions, pretence."""

from __future__ import annotations

import re
from dataclasses import dataclass

HOLE = "\x00"
"""Stands for each character of quoted or pasted text: same length, matches no rule."""
_SAME = {ord(c): "'" for c in "\u2018\u2019\u02bc`\u00b4"} | {ord(c): " " for c in "\u00a0\u202f\u3000\t"}

_BLOCKS = re.compile(
    r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|`[^`\n]+`"
    r"|\"[^\"\n]{1,400}\"|\u201c[^\u201d\n]{1,400}\u201d|\u201e[^\u201c\u201d\n]{1,400}[\u201c\u201d]"
    r"|\u00ab[^\u00bb\n]{1,400}\u00bb|\u300c[^\u300d\n]{1,400}\u300d|\u300e[^\u300f\n]{1,400}\u300f"
    r"|(?:(?<=\s)|^)'(?=[A-Za-z])[^'\n]{1,200}(?:'(?=[a-z])[^'\n]{1,200})*'(?=[\s.,;:!?)]|$)"
    r"|https?://\S+",
    re.DOTALL | re.MULTILINE,
)
_LINES = re.compile(
    r"^(?:\s*>.*|\s*\d{4}-\d\d-\d\d[T ]\d\d:\d\d.*|\s*(?:def|class|import|return|function|const|let|var"
    r"|SELECT"
    r"|INSERT|CREATE|UPDATE|DELETE|ALTER|public|private)\b.*[=({;].*|\s*[\w.]+\s*=\s*[\x00\"'\[{(].*"
    r"|\s*import \w+.*|\s*from \w+ import .*|\s*[#{}\[\]<$].*|\s*(?:SELECT|CREATE|INSERT) .*"
    r"|\s*(?:ERROR|WARN(?:ING)?|INFO|DEBUG|FATAL|TRACE)\b.*|.*[{};]\s*$)$",
    re.MULTILINE,
)
_END = re.compile(
    r"(?<=[^\W_])[.](?=\s|$)|[!?\u2026]+(?=[\s\x00)\]]|$)|[.)](?=\s*$)|[\u3002\uff01\uff1f]+|\n|;"
    r"|\.{2,}|(?<=[)\x00\]%+-])[.](?=\s|$)|[^\w\s,:'\"()\x00./&%#+@*\u20ac$\u00a3\u00a5\u00b0=~<>"
    r"\u3001\u300c\u300d-](?=\s|$)"
)
_ABBREVIATED = re.compile(
    r"(?:\b(?:mr|mrs|ms|dr|st|prof|vs|etc|e\.g|i\.e|approx|nr|no|inc|ltd|jr|sr|ca|tel)|\b[A-Z]|z\.b"
    r"|\b\d{1,2})$",
    re.IGNORECASE,
)

_PRETENCE = re.compile(
    r"\b(?:imagine|suppos(?:e|ing)|pretend|assum(?:e|ing)|hypothetical(?:ly)?|role-?play\w*|let'?s (?:say"
    r"|play|pretend)"
    r"|act as|you (?:be|are|play) (?:the|my|a) \w+|in (?:this|the|my) (?:story|film|movie|book|novel|game"
    r"|play|exercise|scene|dream)"
    r"|for this (?:exercise|game|scene)|my character|the hero|(?:an? )?\w+ exercise|first person|sample "
    r"sentence"
    r"|example sentence|lyrics|as the saying|once upon a time|quote of the day|write (?:me )?an? (?:poem"
    r"|story|song|letter|scene)"
    r"|dear diary|chapter \d+|terms and conditions|what if|for example,? \x00)",
    re.IGNORECASE,
)
"""What comes after it in the message is not meant as said."""
_HANDED_OVER = re.compile(
    r"\b(?:translat\w+|proof-?read\w*|paraphras\w+|rephras\w+|rewrite|summari[sz]e|correct|improve|edit"
    r"|check|fix|review|spell-?check"
    r"|explain|format)\b[^.!?\n]{0,40}(?::|\x00|\b(?:this|the following|my)\b[^.!?\n]{0,20}\b(?:sentence"
    r"|text|e-?mail|paragraph|letter|message|cv|bio)\b)"
    r"|^(?:subject|from|to|cc|betreff|von|date):\s|^dear \w+,?\s*$|\bhere(?:'s| is) (?:a|the|an|my) "
    r"(?:review|text|e-?mail|letter|article|comment|post|quote|message)"
    r"|^\s*---+\s*$|\b(?:begin|start) (?:quote|forwarded)|forwarded message",
    re.IGNORECASE | re.MULTILINE,
)
_QUESTION = re.compile(
    r"^\W*(?:(?:and|but|so|or|ok(?:ay)?|hey|hi|well|also),? )*(?:(?:do|does|did|is|are|am|was|were|can"
    r"|could|should|would|will|shall|have|has|had|may|might)(?:n't)? "
    r"(?:i|you|we|he|she|it|they|the|this|that|there|my|your|our|anyone|someone)\b|what(?:'s|'re)?\b"
    r"|which\b|where(?:'s)? (?:do|does|did|is|are|am|was|can|could|should|would|will|the|my)\b|who(?:'s"
    r"|se)?\b"
    r"|why(?:'s)?\b|how(?:'s)?\b(?!ever)|when (?:do|does|did|is|are|am|was|can|could|should|would|will)\b"
    r"|is it\b|any idea)",
    re.IGNORECASE,
)
_UNREAL = re.compile(
    r"\bif (?:i|we|my|our|only)\b|\bunless (?:i|we)\b|\bas (?:if|though)\b|\b(?:i|we)(?:'d| would| could"
    r"| may| might)(?! (?:rather|prefer|like)\b)\b"
    r"|\b(?:i|we) wish\b|\bmight\b|\bmaybe\b|\bperhaps\b|\bprobably\b|\bpossibly\b|\bin theory\b|\bhad "
    r"(?:i|we) known\b"
    r"|\b(?:i|we) (?:think|guess|suppose|believe|doubt|assume|hope|feel like|wonder|suspect|bet) (?:that "
    r")?(?:i|we|i'm|i've|my|we're|it)\b"
    r"|\b(?:was|am|were|'m|been|are|'re) (?:thinking (?:of|about)|considering|wondering)\b|\bnot sure\b"
    r"|\bsay i\b|\bwould love to\b|\bno idea\b"
    r"|\b(?:don't|do not|never|didn't|not) (?:think|know|say|said|mean|claim|believe|remember)\b|\bnot "
    r"that i\b|\balmost\b|\bused to\b|\bwhether\b"
    r"|\bwhat i\b(?! said about)|\bapparently\b|\bsupposedly\b|\bif it (?:were|was)\b|\bwere (?:i|we) "
    r"to\b",
    re.IGNORECASE,
)
_OTHERS = re.compile(
    r"\b(?:he|she|they|it|one|people|everyone|someone|somebody|(?:the|a|an|my|our|your|his|her) "
    r"[\w-]+(?: [\w-]+)?|(?-i:[A-Z][\w-]+)) "
    r"(?:says|said|tells|told|writes|wrote|reads|claims|claimed|thinks|thought|asks (?:if|me|why|whether"
    r"|how)|asked|shouts|shouted|sings|sang|goes,?(?= [\x00\"])|replied"
    r"|replies|lied|joked|answered|quotes|posted|texted|insists|insisted|believes|keeps saying"
    r"|complained)\b"
    r"|\b(?:they|people|customers|guests|users) (?:say|claim|think|write|believe|tell)\b"
    r"|\baccording to\b|\bin (?:her|his|their) (?:diary|letter|book|words)\b|\breads:|\bsays:|\bwrote:"
    r"|\bsaid:",
    re.IGNORECASE,
)
_IRONY = re.compile(
    r"(?:^|\s)/s\b|\byeah,? right\b|^\W*oh,? (?:great|joy|wonderful|sure|good|yes)\b|\b(?:just|simply"
    r"|absolutely|totally|really) (?:love|adore|enjoy|like) (?:it when|how|being|waiting|when|that)\b"
    r"|^\W*sure,? because\b|\btotally (?:love|adore)\b|\bat this point\b|\blol\b|\blmao\b|\bhaha+\b"
    r"|\bclearly a\b|\bnot!$|\bmy favou?rite thing\b.*\bnot\b|\bjust what i needed\b",
    re.IGNORECASE,
)
_LAUGH_AFTER = re.compile(r"\W*(?:/s|lol|haha+|just kidding|kidding|jk|not really)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Sentence:
    """One sentence that may be taken as said.

    Attributes:
        text: It, with straight apostrophes and holes for quotes; as long as the original.
        start: Its first character in the content.
        is_question: Asked rather than said.
        is_reported: Somebody else's words.
        is_unreal: Hypothetical, uncertain, wished or gone.
    """

    text: str
    start: int
    is_question: bool = False
    is_reported: bool = False
    is_unreal: bool = False


def masked(content: str) -> str:
    """The content with quotes, code, pasted lines and links as holes; same length."""
    text = content.translate(_SAME)
    if "`" in content:
        # Inline code is read from the original, as its marks look like apostrophes by now.
        for block in re.finditer(r"```.*?(?:```|\Z)|`[^`\n]+`", content, re.DOTALL):
            text = text[: block.start()] + HOLE * len(block.group()) + text[block.end() :]
    text = _BLOCKS.sub(lambda m: HOLE * len(m.group()), text)
    return _LINES.sub(lambda m: HOLE * len(m.group()), text)


def sentences(content: str) -> list[Sentence]:
    """The sentences of a message up to where it turns into pretence; those handed over for work are none."""
    text = masked(content)
    if _HANDED_OVER.search(text) or _LAUGH_AFTER.match(text):
        return []
    stop = _PRETENCE.search(text)
    found: list[Sentence] = []
    for start, end in _spans(text):
        if stop and end > stop.start():
            break
        found.append(_judged(text[start:end], start))
    return found


def _spans(text: str) -> list[tuple[int, int]]:
    """First and last-plus-one characters of the sentences."""
    spans, start = [], 0
    for mark in _END.finditer(text):
        if mark.group() == "." and _ABBREVIATED.search(text, start, mark.start()) and mark.end() < len(text):
            continue
        spans.append((start, mark.end()))
        start = mark.end()
    spans.append((start, len(text)))
    trimmed = []
    for first, last in spans:
        piece = text[first:last]
        lead = len(piece) - len(piece.lstrip())
        if piece.strip():
            trimmed.append((first + lead, first + len(piece.rstrip())))
    return trimmed


def _judged(text: str, start: int) -> Sentence:
    is_question = text.rstrip(" )'").endswith(("?", "\uff1f")) or bool(_QUESTION.match(text))
    return Sentence(
        text,
        start,
        is_question=is_question,
        is_reported=bool(_OTHERS.search(text)),
        is_unreal=bool(_UNREAL.search(text) or _IRONY.search(text)),
    )
