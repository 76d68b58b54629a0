"""What in a text is the speaker's own plain word: sentences without quotes, code, questions, pretence."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

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
    r"|SELECT|INSERT|CREATE|UPDATE|DELETE|ALTER|public|private)\b.*[=({;].*|\s*[\w.]+\s*=\s*[\x00\"'\[{(].*"
    r"|\s*import \w+.*|\s*from \w+ import .*|\s*[#{}\[\]<$].*|\s*(?:SELECT|CREATE|INSERT) .*"
    r"|\s*(?:ERROR|WARN(?:ING)?|INFO|DEBUG|FATAL|TRACE)\b.*|.*[{};]\s*$)$",
    re.MULTILINE,
)
_END = re.compile(r"[.!?\u2026]+|[\u3002\uff01\uff1f\n;]+|[\u2600-\u27bf\U0001f300-\U0001faff]+")
_AFTER_END = (" ", "", "\n", "\x00", ")", "]", "'")
_ABBREVIATED = re.compile(
    r"(?:\b(?:mr|mrs|ms|dr|st|prof|vs|etc|e\.g|i\.e|approx|nr|no|inc|ltd|jr|sr|ca|tel)|\b[A-Z]|z\.b"
    r"|\b\d{1,2})$",
    re.IGNORECASE,
)

_PRETENCE = re.compile(
    r"\b(?:imagine|suppos(?:e|ing)|pretend|assum(?:e|ing)|hypothetical(?:ly)?|role-?play\w*|let'?s (?:say"
    r"|play|pretend)|act as|you (?:be|are|play) (?:the|my|a) \w+|in (?:this|the|my) (?:story|film|movie"
    r"|book|novel|game|play|exercise|scene|dream)"
    r"|for this (?:exercise|game|scene)|my character|the hero|(?:an? )?\w+ exercise|first person|sample "
    r"sentence|example sentence|lyrics|as the saying|once upon a time|quote of the day|write (?:me )?an? "
    r"(?:poem|story|song|letter|scene)"
    r"|dear diary|chapter \d+|character sheet|story idea|job interviews?,|let'?s practi[sc]e (?:a |job "
    r")?(?:interview|dialogue|conversation)\w*|picture this|dungeon|i(?:'m| am) an? (?:dwarf|elf|wizard"
    r"|pirate|dragon|knight|vampire|alien|ghost|princess|goblin)|in another life|complete the sentence"
    r"|terms and conditions|what if|for example,? \x00)",
    re.IGNORECASE,
)
"""What comes after it in the message is not meant as said."""
_HANDED_OVER = re.compile(
    r"\b(?:draft|compose)\b[^.!?\n]{0,30}:|\b(?:translat\w+|proof-?read\w*|paraphras\w+|rephras\w+"
    r"|rewrite|summari[sz]e|correct|improve|edit|check|fix|review|spell-?check"
    r"|explain|format)\b[^.!?\n]{0,40}(?::|\x00|\b(?:this|the following|my)\b[^.!?\n]{0,20}\b(?:sentence"
    r"|text|e-?mail|paragraph|letter|message|cv|bio)\b)"
    r"|^(?:subject|from|to|cc|betreff|von|date):\s|^dear \w+,?\s*$|\bhere(?:'s| is) (?:a|the|an|my) "
    r"(?:review|text|e-?mail|letter|article|comment|post|quote|message)"
    r"|^\s*---+\s*$|\b(?:begin|start) (?:quote|forwarded)|forwarded message"
    r"|\b(?:bio|cv|r[e\u00e9]sum[e\u00e9]|cover letter|profile text|essay)\b[^.!?\n]{0,20}:"
    r"|\b(?:parse|analy[sz]e|classify|annotate|label)\b[^.!?\n]{0,20}:",
    re.IGNORECASE | re.MULTILINE,
)
_RECALLED = re.compile(
    r"^\W*(?:(?:relevant|recalled|retrieved|previous|past|earlier|stored|saved|long-term) (?:memor(?:y|ies)"
    r"|context|facts|notes|history|conversations?)\b[^.!?\n]{0,40}:|(?:memories|recalled|retrieved)(?: \w+)?:"
    r"|(?:context|notes|history|facts) (?:from|of) (?:previous|past|earlier|memory)\b[^.!?\n]{0,40}:)"
    r"|<(?:context|memor(?:y|ies)|history|recalled|retrieved)\b[^>\n]{0,40}>",
    re.IGNORECASE | re.MULTILINE,
)
"""What an agent pastes before the user's words: recalled, not said. All after it is doubtful."""
_TAKEN_FOR_A_JOKE = re.compile(r"(?:^|[.!?\n])\s*(?:just |only )?(?:kidding|joking|jk)\b", re.IGNORECASE)
_HIDDEN_IN_WORD = re.compile(r"[A-Za-z\u00c0-\u024f][\u00ad\u200b-\u200f\u2060\ufeff]+[A-Za-z\u00c0-\u024f]")
"""A mark that is not seen inside a Latin word: the word would be read cut off."""
_QUESTION = re.compile(
    r"^\W*(?:(?:and|but|so|or|ok(?:ay)?|hey|hi|well|also),? )*(?:(?:do|does|did|is|are|am|was|were|can"
    r"|could|should|would|will|shall|have|has|had|may|might)(?:n't)? "
    r"(?:i|you|we|he|she|it|they|the|this|that|there|my|your|our|anyone|someone)\b|what(?:'s|'re)?\b"
    r"|which\b|where(?:'s)? (?:do|does|did|is|are|am|was|can|could|should|would|will|the|my)\b|who(?:'s"
    r"|se)?\b|why(?:'s)?\b|how(?:'s)?\b(?!ever)|when (?:do|does|did|is|are|am|was|can|could|should|would"
    r"|will)\b|is it\b|any idea)",
    re.IGNORECASE,
)
_UNREAL = re.compile(
    r"\bif (?:i|we|my|our|only)\b|\bunless (?:i|we)\b|\bas (?:if|though)\b|\b(?:i|we)(?:'d| would| could"
    r"| may| might)(?! (?:rather|prefer|like)\b)\b"
    r"|\b(?:i|we) wish\b|\bmight\b|\bmaybe\b|\bperhaps\b|\bprobably\b|\bpossibly\b|\bin theory\b|\bhad "
    r"(?:i|we) known\b|\b(?:i|we) (?:think|guess|suppose|believe|doubt|assume|hope|feel like|wonder|suspect"
    r"|bet) (?:that )?(?:i|we|i'm|i've|my|we're|it)\b"
    r"|\b(?:was|am|were|'m|been|are|'re) (?:thinking (?:of|about)|considering|wondering)\b|\bnot sure\b"
    r"|\bsay i\b|\bwould love to\b|\bno idea\b|\b(?:don't|do not|never|didn't|not) (?:think|know|say|said"
    r"|mean|claim|believe|remember)\b|\bnot that i\b|\b(?:never|didn't|did not) (?:told|tell) you\b"
    r"|\balmost\b|\bused to\b|\bwhether\b|\bwhat i\b(?! said about)|\bapparently\b|\bsupposedly\b|\bif it "
    r"(?:were|was)\b|\bwere (?:i|we) to\b|\bdenied\b|\bneither\b|\bis (?:a lie|a joke|wrong|false|not true)\b"
    r"|, not\W*$",
    re.IGNORECASE,
)
_OTHERS = re.compile(
    r"\b(?:he|she|they|it|one|people|everyone|someone|somebody|(?:the|a|an|my|our|your|his|her) "
    r"[\w-]+(?: [\w-]+)?|(?-i:[A-Z][\w-]+)) (?:says|said|tells|told|writes|wrote|reads|claims|claimed"
    r"|thinks|thought|asks (?:if|me|why|whether|how)|asked|shouts|shouted|sings|sang|goes,?(?= [\x00\"])"
    r"|replied|replies|lied|joked|answered|quotes|posted|texted|insists|insisted|believes|keeps saying"
    r"|complained)\b|\b(?:they|people|customers|guests|users) (?:say|claim|think|write|believe|tell)\b"
    r"|\baccording to\b|\bwords (?:were|are)\b|\b(?:sign|poster|chorus|note|label) (?:says|goes|reads)\b"
    r"|\bin (?:her|his|their) (?:diary|letter|book|words)\b|\breads:|\bsays:|\bwrote:|\bsaid:",
    re.IGNORECASE,
)
_IRONY = re.compile(
    r"(?:^|\s)/s\b|\byeah,? right\b|^\W*oh,? (?:great|joy|wonderful|sure|good|yes)\b|\b(?:just|simply"
    r"|absolutely|totally|really) (?:love|adore|enjoy|like) (?:it when|how|being|waiting|when|that)\b"
    r"|^\W*sure,? (?:because\b|i (?:love|adore|enjoy)\b)|\btotally (?:love|adore)\b|\bat this point\b"
    r"|\blol\b|\blmao\b|\bhaha+\b|\bclearly a\b|\bnot!$|\bmy favou?rite thing\b.*\bnot\b|\bjust what i "
    r"needed\b",
    re.IGNORECASE,
)
_CONDITION = re.compile(
    r"^\W*(?:(?:and|but|so|or|then|well),? )*(?:if|in case|should|once|as soon as|provided)\b", re.IGNORECASE
)
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]+`", re.DOTALL)
_LAUGH_AFTER = re.compile(r"\W*(?:/s|lol|haha+|just kidding|kidding|jk|not really)\b", re.IGNORECASE)


_MAY_HIDE = re.compile(
    r"[\"\u201c\u201e\u00ab\u300c\u300e`~{}\[\]=;#$<>\n]|(?:^|\s)'|http"
    r"|^\s*(?:\d{4}-|ERROR|WARN|INFO|DEBUG|FATAL|TRACE|SELECT|CREATE|INSERT|import |from )"
)
"""Without any of these nothing is quoted, pasted or code."""


