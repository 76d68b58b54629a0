"""Words of mood in several languages, written for this project.

A line is a valence and its words; ``*`` stands for any ending. Words that traces use of machines
(error, fatal, kill, fail, crash, broken) carry no mood here: people who are upset say so otherwise too.
"""

from __future__ import annotations

LEXICON: dict[str, dict[float, str]] = {
    "en": {
        3: "love loved loving adore* amazing awesome fantastic wonderful* brilliant* excellent* superb thrilled ecstatic"
        " delighted delightful overjoyed phenomenal outstanding incredible magnificent perfect perfectly euphoric blissful"
        " heavenly marvellous marvelous stellar flawless lovely",
        2: "happy happier happiest happily great glad pleased joy joyful excited exciting proud proudly grateful thankful"
        " enjoy enjoyed enjoying enjoyable fun funny beautiful* cheerful impressed impressive optimistic hopeful relieved"
        " relaxed refreshed energized energised peaceful inspired inspiring celebrate* celebrating blessed yay hooray"
        " woohoo yippee hurray delicious terrific splendid fabulous appreciate* charming elegant best smiling laughed"
        " confident content satisfied satisfying motivated cosy cozy rested",
        1.5: "nice nicely cool sweet helpful better pleasant* calm comfortable encouraging promising kudos bravo congrats"
        " congratulations neat handy smooth smoothly solved wow haha lol hahaha hehe relief",
        1: "good works worked yes! fine okay-ish interesting well easy bright hope useful reliable",
        0.5: "thanks thank thx ty ok okay alright fair",
        0: "meh so-so",
        -1: "tired bored boring slow confusing confused unfortunately sadly unlucky sorry worse bland nervous unsure doubt*"
        " weird clunky awkward overwhelmed overwhelming restless moody mess messy tedious rough",
        -1.5: "annoyed annoying annoys sad unhappy worried worrying worry worries upset disappointed disappointing"
        " disappointment stressed stressful stress anxious anxiety lonely alone frustrating frustrated frustration hurt*"
        " hurting afraid scared exhausted exhausting drained gloomy grumpy cranky uneasy discouraged discouraging bad badly"
        " poorly useless pointless homesick jealous ashamed guilty embarrassed embarrassing ugh argh sigh struggle*"
        " struggling sucks suck sucked lousy crap crappy damn dammit stupid ridiculous ignored nag fear dread numb",
        -2: "angry angrier hate hated hates hating awful terrible terribly horrible horribly furious miserable depressed"
        " depressing depression hopeless worthless devastated heartbroken disgusting disgusted dreadful worst pathetic"
        " nightmare livid outrageous unacceptable appalling infuriating infuriated enraged crying cried cry panicking"
        " grief grieving mourn* betrayed humiliated unbearable fuming garbage rubbish shit shitty fuck* wtf bullshit"
        " atrocious abysmal despair* desperate ruined tears",
    },
    "de": {
        3: "großartig* fantastisch* wunderbar* liebe hervorragend* perfekt* genial* begeistert* traumhaft* herrlich*"
        " ausgezeichnet*",
        2: "glücklich* toll tolle tollen toller super froh* freue freut gefreut freude* stolz dankbar* schön schöne schönen"
        " schöner schönes schönste klasse prima spitze lustig* spaß zufrieden* erleichtert* lecker* entspannt* spannend*"
        " juhu hoffnungsvoll* geil",
        1.5: "gefällt mag nett* angenehm* hilfreich* besser cool gelungen*",
        1: "gut gute guten guter gutes klappt geklappt funktioniert interessant*",
        0.5: "danke dankeschön okay ok",
        -1: "müde langweilig* leider schade langsam* verwirrt* verwirrend* schlechter unsicher* umständlich*",
        -1.5: "traurig* enttäuscht* enttäuschend* nervt nervig* genervt* sorge sorgen besorgt* gestresst* stress stressig*"
        " angst ängstlich* einsam* frustriert* frustrierend* frust erschöpft* schlecht schlechte schlechten schlechtes"
        " schlimm* blöd* doof* mist verletzt* unzufrieden* unglücklich* mies* sauer",
        -2: "wütend* hasse hassen furchtbar* schrecklich* entsetzlich* katastrophe* katastrophal* verzweifelt* deprimiert*"
        " scheiße scheiss* unerträglich* grauenhaft* ekelhaft* schlechteste* unverschämt* weine geweint hoffnungslos*",
    },
    "es": {
        3: "encanta encantó encantado encantada excelente* maravillos* fantástic* increíble* perfect* genial* magnífic*"
        " estupend* amo",
        2: "feliz felices alegre* alegría contento contenta content* orgullos* agradecid* divertid* hermos* bonit* ilusión"
        " ilusionad* disfrut* emocionad* aliviad* tranquil* delicios* buenísim* guay chévere satisfech* esperanzad*",
        1.5: "gusta gustó mejor agradable* simpátic* útil",
        1: "bien bueno buena buenos funciona funcionó interesante*",
        0.5: "gracias vale",
        -1: "cansad* aburrid* lent* lamentablemente desgraciadamente peor confus* lástima",
        -1.5: "triste* tristeza preocupad* preocupa decepcionad* decepcionante* estresad* estrés ansios* ansiedad miedo"
        " frustrad* frustrante* agotad* molest* mal malo mala enfadad* sol* infeliz harto harta nervios*",
        -2: "odio furios* horrible* terrible* fatal pésim* desesperad* deprimid* asco asqueros* llorando lloré rabia"
        " espantos* desastre insoportable* inaceptable*",
    },
    "fr": {
        3: "adore adoré génial* magnifique* merveilleu* fantastique* parfait* excellent* incroyable* superbe* formidable*",
        2: "heureu* content* ravi* fier fière joie joyeu* super reconnaissant* amusant* drôle* beau belle enchanté*"
        " soulagé* détendu* délicieu* chouette impatient* satisfait* plaisir bonheur",
        1.5: "aime agréable* sympa* mieux utile* cool",
        1: "bien bon bonne bons fonctionne marche intéressant*",
        0.5: "merci ok",
        -1: "fatigué* ennuyeu* lent lente malheureusement dommage pire confus* hélas",
        -1.5: "triste* tristesse inqui* déçu* décevant* stressé* stress anxieu* anxiété peur frustré* frustrant* épuisé*"
        " énervé* énervant* agacé* agaçant* mal mauvais* seul* marre nul nulle pénible* malheureu*",
        -2: "déteste furieu* horrible* terrible* affreu* désespéré* déprimé* dégoûtant* pleure pleuré catastroph*"
        " insupportable* inacceptable* merde lamentable* rage",
    },
    "it": {
        3: "adoro fantastic* meraviglios* eccellent* perfett* stupend* incredibil* magnific* bellissim*",
        2: "felice felici content* orgoglios* grat* divertent* bello bella gioia entusiast* sollevat* rilassat* delizios*"
        " ottim* soddisfatt*",
        1.5: "piace piaciuto meglio piacevol* utile",
        1: "bene buono buona funziona",
        0.5: "grazie",
        -1: "stanc* noios* purtroppo peccato lent* peggio",
        -1.5: "triste tristezza preoccupat* delus* deludent* stressat* ansia ansios* paura frustrat* frustrant* esaust* male"
        " cattiv* arrabbiat* sol* nervos*",
        -2: "odio furios* orribil* terribil* disperat* depress* schifo piango disastro inaccettabil* insopportabil*",
    },
    "pt": {
        3: "adoro adorei amei excelente* maravilhos* fantástic* incrível perfeit* ótim* magnífic*",
        2: "feliz felizes alegr* content* orgulhos* grat* divertid* lind* bonit* animad* aliviad* tranquil* delicios* legal"
        " satisfeit*",
        1.5: "gosto gostei melhor agradável útil",
        1: "bom boa bem funciona funcionou",
        0.5: "obrigad*",
        -1: "cansad* chat* infelizmente lent* pior pena",
        -1.5: "triste* tristeza preocupad* decepcionad* estressad* ansios* ansiedade medo frustrad* exaust* mal ruim irritad*"
        " sozinh* nervos*",
        -2: "odeio odiei furios* horrív* terrív* péssim* desesperad* deprimid* nojo chorando raiva desastre insuportável",
    },
    "ru": {
        3: "обожаю прекрасн* замечательн* великолепн* отличн* потрясающ* идеальн* восхитительн* супер",
        2: "рад рада рады счастлив* радост* люблю весел* горжусь благодар* красив* доволен довольна классно здорово ура"
        " круто вкусн* спокойн*",
        1.5: "нравится понравил* приятн* лучше полезн*",
        1: "хорошо хорош* удобно работает интересн*",
        0.5: "спасибо ладно",
        -1: "устал* скучн* медленн* жаль хуже неудобн*",
        -1.5: "грустн* печальн* обидно обижен* тревож* волнуюсь беспоко* боюсь страх стресс* расстроен* разочаров* раздража*"
        " одинок* плохо плох* надоел* достал* измотан*",
        -2: "ненавижу ужасн* злюсь злой зла бесит бешен* кошмар* отврат* отчаян* депресс* плачу невыносим* худш*",
    },
}
"""Scripts with blanks between words: language -> valence -> words."""

