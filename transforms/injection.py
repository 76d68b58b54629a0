"""Content of tools and the web that reads as an instruction to the agent.

Phrases are data: an expression a line, in the syntax of Rust's regex, matched without case on
text whose look-alike and invisible characters are undone. A mention in quotes counts too, since
quotes would be the first disguise; the row is quarantined, not lost.
"""

from __future__ import annotations

import polars as pl

from transforms.redact import plain_texts

INSTRUCTION_REASON = "instruction_in_untrusted_text"

_BY_ROLE = ("user", "assistant", "system")
"""Roles whose words are their own; any other, and whatever a tool returned, is untrusted."""

_OPENING = r"(?:^|[.!?:;\n\"'>*(\-]\s*|\b(?:please|must|should|now|to|and)\s+)"
_READER = r"(?:user|human|operator|owner|customer|person)"

_ENGLISH = (
    r"\b(?:ignore|disregard|forget|override|bypass)\s+(?:(?:all|any|every|the|your|these|those|my"
    r"|of)\s+){0,4}"
    r"(?:previous|prev|prior|past|above|earlier|preceding|existing|original|system|safety)\s+(?:\w+\s+){0,2}"
    r"(?:instructions?|prompts?|rules?|directions?|directives?|guidelines?|messages?|commands?"
    r"|constraints?)\b",
    r"\b(?:ignore|disregard|forget)\s+(?:everything|all|anything)\s+(?:above|before\s+this|you\s+(?:were"
    r"|have\s+been|know))",
    r"\b(?:ignore|disregard|forget)\s+what(?:ever)?\s+you\s+(?:were|are|have\s+been|'ve\s+been)\s+told\b",
    r"\b(?:ignore|disregard|forget)\s+(?:all\s+)?(?:of\s+)?the\s+above[,;.:]?\s+(?:and|then|but|instead)\b",
    r"\byour\s+(?:new|real|actual|updated)\s+(?:task|goal|objective|instructions?|job|mission|role)\s*"
    r"(?::|\s(?:is|are)\b)",
    r"\b(?:ignore|disregard|forget)\s+(?:all\s+)?your\s+(?:\w+\s+)?(?:instructions|rules|guidelines"
    r"|training)\b",
    r"\byou\s+(?:must|will|shall|should|have\s+to)\s+now\b",
    r"\bfrom\s+now\s+on,?\s+(?:you\b|always\b|never\b|respond\b|answer\b|reply\b)",
    r"\byou\s+are\s+(?:now\s+)?in\s+(?:developer|debug|admin|god|jailbreak|unrestricted|dan)\s+mode\b",
    r"\byou\s+are\s+now\s+(?:dan\b|(?:an?\s+)?(?:unrestricted|unfiltered|jailbroken|different)\b)",
    rf"\b(?:do\s+not|don'?t|never)\s+(?:tell|inform|alert|notify|warn|ask)\s+(?:the\s+|your\s+)?{_READER}\b",
    rf"\b(?:do\s+not|don'?t|never)\s+(?:mention|reveal|show|disclose"
    rf"|say)\s+(?:\w+\s+){{1,3}}to\s+(?:the\s+|your\s+)?{_READER}\b",
    rf"\bwithout\s+(?:telling|informing|asking|notifying|alerting)\s+(?:the\s+|your\s+)?{_READER}\b",
    _OPENING + r"always\s+(?:approve|authori[sz]e|comply|obey)\b",
    _OPENING + r"(?:important\W{0,3}\s*)?remember(?:\s+this)?\s*:",
    _OPENING
    + r"remember\s+that\s+(?:you\s+(?:must|should|are|can)|(?:the\s+)?(?:user|admin|agent|assistant)\s+"
    r"(?:\w+\s+)?"
    r"(?:wants|approved?s?|allows?|prefers|agreed|is)|from\s+now\b)",
    r"\b(?:save|store|add|write|record|commit)\s+(?:this|the\s+following|that)\s+(?:\w+\s+){0,2}(?:to|in"
    r"|into)\s+"
    r"(?:your|the\s+agent'?s?|the\s+assistant'?s?)\s+(?:long[- ]term\s+)?memory\b",
    r"\b(?:reveal|print|repeat|show|output|leak|send|share|disclose|return)\s+(?:\w+\s+){0,3}"
    r"(?:system|hidden|initial|developer)\s+(?:prompt|instructions?)\b",
    r"(?:^|\n)\s*(?:new\s+)?system\s+prompt\s*:",
    r"\b(?:note|message|instructions?|attention|notice)\s*(?:to|for|,)?\s+(?:the\s+|any\s+|all\s+)?"
    r"(?:ai|llm|language\s+model)s?(?:\s+(?:agent|assistant|model)s?)?\s*[:,]",
    r"\b(?:ai|llm)s?(?:\s+(?:agent|assistant|model)s?)?\s+(?:reading|processing|summari[sz]ing)\s+this\b",
)
_ROLE_SPOOFS = (
    r"</?(?:system|assistant|developer)(?:\s+role=[^>]{0,40})?>",
    r"<\|(?:im_start|im_end|system|assistant|user|start_header_id|eot_id|endoftext)\|>",
    r"\[/?INST\]|<</?SYS>>",
    r"(?:^|\n)\s*(?:#{1,4}\s*)?assistant\s*:\s*\S",
    r"(?:^|\n)\s*(?:#{1,4}\s*)?(?:system|developer)(?:\s+(?:message|note|override))?\s*:\s*"
    r"(?:you\b|ignore\b|always\b|never\b|do\s+not\b|please\b|the\s+(?:user|assistant)\b"
    r"|new\s+instructions?\b)",
)
_OTHER_LANGUAGES = (
    r"\bignor[ae]r?\s+(?:todas?\s+)?(?:las\s+|tus\s+|mis\s+|as\s+|suas\s+)?(?:instrucciones|instruções"
    r"|indicaciones|reglas|regras)"
    r"\s+(?:anteriores|previas|prévias)",
    r"\bno\s+(?:se\s+lo\s+)?(?:digas|diga|informes|avises)(?:\s+nada)?\s+al\s+usuario\b",
    r"\bnão\s+(?:diga|conte|informe)(?:\s+nada)?\s+(?:ao|o)\s+usuário\b",
    r"\bignore[rz]?\s+(?:toutes\s+)?(?:les\s+|tes\s+|vos\s+)?(?:instructions|consignes"
    r"|règles)\s+(?:précédentes|antérieures|ci-dessus)",
    r"\bne\s+(?:le\s+)?(?:dis|dites)\s+(?:rien|pas|cela|ceci)(?:\s+\w+)?\s+à\s+l['’]utilisateur\b",
    r"\bn(?:e\s+|['’])(?:informe[rz]?|préviens|prévenez|avertis(?:sez)?|alerte[rz]?)\s+pas\s+l['’]utilisateur",
    r"\boublie[rz]?\s+tout\s+ce\s+qui\s+précède\b",
    r"\bverg(?:iss|esst|essen\s+sie)\s+(?:bitte\s+)?alles,?\s+was\s+(?:dir|ihnen|euch|du|sie|ihr|man|ich"
    r"|bisher|zuvor|vorher)\b",
    r"\bignorier(?:e|en\s+sie|t)?\s+(?:(?:alle|die|deine|ihre)\s+)*(?:vorherigen|bisherigen|vorigen"
    r"|früheren|obigen)\s+"
    r"(?:anweisungen|regeln|befehle|instruktionen)\b",
    r"\b(?:sag|sage|verrate|erzähle?)\s+(?:(?:das|es|dies)\s+)?dem\s+(?:be)?nutzer\s+n(?:icht|ichts)\b",
    r"\bignora\s+(?:tutte\s+)?le\s+(?:istruzioni|regole)\s+precedenti\b",
    r"игнорируй(?:те)?\s+(?:все\s+)?(?:предыдущие|прежние)\s+(?:инструкции|указания|команды)",
    r"не\s+(?:говори(?:те)?|сообщай(?:те)?)\s+(?:об\s+этом\s+)?пользователю",
    r"(?:忽略|无视|無視|忽視)(?:掉)?(?:之前|以上|先前|前面|此前|上面|上述|上文|所有|全部)(?:的)?(?:所有|一切|全部)?(?:的)?(?:指令"
    r"|指示|提示|说明|規則|规则|命令)",
    r"请(?:忽略|无视|忽视|忘记)[^。！？\n]{0,10}(?:指示|指令)",
    r"पिछले\s+(?:सभी\s+)?(?:निर्देश|निर्देशों|आदेश|आदेशों)\s+(?:को\s+)?(?:अनदेखा|नज\x{93c}?रअंदाज|भूल)",
    r"تجاهل(?:ي|وا)?\s+(?:جميع\s+|كل\s+)?(?:التعليمات|الأوامر|الإرشادات)\s+السابقة",
    r"(?:不要|别|不得)(?:告诉|告知|通知)(?:用户|使用者)",
    r"(?:以前|これまで|上記|前|今まで)の(?:すべての|全ての)?(?:指示|命令|プロンプト)(?:を|は)(?:すべて"
    r"|全て)?無視",
    r"ユーザーに(?:は)?(?:言わない|伝えない|知らせない)",
    r"이전(?:의)?\s*(?:모든\s*)?(?:지시|명령|지침)(?:사항)?(?:를|을)?\s*(?:모두\s*)?무시",
    r"사용자에게\s*(?:말하지|알리지)\s*(?:마|말)",
)
_INSTRUCTION = "(?i)" + "|".join(f"(?:{p})" for p in (*_ENGLISH, *_ROLE_SPOOFS, *_OTHER_LANGUAGES))

