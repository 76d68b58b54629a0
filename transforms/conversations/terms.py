"""What a session is about, in a few words of its own.

A word's weight is the number of turns that hold it, those of the user counted twice, times a rarity that
depends on the word alone: by Zipf's law of abbreviation frequent words are short, so a word counts for
more the longer it is, and the most frequent ones are left out by name. So a session's topics are a function
of the session, and no other session that comes or goes changes them.
"""

from __future__ import annotations

import polars as pl

from transforms.conversations.mood_words import PLAIN_WORDS

_STOP = (
    "a about above after again all also always am an and another any anything are around as ask at away"
    " back be because been before being below best better between big bit both but by bye call came can"
    " cannot come could day did do does doing done don down each either else end enough even ever every"
    " everything fact far few find first for found from get gets getting give given go goes going gone"
    " good got great had has have having he hello help her here hers hey him his hour how however if in"
    " into is it its just keep kind know last later least left less let like little long look looks lot"
    " made make makes many may maybe me mean might more most much must my need needs never new next nice"
    " no none nor not note nothing now of off often ok okay old on once one only onto or other our out"
    " over own part people per perhaps place please point put quite really right said same say says see"
    " seem seems send sent set several shall she should show since small so some something soon sorry"
    " start still stop such sure take than thank thanks that the their them then there these they thing"
    " things think this those though three through till time to today together tomorrow too tried try turn"
    " two under until up upon us use used using very want wants was way we week well went were what when"
    " where whether which while who whom whose why will with within without won work works would wrong"
    " year yes yesterday yet you your yours added answer check done fine happened last noted four five six"
    " seven eight nine ten both which does doesn didn isn aren wasn couldn shouldn wouldn haven hasn ll ve"
    " re"
    # Adverbs, and fillers
    " actually absolutely additionally afterwards almost already alright although anyway apparently"
    " approximately basically certainly clearly completely constantly currently definitely directly easily"
    " entirely especially essentially eventually exactly extremely fairly finally frankly frequently fully"
    " generally gladly hardly honestly hopefully however immediately indeed instantly instead largely lately"
    " likely literally luckily mainly maybe meanwhile merely mostly namely naturally nearly necessarily"
    " normally obviously occasionally originally otherwise partly particularly personally possibly"
    " practically precisely previously primarily probably properly quickly rarely rather recently regularly"
    " roughly sadly seriously seldom similarly simply slightly slowly somehow sometimes somewhat specifically"
    " strongly suddenly surely temporarily therefore thoroughly totally truly typically unfortunately"
    " usually whenever wherever"
    # German
    " aber alle als also am an auch auf aus bei beim bin bis bist bitte da damit danke dann das dass dein"
    " deine dem den der des die dies diese diesem dieser doch dort du durch ein eine einem einen einer es"
    " etwas für ganz gibt gut habe haben hat heute hier ich ihm ihn ihr ihre im immer in ist ja jetzt kann"
    " kannst kein keine können mal man mehr mein meine mich mir mit muss nach nein nicht noch nun nur ob"
    " oder schon sehr sein seine sich sie sind so soll sollte über um und uns unser vom von vor war was"
    " weil wenn wer werden wie wieder will wir wird wo zu zum zur"
    # Spanish, Portuguese
    " al algo ante así aunque bien cada como con cual cuando de del desde donde dos el ella ellos en entre"
    " era es esa ese eso esta está estar este esto estoy fue gracias ha hace hacer hasta hay hola la las"
    " le les lo los mas más me mi mis mucho muy nada ni nos nosotros nuestro otra otro para pero poco por"
    " porque puede puedo que qué quiero se ser si sí sin sobre son su sus también tan te tengo tiene todo"
    " todos tu un una uno unos usted ya yo ao aos com da das do dos ela ele em essa esse isso mais meu"
    " minha muito na nas não no nos num numa os ou pela pelo quando quem são seu sua tem também um uma"
    " você vou"
    # French, Italian
    " alors au aussi autre aux avec avoir bonjour ça car ce cela ces cette chez comme comment dans des"
    " donc du elle elles en encore est et être eu fait faire il ils je jour la là le les leur lui ma mais"
    " me même merci mes moi mon ne nos notre nous on ont ou où par pas peu peut plus pour pouvez pourquoi"
    " qu quand que quel quelle qui sa sans se ses si son sont sur ta te tes toi ton tous tout toute très"
    " tu un une vos votre vous y anche che chi ci come con cosa da dal dalla degli dei del della di dopo"
    " ed gli grazie ho il io lei loro lui mi mia mio molto nel nella non o per perché però più poi può"
    " quando quello questa questo qui sei senza sia sono sua sul suo ti tra tutto un una uno voglio"
    # Russian
    " а без бы был была было быть в вам вас во вот все всё вы где да для до его ее её если есть еще ещё же"
    " за и из или им их к как когда кто ли меня мне мой мы на надо нам нас не него нее нет ни но ну о об"
    " он она они от по под при про с сам со спасибо так там тебя то тоже только ты у уже хочу чего чем что"
    " чтобы это этот я"
)
_STOP_UNSPACED = (
    "我们 你们 他们 我的 你的 这个 那个 什么 怎么 可以 没有 一个 一下 就是 不是 因为 所以 但是 如果 还是"
    " 已经 现在 今天 明天 谢谢 好的 请问 需要 知道 时候 这些 那些 真的 非常 有点 一些 自己 出来 起来 不要"
    " 不能 今日 明日 昨日 何か 私は 時間 本当 少し 時は"
)
_NO_TERMS = sorted({*_STOP.split(), *_STOP_UNSPACED.split(), *PLAIN_WORDS})
"""Words of mood say how a session went, not what it was about."""
_WORD = r"\p{L}[\p{L}\p{M}\p{N}_'’-]*\p{L}|\p{L}+\d+"
_CONTRACTED = (
    r"\b\p{L}+n't\b|\b\p{L}+'(?:m|re|ve|ll|d)\b"
    r"|\b(?:he|she|it|that|what|who|where|when|how|there|here|let|one|everyone|someone|everything)'s\b"
)
_HAN = r"\p{Han}{2,4}|[\p{Katakana}ー]{2,}"
_IS_UNSPACED = r"[\p{Han}\p{Hiragana}\p{Katakana}]"
_MIN_CHARS, _LONG_CHARS = 3, 9
_USER_SHARE = 2
_MAX_CHARS = 4_000


