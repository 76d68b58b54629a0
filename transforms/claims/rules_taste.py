"""Rules about taste and body: preferences, habits, diet and health."""

from __future__ import annotations

from transforms.claims.lexicon import DIETS, DRINKS, FOODS, LANGUAGES
from transforms.claims.rule import Rule

# fmt: off
_SEAT = r"(?:an? |the )?(?:aisle|window|middle)(?: seats?| row)?|exit rows?(?: seats?)?"
_HOUR = (
    r"(?:(?:early |late )?in the (?:early |late )?(?:morning|afternoon|evening)s?(?: at [\w:]+)?"
    r"|at (?:noon|night|[\w:]+)(?: (?:am|pm|o'clock))?(?: in the (?:morning|afternoon|evening))?"
    r"|(?:before|after|around) [\w:]+(?: ?(?:am|pm|o'clock))?(?: in the (?:morning|afternoon"
    r"|evening))?|(?:early |late )?mornings?|afternoons?|evenings?|early|late)"
)
_STUDY = r"(?:study|studying|practi[sc]e|practi[sc]ing|learn|learning|revise|lessons?|train my \w+)"
_UNIT = r"(?:metric|imperial|celsius|fahrenheit|kelvin|kilomet(?:er|re)s|miles|kilos|kilograms|pounds)"
_ALLERGENS = (
    rf"(?:{FOODS}|latex|pollen|dust|cats?|dogs?|penicillin|bees?|wasps?|tree nuts?|shellfish|eggs?)"
)