UNSPACED: dict[float, str] = {
    3: "太棒 棒极了 完美 最高 最棒 爱死 素晴らし 大好き 最高です 感動 완벽 최고 사랑해",
    2: "开心 開心 高兴 高興 快乐 快樂 喜欢 喜歡 幸福 满意 滿意 感动 感動 期待 骄傲 激动 轻松 放心 哈哈 真好 很好 好吃 好玩 厉害"
    " 嬉し うれし 楽し たのし 幸せ 好き 面白 おもしろ 安心 満足 美味し おいし すごい 良かった よかった いいですね わくわく 気持ちいい"
    " 기뻐 기쁘 행복 좋아 좋았 즐거 신나 재밌 재미있 뿌듯 다행 맛있",
    1: "不错 不錯 还行 顺利 順利 好用 舒服 助かり 助かる 順調 上手くい うまくい 괜찮",
    0.5: "谢谢 謝謝 感谢 ありがと 감사 고마",
    -1: "累 困 无聊 無聊 可惜 麻烦 麻煩 慢 残念 退屈 疲れ 眠い 面倒 遅い 피곤 지루 아쉽",
    -1.5: "难过 難過 伤心 傷心 担心 擔心 焦虑 焦慮 紧张 緊張 失望 沮丧 郁闷 孤独 孤獨 烦 煩 害怕 压力 壓力 委屈 不安 糟糕 难受 難受"
    " 悲し かなし 寂し さびし 心配 怖い 怖く こわい つらい 辛い 辛か がっかり 落ち込 苦し イライラ いらいら ストレス うざい 困っ 苦手"
    " 슬프 슬퍼 걱정 불안 우울 외로 실망 짜증 스트레스 힘들 무서",
    -2: "生气 生氣 讨厌 討厭 愤怒 憤怒 恨 崩溃 崩潰 绝望 絕望 气死 太差 最差 恶心 痛苦 受够 最悪 嫌い 嫌だ 腹が立 ムカつ むかつ 怒っ 許せな"
    " 絶望 ひどい 酷い 泣い 泣き 화나 화가 싫어 싫다 최악 끔찍 절망 미치겠",
}
"""Scripts without blanks, and Korean, whose endings are many: valence -> stems found anywhere."""