def masked(content: str) -> str:
    """The content with holes for quotes, code, pasted lines and links, and straight apostrophes; as long."""
    text = (
        content
        if content.isascii() and "`" not in content and "\t" not in content
        else content.translate(_SAME)
    )
    if not _MAY_HIDE.search(content):
        return text
    if "`" in content:
        # Inline code is found in the original, as its marks look like apostrophes by now.
        for block in _CODE.finditer(content):
            text = text[: block.start()] + HOLE * len(block.group()) + text[block.end() :]
    text = _BLOCKS.sub(lambda m: HOLE * len(m.group()), text)
    return _LINES.sub(lambda m: HOLE * len(m.group()), text)


def spans(text: str) -> list[tuple[int, int]]:
    """First and last-plus-one characters of the sentences of a masked text."""
    cuts = [0]
    for mark in _END.finditer(text):
        end = mark.end()
        if mark.group()[0] in ".!?\u2026" and text[end : end + 1] not in _AFTER_END:
            continue
        if mark.group() == "." and end < len(text) and _ABBREVIATED.search(text[max(0, end - 9) : end - 1]):
            continue
        cuts.append(end)
    cuts.append(len(text))
    trimmed = []
    for first, last in pairwise(cuts):
        piece = text[first:last]
        if piece.strip():
            lead = len(piece) - len(piece.lstrip())
            trimmed.append((first + lead, first + len(piece.rstrip())))
    return trimmed