CHOICES = (
    Rule("prefers", "forget ",
        r"{L}(?:please )?forget (?:what i said about|about|that i (?:like|prefer|want(?:ed)?)) "
        r"(?P<o>.*(?:seat|aisle|window).*)", operation="retract", aspect="?"),
    Rule("likes", "forget that i", r"{L}(?:please )?forget that i (?:like|love|enjoy|prefer) (?P<o>.+)",
        operation="retract"),
    Rule("prefers", "i meant", r"{L}(?:no, )?i meant (?P<o>.+)", aspect="?", level="firm"),
    Rule("prefers", "aisle|window|exit row",
        rf"{{L}}{{I}} (?:prefer|take|sit (?:in|at|by|on)|book|choose|want|like|pick|need|get|have) "
        rf"(?P<o>{_SEAT})(?!\w)", aspect="seat"),
    Rule("prefers", "aisle|window|exit row",
        rf"\b(?P<o>{_SEAT}) (?:from now on|for me|please|only|always)", aspect="seat", level="firm"),
    Rule("prefers", "aisle|window|seat",
        rf"{{L}}(?P<s>my {{REL}}(?:,? {{NAME}},?)?|{{NAME}}) (?:always )?(?:prefers|takes|likes"
        rf"|wants) (?P<o>{_SEAT})(?!\w)", aspect="seat"),
    Rule("prefers", "asks about a drink|drinks|drink",
        r"{L}(?:if|when) [\w ]+ (?:drinks?|to drink)[, ]+(?P<o>.+)", aspect="drink", flags=("conditional",)),
    Rule("prefers", "drink",
        rf"{{L}}{{I}} (?:never|don't|do not|no longer|stopped|quit|gave up)(?: ever)? (?:drink"
        rf"|drinking|touch) (?:any )?(?P<o>(?:[\w-]+ )?(?:{DRINKS}))\b", aspect="drink", polarity="negative"),
    Rule("prefers", "drink",
        rf"{{L}}{{I}}(?:'m)? (?:drink|drinking)(?: only| mostly| mainly)? (?P<o>(?:[\w-]+ "
        rf"){{0,3}}?(?:{DRINKS})(?: with [\w ]+?)?)(?=\s*(?:[,.;:!)]|$)| (?:these|now|in|every|at"
        rf"|from|and|only|instead|after|before)\b)", aspect="drink"),
    Rule("prefers", "like my|take my|drink my|have my",
        rf"{{L}}{{I}} (?:like|take|drink|have|prefer|love) my (?P<o>(?:{DRINKS}).+)", aspect="drink",
        most_words=6),
    Rule("prefers", " person",
        rf"{{L}}(?:i'm|i am) (?:more of |rather |really |very much )?an? (?P<o>(?:[\w-]+ "
        rf")?(?:{DRINKS})) person", aspect="drink"),
    Rule("prefers", "these days it is|these days it's|now it's|now it is",
        rf"{{L}}(?:it's|it is) (?P<o>(?:an? )?(?:[\w-]+ )*(?:{DRINKS})(?: with [\w ]+)?)", aspect="drink",
        level="firm"),
    Rule("prefers", "would rather|'d rather|rather pay",
        r"{L}(?:i|we)(?:'d| would) (?:much )?rather pay (?P<z>.*?) for (?P<o>an? .+)", aspect="lodging"),
    Rule("prefers", "would rather|'d rather",
        r"{L}{I}(?:'d| would)(?: much)? rather(?: have| take| stay in| stay at| book| use| go by| "
        r"travel by| fly with| sit in| get| be contacted by| go with)? (?P<o>.+)", aspect="?", most_words=7),
    Rule("prefers", "prefer",
        r"{L}{I}(?:'d| would)?(?: much| really)? prefer(?: to)?(?: have| take| stay in| stay at| "
        r"book| use| go by| travel by| fly with| sit in| get| be contacted by| write in| read| "
        r"receive| work in| go with)? (?P<o>.+)", aspect="?", otherwise="likes", most_words=7),
    Rule("prefers",
        "i usually|we usually|i always|we always|i mostly|we mostly|i normally|we normally|i "
        "generally|i only|we only|tend to|prefer to|i really always|i also always|we also usually",
            r"{L}(?:i|we)(?:(?: really| also)? (?:always|usually|mostly|normally|generally|only"
            r"|nearly always|tend to|prefer to))+ (?:stay (?:in|at)|book|sleep (?:in|at)|rent|take"
            r"|go by|travel by|choose|reserve) (?P<o>.+)", aspect="?", most_words=7),
    Rule("prefers", "fly with|fly on|flying with", r"{L}{I} (?:fly|flying) (?:with|on) (?P<o>{PLACE})",
        aspect="airline"),
    Rule("prefers", "skip hostels|no hostels|no more hostels|skip hotels|no hotels",
        r"{L}(?:(?:let's|let us) )?(?:skip|no|no more|avoid) (?P<o>hostels|hotels|campsites"
        r"|motels)(?: for good| from now on| any ?more| please)", aspect="lodging", polarity="negative"),
    Rule("prefers", "switched|switching|changed|moved from|gone over|went back",
        r"{L}(?:i|we)(?:'ve| have|'m| am)?(?: just| recently| finally| now)* (?:switched|changed"
        r"|moved|converted|gone|went)(?: back| over)* (?:from (?P<z>[\w .+#-]+?) )?to (?P<o>.+)", aspect="?", level="firm",
        most_words=5),
    Rule("prefers", "aisle|window",
        rf"{{L}}(?:(?:on|for) [\w ]+ )?(?:it has to be|it must be|has to be|i need|i always need"
        rf"|give me|get me|book me|put me (?:in|on|by)|i'll have|make it) (?P<o>{_SEAT})(?= for me"
        rf"| please| in future| from now on| always| next time|[,.;!]|$| on (?:long|every|all))", aspect="seat",
        level="firm"),
    Rule("prefers", "by the window|on the aisle|by the aisle|near the aisle|in the aisle",
        r"{L}(?:i (?:always )?(?:prefer|like|love|want|need|sit)(?: to sit| sitting)?|i'd rather "
        r"sit|seat me|put me)(?: a seat)? (?:by|on|at|near|in) (?P<o>the (?:window|aisle))(?! "
        r"table)", aspect="seat"),
    Rule("prefers",
        "n't drink|not drink|cannot drink|gave up|given up|off coffee|off alcohol|quit drinking"
        "|stopped drinking",
            rf"{{L}}(?:i|we)(?:'ve| have)?(?: just| finally)? (?:can't drink|cannot drink|don't "
            rf"drink|do not drink|gave up|given up|quit drinking|stopped drinking|have gone off"
            rf"|gone off|came off) (?:any )?(?P<o>(?:{DRINKS}))\b", aspect="drink", polarity="negative"),
    Rule("prefers", "instead of",
        rf"{{L}}(?:on second thoughts?, )?(?P<o>(?:[\w-]+ )?(?:{DRINKS})) instead of (?:{DRINKS})", aspect="drink",
        level="firm"),
    Rule("prefers", "how i start my day|is my drink|is my go-to|my usual",
        rf"{{L}}(?P<o>(?:an? )?(?:[\w-]+ )?(?:{DRINKS})(?:,? (?:no|with|without) \w+)?),? (?:that's"
        rf"|is) (?:how i start my day|my (?:drink|go-to(?: drink)?|usual)|what i (?:always )?drink)",
        aspect="drink"),
    Rule("prefers", "my usual", rf"{{L}}my usual (?:drink|order|coffee) is (?P<o>.+)", aspect="drink",
        most_words=6),
    Rule("prefers", "for me",
        r"{L}no (?P<o>trams|buses|taxis|ferries|night trains|flights|cruises)(?: for me| please|,| "
        r"any ?more)", aspect="transport", polarity="negative"),
    Rule("prefers", "not for me|not my thing|isn't for me",
        r"{L}(?P<o>(?:big |large |fancy |cheap |chain )*(?:hotels|hostels|resorts|campsites|chain "
        r"hotels|airbnbs))(?: are| is)? (?:not for me|not my thing)", aspect="lodging", polarity="negative"),
    Rule("prefers", "hotel|hostel|apartment|cabin|guest house|guesthouse|b&b|inn ",
        r"{L}(?:i|we) (?:want|like|need|look for|always rent|always book|love|choose) (?P<o>(?:an? "
        r")?(?:(?:small|quiet|cheap|simple|family-run|boutique|big|central|modern|cosy|cozy) "
        r")+(?:hotels?|hostels?|apartments?|cabins?|guest ?houses?|b&bs?|inns?))\b", aspect="lodging"),
    Rule("prefers", "family-run|is perfect|are perfect",
        r"(?:^|, )(?P<o>an? (?:[\w-]+ ){0,2}(?:hotel|hostel|apartment|inn|guest ?house|b&b)) is "
        r"(?:perfect|ideal|what i (?:like|want))(?: for me)?", aspect="lodging"),
    Rule("prefers", "go with|stick with|loyal to",
        r"{L}(?:i|we)(?: always|'m| am| usually| only)+ (?:go with|stick with|book with|loyal to) "
        r"(?P<o>{PLACE}(?: (?:Air|Airlines|Airways))?)(?= because| for| when|[,.;!]|$)", aspect="airline"),
)

