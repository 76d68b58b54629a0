"""Rules about health that is no longer so: allergies, conditions and medicines denied end what was said."""

from __future__ import annotations

from transforms.claims.lexicon import CONDITIONS, MEDICINES, STATES
from transforms.claims.rule import Rule

# fmt: off

STATE_CUES = (
    "pregnant|blind|deaf|diabetic|dyslexic|asthmatic|epileptic|claustrophobic|coeliac|celiac|autistic"
    "|wheelchair user|hard of hearing|short-sighted"
)

CONDITION_CUES = (
    "asthma|diabetes|epilepsy|migraine|arthritis|depression|anxiety|adhd|autism|dyslexia|insomnia"
    "|tinnitus|eczema|psoriasis|coeliac|celiac|crohn's|ibs|hypertension|blood pressure|back pain"
    "|bad back|bad knee|sciatica|anaemia|anemia|endometriosis|parkinson's|sclerosis|hay fever|vertigo"
    "|claustrophobia|hearing loss|heart condition|thyroid|cancer|glaucoma|gout|lupus|bipolar|ptsd|ocd"
    "|fibromyalgia|apnoea|apnea|fear of"
)
MEDICINE_CUES = (
    "thinners|antibiotics|antidepressants|insulin|statin|blockers|metformin|warfarin|ibuprofen|paracetamol"
    "|painkillers|antihistamines|steroids|cortisone|lithium|levothyroxine|omeprazole|aspirin|melatonin"
    "|ritalin"
    "|prozac|pril|sartan|cillin|prazole|olol|azepam|oxetine|formin"
)
"""Cues as rare as can be: they decide which messages are read at all."""

_WHO = r"(?P<s>i|we|my {REL}(?:,? {NAME},?)?|{NAME})"
_NOT = (
    r"(?:'m not|'re not|'s not| am not| are not| is not| isn't| aren't| ain't|'m no longer|'re no longer"
    r"|'s no longer| am no longer| are no longer| is no longer| was never| were never|'ve never been"
    r"| have never been| has never been)(?: actually| really| in fact| even)*"
)
_HAVE_NOT = (
    r"(?: no longer ha(?:ve|s)| (?:don't|do not|doesn't|does not)(?: actually| really)? have(?: got)?"
    r"|(?: have|'ve| has)? never had|'ve no longer got| ha(?:ve|s) no longer)(?: an?| any)*"
)
_LEFT = r"(?=[,.;!]|$| any ?more| any longer| at all| after all| now| and| so| but| since| thank)"
_GONE = (
    r" (?:is|are|has|have|was|were)(?: finally| now| completely| all| been)* (?:gone|cured|over|healed"
    r"|better now|disappeared|behind me|a mistake|a false alarm|a misdiagnosis|wrong)"
)

_SAME = (("diabetes", "diabetic"), ("asthma", "asthmatic"), ("epilepsy", "epileptic"))
"""A condition as it is had and as one is: to deny either ends both."""