OTHER: dict[float, str] = {
    2: "سعيد سعيدة فرحان رائع جميل ممتاز أحب سعادة खुश बढ़िया अच्छा शानदार प्यार mutlu harika szczęśliw* świetn* blij geweldig glad",
    0.5: "شكرا شكرًا धन्यवाद teşekkürler dziękuję bedankt tack",
    -2: "حزين حزينة غاضب سيء محبط قلق तनाव दुखी उदास गुस्सा परेशान बुरा üzgün kötü smutn* zły zła verdrietig boos",
}
"""A few words of further languages."""

EMOJI: dict[float, str] = {
    3: "😍 🥰 🤩 🥳 🎉 ❤ 💖 💕 💯",
    2: "😀 😃 😄 😁 😊 🙂 😂 🤣 😎 😇 🤗 🙌 👏 👍 🌈 🌞 💪 ✨ 🏆 😌 😋 😸 🥹 ☺ 🫶 💙 💚 💛 💜 🧡 💗",
    -1: "😐 😕 🙁 ☹ 😴 🥱 😬 😓 😑 🙄 🙃 😒 😥",
    -2: "😢 😭 😞 😔 😟 😩 😫 😣 😖 😡 😠 🤬 😤 😱 😰 😨 💔 👎 🤮 🤢 😿 😧 😦 🥺 😵",
}
SMILEYS: dict[float, tuple[str, ...]] = {
    1.5: (":)", ":-)", ":D", ":-D", "=)", ";)", ";-)", "<3", "^^", "xD", "XD"),
    -1.5: (":(", ":-(", ":'(", "=(", "D:", ">:("),
}

