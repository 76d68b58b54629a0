"""Forms of English words that no rule of endings leads back to their base."""

from __future__ import annotations

_FORMS = """
be was were been | become became | begin began begun | bend bent | bite bit bitten | bleed bled
blow blew blown | break broke broken | bring brought | build built | burn burnt | buy bought
catch caught | choose chose chosen | come came | creep crept | deal dealt | dig dug | dive dove
draw drew drawn | dream dreamt | drink drank drunk | drive drove driven | eat ate eaten | fall fell fallen
feed fed | feel felt | fight fought | find found | fly flew flown | forget forgot forgotten
forgive forgave forgiven | freeze froze frozen | get got gotten | give gave given | go went gone
grow grew grown | hang hung | have had | hear heard | hide hid hidden | hold held | keep kept
know knew known | lead led | learn learnt | leave left | lend lent | light lit | lose lost | make made
mean meant | meet met | pay paid | ride rode ridden | ring rang rung | rise rose risen | run ran
say said | see saw seen | sell sold | send sent | shake shook shaken | shine shone | shoot shot
show shown | sing sang sung | sink sank sunk | sit sat | sleep slept | slide slid | speak spoke spoken
spend spent | spin spun | spring sprang sprung | stand stood | steal stole stolen | stick stuck
sting stung | strike struck | swear swore sworn | sweep swept | swim swam swum | swing swung
take took taken | teach taught | tear tore torn | tell told | think thought | throw threw thrown
understand understood | wake woke woken | wear wore worn | weave wove woven | weep wept | win won
write wrote written | child children | man men | woman women | person people | foot feet | tooth teeth
mouse mice | goose geese | wife wives | life lives | knife knives | half halves | leaf leaves | shelf shelves
thief thieves | wolf wolves
"""

BASE: dict[str, str] = {
    form: base
    for line in _FORMS.splitlines()
    for base, *forms in (group.split() for group in line.split("|") if group.strip())
    for form in forms
}
"""Base of each irregular form, lower case."""