def meant_until(text: str, content: str | None = None) -> int:
    """Up to which character a message is meant as said; 0 where it is handed over for work.

    Args:
        text: The message, masked.
        content: As it came: marks of what was recalled may be masked.
    """
    if _HANDED_OVER.search(text) or _LAUGH_AFTER.match(text) or _TAKEN_FOR_A_JOKE.search(text):
        return 0
    if _HIDDEN_IN_WORD.search(text):
        return 0
    stops = [found.start() for found in (_PRETENCE.search(text), _RECALLED.search(content or text)) if found]
    return min(stops, default=len(text))


@dataclass(frozen=True)
class Manner:
    """How a sentence is said.

    Attributes:
        is_question: Asked rather than said.
        is_reported: Somebody else's words.
        is_unreal: Hypothetical, uncertain, wished, ironic or gone.
        is_conditional: Said for the case that something happens.
    """

    is_question: bool
    is_reported: bool
    is_unreal: bool
    is_conditional: bool


def manner(text: str) -> Manner:
    """How a masked sentence is said."""
    return Manner(
        is_question=text.rstrip(" )'").endswith(("?", "\uff1f")) or bool(_QUESTION.match(text)),
        is_reported=bool(_OTHERS.search(text)),
        is_unreal=bool(_UNREAL.search(text) or _IRONY.search(text)),
        is_conditional=bool(_CONDITION.match(text)),
    )
