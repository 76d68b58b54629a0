"""Words of mood in several languages, written for this project.

A line is a valence and its words; ``*`` stands for any ending. Words that traces use of machines
(error, fatal, kill, fail, crash, broken) carry no mood here: people who are upset say so otherwise too.
"""

from __future__ import annotations

LEXICON: dict[str, dict[float, str]] = {
    "en": {
        3: "glorious breathtaking life-changing spectacular elated love loved loving adore* amazing"
        " awesome fantastic wonderful* brilliant* excellent* superb thrilled ecstatic delighted delightful"
        " overjoyed phenomenal outstanding incredible magnificent perfect perfectly euphoric blissful"
        " heavenly marvellous marvelous stellar flawless lovely",
        2: "smile smiling victory succeeded blessing generous cherish* laugh laughing lucky radiant eager"
        " enthusiastic fascinated touched tender cuddle* rewarding gorgeous stunning fulfilled fulfilling"
        " exhilarat* uplifting uplifted empowered thriving joyous happy happier happiest happily great"
        " glad pleased joy joyful excited exciting proud proudly grateful thankful enjoy enjoyed enjoying"
        " enjoyable fun funny beautiful* cheerful impressed impressive optimistic hopeful relieved relaxed"
        " refreshed energized energised peaceful inspired inspiring celebrate* celebrating blessed yay"
        " hooray woohoo yippee hurray delicious terrific splendid fabulous appreciate* charming elegant"
        " best laughed confident content satisfied satisfying motivated cosy cozy rested",
        1.5: "reassured reassuring admire* welcoming friendly sunny soothing healed healing excellent"
        " easier nice nicely cool sweet helpful better pleasant* calm comfortable encouraging promising"
        " kudos bravo congrats congratulations neat handy smooth smoothly solved wow haha lol hahaha hehe"
        " relief",
        1: "good works worked yes! fine okay-ish interesting easy bright hope useful reliable",
        0.5: "thanks thank thx ty ok okay alright fair",
        0: "meh so-so",
        -1: "dull mediocre regret* unhelpful irritat* impatient insecure uncertain disorganised"
        " disorganized chaotic dragging drags sleepy lazy bummer whatever underwhelm* tired bored boring"
        " slow confusing confused unfortunately sadly unlucky sorry worse bland nervous unsure doubt*"
        " weird clunky awkward overwhelmed overwhelming restless moody mess messy tedious rough",
        -1.5: "rude unfair cruel pathetic pity tense hopelessness humiliat* offended offensive insult*"
        " dishonest lied lying liar cheated sorrow sore ache aching sick nauseous shame dismayed dismal"
        " bitter resent* hostile toxic useless unwanted bullied overworked underpaid insomnia panic"
        " troubled unhappy sulk* whining annoyed annoying annoys sad worried worrying worry worries upset"
        " disappointed disappointing disappointment stressed stressful stress anxious anxiety lonely alone"
        " frustrating frustrated frustration hurt* hurting afraid scared exhausted exhausting drained"
        " gloomy grumpy cranky uneasy discouraged discouraging bad badly poorly pointless homesick jealous"
        " ashamed guilty embarrassed embarrassing ugh argh sigh struggle* struggling sucks suck sucked"
        " lousy crap crappy damn dammit stupid ridiculous ignored nag fear dread numb",
        -2: "agony tragic tragedy funeral weeping sobbing sob suicidal horrified terrified traumatised"
        " traumatized hellish disgrace disgraceful vile repulsive despise* loathe* detest* shocked"
        " outraged seething rage raging helpless suffering suffer* ruin ruined shattered crushed"
        " intolerable insufferable incompetent scam* angry angrier hate hated hates hating awful terrible"
        " terribly horrible horribly furious miserable depressed depressing depression hopeless worthless"
        " devastated heartbroken disgusting disgusted dreadful worst nightmare livid outrageous"
        " unacceptable appalling infuriating infuriated enraged crying cried cry panicking grief grieving"
        " mourn* betrayed humiliated unbearable fuming garbage rubbish shit shitty fuck* wtf bullshit"
        " atrocious abysmal despair* desperate tears",
    },
    "de": {
        3: "großartig* fantastisch* wunderbar* liebe hervorragend* perfekt* genial* begeistert* traumhaft*"
        " herrlich* ausgezeichnet*",
        2: "wunderschön* glücksgefühl* jubel* lachen gelacht stark motiviert* verliebt* hammer beeindruck*"
        " vorfreude gelassen* wohl gewonnen geschafft bestanden glücklich* toll tolle tollen toller super"
        " froh* freue freut gefreut freude* stolz dankbar* schön schöne schönen schöner schönes schönste"
        " klasse prima spitze lustig* spaß zufrieden* erleichtert* lecker* entspannt* spannend* juhu"
        " hoffnungsvoll* geil",
        1.5: "gefällt mag nett* angenehm* hilfreich* besser cool gelungen*",
        1: "gut gute guten guter gutes klappt geklappt funktioniert interessant*",
        0.5: "danke dankeschön okay ok",
        -1: "müde langweilig* leider schade langsam* verwirrt* verwirrend* schlechter unsicher* umständlich*",
        -1.5: "enttäusch* einsamkeit heulen allein nervös* überfordert* unfair* gemein* gekränkt* bedauer*"
        " sorgen traurigkeit unverständlich* peinlich* krank überlastet* gelangweilt traurig* enttäuscht*"
        " enttäuschend* nervt nervig* genervt* sorge besorgt* gestresst* stress stressig* angst ängstlich*"
        " einsam* frustriert* frustrierend* frust erschöpft* schlecht schlechte schlechten schlechtes"
        " schlimm* blöd* doof* mist verletzt* unzufrieden* unglücklich* mies* sauer",
        -2: "gestorben tot verlassen wut zorn zornig* hass hoffnungslosigkeit entsetzt* albtraum alptraum"
        " unfähig* frechheit wütend* hasse hassen furchtbar* schrecklich* entsetzlich* katastrophe*"
        " katastrophal* verzweifelt* deprimiert* scheiße scheiss* unerträglich* grauenhaft* ekelhaft*"
        " schlechteste* unverschämt* weine geweint hoffnungslos*",
    },
    "es": {
        3: "encanta encantó encantado encantada excelente* maravillos* fantástic* increíble* perfect*"
        " genial* magnífic* estupend* amo",
        2: "genial ganamos risa reír sonrisa bendecid* enamorad* suerte motivad* entusiasmad* mejorando"
        " feliz felices alegre* alegría contento contenta content* orgullos* agradecid* divertid* hermos*"
        " bonit* ilusión ilusionad* disfrut* emocionad* aliviad* tranquil* delicios* buenísim* guay"
        " chévere satisfech* esperanzad*",
        1.5: "gusta gustó mejor agradable* simpátic* útil",
        1: "bien bueno buena buenos funciona funcionó interesante*",
        0.5: "gracias vale",
        -1: "cansad* aburrid* lent* lamentablemente desgraciadamente peor confus* lástima",
        -1.5: "decepción soledad cansancio llorar agobiad* estrés pena nostalgia injust* culpa triste*"
        " tristeza preocupad* preocupa decepcionad* decepcionante* estresad* ansios* ansiedad miedo"
        " frustrad* frustrante* agotad* molest* mal malo mala enfadad* sol* infeliz harto harta nervios*",
        -2: "murió falleció odia ira enojad* enfurec* humillad* vergüenza odio furios* horrible* terrible*"
        " fatal pésim* desesperad* deprimid* asco asqueros* llorando lloré rabia espantos* desastre"
        " insoportable* inaceptable*",
    },
    "fr": {
        3: "adore adoré génial* magnifique* merveilleu* fantastique* parfait* excellent* incroyable*"
        " superbe* formidable*",
        2: "rire sourire réussi gagné amoureu* génialissime motivé* chanceu* heureu* content* ravi* fier"
        " fière joie joyeu* super reconnaissant* amusant* drôle* beau belle enchanté* soulagé* détendu*"
        " délicieu* chouette impatient* satisfait* plaisir bonheur",
        1.5: "aime agréable* sympa* mieux utile* cool",
        1: "bien bon bonne bons fonctionne marche intéressant*",
        0.5: "merci ok",
        -1: "fatigué* ennuyeu* lent lente malheureusement dommage pire confus* hélas",
        -1.5: "déception solitude pleurer larmes déprim* débordé* ennui honte injuste* angoiss* crains"
        " fatigue triste* tristesse inqui* déçu* décevant* stressé* stress anxieu* anxiété peur frustré*"
        " frustrant* épuisé* énervé* énervant* agacé* agaçant* mal mauvais* seul* marre nul nulle pénible*"
        " malheureu*",
        -2: "mort décédé colère fureur haine horreur effondré* scandaleu* déteste furieu* horrible*"
        " terrible* affreu* désespéré* déprimé* dégoûtant* pleure pleuré catastroph* insupportable*"
        " inacceptable* merde lamentable* rage",
    },
    "it": {
        3: "adoro fantastic* meraviglios* eccellent* perfett* stupend* incredibil* magnific* bellissim*",
        2: "sorriso vacanza riuscit* innamorat* fortunat* vinto orgoglio felice felici content* orgoglios*"
        " grat* divertent* bello bella gioia entusiast* sollevat* rilassat* delizios* ottim* soddisfatt*",
        1.5: "piace piaciuto meglio piacevol* utile",
        1: "bene buono buona funziona",
        0.5: "grazie",
        -1: "stanc* noios* purtroppo peccato lent* peggio",
        -1.5: "lacrime piangere solitudine vergogna ingiust* stress noia triste tristezza preoccupat*"
        " delus* deludent* stressat* ansia ansios* paura frustrat* frustrant* esaust* male cattiv*"
        " arrabbiat* sol* nervos*",
        -2: "odio furios* orribil* terribil* disperat* depress* schifo piango disastro inaccettabil*"
        " insopportabil*",
    },
    "pt": {
        3: "adoro adorei amei excelente* maravilhos* fantástic* incrível perfeit* ótim* magnífic*",
        2: "sorriso consegui apaixonad* sorte orgulho feliz felizes alegr* content* orgulhos* grat*"
        " divertid* lind* bonit* animad* aliviad* tranquil* delicios* legal satisfeit*",
        1.5: "gosto gostei melhor agradável útil",
        1: "bom boa bem funciona funcionou",
        0.5: "obrigad*",
        -1: "cansad* chat* infelizmente lent* pior pena",
        -1.5: "chorar solidão saudade* cansaço injust* culpa vergonha estresse triste* tristeza preocupad*"
        " decepcionad* estressad* ansios* ansiedade medo frustrad* exaust* mal ruim irritad* sozinh*"
        " nervos*",
        -2: "odeio odiei furios* horrív* terrív* péssim* desesperad* deprimid* nojo chorando raiva"
        " desastre insuportável",
    },
    "ru": {
        3: "обожаю прекрасн* замечательн* великолепн* отличн* потрясающ* идеальн* восхитительн* супер",
        2: "победа смеюсь улыба* повезло горд* влюблен* ура рад рада рады счастлив* радост* люблю весел*"
        " горжусь благодар* красив* доволен довольна классно здорово круто вкусн* спокойн*",
        1.5: "нравится понравил* приятн* лучше полезн*",
        1: "хорошо хорош* удобно работает интересн*",
        0.5: "спасибо ладно",
        -1: "устал* скучн* медленн* жаль хуже неудобн*",
        -1.5: "грусть тоска слезы слёзы больно обида страшно волнени* нервнича* скучаю грустн* печальн*"
        " обидно обижен* тревож* волнуюсь беспоко* боюсь страх стресс* расстроен* разочаров* раздража*"
        " одинок* плохо плох* надоел* достал* измотан*",
        -2: "ненавижу ужасн* злюсь злой зла бесит бешен* кошмар* отврат* отчаян* депресс* плачу невыносим*"
        " худш*",
    },
}
"""Scripts with blanks between words: language -> valence -> words."""

