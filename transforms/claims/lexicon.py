"""Word lists of the rules: occupations, relatives, languages, and what a choice is about."""

from __future__ import annotations

import re
from functools import cache

OCCUPATIONS = (
    "accountant|actor|actress|analyst|architect|artist|assistant|baker|barber|barista|biologist"
    "|bookkeeper|builder|bus driver|butcher|carpenter|carer|cashier|caretaker|chef|chemist|clerk|coach"
    "|composer|cook|consultant|contractor|copywriter|counsellor|counselor|dancer|dentist|designer|developer"
    "|dietitian|director|doctor|dba|driver|economist|editor|electrician|engineer|estate agent|farmer"
    "|firefighter|fisherman"
    "|florist|freelancer|gardener|geologist|gp|hairdresser|head of \\w+|historian|housekeeper|illustrator"
    "|instructor|interpreter|janitor|journalist|judge|lawyer|lecturer|librarian|locksmith|machinist"
    "|manager|mathematician|mechanic|midwife|musician|nanny|novelist|nurse|nutritionist|officer|optician"
    "|painter|paralegal|paramedic|pastor|pharmacist|photographer|physician|physicist|physiotherapist|physio"
    "|pilot|plumber"
    "|poet|police officer|postman|producer|professor|programmer|proofreader|psychiatrist|psychologist"
    "|realtor|receptionist|recruiter|reporter|researcher|retiree|sailor|salesman|salesperson|scientist"
    "|secretary|social worker|soldier|solicitor|statistician|student|surgeon|surveyor|tailor|teacher"
    "|technician|tester|therapist|tour guide|trader|trainer|translator|tutor|vet|veterinarian|waiter"
    "|waitress|welder|writer|sysadmin|administrator|apprentice|intern|trainee|undergraduate|postdoc"
    "|data scientist|freelance \\w+|self-employed|product owner|scrum master|zookeeper"
)
RELATIVES = (
    "mother|mum|mom|mama|father|dad|papa|stepmother|stepfather|parents|sister|brother|twin sister"
    "|twin brother|twin|half-sister|half-brother|stepson|stepdaughter|older sister|younger sister"
    "|older brother|younger brother|big sister|big brother|little sister|little brother|wife|husband"
    "|spouse|partner|girlfriend|boyfriend|fiancee|fiance|fiancée|fiancé|son|daughter|eldest|youngest|kid"
    "|child|baby|niece|nephew|aunt|uncle|cousin|grandmother|grandfather|grandma|grandpa|granny|nan"
    "|grandson|granddaughter|mother-in-law|father-in-law|sister-in-law|brother-in-law|son-in-law"
    "|daughter-in-law|best friend|roommate|flatmate|housemate"
)
PETS = (
    "dog|cat|rabbit|hamster|parrot|horse|pony|puppy|kitten|guinea pig|tortoise|turtle|budgie|goldfish|snake"
)
LANGUAGES = (
    "afrikaans|albanian|arabic|armenian|bahasa|basque|bengali|bosnian|bulgarian|cantonese|catalan|chinese"
    "|croatian|czech|danish|dutch|english|estonian|farsi|finnish|flemish|french|galician|georgian|german"
    "|greek|gujarati|hausa|hebrew|hindi|hungarian|icelandic|igbo|indonesian|irish|italian|japanese|korean"
    "|latin|latvian|lithuanian|malay|maltese|mandarin|marathi|nepali|norwegian|persian|polish|portuguese"
    "|punjabi|romanian|russian|serbian|sinhala|slovak|slovenian|somali|spanish|swahili|swedish|tagalog"
    "|tamil|telugu|thai|tigrinya|turkish|ukrainian|urdu|vietnamese|welsh|wolof|xhosa|yoruba|zulu"
    "|sign language|deutsch|español|français|italiano|português"
)
DIETS = (
    "vegetarian|vegan|pescatarian|pescetarian|kosher|halal|gluten[- ]free|dairy[- ]free|lactose[- ]free"
    "|sugar[- ]free|low[- ]carb|keto|paleo|plant[- ]based|raw food|flexitarian|fruitarian|teetotal"
)
FOODS = (
    "meat|pork|beef|fish|seafood|shellfish|dairy|milk|cheese|eggs?|gluten|wheat|sugar|nuts?|peanuts?|soy"
    "|red meat|chicken|lamb|raw fish|onions?|garlic|alcohol|caffeine|lactose|bread|sesame|shrimps?"
    "|prawns?|animal products|processed food|fried food|spicy food|sweets|chocolate|breakfast"
)
DRINKS = (
    "coffee|tea|espresso|cappuccino|latte|flat white|americano|cortado|rooibos|matcha|cocoa|hot chocolate"
    "|water|juice|lemonade|soda|cola|wine|beer|whisky|whiskey|gin|alcohol|decaf|mate|chai|kombucha|milk"
)
CONDITIONS = (
    r"asthma|diabetes|type [12] diabetes|epilepsy|migraines?|arthritis|depression|anxiety|adhd|autism"
    r"|dyslexia|insomnia|tinnitus|eczema|psoriasis|(?:coeliac|celiac)(?: disease)?|crohn's(?: disease)?|ibs"
    r"|hypertension|high blood pressure|low blood pressure|back pain|bad back|bad knees?|knees|back"
    r"|sciatica|anaemia|anemia"
    r"|endometriosis|parkinson's|ms|multiple sclerosis|hay fever|vertigo|claustrophobia|hearing loss"
    r"|heart condition|pacemaker|thyroid \w+|cancer|glaucoma|gout|lupus|bipolar(?: disorder)?|ptsd|ocd"
    r"|fibromyalgia|sleep apnoea|sleep apnea|fear of (?:heights|flying)"
)
STATES = (
    r"pregnant|colou?r[- ]blind|deaf|diabetic|dyslexic|asthmatic|epileptic|claustrophobic|coeliac|celiac"
    r"|blind in one eye|autistic|wheelchair user|hard of hearing|short-sighted"
)
MEDICINES = (
    r"(?:[\w-]+ )?(?:blood thinners|antibiotics|antidepressants|insulin|statins?|beta blockers|metformin"
    r"|warfarin|ibuprofen|paracetamol|painkillers|antihistamines|steroids|cortisone|lithium|levothyroxine"
    r"|omeprazole|aspirin|melatonin|ritalin|prozac|[\w]+(?:pril|sartan|statin|cillin|prazole|olol|azepam"
    r"|oxetine|formin))"
)
_LODGING = (
    "hotels?|hostels?|guest ?houses?|apartments?|airbnbs?|b&bs?|bed and breakfasts?|inns?|motels?|camp "
    "?sites?|camping|resorts?|ryokans?|pensions?|holiday flats?|cabins?"
)
_HOUR = (
    r"before|after|around|at|in the|early|late|morning|afternoon|evening|noon|mornings|afternoons"
    r"|evenings"
)
ASPECT_WORDS: tuple[tuple[str, str], ...] = (
    (
        "seat",
        r"aisles?|window seats?|aisle seats?|middle seats?|exit rows?|seats?|(?:the |a )?window(?! "
        r"table)",
    ),
    (
        "transport",
        r"trains?|bus(?:es)?|trams?|metro|subway|flying|fly|driving|drive|cabs?|taxis?|ferr(?:y"
        r"|ies)|carpool|walking|walk|cycling|bike|by (?:train|bus|tram|car|bike|taxi|plane|boat"
        r"|ferry|metro)",
    ),
    ("lodging", _LODGING),
    ("drink", rf"(?:[\w-]+ )*(?:{DRINKS})"),
    ("editor", r"vim|neovim|emacs|helix|vs ?code|nano|sublime text|intellij|pycharm|zed"),
    ("theme", r"dark (?:mode|theme)|light (?:mode|theme)"),
    (
        "units",
        r"metric(?: units)?|imperial(?: units)?|celsius|fahrenheit|kilomet(?:er|re)s|miles"
        r"|kilograms|pounds",
    ),
    ("date format", r"yyyy-mm-dd|dd[./]mm[./]yyyy|mm/dd/yyyy|iso dates"),
    ("time format", r"(?:24|12)[- ]hour(?: clock| time)?|times in utc|utc"),
    ("contact", r"e-?mails?|text messages?|texting|phone calls?|sms|whatsapp|signal|letters"),
    (
        "format",
        r"pdfs?(?: (?:files?|reports?|documents?))?|spreadsheets?|excel(?: (?:files?|sheets?))?|csvs?(?: "
        r"files?)?|word (?:files?|documents?)|bullet points?|bullets|tables|plain text|markdown|short bullets"
        r"|numbered lists?|prose|summar(?:y|ies)",
    ),
    ("tone", r"(?:an? )?(?:formal|informal|casual|friendly)(?: tone| language)?"),
    ("desk", r"(?:a )?(?:standing|window|corner) desk"),
    (
        "length",
        r"(?:longer|shorter|more detailed|briefer) (?:answers|replies|responses|explanations)"
        r"|short (?:answers|replies)|brief (?:answers|replies)|long answers|detailed answers"
        r"|concise answers",
    ),
    ("meeting hour", rf"(?:meetings?|calls?) (?:{_HOUR})\b.*"),
)
"""Aspect and the words that tell it, tried in order on the head of an object."""


@cache
def _compiled() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple(
        (
            aspect,
            re.compile(
                rf"(?:an? |the |my |some |any |only |just )*(?:(?:[\w-]+ ){{0,3}})??(?:{words})\b",
                re.IGNORECASE,
            ),
        )
        for aspect, words in ASPECT_WORDS
    )


def aspect_in(choice: str) -> str:
    """What a chosen thing is a choice of, as ``drink`` for green tea; empty where no list has it."""
    for aspect, pattern in _compiled():
        if pattern.match(choice):
            return aspect
    return ""