DENIALS = (
    *(
        Rule("has_condition", first, rf"{{L}}{_WHO}{lead} (?P<o>{first}){_LEFT}", operation="retract",
            shape=f"{{}}|{second}")
        for had, state in _SAME
        for first, second, lead in ((had, state, _HAVE_NOT), (state, had, _NOT))
    ),
    Rule("allergic_to", "allergic to any",
        rf"{{L}}{_WHO}{_NOT} allergic to (?P<o>anything){_LEFT}", operation="retract", flags=("whole",)),
    Rule("allergic_to", "allergies",
        r"{L}(?P<s>i|we|my {REL}(?:,? {NAME},?)?|{NAME})(?: (?:don't|do not|doesn't|does not|no longer) "
        r"ha(?:ve|s) (?:any )?(?:known )?| ha(?:ve|s) no (?:known |more )?|'ve no )(?P<o>allergies)" + _LEFT,
        operation="retract", flags=("whole",)),
    Rule("allergic_to", "no allergies", r"^\W*no (?:known )?(?P<o>allergies)(?: any ?more| at all| "
        r"now)?[.!]?$",
        operation="retract", flags=("whole",)),
    Rule("allergic_to", "allergic to",
        rf"{{L}}{_WHO}{_NOT} allergic to (?P<o>(?!(?:anything|everything|nothing|all)\b).+)",
        operation="retract", is_list=True, most_words=4),
    Rule("allergic_to", "allergic to",
        r"^\W*(?:not|no longer) allergic to (?P<o>(?!(?:anything|everything|nothing|all)\b).+)",
        operation="retract", is_list=True, most_words=4),
    Rule("allergic_to", "allerg",
        rf"{{L}}{_WHO}{_HAVE_NOT} (?:allergy to (?:the )?(?=[\w-])|(?=[\w-]+(?: [\w-]+)? allerg))"
        r"(?P<o>(?!(?:any|other|known|food|new|more|such|severe|bad)\b)[\w-]+(?: (?!allerg)[\w-]+)??)"
        r"(?: allerg(?:y|ies)|(?=[,.;!]|$| any| at all| after all| now))", operation="retract", most_words=3),
    Rule("allergic_to", "allergy",
        r"{L}(?:my|our) (?P<o>(?!(?:any|other|known|food|new|severe|bad)\b)[\w-]+(?: (?!allerg)[\w-]+)?) "
        r"allergy" + _GONE, operation="retract", most_words=3),
    Rule("allergic_to", "allergy to", r"{L}(?:my|our) allergy to (?P<o>[\w -]+?)" + _GONE,
        operation="retract", most_words=3),
    Rule("allergic_to", "outgr|grew out of|grown out of|cured of|got rid of|got over",
        r"{L}(?P<s>i|my {REL}(?:,? {NAME},?)?|{NAME})(?:'ve| have| has|'m| am| is)?(?: finally| now)*"
        r" (?:outgr(?:ew|own)|gr(?:ew|own) out of|cured of|got(?: rid of| over)) (?:my|our|his|her|their|the)"
        r" (?:(?=[\w-]+ allergy)|allergy to )(?P<o>(?!(?:food|old)\b)[\w-]+)(?: allergy)?",
        operation="retract", most_words=3),
    Rule("allergic_to", "intoleran",
        rf"{{L}}{_WHO}{_NOT} (?P<o>lactose|gluten|histamine|fructose|dairy)[- ]intolerant",
        operation="retract"),
    Rule("allergic_to", "intoleran", rf"{{L}}{_WHO}{_NOT} intolerant (?:to|of) (?P<o>[\w-]+)",
        operation="retract"),
    Rule("allergic_to", "intoleran",
        rf"{{L}}{_WHO}{_HAVE_NOT} (?P<o>lactose|gluten|histamine|fructose|dairy) intolerance",
        operation="retract"),
    Rule("has_condition", CONDITION_CUES,
        rf"{{L}}{_WHO}{_HAVE_NOT} (?P<o>(?:(?:chronic|bad|weak|severe|mild) )*(?:{CONDITIONS})){_LEFT}",
        operation="retract", most_words=6),
    Rule("has_condition", CONDITION_CUES,
        rf"{{L}}(?:my|the) (?P<o>(?:{CONDITIONS}))" + _GONE, operation="retract", most_words=6),
    Rule("has_condition", CONDITION_CUES,
        r"{L}(?:i|we)(?:'ve| have|'m| am)?(?: finally| now| completely)* (?:cured of|recovered from|got "
        r"rid of|over"
        rf"|beat|beaten|outgrew|outgrown|grew out of) (?:my |the )?(?P<o>(?:{CONDITIONS}))\b",
        operation="retract", most_words=6),
    Rule("has_condition", STATE_CUES,
        rf"{{L}}{_WHO}{_NOT}(?: an?)? (?P<o>{STATES}){_LEFT}", operation="retract"),
    Rule("takes", MEDICINE_CUES,
        rf"{{L}}{_WHO}(?:{_NOT} (?:on|taking|prescribed)|(?:'m| am|'ve come| have come) off)(?: the| my| "
        rf"any)? (?P<o>{MEDICINES})\b", operation="retract", most_words=3),
)
RULES = DENIALS