UNSPACED: dict[float, str] = {
    3: "太棒 棒极了 完美 最高 最棒 爱死 素晴らし 大好き 最高です 感動 완벽 최고 사랑해",
    2: "太好了 好开心 自豪 欣慰 感激 惊喜 顺心 痛快 温暖 嬉しかった 最高 楽しい 笑顔 ありがたい 素敵 癒さ"
    " 喜 감사해 설레 웃음 사랑 기대돼 开心 開心 高兴 高興 快乐 快樂 喜欢 喜歡 幸福 满意 滿意 感动 感動"
    " 期待 骄傲 激动 轻松 放心 哈哈 真好 很好 好吃 好玩 厉害 嬉し うれし 楽し たのし 幸せ 好き 面白"
    " おもしろ 安心 満足 美味し おいし すごい 良かった よかった いいですね わくわく 気持ちいい 기뻐 기쁘"
    " 행복 좋아 좋았 즐거 신나 재밌 재미있 뿌듯 다행 맛있",
    1: "不错 不錯 还行 顺利 順利 好用 舒服 助かり 助かる 順調 上手くい うまくい 괜찮",
    0: "积累 累计 累加 累积 累積 困难 困難 烦请 煩請 麻烦你 麻烦您 麻煩您",
    0.5: "谢谢 謝謝 感谢 ありがと 감사 고마",
    -1: "困 无聊 無聊 可惜 麻烦 麻煩 残念 退屈 疲れ 眠い 面倒 遅い 피곤 지루 아쉽",
    -1.5: "累 疲惫 疲憊 失眠 心累 后悔 後悔 可怕 难熬 心疼 迷茫 自卑 低落 不高兴 泣 悔し 怒られ 憂鬱"
    " 疲れ果て 不満 がっくり 속상 후회 외롭 지겨 답답 难过 難過 伤心 傷心 担心 擔心 焦虑 焦慮 紧张 緊張"
    " 失望 沮丧 郁闷 孤独 孤獨 烦 煩 害怕 压力 壓力 委屈 不安 糟糕 难受 難受 悲し かなし 寂し さびし 心配"
    " 怖い 怖く こわい つらい 辛い 辛か がっかり 落ち込 苦し イライラ いらいら ストレス うざい 困っ 苦手"
    " 슬프 슬퍼 걱정 불안 우울 외로 실망 짜증 스트레스 힘들 무서",
    -2: "去世 恶劣 惡劣 失恋 欺负 憎 虐 亡くな 裏切 嫌われ 絶対許 배신 죽고 生气 生氣 讨厌 討厭 愤怒 憤怒"
    " 恨 崩溃 崩潰 绝望 絕望 气死 太差 最差 恶心 痛苦 受够 最悪 嫌い 嫌だ 腹が立 ムカつ むかつ 怒っ 許せな"
    " 絶望 ひどい 酷い 泣い 泣き 화나 화가 싫어 싫다 최악 끔찍 절망 미치겠",
}
"""Scripts without blanks, and Korean, whose endings are many: valence -> stems found anywhere."""