REPLIES = (
    Rule("prefers", "|".join(f"in {language}" for language in LANGUAGES.split("|")),
        r"{L}(?:please |always |could you |you can )*(?:answer|reply|respond|write|speak|talk"
        r"|answer me|write to me|talk to me|reply to me)(?: always| only| back)*(?: to me| with "
        r"me)? in (?P<o>{LANG})\b", aspect="language"),
    Rule("prefers", "keep your|keep the|keep all|keep answers|keep repl|keep it|keep them",
        r"{L}(?:please )?(?:always )?keep (?:your |all |the )?(?:answers?|repl(?:y|ies)|responses?"
        r"|messages?|explanations?)(?: to me)? (?P<o>short|brief|concise|detailed|to the point)",
        aspect="length"),
    Rule("prefers", "write-ups|write-up|reports|answers",
        r"{L}(?:(?:for|in) (?P<z>write-ups|reports|answers|summaries): )(?:i want them |i like "
        r"them |please )?(?P<o>.+)", aspect="format", most_words=12, keeps_time=True, flags=("loose",)),
    Rule("prefers", "metric|imperial|celsius|fahrenheit|kilomet|miles|kilos|pounds",
        rf"{{L}}(?:please )?(?:always )?(?:use|give me|show me|show|tell me|convert|i use|i want|i "
        rf"think in|i prefer|we use|stick to)(?: (?:all )?(?:temperatures?|distances?|weights?"
        rf"|measurements?|everything|units|recipes))?(?: in| to| as)? (?P<o>{_UNIT}(?: units)?)\b",
        aspect="units"),
    Rule("prefers", "amount|money|prices|price|currency|sums",
        r"{L}(?:please )?(?:always |only )?(?:show|give|write|display|list|i want|i need|i prefer"
        r"|use)(?: me)?(?: all| the)? (?:amounts?|money|prices|sums|figures)(?: always)? (?:in|as"
        r"|with) (?P<o>.+)", aspect="money format", most_words=6),
    Rule("prefers", "date",
        r"{L}(?:please )?(?:always )?(?:show|give|write|display|use|i want|i need|i prefer|i "
        r"write)(?: me)?(?: all| the| my)? dates?(?: always)? (?:in|as) (?P<o>[\w/.-]+(?: "
        r"[\w/.-]+)?)", aspect="date format", most_words=3),
    Rule("prefers", "24-hour|12-hour|24 hour|24h|24-h",
        r"{L}(?:please )?(?:always )?(?:i use|i prefer|use|we use|times in|give me) (?:the |a "
        r")?(?P<o>(?:24|12)[- ]?h(?:our)?)(?: clock| format| times?)?", aspect="time format"),
    Rule("prefers", "meeting|calls",
        r"{L}no (?:meetings?|calls)(?: with me)? (?P<o>(?:before|after|on|at) .+)", aspect="meeting hour", polarity="negative",
        most_words=4),
    Rule("prefers", "meeting|calls",
        rf"{{L}}{{I}}(?:'d| would)?(?: rather| much)? (?:prefer|like|rather have|have|want"
        rf"|take)(?: my| our| all)? (?:meetings?|calls?) (?P<o>{_HOUR})", aspect="meeting hour"),
    Rule("prefers", "study|practi|learn|revise|lessons",
        rf"{{L}}(?:(?:let's|let us|i'd rather|i prefer to|i want to|we) )?{_STUDY}(?: best)? "
        rf"(?P<o>{_HOUR})(?: from now on| rather than[\w ]+)?", aspect="study hour"),
    Rule("prefers", "study|practi|learn|revise", rf"{{L}}{{I}} {_STUDY}(?: best)? (?P<o>{_HOUR})",
        aspect="study hour"),
    Rule("prefers", "evenings a week|mornings a week|evenings per week",
        r"{L}(?:make|give|draw up|set up|plan)(?: me)? (?:a plan of |a schedule of )?(?:\w+ "
        r")(?P<o>evenings|mornings|afternoons)(?: a| per) week", aspect="study hour"),
    Rule("prefers", "dark mode|light mode|dark theme|light theme",
        r"{L}(?:please )?(?:(?:use|set|i use|i prefer|i want|switch to|give me) )?(?P<o>(?:dark"
        r"|light) (?:mode|theme))(?= please| everywhere| for| in| on|,|$|[.!]| always)", aspect="theme"),
    Rule("prefers", "contact me|reach me|write to me|notify me|ping me",
        r"{L}(?:please )?(?:always )?(?:contact|reach|notify|ping|message) me (?:by|via|on|through"
        r"|over) (?P<o>[\w-]+)", aspect="contact"),
    Rule("prefers", "editor", r"{L}my (?:text |code )?editor(?: of choice)? is(?: now)? (?P<o>[\w+. -]+)", aspect="editor",
        most_words=3),
    Rule("prefers", "formal|informal|casual",
        r"{L}{I} (?:prefer|want|like) (?P<o>(?:an? )?(?:formal|informal|casual|friendly) (?:tone"
        r"|style|language))", aspect="tone"),
    Rule("prefers", "standing desk|desk",
        r"{L}(?:i|we)(?:'d| would) (?:like|prefer|love|rather have) (?P<o>an? (?:standing|corner"
        r"|window|quiet) desk)", aspect="desk"),
    Rule("prefers", "morning person|night owl",
        r"{L}(?:i'm |i am )?not a morning person,? (?:so |and )?(?:nothing|no calls|no meetings) "
        r"(?P<o>before \w+)", aspect="meeting hour", polarity="negative"),
    Rule("prefers", "|".join(f"in {language}" for language in LANGUAGES.split("|")),
        r"{L}(?:please )?(?:talk|speak|write|text|address|answer) (?:to )?me(?: only)? in "
        r"(?P<o>{LANG})\b", aspect="language"),
    Rule("prefers", "answers|replies|responses|explanations",
        r"{L}(?:i (?:like|prefer|want|need)|give me|please give me|send me)(?: my| your)?(?: "
        r"(?P<z>answers|replies|responses|explanations))? (?P<o>(?:blunt and |clear and |to be "
        r")?(?:short|brief|concise|detailed|long)(?: and \w+)?)(?= answers| replies| responses| "
        r"explanations|[,.;!]|$)(?: (?:answers|replies|responses|explanations))?", aspect="length"),
    Rule("prefers", "grams|cups|litres|liters|ounces|kilograms|metres|meters",
        r"{L}(?:(?:for|in) (?:the )?(?:recipes?|cooking|baking|distances|weights),? )?(?:please "
        r")?(?:use |give me |i want |i use )?(?P<o>grams|cups|litres|liters|ounces|kilograms|metres"
        r"|meters)(?: instead of| rather than| not| please|,? please)", aspect="units"),
    Rule("prefers", "prices|amounts|totals|sums|costs",
        r"{L}(?:(?:when|if) you (?:list|show|give|quote|write) (?:me )?(?:prices|amounts|totals"
        r"|sums|costs)|prices|amounts|totals),? (?:(?:always |only )?in )?(?P<o>(?-i:[A-Z])?\w+ "
        r"?(?:francs|euros|dollars|pounds|yen|crowns|rupees|cents))(?:,? please|[.!]|$)", aspect="money format",
        flags=("conditional",)),
    Rule("prefers", "easier to read|tables please|bullets please|i want tables|as a table",
        r"{L}i find (?P<o>tables|bullet points|bullets|lists|diagrams|charts|prose|short "
        r"paragraphs) (?:are )?easier(?: to read| to follow| to scan)?", aspect="format"),
    Rule("prefers", "for calls|for meetings|for a call",
        r"{L}(?P<o>(?:early |late )?(?:mornings|afternoons|evenings|mondays|tuesdays|wednesdays"
        r"|thursdays|fridays))(?: usually| always)? (?:work best|work better|are best|are better"
        r"|suit me best|suit me)(?: for me)?(?: for (?:calls|meetings))?", aspect="meeting hour"),
    Rule("prefers", "schedule|plan any|book any|put any",
        r"{L}(?:please )?(?:don't|do not|never) (?:schedule|plan|book|put) (?:anything|any meetings"
        r"|any calls|meetings|calls)(?: for me)? (?P<o>(?:on|before|after|in the) [\w: ]+?)(?= for "
        r"me| please|[,.;!]|$)", aspect="meeting hour", polarity="negative", most_words=4),
    Rule("prefers", "lessons|study|concentrate|learn",
        r"{L}i can only (?:concentrate|study|learn|focus) (?P<o>(?:after|before|in the|at|early"
        r"|late) [\w ]+?)(?=,| so|[.;!]|$)", aspect="study hour", most_words=5),
    Rule("prefers", "text me|e-mail me|email me|write me|message me|call me",
        r"{L}(?:please )?(?P<o>text|e-?mail|message|call) me(?= instead|,? (?:don't|do not|never"
        r"|rather than|not) )", aspect="contact"),
)

