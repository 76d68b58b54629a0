"""Rules about a person: identity, family and pets."""

from __future__ import annotations

from transforms.claims.lexicon import PETS, RELATIVES
from transforms.claims.rule import Rule

# fmt: off

RELATIVE_CUES = "|".join(f"{whose} {what}" for what in RELATIVES.split("|") for whose in ("my", "our"))
PET_CUES = "|".join(f"{whose} {what}" for what in PETS.split("|") for whose in ("my", "our"))
"""Cues as rare as can be: they decide which messages are read at all."""

IDENTITY = (
    Rule("name", "my name|my full name|my first name",
        r"{L}my (?:full |first |real )?name(?:'s| is)(?: spelled| now)? (?P<o>{NAME}(?: "
        r"{NAME}){0,2})", most_words=3),
    Rule("name", "call me|calls me",
        r"{L}(?:(?:please|just|you can|you may|everyone|everybody|people|friends|they|my friends"
        r"|most people) )*calls? me (?P<o>{NAME})(?=\s*(?:[,.!;)]|$)|\s+(?:please|instead|from now"
        r"|for short|btw|by the way|not)\b)", most_words=2),
    Rule("name", "i'm |i am ",
        r"^\W*(?:(?:hi|hello|hey|hiya|good (?:morning|evening|afternoon|day)|morning|evening)(?: "
        r"there| all| everyone)?[,!.]? )?(?:i'm|i am) (?!(?:{LANG}|american|canadian|australian"
        r"|british|indian|brazilian|mexican|african|european|asian|catholic|muslim|jewish|christian"
        r"|buddhist|hindu|vegan|vegetarian|celiac|coeliac|done|ok|okay|ready|back|here|sure|fine"
        r"|late|happy|glad|new|not|so|very|really|just|looking|sorry|free|busy|tired|lost|home"
        r"|batman|done)\b)(?P<o>{NAME})(?=,? (?:and i|from|i work|i'm|and i'm|by the way|btw|the "
        r"new)\b|[.!,]|$)", most_words=2),
    Rule("born_on", "birthday",
        r"{L}(?:it's |it is )?my birthday(?:'s| is| falls)?(?: on| in)?(?: the)? (?P<o>{DATE})",
        keeps_time=True),
    Rule("born_on", "i was born|i'm born|i am born",
        r"{L}i (?:was|am) born (?:on |in )(?:the )?(?P<o>{DATE}|(?:19|20)\d\d)", keeps_time=True),
    Rule("comes_from", "i was born|i grew up|we grew up",
        r"{L}i (?:was born(?: and raised)?|grew up)(?: (?:in|on) [\w ]{4,15})? in (?P<o>{PLACE})"),
    Rule("comes_from",
        "i'm from|i am from|i come from|we're from|we are from|we come from|originally from"
        "|actually from",
            r"{L}(?:i'm|i am|i come|we're|we are|we come)(?: originally| actually)? from "
            r"(?P<o>{PLACE})"),
    Rule("age",
        "years old|yrs old|years of age|i'm 1|i'm 2|i'm 3|i'm 4|i'm 5|i'm 6|i'm 7|i'm 8|i'm 9|i am "
        "1|i am 2|i am 3|i am 4|i am 5|i am 6|i am 7|i am 8",
            r"{L}(?:i'm|i am)(?: now| already| only)? (?P<o>\d{1,3})(?: years old| yrs old| years "
            r"of age| yo\b)"),
    Rule("age", "turned ",
        r"{L}i(?:'ve)?(?: just)? turned (?P<o>\d{1,3})(?!\s*(?:%|percent|degrees|it|pages))(?=\W|$)"),
    Rule("speaks", "speak|i know ",
        r"{L}{S}(?: can)? (?:speaks?|know)(?: (?:only|fluent|basic|some|both|a little(?: bit of)?"
        r"|a bit of|good))* (?P<o>{LANG}(?:(?:,? and| or|,)(?: (?:a (?:bit|little)(?: of)?|some"
        r"|basic|fluent))? {LANG})*)", is_list=True),
    Rule("speaks", "fluent|native|mother tongue",
        r"{L}(?:i'm|i am) (?:fluent|a native speaker|native) (?:in|of) (?P<o>{LANG}(?:(?:,? and|,) "
        r"{LANG})*)", is_list=True),
    Rule("speaks", "native|mother tongue|first language",
        r"{L}my (?:native language|mother tongue|native tongue|first language) is (?P<o>{LANG})"),
    Rule("speaks", "native",
        r"{L}(?:as an? |i'm an? |i am an? |being an? )(?:native (?P<o>{LANG}) speaker)"),
    Rule("speaks", "native",
        r"{L}(?:as an? |i'm an? |i am an? |being an? )(?P<o>{LANG}) native(?: speaker)?"),
    Rule("speaks", "speak",
        r"{L}i {NOT}(?: really)? speak (?:any |much |a word of )?(?P<o>{LANG}(?:(?: or|,) {LANG})*)",
        polarity="negative", is_list=True),
    Rule("name", " here",
        r"^\W*(?:(?:hi|hello|hey|hey there|hi there|good \w+)[,!.]? )?(?P<o>(?!(?:same|look|looky"
        r"|right|still|over|up|down|out|come|live|been|new|nice|good|great|back|nothing|everything"
        r"|anyone|stuck|sitting|well|really|always|never|almost|down|it's|we're|i'm)\b){NAME}) "
        r"here(?=[.,!]|$| from| again)", most_words=2),
    Rule("name",
        "i go by|know me as|this is |the name is|the name's|address me as|shorten it|shorten my "
        "name",
            r"{L}(?:i go by|(?:people|friends|most) know me as|the name is|the name's|you (?:can"
            r"|may) address me as|(?:friends|people) shorten (?:it|my name) to|(?<=^)(?:hi|hello"
            r"|hey)[,!]? this is) (?P<o>(?:(?:dr|mr|ms|mrs|prof)\.? )?{NAME}(?: {NAME})?)", most_words=3),
    Rule("name", "this is ",
        r"^\W*(?:hi|hello|hey|good \w+)[,!.]? (?:there[,!.]? )?this is (?P<o>{NAME})(?=[.,!]|$| "
        r"from| again| and)", most_words=2),
    Rule("born_on", "date of birth|my birthday|born on",
        r"{L}(?:my date of birth is |put |note |use )?(?P<o>{DATE})(?: (?:is my birthday|down as "
        r"my (?:date of birth|birthday)|as my (?:date of birth|birthday)))", keeps_time=True),
    Rule("born_on", "date of birth", r"{L}my date of birth is (?P<o>{DATE})", keeps_time=True),
    Rule("born_on", "i'll turn|i turn ", r"{L}(?:i'll|i) turn \d+[^.;!?]*? on (?P<o>{DATE})",
        keeps_time=True),
    Rule("comes_from", "born and raised|raised in|i hail from|originally from",
        r"{L}(?:i was |i'm |i am )?(?:born and (?:raised|bred) in|raised in|i hail from|originally "
        r"from) (?P<o>{PLACE})"),
    Rule("comes_from", "i come from|i'm from|i am from|originally from",
        r"{L}(?:i come|i'm|i am)(?: originally)? from an? (?:small |tiny |little )?(?:village|town"
        r"|island|city|farm) (?:outside|near|in|outside of|close to|by) (?P<o>{PLACE})"),
    Rule("age",
        "i'm 1|i'm 2|i'm 3|i'm 4|i'm 5|i'm 6|i'm 7|i'm 8|i'm 9|i am 1|i am 2|i am 3|i am 4|i am 5"
        "|i am 6|i am 7|i am 8",
            r"{L}(?:i'm|i am)(?: now| already| only)? (?P<o>[1-9]\d)(?=[,.!]|$| and (?:still|fit"
            r"|happy|i|have|live|my))"),
    Rule("age", "-year-old|year old", r"{L}as an? (?P<o>\d{2})[- ]year[- ]old\b"),
    Rule("speaks", "never learned|never learnt|never studied",
        r"{L}(?:i )?(?:have )?never (?:learned|learnt|studied|spoke) (?P<o>{LANG})\b",
        polarity="negative", is_list=True),
    Rule("speaks",
        "my english|my german|my french|my spanish|my italian|my dutch|my polish|my portuguese|my "
        "japanese|my chinese|my swedish|my danish|my russian|my turkish|my arabic",
            r"{L}my (?P<o>{LANG}) is (?:okay|ok|good|fine|fluent|decent|rusty|passable|not bad"
            r"|basic|better|pretty good|quite good)\b"),
    Rule("speaks", "mother tongue|first language|native language",
        r"{L}(?P<o>{LANG}) is my (?:mother tongue|first language|native language|native tongue)"),
    Rule("comes_from",
        "italian|german|french|spanish|dutch|american|canadian|australian|british|indian|brazilian"
        "|mexican|polish|portuguese|swedish|danish|norwegian|finnish|irish|scottish|greek|turkish"
        "|japanese|chinese|korean|russian|ukrainian|austrian|swiss|belgian|czech|hungarian|romanian"
        "|nigerian|kenyan|egyptian",
            r"{L}(?:i'm|i am)(?: half| originally| actually)? (?P<o>italian|german|french|spanish"
            r"|dutch|american|canadian|australian|british|indian|brazilian|mexican|polish"
            r"|portuguese|swedish|danish|norwegian|finnish|irish|scottish|greek|turkish|japanese"
            r"|chinese|korean|russian|ukrainian|austrian|swiss|belgian|czech|hungarian|romanian"
            r"|nigerian|kenyan|egyptian)(?=[,.;!]|$| and i| but| so| by birth)"),
    Rule("speaks", "bilingual|trilingual",
        r"{L}(?:i'm|i am) (?:bilingual|trilingual)(?: in|,|:)? (?P<o>{LANG}(?:(?:,? and|,) "
        r"{LANG})*)", is_list=True),
)

