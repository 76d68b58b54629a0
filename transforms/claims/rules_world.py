"""Simple forms in other languages, where one phrase is enough to be sure."""

from __future__ import annotations

from transforms.claims.rule import Rule

# fmt: off
_REST = r"[\w'-]*"
_W = rf"[^\W\d_]{_REST}"
_CJK = r"[\u4e00-\u9fff\u3040-\u30ff々ー]"

GERMAN = (
    Rule("name", "ich heiße|ich heisse|mein name ist",
        rf"(?:^|[,.] )(?:ich hei(?:ß|ss)e|mein name ist) (?P<o>(?-i:[^\W\d_a-z]){_REST})"),
    Rule("lives_in", "ich wohne|ich lebe|wir wohnen",
        r"(?:^\W*|, )(?:ich (?:wohne|lebe)|wir wohnen)(?: jetzt| seit \w+| derzeit)* in "
        rf"(?P<o>(?-i:[^\W\d_a-z]){_REST})"),
    Rule("works_as", "ich bin|ich arbeite als",
        r"(?:^\W*|, )(?:ich bin|ich arbeite als) (?P<o>(?-i:[^\W\d_a-z])\w+(?:er|erin|in|arzt"
        r"|ärztin|mann|frau|ist|ant|eur))(?= |,|\.|$)"),
    Rule("allergic_to", "allergisch gegen", r"(?:^\W*|, )ich bin allergisch gegen (?P<o>[\w -]+)",
        most_words=3),
    Rule("likes", "ich mag kein", rf"(?:^\W*|, )ich mag keine?n? (?P<o>{_W})", polarity="negative"),
    Rule("likes", "ich mag ",
        r"(?:^\W*|, )ich mag (?:gerne? |sehr )?(?!kein|nicht|das nicht|es|dich|sie|ihn|die idee"
        rf"|das\b)(?P<o>{_W}(?: {_W})?)(?=[.,!]|$)"),
    Rule("diet", "ich bin veg", r"(?:^\W*|, )ich bin (?P<o>vegetarier(?:in)?|veganer(?:in)?|vegan)\b"),
    Rule("prefers", "auf deutsch|auf englisch",
        r"(?:bitte )?(?:antworte|schreib|schreibe|antworten sie|sprich)(?: \w+){0,3} auf "
        r"(?P<o>deutsch|englisch|französisch|spanisch)", aspect="language"),
    Rule("allergic_to", "ich vertrage kein", rf"(?:^\W*|, )ich vertrage keine?n? (?P<o>{_W})"),
    Rule("prefers", "ich trinke kein", rf"(?:^\W*|, )ich trinke keinen? (?P<o>{_W})",
        aspect="drink", polarity="negative"),
    Rule("lives_in", "wohne ich in|lebe ich in|wohnen wir in",
        r"(?:^|, )[\w ]{2,25}(?:wohne|lebe|wohnen) (?:ich|wir) in "
        rf"(?P<o>(?-i:[^\W\d_a-z]){_REST})"),
    Rule("likes", "ich hasse|ich liebe",
        rf"(?:^\W*|, )ich liebe (?P<o>(?-i:[^\W\d_a-z]){_REST})(?=[.,!]|$)"),
    Rule("likes", "ich hasse", rf"(?:^\W*|, )ich hasse (?P<o>(?-i:[^\W\d_a-z]){_REST})(?=[.,!]|$)",
        polarity="negative"),
    Rule("diet", "ich esse kein", rf"(?:^\W*|, )ich esse keine?n? (?P<o>{_W})", shape="kein {}"),
)
ROMANCE = (
    Rule("name", "me llamo|mi nombre es",
        rf"(?:^\W*|, )(?:me llamo|mi nombre es) (?P<o>(?-i:[^\W\d_a-z]){_REST})"),
    Rule("lives_in", "vivo en|vivo in",
        rf"(?:^\W*|, )vivo (?:en|in) (?P<o>(?-i:[^\W\d_a-z]){_REST}(?: (?-i:[^\W\d_a-z]){_REST})?)"),
    Rule("allergic_to", "soy alérgic",
        r"(?:^\W*|, )soy alérgic[oa] (?:a|al) (?P<o>(?:los |las |la |el )?\w+)"),
    Rule("likes", "no me gusta",
        r"(?:^\W*|, )no me gustan? (?:nada )?(?P<o>(?:el |la |los |las )?\w+(?: (?:con|de) \w+)?)",
        polarity="negative"),
    Rule("likes", "me gusta",
        r"(?:^\W*|, )me gustan?(?: mucho)? (?P<o>(?:el |la |los |las )?\w+(?: (?:con|de) "
        r"\w+)?)(?=[.,!]|$| (?:y|pero|porque)\b)"),
    Rule("works_as", "trabajo como", r"(?:^\W*|, )trabajo como (?P<o>\w+)"),
    Rule("lives_in", "j'habite", rf"(?:^\W*|, )j'habite (?:à|en|au) (?P<o>(?-i:[^\W\d_a-z]){_REST})"),
    Rule("name", "je m'appelle", rf"(?:^\W*|, )je m'appelle (?P<o>(?-i:[^\W\d_a-z]){_REST})"),
    Rule("diet", "je suis vég", r"(?:^\W*|, )je suis (?P<o>végétari(?:en|enne)|végan[e]?)\b"),
    Rule("allergic_to", "je suis allergique",
        r"(?:^\W*|, )je suis allergique (?:aux?|à la|à l'|à) ?(?P<o>[\w-]+)"),
    Rule("likes", "je n'aime pas",
        r"(?:^\W*|, )je n'aime pas (?:du tout )?(?P<o>(?:le |la |les |l')\w+(?: \w+)?)(?=[.,!]|$)",
        polarity="negative"),
    Rule("likes", "j'aime|j'adore",
        r"(?:^\W*|, )j'(?:aime(?: bien| beaucoup)?|adore) (?P<o>(?:le |la |les |l')\w+(?: "
        r"\w+)?)(?=[.,!]|$)"),
    Rule("lives_in", "moro em", rf"(?:^\W*|, )moro em (?P<o>(?-i:[^\W\d_a-z]){_REST})"),
    Rule("lives_in", "abito a|vivo a", rf"(?:^\W*|, )(?:abito|vivo) a (?P<o>(?-i:[^\W\d_a-z]){_REST})"),
    Rule("likes", "odio ", r"(?:^\W*|, )odio (?P<o>(?:el |la |los |las )\w+)", polarity="negative"),
    Rule("works_as", "soy ",
        r"(?:^\W*|, )soy (?P<o>\w*(?:profesor|enfermer|ingenier|médic|abogad|cociner|arquitect"
        r"|carpinter|maestr|camarer)[oa]?)\b"),
    Rule("lives_in", "y vivo en|vivo en", rf" y vivo en (?P<o>(?-i:[^\W\d_a-z]){_REST})"),
    Rule("lives_in", "j'habite ", rf"(?:^\W*|, )j'habite (?P<o>(?-i:[^\W\d_a-z]){_REST})"),
    Rule("likes", "je déteste", r"(?:^\W*|, )je déteste (?P<o>(?:le |la |les |l')\w+)", polarity="negative"),
    Rule("works_as", "je travaille comme|je suis",
        r"(?:^\W*|, )je (?:travaille comme|suis) (?P<o>infirmi(?:er|ère)|professeure?|ingénieure?"
        r"|avocate?|médecin|cuisini(?:er|ère)|boulang(?:er|ère)|enseignante?)\b"),
    Rule("likes", "mi piace|mi piacciono",
        r"(?:^\W*|, )mi piac(?:e|ciono)(?: molto| tanto)? (?P<o>(?:il |la |lo |i |le |gli |l')\w+)"),
    Rule("likes", "non mi piace|non mi piacciono",
        r"(?:^\W*|, )non mi piac(?:e|ciono) (?P<o>(?:il |la |lo |i |le |gli |l')\w+)", polarity="negative"),
    Rule("diet", "não como|no como",
        r"(?:^\W*|, )(?:eu )?n(?:ão|o) como (?P<o>carne|peixe|pescado|cerdo|porco|gluten|glúten)\b",
        shape="no {}"),
)
EASTERN = (
    Rule("lives_in", "я живу в", rf"(?:^\W*|, )я живу в (?P<o>(?-i:[^\W\d_a-z]){_REST})"),
    Rule("lives_in", "我住在|我家在|我搬到",
        rf"(?:^|[，。,！ ])我(?:现在|現在|目前|已经)?(?:住在|家在|搬到了?)(?P<o>{_CJK}{{2,8}}?)(?=["
        r"，。,！了]|$)"),
    Rule("allergic_to", "过敏|過敏", rf"(?:^|[，。,！ ])我对(?P<o>{_CJK}{{1,6}}?)过敏"),
    Rule("name", "我叫", rf"(?:^|[，。,！ ])我叫(?P<o>{_CJK}{{2,4}}?)(?=[，。,！]|$)"),
    Rule("likes", "不喜欢|不喜歡|讨厌",
        rf"(?:^|[，。,！ ]|我)(?:不喜[欢歡]|讨厌)(?P<o>{_CJK}{{1,8}}?)(?=[，。,！]|$)", polarity="negative"),
    Rule("likes", "喜欢|喜歡",
        r"(?:^|[，。,！ ])我(?:很|最|更|也|特别)?喜[欢歡](?:[吃喝玩看听聽]?的(?:就|还|還)?是)?"
        rf"(?P<o>(?!你|这|那|的)(?:吃|喝)?{_CJK}{{1,8}}?)(?=[，。,！]|$)"),
    Rule("diet", "我吃素|我不吃", r"(?:^|[，。,！ ])我(?P<o>吃素)"),
    Rule("lives_in", "に住んで",
        rf"(?:^|[、。 ])(?:私は|僕は|俺は|今は?)?(?P<o>{_CJK}{{1,8}}?)に住んでい(?:ます|る)"),
    Rule("allergic_to", "アレルギー",
        rf"(?:^|[、。 ])(?:私は|僕は)?(?P<o>{_CJK}{{1,8}}?)(?:の)?アレルギーがあります"),
    Rule("likes", "好きです|好きなんです",
        rf"(?:^|[、。 ])(?:私は|僕は)?(?P<o>{_CJK}{{1,8}}?)が(?:大|とても|一番)?好き(?:です"
        r"|なんです)(?!か)"),
    Rule("likes", "苦手です|嫌いです",
        rf"(?:^|[、。 ])(?:私は|僕は)?(?P<o>{_CJK}{{1,8}}?)(?:が|は)(?:大|とても)?(?:苦手"
        r"|嫌い)です(?!か)", polarity="negative"),
    Rule("allergic_to", "알레르기",
        r"(?:^\W*|, )(?:저는 |나는 )?(?P<o>[가-힣]{1,8}) 알레르기가 있(?:어요|습니다|어)"),
    Rule("lives_in", "에 살아|에 삽니다|에 살고",
        r"(?:^\W*|, )(?:저는 |나는 )?(?P<o>[가-힣]{1,8})에 (?:살아요|삽니다|살고 있어요|살고 "
        r"있습니다)"),
    Rule("diet", "素食", r"(?:^|[，。,！ ])我是(?P<o>素食者|素食主义者)"),
    Rule("lives_in", "我搬到",
        rf"(?:^|[，。,！ ])我(?:刚|已经)?搬(?:到|去)(?P<o>{_CJK}{{2,6}}?)了?(?=[，。,！]|$)"),
    Rule("name", "名前は", rf"(?:^|[、。 ])(?:私の)?名前は(?P<o>{_CJK}{{1,6}}?)です"),
    Rule("lives_in", "я переехал", rf"(?:^\W*|, )я переехала? в (?P<o>(?-i:[^\W\d_a-z]){_REST})"),
    Rule("likes", "я люблю|я не люблю", rf"(?:^\W*|, )я люблю (?P<o>{_W})(?=[.,!]|$)"),
    Rule("likes", "я не люблю", rf"(?:^\W*|, )я не люблю (?P<o>{_W})(?=[.,!]|$)", polarity="negative"),
)
RULES = (*GERMAN, *ROMANCE, *EASTERN)