_MIXED = r"[A-Za-z][\u{370}-\u{3ff}\u{400}-\u{4ff}]|[\u{370}-\u{3ff}\u{400}-\u{4ff}][A-Za-z]"
"""A word of two scripts: its Cyrillic and Greek letters are there to look Latin."""
_LOOKS = "а=a е=e о=o р=p с=c у=y х=x і=i ј=j ѕ=s ԁ=d һ=h ԛ=q ԝ=w к=k м=m т=t в=b н=h г=r п=n"
_LOOKS_GREEK = "ο=o α=a ε=e ι=i κ=k ν=v ρ=p τ=t υ=u χ=x γ=y η=n"
_PAIRS = [pair.split("=") for pair in f"{_LOOKS} {_LOOKS_GREEK}".split()]
_LATIN = {old.upper(): new for old, new in _PAIRS} | dict(_PAIRS)


def _instructs(texts: pl.Series) -> pl.Series:
    """Which texts match, as they are or with look-alike letters made Latin."""
    is_hit = texts.str.contains(_INSTRUCTION).fill_null(False)
    mixed = (texts.str.contains(_MIXED).fill_null(False) & ~is_hit).arg_true()
    if not mixed.len():
        return is_hit
    latin = texts.gather(mixed).str.replace_many(list(_LATIN), list(_LATIN.values()))
    return is_hit.scatter(mixed, latin.str.contains(_INSTRUCTION))


def injection_reason(contents: pl.Series, roles: pl.Series, tool_names: pl.Series) -> pl.Series:
    """Why a row must be quarantined: untrusted content that instructs the agent.

    Args:
        contents: String; what the row says.
        roles: String; user, assistant, system, tool, web or anything else; null is untrusted.
        tool_names: String; a named tool makes a row untrusted, whatever its role.

    Returns:
        String series ``reason``: ``INSTRUCTION_REASON`` or null, a row each, in order.
    """
    frame = pl.DataFrame({"content": contents, "role": roles, "tool": tool_names})
    is_own = pl.col("role").is_in(_BY_ROLE) & pl.col("tool").is_null()
    rows = frame.select((~is_own.fill_null(False) & pl.col("content").is_not_null()).arg_true()).to_series()
    hits = rows.filter(_instructs(plain_texts(frame["content"].gather(rows))))
    reasons = pl.Series("reason", [None], dtype=pl.String).new_from_index(0, frame.height)
    return reasons.scatter(hits, INSTRUCTION_REASON) if hits.len() else reasons
