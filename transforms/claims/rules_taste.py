"""Rules about taste and body: preferences, habits, diet and health."""

from __future__ import annotations

from transforms.claims.lexicon import DIETS, DRINKS, FOODS
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
        rf"(?:{{L}}|\b)(?P<o>{_SEAT}) (?:from now on|for me|please|only|always)", aspect="seat",
        level="firm"),
    Rule("prefers", "aisle|window|seat",
        rf"{{L}}(?P<s>my {{REL}}(?:,? {{NAME}},?)?|{{NAME}}) (?:always )?(?:prefers|takes|likes"
        rf"|wants) (?P<o>{_SEAT})(?!\w)", aspect="seat"),
    Rule("prefers", "asks about a drink|drinks|drink",
        r"{L}(?:if|when) [\w ]+ (?:drinks?|to drink)[, ]+(?P<o>.+)", aspect="drink"),
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
    Rule("prefers", "prefer|would rather|'d rather",
        r"{L}{I}(?:'d| would)?(?: much| really)? (?:prefer|rather)(?: to)?(?: have| take| stay in| "
        r"stay at| book| use| go by| travel by| fly with| sit in| get| be contacted by| write in| "
        r"read| receive| work in| go with)? (?P<o>.+)", aspect="?", otherwise="likes", most_words=7),
    Rule("prefers", "usually|always|mostly|normally|generally|only",
        r"{L}(?:i|we)(?:(?: really| also)? (?:always|usually|mostly|normally|generally|only|nearly "
        r"always|tend to|prefer to))+ (?:stay (?:in|at)|book|sleep (?:in|at)|rent|take|go by"
        r"|travel by|choose|reserve) (?P<o>.+)", aspect="?", most_words=7),
    Rule("prefers", "fly with|fly on|flying with", r"{L}{I} (?:fly|flying) (?:with|on) (?P<o>{PLACE})",
        aspect="airline"),
    Rule("prefers", "skip hostels|no hostels|no more hostels|skip hotels|no hotels",
        r"{L}(?:(?:let's|let us) )?(?:skip|no|no more|avoid) (?P<o>hostels|hotels|campsites"
        r"|motels)(?: for good| from now on| any ?more| please)", aspect="lodging", polarity="negative"),
    Rule("prefers", "switched|switching|changed|moved from|gone over|went back",
        r"{L}(?:i|we)(?:'ve| have|'m| am)?(?: just| recently| finally| now)* (?:switched|changed"
        r"|moved|converted|gone|went)(?: back| over)* (?:from (?P<z>[\w .+#-]+?) )?to (?P<o>.+)", aspect="?", level="firm",
        most_words=5),
)

REPLIES = (
    Rule("prefers", "answer|reply|respond|write|speak|talk|language",
        r"{L}(?:please |always |could you |you can )*(?:answer|reply|respond|write|speak|talk"
        r"|answer me|write to me|talk to me|reply to me)(?: always| only| back)*(?: to me| with "
        r"me)? in (?P<o>{LANG})\b", aspect="language"),
    Rule("prefers", "short|brief|concise|detailed|long",
        r"{L}(?:please )?(?:always )?keep (?:your |all |the )?(?:answers?|repl(?:y|ies)|responses?"
        r"|messages?|explanations?)(?: to me)? (?P<o>short|brief|concise|detailed|to the point)",
        aspect="length"),
    Rule("prefers", "write-ups|write-up|reports|answers",
        r"(?:^|{L})(?:(?:for|in) (?P<z>write-ups|reports|answers|summaries): )(?:i want them |i "
        r"like them |please )?(?P<o>.+)", aspect="format", most_words=12, keeps_time=True),
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
)

TASTES = (
    Rule("likes", "like|love|enjoy|fan of|into|stand",
        r"{L}(?:i|we)(?: really| honestly| actually| still| just| also)* (?:don't|do not|dont|no "
        r"longer|never)(?: really| much| particularly| even)? (?:like|enjoy|love|care for) "
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
        r"|really into|very into|into) (?P<o>.+)", most_words=6),
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
            r"{L}{I} (?:like|love|adore|enjoy) (?P<o>(?!(?:to|it|that|this|these|those|your|you"
            r"|the (?:second|first|third|last|idea|way|plan|new|other|look|sound|fact|one|option"
            r"|draft)|how|when|what|my|his|her|their|him|them|being|having)\b).+)", most_words=8),
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
    Rule("habit", "every |usually|always|each |on weekdays|at weekends|times a week",
        r"{L}(?:i|we) (?:usually|always|normally|typically|generally) (?P<o>(?:walk|cycle|run|swim"
        r"|bike|commute|skip|cook|bake|read|work|drive|jog|meditate|have breakfast|have lunch|go"
        r"|get up|wake up|nap|train|shop|eat|wake)\b.+)", most_words=9, keeps_time=True),
    Rule("habit", "every |on weekdays|at weekends|on weekends|times a week|once a week|twice a week|each ",
        r"{L}(?:i|we) (?P<o>(?:go|get up|wake up|run|swim|cycle|walk|play|train|meditate|jog|meet"
        r"|volunteer|cook|work|bake|practise|practice|attend)\b(?!.*\bif\b)[^.;!?\x00]*?\b(?:every "
        r"(?:day|morning|evening|night|week|month|weekend|other \w+|{MONTH}|mon|tue|wed|thu|fri|sat"
        r"|sun)\w*|on (?:weekdays|weekends|mon|tues|wednes|thurs|fri|satur|sun)\w*(?: and \w+)?|at "
        r"weekends|(?:once|twice|\w+ times) a (?:week|month|day)|each (?:morning|day|week"
        r"|evening)))", most_words=12, keeps_time=True),
    Rule("habit", "every ",
        r"{L}every (?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|day|morning|evening|night|weekend"
        r"|week) (?:i|we) (?P<o>(?!(?:am|was|were|think|want|need|get (?:the|a|an)|see|have "
        r"to)\b).+)", most_words=8),
    Rule("habit", "up at", r"{L}(?:i'm |i am )?(?P<o>up at [\w:]+(?: thirty| am)? (?:every|on) \w+)",
        keeps_time=True),
)

HEALTH = (
    Rule("allergic_to", "allergic",
        r"{L}{S}{be} (?:severely |very |badly |highly |deathly |mildly )?allergic to "
        r"(?P<o>(?!(?:anything|nothing|everything|work|mondays?|nonsense)\b).+)", is_list=True, most_words=4),
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
    Rule("diet", "eat ",
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
        r"|eczema|psoriasis|coeliac(?: disease)?|celiac(?: disease)?|crohn's(?: disease)?|ibs"
        r"|hypertension|high blood pressure|low blood pressure|back pain|bad back|bad knees?|knees"
        r"|back|sciatica|anaemia|anemia|endometriosis|parkinson's|ms|multiple sclerosis|hay fever"
        r"|vertigo|claustrophobia|hearing loss|heart condition|pacemaker|thyroid \w+|cancer"
        r"|glaucoma|gout|lupus|bipolar(?: disorder)?|ptsd|ocd|fibromyalgia|sleep apnoea|sleep apnea"
        r"|fear of (?:heights|flying))(?: (?:in my [\w ]+))?)\b", most_words=7),
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
)
RULES = (*CHOICES, *REPLIES, *HEALTH, *TASTES)
