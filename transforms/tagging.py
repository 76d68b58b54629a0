"""Importance, sensitivity and trust of an episode, by rule from its own columns.

The lexicons are small on purpose: they raise a flag on what a person says of themselves, in
several languages, and miss the rest. Redaction kinds do most of the work.
"""

from __future__ import annotations

import polars as pl

from transforms.injection import INSTRUCTION_REASON, injection_reason
from transforms.policy import Policy
from transforms.redact_rules import CREDENTIAL_KINDS

__all__ = ["INSTRUCTION_REASON", "injection_reason", "tag"]

RESTRICTED_KINDS = (*sorted(CREDENTIAL_KINDS), "card", "government_id", "iban")
"""Redaction kinds that make a row restricted: credentials, payment, government ids."""

_SMALL_TALK = (
    r"(?i)^\W*(?:(?:hi|hello|hey|hiya|howdy|yo|good (?:morning|afternoon|evening|night)"
    r"|thanks?(?: you)?(?: so much| a lot| very much)?"
    r"|thx|ty|cheers|ok(?:ay)?|sure|great|cool|nice|perfect|awesome|got it|sounds good|no problem"
    r"|you'?re welcome|welcome"
    r"|bye|goodbye|see (?:you|ya)(?: later| soon| tomorrow)?|how are you(?: doing)?(?: today)?|what'?s up"
    r"|lol|haha+|yes|no|yep|nope|there"
    r"|hola|gracias|adiós|buenos días|bonjour|merci|salut|au revoir|hallo|danke|tschüss|guten (?:morgen"
    r"|tag|abend)|ciao|grazie"
    r"|olá|obrigad[oa]|привет|спасибо|пока|你好|您好|谢谢|謝謝|再见|早上好|好的|こんにちは"
    r"|ありがとう(?:ございます)?|おはよう|はい"
    r"|안녕(?:하세요)?|감사합니다|고마워)\W*)+$"
)
_PREFERENCE = (
    r"(?i)\b(?:i(?:'d| would)? (?:really |always |usually |much |strongly )?(?:prefer|like|love|hate"
    r"|dislike|enjoy|can'?t stand|favou?r)\b"
    r"|i don'?t (?:like|want|eat|drink|enjoy)|i(?:'m| am) (?:allergic|vegan|vegetarian|a fan of)"
    r"|my (?:favou?rite|preferred|usual)\b"
    r"|(?:please )?(?:always|never) (?:use|book|send|call|write|give|show|order|choose|put|answer|reply"
    r"|include)\b"
    r"|remember that i\b|prefiero|me gusta|odio|je préfère|j'aime|je déteste|ich (?:mag|bevorzuge|hasse"
    r"|liebe)|preferisco|mi piace"
    r"|prefiro|eu gosto|я (?:предпочитаю|люблю|не люблю))|我(?:更)?(?:喜欢|喜歡|偏好|讨厌|讨厭|不喜欢)"
    r"|(?:が|は)(?:好き|嫌い|苦手)|좋아(?:해|하|합)|싫어(?:해|하|합)"
)
_DECISION = (
    r"(?i)\b(?:(?:we|i)(?:'ve| have)? (?:decided|agreed|chose|settled|concluded|picked)\b|(?:we|i)(?:'ll"
    r"| will| shall) go with\b"
    r"|let'?s go (?:with|for)\b|(?:final |the )?decision(?: is|:| was)|going with\b|decidimos"
    r"|hemos decidido|nous avons décidé"
    r"|wir haben (?:uns )?(?:entschieden|beschlossen)|abbiamo deciso|decidiram|мы решили)|(?:我们|我們"
    r"|我)(?:已经|已經)?(?:决定|決定)|(?:に|と)決め(?:た|ました)|결정했"
)
_HEALTH_OR_MONEY = (
    r"(?i)\b(?:diagnosed with|my (?:diagnosis|medication|prescription|psychiatrist|therapist|oncologist"
    r"|blood (?:test|pressure|sugar)|pregnancy"
    r"|miscarriage|disability|depression|anxiety|epilepsy|diabetes|cancer|illness|chemo(?:therapy)?)"
    r"|i(?:'m| am) (?:pregnant|diabetic|hiv[- ]positive|epileptic|bipolar|depressed|in rehab)"
    r"|i have (?:cancer|diabetes|epilepsy|hiv|asthma|depression|adhd)"
    r"|hiv[- ]positive|antidepressants?|insulin dose"
    r"|my (?:salary|income|debts?|mortgage|credit score|bank (?:account|balance|statement)|tax return"
    r"|savings|payslip)"
    r"|i (?:owe|earn|make) [$€£]?\d"
    r"|mi (?:diagnóstico|medicación|salario|sueldo|deuda|hipoteca)|me diagnosticaron|estoy embarazada"
    r"|mon (?:diagnostic|traitement médical|salaire)|ma (?:maladie|dépression)|mes dettes|je suis enceinte"
    r"|meine? (?:diagnose|krankheit|medikamente?|depression|gehalt|schulden)|ich bin schwanger"
    r"|meu (?:diagnóstico|salário)|il mio stipendio|la mia diagnosi|mo[йя] (?:диагноз|зарплата|болезнь))"
    r"|我(?:的)?(?:病情|诊断|診斷|工资|薪水|存款|债务|抑郁症|糖尿病)|我(?:怀孕|懷孕|确诊)|(?:私|僕"
    r"|俺)の(?:病気|診断|給料|年収|借金)|妊娠して|내 (?:월급|연봉|병|진단|빚)|임신했"
)
_PRIVATE_LIFE = (
    r"(?i)\b(?:my (?:wife|husband|spouse|partner|girlfriend|boyfriend|fianc[ée]e?|ex|mother|father|mom"
    r"|mum|dad|parents?|son|daughter|kids?|child(?:ren)?"
    r"|brother|sister|grand(?:ma|pa|mother|father)|family|birthday|date of birth|home address|address"
    r"|maiden name)\b"
    r"|i (?:was born|live at|live on|live in)\b|my name is|born on \w"
    r"|mi (?:esposa|esposo|marido|mujer|madre|padre|hij[oa]|herman[oa]|cumpleaños|dirección)|nací el|vivo en"
    r"|m(?:a|on) (?:femme|mari|mère|père|fils|fille|frère|sœur|anniversaire|adresse)|je suis née?|j'habite"
    r"|meine? (?:frau|mann|mutter|vater|sohn|tochter|bruder|schwester|kinder|geburtstag|adresse)"
    r"|ich wohne|ich bin am .{1,20} geboren"
    r"|minha (?:esposa|mãe|filha)|meu (?:marido|pai|filho|aniversário|endereço)|mia (?:moglie|madre"
    r"|figlia)|mio (?:marito|padre|figlio)"
    r"|мо[йяие] (?:жена|муж|мать|мама|отец|папа|сын|дочь|дети|адрес|день рождения))"
    r"|我(?:的)?(?:妻子|老婆|丈夫|老公|妈妈|媽媽|爸爸|儿子|兒子|女儿|女兒|生日|地址|家庭住址)|我住在"
    r"|(?:私|僕|俺)の(?:妻|夫|母|父|息子|娘|誕生日|住所)|내 (?:아내|남편|엄마|아빠|아들|딸|생일|주소)"
)


