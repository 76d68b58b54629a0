"""Rules about how to answer a user: language, length, formats, hours."""

from __future__ import annotations

from transforms.claims.lexicon import LANGUAGES
from transforms.claims.rule import Rule

# fmt: off

_HOUR = (
    r"(?:(?:early |late )?in the (?:early |late )?(?:morning|afternoon|evening)s?(?: at [\w:]+)?"
    r"|at (?:noon|night|[\w:]+)(?: (?:am|pm|o'clock))?(?: in the (?:morning|afternoon|evening))?"
    r"|(?:before|after|around) [\w:]+(?: ?(?:am|pm|o'clock))?(?: in the (?:morning|afternoon"
    r"|evening))?|(?:early |late )?mornings?|afternoons?|evenings?|early|late)"
)
_STUDY = r"(?:study|studying|practi[sc]e|practi[sc]ing|learn|learning|revise|lessons?|train my \w+)"
_UNIT = r"(?:metric|imperial|celsius|fahrenheit|kelvin|kilomet(?:er|re)s|miles|kilos|kilograms|pounds)"

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
        r"{L}(?:please )?(?:always )?(?:use|give me|show me|show|tell me|convert|i use|i want|i "
        r"think in|i prefer|we use|stick to)(?: (?:all )?(?:temperatures?|distances?|weights?"
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
    Rule("rule", "meeting|calls",
        r"{L}(?P<r>no (?:meetings?|calls))(?: with me)? (?P<o>(?:before|after|on|at) .+)", most_words=4),
    Rule("prefers", "meeting|calls",
        r"{L}{I}(?:'d| would)?(?: rather| much)? (?:prefer|like|rather have|have|want"
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
    Rule("prefers", "editor", r"{L}my (?:text |code )?editor(?: of choice)? is(?: now)? (?P<o>[\w+. -]+)",
        aspect="editor", most_words=3),
    Rule("prefers", "formal|informal|casual",
        r"{L}{I} (?:prefer|want|like) (?P<o>(?:an? )?(?:formal|informal|casual|friendly) (?:tone"
        r"|style|language))", aspect="tone"),
    Rule("prefers", "standing desk|desk",
        r"{L}(?:i|we)(?:'d| would) (?:like|prefer|love|rather have) (?P<o>an? (?:standing|corner"
        r"|window|quiet) desk)", aspect="desk"),
    Rule("rule", "morning person|night owl",
        r"{L}(?:i'm |i am )?not a morning person,? (?:so |and )?(?:nothing|no calls|no meetings) "
        r"(?P<o>before \w+)", shape="no meetings {}"),
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
        r"?(?:francs|euros|dollars|pounds|yen|crowns|rupees|cents))(?:,? please|[.!]|$)",
        aspect="money format", flags=("conditional",)),
    Rule("prefers", "easier to read|tables please|bullets please|i want tables|as a table",
        r"{L}i find (?P<o>tables|bullet points|bullets|lists|diagrams|charts|prose|short "
        r"paragraphs) (?:are )?easier(?: to read| to follow| to scan)?", aspect="format"),
    Rule("prefers", "for calls|for meetings|for a call",
        r"{L}(?P<o>(?:early |late )?(?:mornings|afternoons|evenings|mondays|tuesdays|wednesdays"
        r"|thursdays|fridays))(?: usually| always)? (?:work best|work better|are best|are better"
        r"|suit me best|suit me)(?: for me)?(?: for (?:calls|meetings))?", aspect="meeting hour"),
    Rule("rule", "schedule|plan any|book any|put any",
        r"{L}(?:please )?(?:don't|do not|never) (?:schedule|plan|book|put) (?:anything|any meetings"
        r"|any calls|meetings|calls)(?: for me)? (?P<o>(?:on|before|after|in the) [\w: ]+?)(?= for "
        r"me| please|[,.;!]|$)", shape="no meetings {}", most_words=4),
    Rule("rule", "meetings|calls",
        r"^\W*(?:ok,? |please |and )*(?:never|don't ever|do not ever) (?:book|schedule|plan|put|set up"
        r"|arrange)(?: me)? (?:any )?(?P<o>(?:meetings|calls) (?:before|after|on|at|in the) [\w: ]+?)(?= "
        r"for me| please|[,.;!]|$)",
        shape="no {}", most_words=6),
    Rule("rule", "meetings|calls",
        r"{L}(?P<o>(?:meetings|calls) (?:before|after|on|at|in the) [\w: ]+?) (?:are|is)(?: now| again| "
        r"all)* (?:fine|ok"
        r"|okay|possible|allowed|welcome)(?= |[,.;!]|$)", operation="retract", shape="no {}", most_words=6),
    Rule("rule", "meetings|calls",
        r"{L}(?:i|we) (?:don't|do not|no longer) mind (?P<o>(?:meetings|calls) (?:before|after|on|at|in "
        r"the) [\w: ]+?)"
        r"(?=[,.;!]|$| any ?more| now)", operation="retract", shape="no {}", most_words=6),
    Rule("rule", "meetings|calls",
        r"{L}you (?:can|may)(?: now)? (?:book|schedule|plan|put) (?:me )?(?P<o>(?:meetings|calls) (?:before"
        r"|after|on|at"
        r"|in the) [\w: ]+?)(?= again| now|[,.;!]|$)", operation="retract", shape="no {}", most_words=6),
    Rule("prefers", "lessons|study|concentrate|learn",
        r"{L}i can only (?:concentrate|study|learn|focus) (?P<o>(?:after|before|in the|at|early"
        r"|late) [\w ]+?)(?=,| so|[.;!]|$)", aspect="study hour", most_words=5),
    Rule("prefers", "text me|e-mail me|email me|write me|message me|call me",
        r"{L}(?:please )?(?P<o>text|e-?mail|message|call) me(?= instead|,? (?:don't|do not|never"
        r"|rather than|not) )", aspect="contact"),
    Rule("prefers",
        "in bullet|in tables|in full sentences|in plain text|in markdown|in json|in prose|as a "
        "table|as tables|as bullet",
            r"{L}(?:please )?(?:always )?(?:answer|reply|respond|write|format (?:it|everything"
            r"|your answers)|summari[sz]e|give me (?:answers|everything|summaries))(?: \w+)? (?:in"
            r"|as) (?P<o>bullet points|bullets|(?:a )?tables?|full sentences|plain text|markdown"
            r"|json|prose)", aspect="format"),
    Rule("prefers", "be concise|be brief|be short|be detailed|to the point",
        r"{L}(?:please |i want you to |i'd like you to |always |you should )+be (?P<o>concise|brief"
        r"|short|detailed|to the point)(?= with me| please|[,.;!]|$| in your)",
        aspect="length", flags=("unreal",)),
    Rule("rule",
        "don't want meetings|don't want calls|do not want meetings|don't want any meetings|don't "
        "want any calls",
            r"{L}(?:i|we) (?:don't|do not) want (?:any )?(?P<o>(?:meetings|calls) (?:before|after"
            r"|on|at) [\w: ]+)", shape="no {}", most_words=5),
    Rule("prefers", "|".join(f"in {language}" for language in LANGUAGES.split("|")),
        r"{L}(?:i want|i'd like|i need|i prefer|give me|please give me) (?:all |my |your "
        r")?(?:replies|answers|responses|summaries|everything|messages) in (?P<o>{LANG})\b",
        aspect="language", flags=("unreal",)),
    Rule("prefers", "everything in|all in",
        rf"{{L}}(?:i need|i'd like|i like) everything in (?P<o>{_UNIT})\b",
        aspect="units", flags=("unreal",)),
)
RULES = REPLIES