OTHER: dict[float, str] = {
    2: "سعيد سعيدة فرحان رائع جميل ممتاز أحب سعادة खुश बढ़िया अच्छा शानदार प्यार mutlu harika szczęśliw*"
    " świetn* blij geweldig glad",
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

NEGATIONS = (
    "not no never none nothing nobody neither nor without hardly barely cannot can't don't doesn't didn't"
    " isn't wasn't aren't weren't won't wouldn't couldn't shouldn't haven't hasn't hadn't ain't dont"
    " doesnt didnt isnt wasnt wont cant far lack lacking stopped nicht kein keine keinen keiner keinerlei"
    " nie niemals ohne kaum no nunca jamás sin ni ne n pas jamais sans aucun aucune non mai senza não nem"
    " nunca sem не ни без никогда нет"
)
INTENSIFIERS = (
    "very really so extremely totally absolutely incredibly super truly completely utterly insanely such"
    " deeply sehr total echt wirklich so extrem absolut richtig muy tan realmente totalmente très vraiment"
    " tellement trop molto davvero tanto muito tão очень так совсем"
)
DIMINISHERS = (
    "slightly somewhat kinda bit little fairly rather quite mildly etwas bisschen ziemlich leicht algo"
    " poco peu assez abbastanza pouco немного слегка"
)
FUNCTION_WORDS = {
    "en": "the a an i you it is was are this that and of to in my me we for on with have just so not be am"
    " what at",
    "de": "der die das ich du ist war und nicht ein eine mit mir mich es wir zu den auf für habe bin sie"
    " was im dem",
    "es": "el la los las yo es está y no un una con me mi que de en por para se lo estoy muy qué del al",
    "fr": "le la les je j tu est et ne n pas un une avec me mon ma que de en pour ce c suis très du des ai"
    " il au",
    "it": "il lo gli io è e non un una con mi che di in per sono molto questo ho della del al",
    "pt": "o os as eu é está e não um uma com me meu minha que de em por para muito estou isso do da",
    "ru": "я ты он она это и не в на с что как мне меня мы но у за так очень был",
}
"""By which a language is told; a word such as the French mal or the Spanish sol has mood in its own only."""

PLAIN_WORDS = frozenset(
    word.removesuffix("*") for table in LEXICON.values() for words in table.values() for word in words.split()
)
"""Words of mood without their endings."""
