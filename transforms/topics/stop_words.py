"""Words that say nothing about a subject, in the languages the samples and most traces are in."""

from __future__ import annotations

_ENGLISH = """
a about above after again ago all almost already also although always am an and another any anyone anything
are around as ask asked at away back be because been before being below best better between bit both but by
bye call called came can cannot cant check come comes coming could couldnt day days did didnt different do
does doesnt doing done dont down during each early either else end enough etc even ever every everything
exactly fair far feel few find fine first for found from full further gave get gets getting give gives go
goes going gone gonna good got great guess had happy hardly has hasnt have havent having he hello help her
here hers hey hi him his hope how however i id if ill im in indeed instead into is isnt it its itself ive
just keep kind knew know known last late lately later least left less let lets like likely little long look
looked looking looks lot lots love made main make makes making many may maybe me mean means might mine
minute minutes moment month months more morning most much must my myself need needed needs never new next
nice night no nobody none not note nothing now of off often oh ok okay old on once one ones only or other
others our out over own part past per perfect perhaps place please possible put quick quite rather really
right said same saw say says see seem seems seen send sent set shall she should show since so some someone
something soon sorry sounds still stuff such sure take taken talk tell ten than thank thanks that thats the
their them then there these they theyre thing things think this those though thought three through till time
times to today together told tomorrow tonight too took tool tried try trying turn two under until up update
us use used user using usually very via wait want wanted wants was wasnt way we week weeks well went were
weve what whats when where whether which while who whole whose why will with within without wont work worked
working works worth would wouldnt year years yes yesterday yet you youll your youre yours youve assistant
system error null true false
"""
_GERMAN = """
aber alle allem allen alles als also am an auch auf aus bei beim bin bis bist bitte da dabei dafür damit
dann das dass dem den denn der des deshalb die dies diese diesem diesen dieser dieses dir doch dort du durch
ein eine einem einen einer eines einfach er erst es etwas euch für gab ganz gegen geht genau gern gerne
gestern gib gibt gut guten habe haben hallo hast hat hatte heute hier hin ich ihm ihn ihnen ihr ihre ihren
im immer in ins ist ja jede jeden jeder jetzt kann kannst kein keine keinen könnte können machen mal man
mehr mein meine meinem meinen meiner mich mir mit morgen muss müssen nach nein nicht nichts noch nun nur ob
oder ohne schon sehr sein seine seit sich sie sind so soll sollte sonst über um und uns unser unsere unter
viel vom von vor wann war waren warum was weil wenn wer werde werden wie wieder will wir wird wo woche
wollen wurde würde zu zum zur zwei
"""
_FRENCH = """
ai aller alors après au aujourd'hui aussi autre aux avant avec avez avoir avons bien bon bonjour ça car ce
cela ces cet cette ceux chaque chez ci comme comment dans de demain depuis des deux dire dois doit donc dont
du elle elles en encore entre es est et étais était été être eu eux fais fait faire faut hier ici il ils
j'ai je jour la le les leur leurs lui ma mais me merci mes moi moins mon ne nos notre nous on ont ou où oui
par parce pas peu peut peux plus pour pourquoi pouvez quand que quel quelle quelque qui quoi rien sa sans se
sera ses si sont son sous suis sur ta te tes toi ton tous tout toute toutes très trop tu un une va vais vers
veux vos votre voudrais vous
"""
_SPANISH = """
ahora al algo alguien algún alguna allí antes aquí así aún aunque ayer bien bueno cada como cómo con cosa
cual cuál cuando cuándo de debe decir del desde después día días donde dónde dos el él ella ellos en
entonces entre era es esa ese eso esta está están estar estas este esto estos estoy fue gracias ha había
hace hacer hasta hay he hemos hola hoy la las le les lo los luego más mañana me mejor menos mi mis mucho muy
nada ni no nos nosotros nuestra nuestro nunca otra otro para pero poco por porque puede puedes puedo pues
que qué quien quiero se sea ser si sí sido siempre sin sobre solo son soy su sus también tan tanto te tengo
tiene tienes todo todos tu tus un una uno unos usted va vale vamos ver vez voy ya yo
"""
_ITALIAN = """
adesso ai al alla alle allora anche ancora avere bene buono c'è che chi ci ciao come con così cosa cui da
dai dal dalla davvero degli dei del della delle di dopo dove due e è era essere fa fare fatto fino già gli
grazie ha hai hanno ho i il in io la le lei li lo loro lui ma me meglio mi mia mie miei mio molto ne nei nel
nella no noi non nostro o oggi ogni per perché però più po' poi posso può puoi quale quando quanto quella
quello questa queste questi questo qui se sei sempre senza si sì sia sono sta stato su sua sul sulla suo ti
tra troppo tu tua tuo tutti tutto un una uno va vi voglio vorrei
"""
_PORTUGUESE = """
à agora ainda algo ali amanhã ao aos aqui as às até bem boa bom cada com como da dar das de depois dia dizer
do dois dos e é ela ele eles em então era essa esse esta está estão estar este estou eu fazer foi gente há
hoje isso isto já lá mais mas me mesmo meu minha muito na nada não nas nem no nos nós nossa nosso num numa o
obrigada obrigado olá onde ontem os ou para pela pelo por porque pode posso quando que quê quem quer quero
são se sem sempre ser será seu sim só sobre sua também te tem tenho ter todo todos tudo um uma vai você vou
"""
_DUTCH = """
aan al alle als altijd ben bij dan dank dat de deze die dit doe doen door dus een eens en er even gaan gaat
geen goed graag had heb hebben heeft hem het hier hij hoe hun ik in is ja je jij jou jouw kan kun kunnen
maar me meer met mij mijn moet morgen na naar nee niet niets nog nu of om omdat onder ons onze ook op over
te toch toen tot uit van vandaag veel voor waar want was wat we wel werd wie wij wil worden wordt ze zeer
zich zij zijn zo zou
"""
_RUSSIAN = """
а без бы был была были было быть в вам вас ваш весь во вот все всё вы где да даже для до его ее её если есть
еще ещё же за завтра здесь и из или им их к как какой когда кто ли мне можно мой мы на надо нас наш не нет
ни но ну о об он она они оно от очень по под после потом потому почему пожалуйста при про раз с сам сегодня
себя сейчас со спасибо так также такой там тебя то того тоже только том тот тут ты у уже хорошо хочу чем что
чтобы эта эти это этот я
"""
_KOREAN = """
그 그것 그게 그냥 그래서 그런데 그럼 그리고 나는 난 내가 네 너무 누가 더 다시 또 많이 무슨 무엇 뭐 및 바로
방금 수 아니 안녕 안녕하세요 어디 어떤 어떻게 언제 여기 오늘 왜 우리 이 이거 이것 이게 있는 있다 있어 있어요
있습니다 잘 저는 저도 전 정도 제가 제 조금 좀 지금 하고 하는 하지만 할 합니다 해 해요 해주세요 했어요
했습니다 감사합니다 내일 어제
"""