TASTES = (
    Rule("likes",
        "n't like|not like|dont like|n't enjoy|not enjoy|n't love|not love|longer like|longer enjoy"
        "|longer love|never liked|never like|n't really like|n't really enjoy|n't much like|n't "
        "care for|n't particularly|n't even like|not really like",
            r"{L}(?:i|we)(?: really| honestly| actually| still| just| also)* (?:don't|do not|dont"
            r"|no longer|never)(?: really| much| particularly| even)? (?:like|enjoy|love|care for) "
            r"(?P<o>(?!to\b).+)", polarity="negative", most_words=8),
    Rule("likes", "hate|dislike|can't stand|cannot stand|can't bear|loathe|detest|despise|hates",
        r"{L}(?P<s>i|we|my {REL}(?:,? {NAME},?)?)(?: really| absolutely| still| just| honestly| "
        r"also)* (?:hates?|dislikes?|can't (?:stand|bear)|cannot (?:stand|bear)|loathes?|detests?"
        r"|despises?) (?P<o>(?!to\b|when\b).+)", polarity="negative", most_words=7),
    Rule("likes", "stand |stand the", r"\b(?:and|but)(?: i)? (?:still )?can't (?:stand|bear) (?P<o>.+)", polarity="negative",
        most_words=6),

    Rule("likes", "not into|not a fan|not keen|not fond",
        r"{L}(?:i'm|i am)(?: really| just)? not(?: really| that| much)? (?:into|a (?:big |huge "
        r")?fan of|keen on|fond of) (?P<o>.+)", polarity="negative", most_words=6),
    Rule("likes", "fan of|fond of|keen on|crazy about|into |obsessed",
        r"{L}{Im}(?: a)?(?: big| huge| great)? (?:fan of|fond of|keen on|crazy about|obsessed with"
        r"|really into|very into|into)(?: both)? (?P<o>.+)", most_words=6),
    Rule("likes", "favourite|favorite",
        r"{L}my (?:all-time )?favou?rite (?P<z>[\w ]+?)(?: by far)? (?:is|are) (?P<o>(?!(?:when|how"
        r"|that|to|the one)\b).+)", most_words=6),
    Rule("likes", "makes me sick|make me sick",
        r"{L}(?:the )?(?:smell|taste|sight|thought) of (?P<o>.+?) makes? me sick", polarity="negative",
        most_words=4),
    Rule("likes", "anything with",
        r"{L}{I} (?:like|love|adore|enjoy) anything with (?P<o>[\w ]+?)(?: in it)?{END}", most_words=4),
    Rule("prefers", "summary comes first|summary first",
        r"{L}{I} (?:like it|prefer it|like) when the (?P<o>(?:summary|conclusion|answer|result) "
        r"comes first)", aspect="format"),
    Rule("likes",
        "i like |i love |i adore |i enjoy |we like |we love |we enjoy |really like|really love"
        "|also like|also love|still love|always loved|i do like|absolutely love|really enjoy|also "
        "enjoy",
            r"{L}{I} (?:like|love|adore|enjoy)(?: also| both)? (?P<o>(?!(?:to|it|that|this|these"
            r"|those|your|you|how|when|where|what|my|his|her|their|him|them|being|having|all|both"
            r"|seeing|knowing|hearing|the (?!(?-i:[A-Z])|(?:ocean|sea|mountains?|desert|forest"
            r"|woods|beach|outdoors|countryside|cold|heat|rain|snow|dark|north|south|city|theatre"
            r"|theater|opera|ballet|cinema|circus|piano|violin|guitar|drums|cello|autumn|winter"
            r"|summer|spring|quiet|silence|sun|night)(?=[.,;!]|$| too| and i| but)|(?:taste of"
            r"|smell of|sound of)))\b).+)", most_words=8),
    Rule("habit", "any more|anymore|no longer",
        r"{L}(?:i|we) (?:don't|do not|no longer) (?P<o>(?:go|run|swim|cycle|play|do|meditate|jog"
        r"|train|smoke|commute|volunteer)\b.*?)(?: any ?more| any longer|{END})", operation="retract",
        most_words=7),
    Rule("habit", "stopped|quit |gave up",
        r"{L}(?:i|we)(?:'ve| have)?(?: just| finally| recently)? (?:stopped|quit|gave up|given up) "
        r"(?P<o>(?:playing|going|running|smoking|jogging|swimming|cycling|meditating|commuting"
        r"|training|volunteering|eating out)\b.*)", operation="retract", most_words=6),
    Rule("habit", "i never |we never ",
        r"{L}(?:i|we) never (?P<o>(?:check|work|answer|skip|eat|take|travel|drive|smoke|shop|watch"
        r"|read|buy|cook)\b.+)", polarity="negative", most_words=8),
    Rule("habit",
        "i usually|we usually|i always|we always|i normally|we normally|i typically|i generally|we "
        "typically",
            r"{L}(?:i|we) (?:usually|always|normally|typically|generally) (?P<o>(?:walk|cycle|run"
            r"|swim|bike|commute|skip|cook|bake|read|work|drive|jog|meditate|have breakfast|have "
            r"lunch|go (?=to bed|for|on|\w+ing)|get up|wake up|nap|train|shop|eat|wake)\b.+)",
            most_words=9, keeps_time=True),
    Rule("habit", "every |on weekdays|at weekends|on weekends|times a week|once a week|twice a week|each ",
        r"{L}(?:i|we) (?P<o>(?:go (?=to|for|on|\w+ing)|get up|wake up|run|swim|cycle|walk|play"
        r"|train|meditate|jog|meet|volunteer|cook|work|bake|practise|practice|attend|do|sing|dance"
        r"|paint|fast|teach)\b(?!.*\bif\b)[^.;!?\x00]*?\b(?:every (?:day|morning|evening|night|week"
        r"|month|weekend|other \w+|{MONTH}|mon|tue|wed|thu|fri|sat|sun)\w*|on (?:weekdays|weekends"
        r"|mon|tues|wednes|thurs|fri|satur|sun)\w*(?: and \w+)?|at weekends|(?:once|twice|\w+ "
        r"times) a (?:week|month|day)|each (?:morning|day|week|evening)))", most_words=12, keeps_time=True),
    Rule("habit", "every ",
        r"{L}every (?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|day|morning|evening|night|weekend"
        r"|week) (?:i|we) (?P<o>(?!(?:am|was|were|think|want|need|get (?:the|a|an)|see|have "
        r"to)\b).+)", most_words=8),
    Rule("habit", "up at", r"{L}(?:i'm |i am )?(?P<o>up at [\w:]+(?: thirty| am)? (?:every|on) \w+)",
        keeps_time=True),
    Rule("likes", "keen on|fond of|into |crazy about",
        r"{L}(?:i'm|i am|i was) (?:not|never)(?: too| very| really| so| particularly| that| exactly"
        r"| all that)* (?:keen on|fond of|into|crazy about) (?P<o>.+)", polarity="negative", most_words=6),
    Rule("likes",
        " bores me| bore me|drives me mad|drives me crazy|drive me mad|drive me crazy|annoys me"
        "|annoy me|make me nervous|makes me nervous|disgusts me|gets on my nerves|leave me cold"
        "|leaves me cold|put me off|puts me off|not my thing|not my cup|isn't my thing|not for me",
            r"{L}(?P<o>(?!(?:he|she|it|that|this|they|which|what|you|nothing|everything|something"
            r"|who|there)\b)[\w' -]+?) (?:really |just |always |simply )?(?:bores? me|drives? me "
            r"(?:mad|crazy|nuts)|annoys? me|makes? me nervous|disgusts? me|gets? on my nerves"
            r"|leaves? me cold|puts? me off|(?:is|are)(?: just| really)? not (?:my thing|my cup of "
            r"tea|for me)|isn't (?:my thing|my cup of tea|for me)|aren't (?:my thing|for me))", polarity="negative",
            most_words=5),
    Rule("likes",
        "could listen to|can't get enough of|cannot get enough of|soft spot for|mad about|nothing "
        "beats|weakness for|always loved|addicted to|a sucker for|passionate about",
            r"{L}(?:i could (?:listen to|watch|eat|read)|i can't get enough of|i cannot get enough "
            r"of|i have a (?:soft spot|weakness) for|i'm (?:mad about|addicted to|a sucker for"
            r"|passionate about)|i am (?:mad about|addicted to|a sucker for|passionate about)|i've "
            r"always loved|nothing beats) (?P<o>.+?)(?= all (?:day|night)|$)",
            most_words=6, flags=("unreal",)),
    Rule("likes", "my favourite|my favorite",
        r"^\W*(?P<o>(?!(?:it|that|this|he|she|they|what|which|these|those)\b)[\w' -]+?) (?:is|are) "
        r"(?:my|our)(?: absolute| all-time)? favou?rites?\b(?! (?:part|thing about))", most_words=5),
    Rule("likes", "i avoid|we avoid",
        r"{L}{I} avoid (?P<o>(?!(?:it|that|this|them|him|her|eating|using|the )\b).+)", polarity="negative",
        most_words=5),
    Rule("likes",
        "and hate|and dislike|but hate|and can't stand|but can't stand|and love|but love|and loathe"
        "|and detest",
            r"(?:^\W*|, )(?:i|i'm|i am|we)\b[^.;!?,]*?(?:,)? (?:and|but) (?:i )?(?:really |also "
            r"|absolutely )?(?:hate|dislike|can't stand|loathe|detest) (?P<o>(?!(?:to|it"
            r"|when)\b)[^.;!?,]+)", polarity="negative", most_words=5),
    Rule("likes", "enjoyed the|loved the|enjoyed my|i enjoyed",
        r"{L}i(?: really| absolutely)? (?:enjoyed|loved) the (?P<o>[\w -]+?) (?:workshop|class"
        r"|course|lesson|lessons|session|sessions)\b", most_words=4),
    Rule("habit",
        "before breakfast|after work|after dinner|after lunch|before work|before bed|before dinner"
        "|in the mornings|in the evenings|at lunch",
            r"{L}(?:i|we)(?: usually| always| normally)? (?P<o>(?:run|walk|swim|cycle|jog|read"
            r"|meditate|write|cook|stretch|nap|pray|draw|paint|train|knit|garden|play \w+|do yoga"
            r"|take a walk|go for a (?:walk|run|swim))\b[^.;!?,]*?(?:before breakfast|after work"
            r"|after dinner|after lunch|before work|before bed|before dinner|in the mornings|in "
            r"the evenings|at lunchtime|at lunch))", most_words=10, keeps_time=True),
    Rule("habit",
        "on mondays|on tuesdays|on wednesdays|on thursdays|on fridays|on saturdays|on sundays|on "
        "weekends|at weekends|in the evenings",
            r"{L}(?:on (?:mon|tues|wednes|thurs|fri|satur|sun)days|on weekends|at weekends),? (?:i"
            r"|we) (?P<o>(?!(?:am|was|were|think|want|need|have to|can|could|will|would|don't|never"
            r"|do not|prefer|hate|like|love)\b).+)", most_words=8),
    Rule("habit",
        "on mondays|on tuesdays|on wednesdays|on thursdays|on fridays|on saturdays|on sundays|on "
        "weekends|at weekends",
            r"{L}(?:i|we)(?: usually| always| normally)? (?P<o>(?:do|go|work|play|cook|bake|visit"
            r"|meet|have|teach|clean|run|swim|call)\b[^.;!?,]*? (?:on (?:mon|tues|wednes|thurs|fri"
            r"|satur|sun)days|on weekends|at weekends))", most_words=10, keeps_time=True),
    Rule("habit", "every morning|every evening|every night|every day|every week|each morning",
        r"{L}(?:i|we)(?: usually| always)? (?P<o>(?:meditate|stretch|journal|write|read|drink|eat"
        r"|have|take|do|make|bake|draw|pray|sing|dance|garden|knit|visit|call)\b(?! (?:to|it|that"
        r"|this)\b)[^.;!?,]*? (?:every|each) (?:single )?(?:morning|evening|night|day|week"
        r"|weekend))", most_words=10, keeps_time=True),
    Rule("habit", "quit smoking|stopped smoking|given up smoking|gave up smoking",
        r"{L}(?:i|we)(?:'ve| have)? (?:quit|stopped|given up|gave up) (?P<o>smoking|gambling"
        r"|biting my nails|skipping breakfast)", operation="retract"),
)