def topics(turns: pl.DataFrame, count: int) -> pl.DataFrame:
    """Terms of each session, best first.

    Args:
        turns: ``conversation_id``, ``row`` (a number of the turn), ``role`` and ``content`` of what
            people and agents said; no tool output.
        count: Most terms a session.

    Returns:
        ``conversation_id`` and ``topics``; a session without any has no row.
    """
    plain = (
        pl.col("content")
        .str.slice(0, _MAX_CHARS)
        .str.replace_all(r"(?s)```.*?(?:```|$)|https?://\S+|\[REDACTED:\w+\]", " ")
        .str.to_lowercase()
    )
    # A contraction is no word of its own: I'm and don't go, the doctor's is about a doctor.
    plain = plain.str.replace_all("[’ʼ`´]", "'").str.replace_all(_CONTRACTED, " ")
    plain = plain.str.replace_all(r"(\p{L})'s\b", "${1}")
    words = turns.select(
        "conversation_id",
        "row",
        share=pl.when(pl.col("role") == "user").then(_USER_SHARE).otherwise(1),
        term=pl.concat_list(plain.str.extract_all(_WORD), plain.str.extract_all(_HAN)),
    ).explode("term", empty_as_null=False)
    is_unspaced = pl.col("term").str.contains(_IS_UNSPACED)
    known = words.filter(
        ~pl.col("term").is_in(_NO_TERMS)
        & pl.when(is_unspaced)
        .then(pl.col("term").str.contains(rf"^(?:{_HAN})$"))
        .otherwise(pl.col("term").str.len_chars() >= _MIN_CHARS)
    )
    # Once a turn, or a word said ten times in one message would be the topic.
    held = known.unique(["conversation_id", "row", "term"]).group_by("conversation_id", "term")
    counted = held.agg(pl.col("share").sum(), first=pl.col("row").min())
    return _best(counted, count)


def _best(counted: pl.DataFrame, count: int) -> pl.DataFrame:
    length = pl.col("term").str.len_chars()
    width = pl.when(pl.col("term").str.contains(_IS_UNSPACED)).then(length * 3).otherwise(length)
    rarity = (width.clip(_MIN_CHARS, _LONG_CHARS) / _LONG_CHARS).sqrt()
    weight = (pl.col("share") * rarity).round(6)
    order = ["conversation_id", "weight", "first", "term"]
    ranked = counted.with_columns(weight=weight).sort(order, descending=[False, True, False, False])
    return ranked.group_by("conversation_id", maintain_order=True).agg(topics=pl.col("term").head(count))