def _importance(policy: Policy) -> pl.Expr:
    rule = policy.importance
    by_kind = pl.col("kind").replace_strict(
        rule.by_kind, default=rule.by_kind["conversation"], return_dtype=pl.Float64
    )
    content = pl.col("content").fill_null("")
    has_failed = (pl.col("outcome") == "failure").fill_null(False) | pl.col("failure_reason").is_not_null()
    boosts = (
        (
            content.str.contains(_PREFERENCE) & (pl.col("role") == "user").fill_null(False),
            rule.preference_boost,
        ),
        (content.str.contains(_DECISION), rule.decision_boost),
        (has_failed, rule.failure_boost),
        ((pl.col("outcome") == "success").fill_null(False), rule.success_boost),
        (pl.col("feedback").is_not_null(), rule.feedback_boost),
    )
    boosted = pl.sum_horizontal(by_kind, *(hit.cast(pl.Float64) * boost for hit, boost in boosts))
    is_small_talk = (pl.col("kind") == "conversation") & content.str.contains(_SMALL_TALK)
    by_rule = pl.when(is_small_talk).then(rule.small_talk).otherwise(boosted)
    given = pl.col("importance").cast(pl.Float64).fill_nan(None)
    return given.fill_null(by_rule).clip(0.0, 1.0).cast(pl.Float32)


def _sensitivity() -> pl.Expr:
    content = pl.col("content").fill_null("")
    kinds = pl.col("redactions").fill_null([])
    is_restricted = kinds.list.set_intersection(list(RESTRICTED_KINDS)).list.len() > 0
    return (
        pl.when(is_restricted | content.str.contains(_HEALTH_OR_MONEY))
        .then(pl.lit("restricted"))
        .when((kinds.list.len() > 0) | content.str.contains(_PRIVATE_LIFE))
        .then(pl.lit("personal"))
        .otherwise(pl.lit("normal"))
    )


def _trust(policy: Policy) -> pl.Expr:
    rule = policy.trust
    by_role = {role: getattr(rule, role) for role in ("user", "assistant", "system", "tool", "other")}
    trust = pl.col("role").replace_strict(by_role, default=rule.other, return_dtype=pl.Float64)
    capped = pl.min_horizontal(trust, pl.lit(rule.tool))
    return pl.when(pl.col("is_injected").fill_null(False)).then(capped).otherwise(trust).cast(pl.Float32)


def tag(frame: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    """The frame with importance, sensitivity and trust.

    Args:
        frame: Columns kind, role, content (redacted), redactions, outcome, failure_reason,
            feedback, importance (Float64, null or NaN: by rule), is_injected; others pass through.
        policy: Sections importance and trust.

    Returns:
        All rows in order; ``importance`` Float32 0 to 1 (a given value is kept, clipped),
        ``sensitivity`` normal, personal or restricted, ``trust`` Float32 0 to 1 by role, where
        injected context is trusted no more than a tool.
    """
    return frame.with_columns(
        importance=_importance(policy), sensitivity=_sensitivity(), trust=_trust(policy)
    )