_TALK = """
wow awesome amazing yeah yep nope woohoo haha hehe lol hmm huh oops phew yay congrats congratulations
cool definitely absolutely totally okay gonna wanna gotta glad excited super guys monday tuesday
wednesday thursday friday saturday sunday january february march april june july august september
october november december montag dienstag mittwoch donnerstag freitag samstag sonntag januar februar
märz mai juni juli oktober dezember lundi mardi mercredi jeudi vendredi samedi dimanche janvier février
mars avril juin juillet août septembre octobre novembre décembre lunes martes miércoles jueves viernes
sábado domingo enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
"""
_HINDI = """
और का की के को में से है हैं था थी थे ने पर भी यह वह इस उस एक नहीं हाँ हां जी तो या कि जो हो होगा करें
कर क्या मैं मुझे आप आपका धन्यवाद कृपया अब फिर लिए साथ हर
"""
_ARABIC = """
في من على إلى عن مع هذا هذه ذلك تلك التي الذي ما لا لم لن هل أن إن أنا أنت هو هي نحن كان كانت يكون قد كل
بعد قبل ثم أو و يا نعم شكرا شكرًا فضلك حسنا حسنًا أيضا أيضًا كما لكن إذا عند عندي لي لك
"""

BY_LANGUAGE: dict[str, frozenset[str]] = {
    "english": frozenset(_ENGLISH.split()),
    "german": frozenset(_GERMAN.split()),
    "french": frozenset(_FRENCH.split()),
    "spanish": frozenset(_SPANISH.split()),
    "italian": frozenset(_ITALIAN.split()),
    "portuguese": frozenset(_PORTUGUESE.split()),
    "dutch": frozenset(_DUTCH.split()),
    "russian": frozenset(_RUSSIAN.split()),
}
"""The words of grammar of a language, by the name that its stemmer goes by."""

STOP_WORDS = frozenset(
    " ".join(
        (
            _ENGLISH,
            _GERMAN,
            _FRENCH,
            _SPANISH,
            _ITALIAN,
            _PORTUGUESE,
            _DUTCH,
            _RUSSIAN,
            _KOREAN,
            _TALK,
            _HINDI,
            _ARABIC,
        )
    ).split()
)
"""Lower case, apostrophes as they are written; a term is compared with and without its apostrophes."""

HAN_FUNCTION = (
    "的了是在我你您他她它们們这這那哪个個一不没沒有和与與也都就还還很把被给給吗嗎呢吧啊呀哦嗯么麼什怎为為以可能会會要想请請"
    "让讓到从從对對说說看做来來去上下里裡中后後前多少几幾好谢謝再见見今明昨天年月日时時分点點用得地着著过過只又但如果因所"
    "己自其此之而或及并並等每些样樣件次位"
)
"""Characters of grammar, politeness and dates: a pair of Han characters with one of these is no term."""