PHRASES: dict[float, str] = {
    3: "over the moon|on cloud nine|best (?:day|week|news|trip|thing) ever|made my (?:day|week)|couldn'?t be (?:happier|better)"
    r"|so much better|cry,? in a good way|happy tears|tears of joy",
    2: "thank you so (?:very )?much|thanks a million|well done|good (?:job|work|news)|looking forward|can'?t wait|piece of cake"
    "|not bad at all|nothing to complain|keine klagen|freue mich|in a good mood|feel(?:ing)? (?:good|great|alive|myself again)"
    "|what a (?:day|game|night|view)!|no complaints|alles gut|todo bien|tout va bien|a weight off|meno male"
    "|(?:looks?|sounds?|works?) great|out of the woods|on top of the world|turned a corner|gute laune|so cool|way to go",
    1: "not bad|nicht schlecht|pas mal|nada mal|niente male|неплохо|sounds good|looks good|no worries|kein problem|不坏|悪くない"
    "|我很好|还不错|還不錯",
    -1: "too bad|not (?:so |very |that |too )?(?:great|good|well)|could be better|not my day|meh|never mind|naja"
    "|geht so|así así|bof|comme ci comme ça|не очень",
    -2: "fed up|sick of|sick and tired|had enough|let (?:me|us) down|waste of (?:my )?(?:time|money|energy)|fall(?:ing)? apart"
    "|can(?:'?t|not) (?:stand|take|sleep|cope|go on|bear|believe (?:this|it|how))|losing (?:my|it)|at my wits'? end"
    "|driv(?:es|ing) me (?:crazy|mad|nuts|insane)|burn(?:ed|t|ing)? out|broke my heart|on edge|in tears|a joke|what a joke"
    "|for the (?:third|fourth|fifth|tenth|hundredth|thousandth|umpteenth) time|not (?:okay|ok|acceptable|amused)|give up"
    "|never again|down in the dumps|feel(?:ing)? (?:down|low|blue|empty|sick|like crap)|pain in the (?:neck|ass|butt)"
    "|reicht(?:'s| es| mir)|satt haben|habe? (?:es |das )?satt|keine lust|kotzt mich an|geht mir auf die nerven|zum heulen"
    "|estoy harto|estoy harta|j'en ai (?:marre|assez)|ras[- ]le[- ]bol|non ne posso più|no aguanto más|ne (?:va|vais) pas bien"
    "|сил (?:больше )?нет|受不了|没意思|没劲|もう(?:無理|だめ|嫌)|やってられ|못 참|지쳤|지친",
}
"""Turns of phrase, as expressions on lower-case text; what they hold is not read again as words."""

NEUTRAL = (
    r"happy (?:path|hour|case|flow)|sad path|fatal(?: \w+)? (?:error|exception|signal)|bad (?:request|gateway|credentials"
    r"|checksum|magic|address|block|sector|data|input|file|token|hash|json|row|rows|url|uri|request)|good (?:morning|afternoon|evening"
    r"|night|day|luck|enough|point|idea|question|to know)|best (?:practice|practices|effort|case|before|regards|wishes|match|model|way|route|price"
    r"|option|guess|fit|time)|(?:kind|warm|best) regards|nice(?:ness)? (?:level|value|-n)|worst[- ]case|stress[- ]?test(?:s|ing)?|pain points?"
    r"|hate speech|angry birds|cool ?down|well[- ](?:known|formed|defined|being)|as well(?: as)?|sick (?:leave|day|note)|panic (?:mode|handler|at)"
    r"|kernel panic|poison pill|dead ?lock|love letter|valentine|(?:would|'d|d) (?:like|love) (?:to|you|a|an|the|some)|would you like"
    r"|looks? like|feels? like|like (?:this|that|so)|better (?:than|to|if|way|option)|fun fact|funny (?:enough|character)|fair enough|sad to say"
    r"|free of charge|fine[- ](?:tun\w+|grained)|worried about (?:nothing)|joy ?(?:stick|con)|pleasure to|cry(?:pt\w*)|great[- ]?(?:grand\w*|circle|er)"
    r"|easy[- ]?(?:install|going)|hope (?:this|that|it|you)|thanks in advance|no thanks|bright(?:ness| mode)|light ?weight|alone mode|stand[- ]?alone"
    r"|let (?:me|you) alone|sweet (?:spot|potato\w*|corn)|slow (?:query|queries|log|motion|cooker|down)|guten (?:morgen|tag|abend)|gute nacht|buen(?:os|as)"
    r" (?:días|tardes|noches)|bon(?:jour|soir|ne nuit)|buon(?:giorno|asera|anotte)|b(?:om|oa) (?:dia|tarde|noite)|best[- ]seller\w*|rough(?:ly)? (?:estimate|draft|idea)"
    r"|confus(?:ion|ing) matrix|garbage collect\w*|depression (?:course|leaflet|scale)|anxiety (?:scale|course)|stress (?:level|levels|ball|course)|worst fit"
    r"|(?:mean|as) well|interesting(?:ly)? enough|a good (?:hotel|restaurant|place|book|recipe)|any good \w+|well,|so good|sorry to bother|sorry (?:for the|i mean)"
    r"|cold start|smooth(?:ing)? (?:factor|scroll\w*)|useful life|worry[- ]free|no need to worry|don'?t worry|happy to (?:help|wait|share|answer)"
    r"|perfect (?:square|hash\w*|number|tense|forward\w*)|love (?:island|story)|interest rate|fear index|fear and greed"
)
"""Set phrases in which a word of mood has none."""