HEALTH = (
    Rule("allergic_to", "allergic",
        r"{L}{S}{be} (?:severely |very |badly |highly |deathly |mildly )?allergic to "
        r"(?P<o>(?!(?:anything|nothing|everything|most|some|work|mondays?|nonsense|meetings?"
        r"|stupidity|drama|people|bullshit|paperwork|exercise|bureaucracy|effort|mornings|excuses"
        r"|math|maths|fun)\b).+)", is_list=True, most_words=4),
    Rule("allergic_to", "allergy|allergies",
        r"{L}(?:i|we|my {REL})(?: have| has|'ve got|'ve) (?:an? )?(?:severe |bad |serious |mild "
        r"|strong |terrible )?(?P<o>[\w-]+(?: [\w-]+)?) allerg(?:y|ies)", most_words=3),
    Rule("allergic_to", "intoleran",
        r"{L}(?P<s>i|my {REL}(?:,? {NAME},?)?){be} (?P<o>lactose|gluten|histamine|fructose)[- "
        r"]intolerant"),
    Rule("allergic_to", "kill me", rf"{{L}}(?P<o>{_ALLERGENS}) (?:could|can|would|will|might) kill me"),
    Rule("diet", "no longer|not a vegetarian any|any more|anymore|not vegan",
        rf"{{L}}(?:i'm|i am) (?:no longer|not) (?:an? )?(?P<o>{DIETS})(?: any ?more)?", operation="retract"),
    Rule("diet", "vegetarian|vegan|pescatarian|kosher|halal|keto|paleo|plant|flexitarian|teetotal",
        rf"{{L}}(?P<s>i|we|my {{REL}}(?:,? {{NAME}},?)?|{{NAME}}){{be}} (?:an? )?(?:strict |mostly "
        rf"|lifelong )?(?P<o>{DIETS})\b(?! (?:restaurant|place|menu|option|dish))"),
    Rule("diet", "vegetarian|vegan|pescatarian",
        rf"{{L}}(?:as|being) an? (?:strict )?(?P<o>{DIETS})(?= i\b|,)"),
    Rule("diet", "gluten|kosher|halal|vegetarian|vegan|keto|dairy|low-carb|low carb|sugar|plant",
        rf"{{L}}{{I}} (?:eat|keep|follow|am on|cook)(?: an?| only| strictly)? (?P<o>{DIETS})\b"),
    Rule("diet", "n't eat|not eat|never eat|longer eat|n't really eat|cannot eat",
        rf"{{L}}(?P<s>i|we|my {{REL}}(?:,? {{NAME}},?)?)(?: really| also)? (?:don't|do not|doesn't"
        rf"|does not|never|can't|cannot|no longer|may not|must not) eat (?:any "
        rf")?(?P<o>(?:{FOODS})(?:(?:,| or| and|, or) (?:{FOODS}))*)\b", is_list=True, shape="no {}"),
    Rule("diet", "can't have|cannot have|avoid|stay off|off dairy|off gluten",
        rf"{{L}}(?P<s>i|we|my {{REL}}(?:,? {{NAME}},?)?)(?: really| also)? (?:can't have|cannot "
        rf"have|avoids?|must avoid|stay off|am off) (?:any )?(?P<o>(?:{FOODS})(?:(?:,| or| and|, "
        rf"or) (?:{FOODS}))*)\b", is_list=True, shape="no {}"),
    Rule("diet", "doctor's orders|any more|anymore",
        rf"{{L}}(?P<s>my {{REL}}(?:,? {{NAME}},?)?) does(?:n't| not) eat (?P<o>{FOODS})\b", shape="no {}"),
    Rule("has_condition", "i have |i've got |i suffer|i live with|diagnosed",
        r"{L}(?:i|we)(?: have|'ve got| suffer from|'ve had| live with| struggle with|'ve been "
        r"diagnosed with| was(?: recently)? diagnosed with| have been diagnosed with) (?P<o>(?:an? "
        r"|the |chronic |bad |weak |severe |mild |a bit of )*(?:asthma|diabetes|type [12] diabetes"
        r"|epilepsy|migraines?|arthritis|depression|anxiety|adhd|autism|dyslexia|insomnia|tinnitus"
        r"|eczema|psoriasis|(?:coeliac|celiac)(?: disease)?|crohn's(?: disease)?|ibs|hypertension"
        r"|high blood pressure|low blood pressure|back pain|bad back|bad knees?|knees|back|sciatica"
        r"|anaemia|anemia|endometriosis|parkinson's|ms|multiple sclerosis|hay fever|vertigo"
        r"|claustrophobia|hearing loss|heart condition|pacemaker|thyroid \w+|cancer|glaucoma|gout"
        r"|lupus|bipolar(?: disorder)?|ptsd|ocd|fibromyalgia|sleep apnoea|sleep apnea|fear of "
        r"(?:heights|flying))(?: (?:in my [\w ]+))?)\b", most_words=7),
    Rule("has_condition",
        "pregnant|colour-blind|color-blind|colour blind|deaf|diabetic|dyslexic|asthmatic|epileptic"
        "|claustrophobic|coeliac|celiac|blind|wheelchair user|autistic",
            r"{L}(?:i'm|i am)(?: a| also| partially| partly| slightly| almost)* (?P<o>pregnant"
            r"|colou?r[- ]blind|deaf|diabetic|dyslexic|asthmatic|epileptic|claustrophobic|coeliac"
            r"|celiac|blind in one eye|autistic|wheelchair user|hard of hearing|short-sighted)\b"),
    Rule("has_condition", "i hurt|i broke|i sprained|i injured|i tore|i twisted|surgery",
        r"{L}i(?:'ve)?(?: just| recently)? (?P<o>(?:hurt|broke|broken|sprained|injured|tore|twisted"
        r"|dislocated) my (?:left |right |lower |upper )*(?:knee|back|ankle|wrist|arm|leg|shoulder"
        r"|hip|foot|hand|elbow|neck|finger|toe|collarbone))\b"),
    Rule("takes", "stopped taking|no longer take|don't take|off ",
        r"{L}i(?:'ve| have|'m)?(?: just| finally)? (?:stopped taking|no longer take|no longer "
        r"taking|quit taking|don't take|came off) (?P<o>(?!(?:the (?:bus|train|tram)|sugar|it|part"
        r"|any chances|chances|calls|notes)\b)[\w-]+(?: [\w-]+)?)(?: any ?more)?", operation="retract",
        most_words=3),
    Rule("takes", "i take |i'm on |i am on |i'm taking|been taking|prescribed",
        r"{L}(?:i|my {REL})(?: now| also)? (?:take|takes|am taking) (?P<o>[\w-]+(?: "
        r"[\w-]+){0,2}?)(?=(?: tablets?| pills?| drops?)?,? (?:once|twice|three times|\d+ times"
        r"|every (?:day|morning|evening|night)|daily|for my|against|at night)\b)", most_words=4),
    Rule("takes", "i take |i'm on |i am on |i'm taking|been taking|prescribed",
        r"{L}(?:i'm|i am|i've been|i was)(?: now| currently)? (?:on|taking|prescribed|put on) "
        r"(?P<o>(?:[\w-]+ )?(?:blood thinners|antibiotics|antidepressants|insulin|statins?|beta "
        r"blockers|metformin|warfarin|ibuprofen|paracetamol|painkillers|antihistamines|steroids"
        r"|cortisone|lithium|levothyroxine|omeprazole|aspirin|[\w]+(?:pril|sartan|statin|cillin"
        r"|prazole|olol|azepam|oxetine|formin)))\b", most_words=4),
    Rule("allergic_to",
        "a rash|me hives|hives|swell up|react badly|tolerate|intoleran|makes me ill|make me ill",
            r"{L}(?P<o>(?!(?:he|she|it|that|this|they|which|even|traces|these|those"
            r"|you)\b)[\w-]+(?: [\w-]+)?) (?:give|gives|always give) me (?:a rash|hives|a bad rash"
            r"|an itch)", most_words=3),
    Rule("allergic_to", "react badly|tolerate|can't stomach|intoleran",
        r"{L}i (?:react badly to|can't tolerate|cannot tolerate|don't tolerate|do not tolerate"
        r"|don't handle) (?P<o>[\w-]+(?: [\w-]+)?)", most_words=3),
    Rule("allergic_to", "intoleran",
        r"{L}i have an? (?P<o>lactose|gluten|histamine|fructose|dairy) intolerance"),
    Rule("diet", "back to eating|eating meat again|eat meat again",
        r"{L}(?:i|we)(?:'ve| have|'m| am)? (?:went back to eating|gone back to eating|started "
        r"eating|eating|eat|back to eating) meat(?: again)?(?P<o>(?<=meat)|(?<=again))", operation="retract",
        shape="vegetarian"),
    Rule("diet", "vegan|vegetarian|pescatarian|plant-based|kosher|halal",
        rf"{{L}}(?:i've been|i have been|i went|i turned|i became|i'm now|i've gone|i've "
        rf"become)(?: an?)? (?P<o>{DIETS})\b"),
    Rule("diet", "for me",
        rf"{{L}}no (?P<o>(?:{FOODS})(?:(?:,| or| and|, no| and no|, or) (?:{FOODS}))*) for me\b",
        is_list=True, shape="no {}"),
    Rule("diet", "off the menu|stay away from|i'm off|i am off|cut out|without meat",
        rf"{{L}}(?:i stay away from|i'm off|i am off|i cut out|i've cut out|i don't touch|i do not "
        rf"touch) (?P<o>{FOODS})\b", is_list=True, shape="no {}"),
    Rule("takes", "put me on|prescribed|inject|i'm taking|have to take|need to take|must take",
        r"{L}(?:my (?:doctor|gp|physician|cardiologist|psychiatrist) (?:put me on|prescribed(?: "
        r"me)?|has me on)|they put me on|i was prescribed|i've been prescribed|i (?:need|have) to "
        r"(?:inject|take)|i inject|i must take) (?P<o>(?!(?:it|that|this|a (?:break|day|rest|bus"
        r"|train|taxi|look|nap|course|test|walk|call|shower|seat|picture)|the (?:bus|train|car|kids"
        r"|dog|stairs|exam)|care|off|my|our|your|the|notes|over|time|them|him|her|some|more|any"
        r"|another|on|part|action|responsibility|photos?|pictures?)\b)[\w-]+(?: [\w-]+)?)(?= before"
        r"| after| every| twice| once| daily| for |[,.;!]|$| with| at)", most_words=3),
    Rule("takes", "came off|off the|weaned off",
        r"{L}i(?:'ve| have)? (?:came|come|gone|went|been taken) off (?:the |my "
        r")?(?P<o>antidepressants|statins|insulin|antibiotics|steroids|painkillers|medication|pills"
        r"|beta blockers|blood thinners|metformin)\b", operation="retract"),
    Rule("has_condition", "i have a|i've got a|i have an|i've got an",
        r"{L}(?:i have|i've got|i still have) (?P<o>an? (?:(?:bad|weak|slipped|torn|broken|injured"
        r"|herniated|sore|stiff|artificial|frozen|dodgy|sprained|fractured|pinched|sensitive) "
        r")+(?:disc|disk|knee|knees|back|hip|ankle|shoulder|wrist|heart|stomach|neck|elbow|foot|leg"
        r"|arm|tendon|ligament|meniscus|nerve|rib|toe|finger|hand))\b"),
    Rule("has_condition", "i wear|pacemaker|hearing aid",
        r"{L}i (?:wear|have|'ve got|have got) (?P<o>an? (?:pacemaker|stoma|prosthesis|artificial "
        r"leg|insulin pump|cochlear implant))\b"),
    Rule("has_condition", "deaf in|blind in|blind on|deaf on",
        r"{L}(?:i'm|i am)(?: almost| nearly| partly| completely)? (?P<o>(?:deaf|blind) (?:in|on) "
        r"my (?:left|right) (?:ear|eye|side))"),
    Rule("has_condition", "it's asthma|it is asthma|turns out",
        r"{L}(?:got the results[\w ]*: |turns out |diagnosis: )?it(?:'s|\u0020is) (?P<o>asthma"
        r"|diabetes|arthritis|migraine|epilepsy|coeliac disease|celiac disease|anaemia|anemia|adhd"
        r"|sciatica)\b"),
)
RULES = (*CHOICES, *REPLIES, *HEALTH, *TASTES)