FAMILY = (
    Rule("has_pet", "called|named",
        r"{L}(?:i|we)(?:'ve got|'ve| have got| have| own| adopted| got| just got) an? "
        r"(?P<r>(?:[\w-]+ ){0,2}(?:{PET}|greyhound|labrador|poodle|beagle|terrier|collie|spaniel"
        r"|dachshund|husky|retriever|pug|corgi)),? (?:called|named) (?P<o>{NAME})", most_words=2),
    Rule("has_pet", "died|passed away",
        r"{L}(?:my|our) (?P<o>{PET})(?:,? {NAME})? (?:died|passed away|has died)", operation="retract"),
    Rule("has_pet",
        "dog|cat|rabbit|hamster|parrot|horse|pony|pupp|kitten|guinea pig|tortoise|turtle|budgie"
        "|goldfish|snake",
            r"{L}(?:i|we)(?:'ve got|'ve| have got| have| own| adopted| got| just got| keep)(?: "
            r"also)? (?P<o>(?:an? |one |two |three |four |five |\d+ |several )(?:new |old |little "
            r"|big |small |young |rescue )*(?:{PET})(?:s|ies)?)(?!,? (?:called|named) "
            r"{NAME})(?![\w-])", most_words=6),
    Rule("has_pet", PET_CUES,
        r"\b(?:my|our) (?:(?:old|little|big|sweet|new|rescue|lovely) )*(?P<r>{PET})(?:'s name is|,"
        r"| is called| is named)? (?:called |named )?(?P<o>{NAME})", most_words=2),
    Rule("has_relative", "married to|engaged to",
        r"{L}(?:i'm|i am)(?: happily)? (?:married|engaged) to (?P<o>{NAME})", shape="spouse {}"),
    *(
        Rule("has_relative", "children|kids",
            rf"{{L}}(?:i|we)(?:'ve got| have got| have) (?:two|three|four|\d) (?:(?:small|grown-up|adult"
            rf"|teenage|little) )?(?:children|kids)(?::|,| named| called)? (?:{{NAME}}(?: \(\d+\))?,? (?:and "
            rf")?){{{before}}}(?P<o>{{NAME}})"
            r"(?=(?: \(\d+\))?(?:,| and|[.;!]|$))", shape="child {}", most_words=2)
        for before in range(4)
    ),
    Rule("has_relative", "i have |i've got |we have |we've got ",
        r"{L}(?:i|we)(?:'ve got| have got| have) (?P<o>(?:an? |one |two |three |four |five |six "
        r"|\d )(?:(?:older|younger|little|big|small|grown-up|adult|teenage|twin) )*(?:kids"
        r"|children|{REL}s?)\b(?:,? (?:called |named )?{NAME}(?: and {NAME})?)?)(?! of\b)", most_words=7),
    Rule("has_relative", RELATIVE_CUES,
        r"\bmy (?:\d+-year-old |late |dear |lovely )?(?P<r>{REL})(?:'s name is|'s called| is called"
        r"| is named|,)? (?P<o>{NAME})", most_words=2, flags=("anywhere", "reported")),
    Rule("has_relative", RELATIVE_CUES, r"\b(?P<o>{NAME}), (?:my|our) (?P<r>{REL})\b(?=,| is| has| and)",
        most_words=2),
    Rule("has_relative", "our son|our daughter|our niece|our nephew|our baby|our youngest|our eldest",
        r"\bour (?P<r>son|daughter|niece|nephew|baby|youngest|eldest)(?:'s name is| is called| is "
        r"named|,)? (?P<o>{NAME})", most_words=2),
    Rule("has_relative", "other half|better half|named after",
        r"{L}my (?:other|better) half is (?:[\w ]+ and )?(?:called |named )?(?P<o>{NAME})",
        shape="partner {}", most_words=2),
    Rule("has_relative", "father of|mother of|mum of|dad of|mom of|parent of|parents of",
        r"{L}(?:i'm|i am|as) (?:an?|the) (?:proud |single |busy )?(?:father|mother|mum|mom|dad"
        r"|parent) of (?P<o>one|two|three|four|five|six|twins|triplets|\d)\b", shape="{} children"),
    Rule("has_pet",
        "adopted|greyhound|labrador|poodle|beagle|terrier|collie|spaniel|dachshund|husky|retriever",
            r"{L}(?:i|we)(?:'ve| have)?(?: just| recently| finally)? (?:adopted|got|bought|rescued"
            r"|have) (?P<o>an? (?:[\w-]+ ){0,2}(?:greyhound|labrador|poodle|beagle|terrier|collie"
            r"|spaniel|dachshund|husky|retriever|pug|corgi|boxer|whippet|siamese|maine coon"
            r"|{PET}))\b(?!,? (?:called|named) {NAME})", most_words=5),
    Rule("has_pet", "say goodbye|put down|put our|lost our|lost my|rehomed",
        r"{L}(?:i|we)(?:'ve)? (?:had to (?:say goodbye to|put down)|lost|said goodbye to|rehomed) "
        r"(?:my|our) (?:old |dear |sweet )?(?P<o>{PET})\b", operation="retract"),
    Rule("has_relative",
        "best friend is|wife is|husband is|partner is|girlfriend is|boyfriend is|fiancé is|fiancée "
        "is",
            r"{L}my (?P<r>best friend|wife|husband|partner|girlfriend|boyfriend|fiancée?) is "
            r"(?P<o>(?!(?:{LANG}|american|canadian|british|indian|mexican|brazilian|muslim|catholic"
            r"|jewish)\b){NAME})(?=[,.;!]|$)", most_words=2),
)
RULES = (*IDENTITY, *FAMILY)
