"""What a sentence is: a decision, a preference, a lesson, an error, an outcome, or a detail.

One expression a role, in the syntax of Rust's regex, in several languages; the first that matches
counts. What an episode says of itself (kind, outcome, tags) decides where the words do not.
"""

from __future__ import annotations

import polars as pl

from transforms.rendering import is_transient

ROLES = ("decision", "preference", "lesson", "error", "outcome")
"""In the order in which a summary makes room for them."""
DETAIL = "detail"

_DECISION = (
    r"(?i)\b(?:(?:we|i|they|team)(?:'ve|’ve| have| both| all)? (?:have )?(?:finally )?(?:decided|agreed"
    r"|chose|chosen|settled|concluded|picked|opted)\b|(?:we|i)(?:'ll|’ll| will| shall) (?:go|stick|stay"
    r"|proceed) with\b|let(?:'|’)?s (?:go (?:with|for)|take|stick with|use|pick)\b|(?:final |the "
    r"|our )?decision(?: is|:| was| made)|it(?:'|’)?s decided|(?:is|was|been) (?:decided|agreed)\b"
    r"|going with\b|^approved\b|(?:i|we|has|have|is|was|been) approved\b|signed off\b|decidimos"
    r"|hemos decidido|decidí\b|queda(?:mos)? en que|se decidió|nous avons décidé|on a décidé"
    r"|j['’]ai décidé|wir haben (?:uns )?(?:\S+ ){0,6}(?:entschieden|beschlossen|geeinigt)|(?:wir"
    r"|ich) nehmen?\b|ich habe (?:mich )?(?:\S+ ){0,6}(?:entschieden|beschlossen)|abbiamo deciso|ho deciso"
    r"|decidiram|decidi\b|(?:мы|я) решил[аи]?|решили\b|решено\b)|(?:我们|我們|我|大家)?(?:已经|已經|最终"
    r"|最終|最后)?(?:决定|決定)(?:了|用|采用|採用|选|選|改|在|把)|(?:に|と)(?:決め(?:た|ました)|決定"
    r"|します$|しました)|ことに(?:した|しました|なった|なりました)|결정했|하기로 (?:했|합의)"
)
_PREFERENCE = (
    r"(?i)\b(?:i(?:'d|’d| would)? (?:\w+ly |always |usually |much |now )?(?:prefer|like|love|hate|dislike"
    r"|enjoy|favou?r|can(?:'|’)?t stand|want)\b|i (?:don(?:'|’)?t|do not|never) (?:like|want|eat|drink"
    r"|enjoy|use|fly|drive|take)|i(?:'m|’m| am) (?:allergic|vegan|vegetarian|a fan of|not a fan)"
    r"|my (?:favou?rite|preferred|usual)\b|(?:please )?(?:always|never) (?:use|book|send|call|write|give"
    r"|show|order|choose|put|answer|reply|include|ask|add|leave|make)\b|prefiero|me gusta|me encanta|odio"
    r"|no me gusta|je préfère|j['’]aime|je déteste|je n['’]aime pas|ich (?:mag|bevorzuge|hasse|liebe"
    r"|möchte)|mir ist (?:\S+ )?lieber|am liebsten|preferisco|mi piace|prefiro|eu gosto|я (?:предпочитаю"
    r"|люблю|не люблю)|мне (?:не )?нравится)|(?:我|他|她|父|母)?(?:更|很|最)?(?:喜欢|喜歡|偏好|讨厌|討厭"
    r"|不喜欢|不喜歡|不吃)|(?:が|は)(?:大)?(?:好き|嫌い|苦手)|(?:の)?(?:ほう|方)がいい|좋아(?:해|하|합)"
    r"|싫어(?:해|하|합)"
)
_LESSON = (
    r"(?i)\b(?:lessons?(?: learn(?:ed|t))?\b|learn(?:ed|t) (?:that|the hard way)|next time\b"
    r"|in (?:the )?future\b|for the future|it turn(?:s|ed) out|turns out|root cause|the (?:fix|trick"
    r"|solution|cause|reason) (?:is|was)\b|(?:was|were|got|is|been) (?:fixed|solved|resolved)|fixed (?:by"
    r"|with|it|the|this)\b|solved (?:by|with|it|the)\b|(?:work(?:s|ed)?|succeed(?:s|ed)?|possible"
    r"|accepted) (?:only |again )?(?:when|if|once|after|with|only)\b|only works?\b|make sure (?:to|that)"
    r"|rule(?: of thumb| for\b|:)|make it a rule|remember to|note to self|best practice|pitfall|gotcha"
    r"|workaround|(?:must|has to|have to|needs? to) be (?:\S+ ){0,6}(?:or|before|first|otherwise)\b"
    r"|otherwise (?:it|the|they)|never again|avoid (?:the|using|it)\b|la próxima vez|lección"
    r"|la causa (?:era|fue)|aprendimos|se arregló|la prochaine fois|leçon|la cause était"
    r"|il faut (?:toujours|d['’]abord)|nächstes mal|gelernt|die ursache (?:war|ist)|lag an\b"
    r"|gelöst (?:durch|mit)|behoben|la prossima volta|da próxima vez|в следующий раз|причина (?:была|в)"
    r"|урок)|教训|教訓|下次|原因是|经验|經驗|(?:次回|今度)(?:は|から)|原因は|学んだ|解決(?:した|しました)"
    r"|다음(?:에는|번)|교훈|원인은"
)
_ERROR = (
    r"(?i)\b(?:fail(?:s|ed|ure|ures|ing)?|errors?|exceptions?|crash(?:es|ed)?|rejected|refused|denied"
    r"|declined|broke|broken|(?:could|can|did|does|do|would|will)(?: not|n['’]t)\b.{0,40}\b(?:parse"
    r"|connect|find|open|load|start|work|run|read|write|build|compile|resolve|match)|cannot (?:be|find"
    r"|open|parse|connect|load|read|write|start|resolve|access|reach|create|delete|import)|unable to"
    r"|invalid|not found|forbidden|unauthori[sz]ed|bug|outages?|timed?[ -]?out|rate[ -]?limit(?:ed)?"
    r"|too many requests|unavailable|blocked|mistake|incorrect|[45]\d\d (?:bad|unauth\w+|forbidden|not"
    r"|conflict|gone|unprocess\w+|too|internal|gateway|service|server|client|errors?)|falló|fallo|error"
    r"|erreur|échou\w*|a planté|fehler\w*|fehlgeschlagen|schlug fehl|abgelehnt|kaputt|errore|fallito|erro"
    r"|falhou|ошибк\w*|сбой|не удалось|не работает)\b|失败|失敗|错误|錯誤|报错|故障|エラー|出来ません"
    r"|できません(?:でした)?|실패|오류|에러"
)
_NO_ERROR = (
    r"(?i)\b(?:no|zero|0|without|any|never) (?:\w+ )?(?:errors?|failures?|problems?|issues?|bugs?"
    r"|crash(?:es)?)\b|\b0 failed|\bohne fehler|\bsans erreur|\bsin errores|没有错误|エラーなし"
)
_OUTCOME = (
    r"(?i)\b(?:succe(?:ss|ssful|ssfully|eded|eds)|done\b|complet(?:e|ed)\b|finished|works? now|now works?"
    r"|works? again|passed|is (?:live|up|green|back)|(?:was|were|is|are|been|has been) (?:booked|paid|sent"
    r"|delivered|deployed|released|merged|accepted|ordered|confirmed|created|moved|shipped|published"
    r"|refunded|cancelled|closed|opened)|booked|paid|delivered|deployed|shipped|merged|refunded|saved"
    r"|accepted|confirmed|reserved|imported|updated|result(?: is|:| was)|ended (?:up )?(?:with|in)"
    r"|terminado|completad[oa]|reservad[oa]|enviad[oa]|pagad[oa]|terminée?|réservée?|envoyée?|payée?"
    r"|réussi|erledigt|fertig|gebucht|bezahlt|gesendet|geliefert|abgeschlossen|erfolgreich|completato"
    r"|prenotato|concluíd[oa]|готово|заверш\w+|заброниров\w+|отправлен\w*)\b|已?完成|成功|已(?:预订|預訂"
    r"|发送|發送|支付|部署|保存)|予約しました|完了|完成しました|성공|완료|예약했"
)
_QUESTION = (
    r"[?？؟]\W*$|(?i)^(?:what|why|how|when|where|who|whom|which|can|could|should|shall|would|will|do|does"
    r"|did|is|are|am|may|have you|has)\b(?:[^,.:]{0,20}\b)(?:i|you|we|they|he|she|it|there|this|that|the"
    r"|anyone|someone)\b.*[?]?$|(?:吗|嗎|呢|か)[。?？]?$"
)
_HYPOTHETICAL = r"(?i)^(?:if|suppose|imagine|in case|falls|wenn|si|se|если|假如|如果|もし)\b"


def with_roles(sentences: pl.DataFrame) -> pl.DataFrame:
    """Adds ``role`` and ``is_question``, and takes out what a passing failure says.

    Args:
        sentences: ``sentence`` and ``number`` of it in its episode, and of the episode ``author`` (its
            role), ``kind``, ``outcome``, ``failure_reason`` and ``tags``.

    Returns:
        The rows in order, with ``role``, one of ``ROLES`` or ``DETAIL``. Errors, and lessons of a failed
        episode, whose reason is a time-out, a rate limit or an outage are not among them: they teach
        nothing.
    """
    text = pl.col("sentence")
    framed = sentences.with_columns(
        is_question=text.str.contains(_QUESTION), is_if=text.str.contains(_HYPOTHETICAL)
    )
    spoken = pl.col("author").is_in(["user"]).fill_null(False)
    is_error = text.str.contains(_ERROR) & ~text.str.contains(_NO_ERROR)
    by_words = (
        pl.when(pl.col("is_question") | pl.col("is_if"))
        .then(pl.lit(DETAIL))
        .when(text.str.contains(_DECISION))
        .then(pl.lit("decision"))
        .when(spoken & text.str.contains(_PREFERENCE))
        .then(pl.lit("preference"))
        .when(text.str.contains(_LESSON))
        .then(pl.lit("lesson"))
        .when(is_error)
        .then(pl.lit("error"))
        .when(~spoken & text.str.contains(_OUTCOME))
        .then(pl.lit("outcome"))
        .otherwise(_by_episode())
    )
    return _lasting(framed.with_columns(role=by_words)).drop("is_if")


def _by_episode() -> pl.Expr:
    """What the first sentence of an episode is by the episode's own fields."""
    # "Please do." may carry a label, but says nothing by itself.
    is_told = pl.col("sentence").str.contains(r"\S\s+\S+\s+\S|[\x{3040}-\x{9fff}]{4}")
    is_first = (pl.col("number") == 0) & is_told
    labelled = pl.coalesce(
        *(pl.when(pl.col("tags").list.contains(role)).then(pl.lit(role)) for role in ROLES),
    )
    has_failed = (pl.col("outcome") == "failure").fill_null(False)
    has_ended = ((pl.col("kind") == "outcome") | (pl.col("outcome") == "success")).fill_null(False)
    by_end = pl.when(has_failed).then(pl.lit("error")).when(has_ended).then(pl.lit("outcome"))
    return pl.when(is_first).then(pl.coalesce(labelled, by_end)).fill_null(pl.lit(DETAIL))


def _lasting(sentences: pl.DataFrame) -> pl.DataFrame:
    """Sentences without errors and lessons whose reason passes by itself."""
    suspects = sentences.filter(pl.col("role").is_in(["error", "lesson"]))
    passing = _transient(suspects["sentence"], suspects["failure_reason"])
    failed = (pl.col("outcome") == "failure").fill_null(False)
    by_reason = pl.col("failure_reason").is_in(passing.implode()) & failed
    by_words = pl.col("sentence").is_in(passing.implode()) & (pl.col("role") == "error")
    is_passing = pl.col("role").is_in(["error", "lesson"]) & (by_reason | by_words).fill_null(False)
    return sentences.filter(~is_passing)


def _transient(*texts: pl.Series) -> pl.Series:
    """Distinct texts that name a passing failure."""
    distinct = pl.concat([t.cast(pl.String).rename("text") for t in texts]).drop_nulls().unique()
    return distinct.filter(pl.Series([is_transient(t) for t in distinct], dtype=pl.Boolean))
