// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <unordered_set>

#include "expr/text/stop_words_internal.h"

namespace quire::expr::text {
namespace {

struct StopWordsRow {
  std::string_view language;
  std::string_view words;  // separated by spaces
};

constexpr StopWordsRow kRows[] = {
    {"english",
     "i me my myself we our ours ourselves you your yours yourself yourselves he him his himself "
     "she her hers herself it its itself they them their theirs themselves what which who whom "
     "this that these those am is are was were be been being have has had having do does did doing "
     "would should could ought i'm you're he's she's it's we're they're i've you've we've they've "
     "i'd you'd he'd she'd we'd they'd i'll you'll he'll she'll we'll they'll isn't aren't wasn't "
     "weren't hasn't haven't hadn't doesn't don't didn't won't wouldn't shan't shouldn't can't "
     "cannot couldn't mustn't let's that's who's what's here's there's when's where's why's how's "
     "a an the and but if or because as until while of at by for with about against between into "
     "through during before after above below to from up down in out on off over under again "
     "further then once here there when where why how all any both each few more most other some "
     "such no nor not only own same so than too very s t can will just don should now"},
    {"spanish",
     "de la que el en y a los del se las por un para con no una su al lo como más pero sus le ya o "
     "este sí porque esta entre cuando muy sin sobre también me hasta hay donde quien desde todo "
     "nos durante todos uno les ni contra otros ese eso ante ellos e esto mí antes algunos qué "
     "unos "
     "yo otro otras otra él tanto esa estos mucho quienes nada muchos cual poco ella estar estas "
     "algunas algo nosotros mi mis tú te ti tu tus ellas nosotras vosotros vosotras os mío mía "
     "míos "
     "mías tuyo tuya tuyos tuyas suyo suya suyos suyas nuestro nuestra nuestros nuestras vuestro "
     "vuestra vuestros vuestras esos esas estoy estás está estamos están ser es soy eres somos son "
     "era fue fueron he has ha hemos han había tengo tienes tiene tenemos tienen"},
    {"french",
     "au aux avec ce ces dans de des du elle en et eux il je la le leur lui ma mais me même mes "
     "moi "
     "mon ne nos notre nous on ou par pas pour qu que qui sa se ses son sur ta te tes toi ton tu "
     "un "
     "une vos votre vous c d j l à m n s t y été étée étées étés étant suis es est sommes êtes "
     "sont "
     "serai seras sera serons serez seront étais était étions étiez étaient fus fut fûmes fûtes "
     "furent ayant eu eue eues eus ai as avons avez ont aurai auras aura aurons aurez auront avais "
     "avait avions aviez avaient les"},
    {"german",
     "aber alle allem allen aller alles als also am an ander andere anderem anderen anderer "
     "anderes "
     "auch auf aus bei bin bis bist da damit dann der den des dem die das daß derselbe derselben "
     "dein deine deinem deinen deiner deines denn dich dir du dies diese diesem diesen dieser "
     "dieses doch dort durch ein eine einem einen einer eines einig einige er ihn ihm es etwas "
     "euer "
     "eure für gegen gewesen hab habe haben hat hatte hatten hier hin hinter ich mich mir ihr ihre "
     "ihrem ihren ihrer ihres euch im in indem ins ist jede jedem jeden jeder jedes jene jetzt "
     "kann "
     "kein keine keinem keinen keiner können könnte machen man manche mein meine meinem meinen "
     "meiner mit muss musste nach nicht nichts noch nun nur ob oder ohne sehr sein seine seinem "
     "seinen seiner selbst sich sie ihnen sind so solche soll sollte sondern sonst über um und uns "
     "unser unsere unter viel vom von vor während war waren warst was weg weil weiter welche wenn "
     "werde werden wie wieder will wir wird wirst wo wollen wollte würde würden zu zum zur zwar "
     "zwischen"},
    {"italian",
     "ad al allo ai agli all alla alle con col coi da dal dallo dai dagli dall dalla dalle di del "
     "dello dei degli dell della delle in nel nello nei negli nell nella nelle su sul sullo sui "
     "sugli sull sulla sulle per tra contro io tu lui lei noi voi loro mio mia miei mie tuo tua "
     "tuoi "
     "tue suo sua suoi sue nostro nostra nostri nostre vostro vostra vostri vostre mi ti ci vi lo "
     "la "
     "li le gli ne il un uno una ma ed se perché anche come dov dove che chi cui non più quale "
     "quanto quanti quanta quante quello quelli quella quelle questo questi questa queste si tutto "
     "tutti a c e i l o ho hai ha abbiamo avete hanno sono sei è siamo siete era erano"},
    {"portuguese",
     "de a o que e do da em um para com não uma os no se na por mais as dos como mas ao ele das à "
     "seu sua ou quando muito nos já eu também só pelo pela até isso ela entre depois sem mesmo "
     "aos "
     "seus quem nas me esse eles você essa num nem suas meu às minha numa pelos elas qual nós lhe "
     "deles essas esses pelas este dele tu te vocês vos lhes meus minhas teu tua teus tuas nosso "
     "nossa nossos nossas dela delas esta estes estas aquele aquela aqueles aquelas isto aquilo "
     "estou está estamos estão era eram fui foi fomos foram ser sou somos são tenho tem temos têm"},
    {"dutch",
     "de en van ik te dat die in een hij het niet zijn is was op aan met als voor had er maar om "
     "hem "
     "dan zou of wat mijn men dit zo door over ze zich bij ook tot je mij uit der daar haar naar "
     "heb hoe heeft hebben deze u want nog zal me zij nu ge geen omdat iets worden toch al waren "
     "veel meer doen toen moet ben zonder kan hun dus alles onder ja eens hier wie werd altijd "
     "doch "
     "wordt wezen kunnen ons zelf tegen na reeds wil kon niets uw iemand geweest andere"},
    {"danish",
     "og i jeg det at en den til er som på de med han af for ikke der var mig sig men et har om vi "
     "min havde ham hun nu over da fra du ud sin dem os op man hans hvor eller hvad skal selv her "
     "alle vil blev kunne ind når være dog noget ville jo deres efter ned skulle denne end dette "
     "mit "
     "også under have dig anden hende mine alt meget sit sine vor mod disse hvis din nogle hos "
     "blive "
     "mange ad bliver hendes været thi jer sådan"},
    {"swedish",
     "och det att i en jag hon som han på den med var sig för så till är men ett om hade de av "
     "icke "
     "mig du henne då sin nu har inte hans honom skulle hennes där min man ej vid kunde något från "
     "ut när efter upp vi dem vara vad över än dig kan sina här ha mot alla under någon eller allt "
     "mycket sedan ju denna själv detta åt utan varit hur ingen mitt ni bli blev oss din dessa "
     "några deras blir mina samma vilken er sådan vår blivit dess inom mellan sådant varför varje"},
    {"norwegian",
     "og i jeg det at en et den til er som på de med han av ikke ikkje der så var meg seg men ett "
     "har om vi min mitt ha hadde hun nå over da ved fra du ut sin dem oss opp man kan hans hvor "
     "eller hva skal selv sjøl her alle vil bli ble blei blitt kunne inn når være kom noen noe "
     "ville "
     "dere deres kun ja etter ned skulle denne for deg si sine sitt mot å meget hvorfor dette "
     "disse "
     "uten hvordan ingen din ditt blir samme hvilken hvilke sånn inni mellom vår hver hvem vors "
     "hvis "
     "både bare enn fordi før mange også slik vært"},
    {"finnish",
     "olla olen olet on olemme olette ovat ole oli en et ei emme ette eivät minä minun minut minua "
     "sinä sinun sinut sinua hän hänen hänet häntä me meidän meidät meitä te teidän teidät teitä "
     "he "
     "heidän heidät heitä tämä tämän tätä tuo tuon tuota se sen sitä ne niiden niitä kuka kenen "
     "ketä mikä minkä mitä joka jonka jota että ja jos koska kuin mutta niin sekä sillä tai vaan "
     "vai vaikka kanssa mukaan noin poikki yli kun nyt itse"},
    {"hungarian",
     "a ahogy ahol aki akik akkor alatt által általában amely amelyek amelyekben amelyeket amelyet "
     "amelynek ami amit amolyan amíg amikor át abban ahhoz annak arra arról az azok azon azt azzal "
     "azért aztán azután azonban bár be belül benne cikk cikkek csak de e eddig egész egy egyes "
     "egyetlen egyéb egyik egyre ekkor el elég ellen elő először előtt első én éppen ebben ehhez "
     "emilyen ennek erre ez ezt ezek ezen ezzel ezért és fel felé hanem hiszen hogy hogyan igen "
     "így "
     "illetve ill ilyen ilyenkor ison ismét itt jó jól jobban kell kellett keresztül ki kívül "
     "között "
     "közül legalább lehet lehetett legyen lenne lenni lesz lett maga magát majd már más másik meg "
     "még mellett mert mely melyek mi mit míg miért milyen mikor minden mindent mindenki mindig "
     "mint "
     "mintha mivel most nagy nagyobb nagyon ne néha nekem neki nem néhány nélkül nincs olyan ott "
     "össze ő ők őket pedig persze rá s saját sem semmi sok sokat sokkal számára szemben szerint "
     "szinte talán tehát teljes tovább továbbá több úgy ugyanis új újabb újra után utána utolsó "
     "vagy "
     "vagyis valaki valami valamint való vagyok van vannak volt voltam voltak voltunk vissza vele "
     "viszont volna"},
    {"romanian",
     "a abia acea aceasta această aceea acei aceia acel acela acele acelea acest acesta aceste "
     "acestea aceşti aceştia acolo acum ai aia aici al ale alt alta altă altceva am ar are aş aşa "
     "asta astea ăsta ăştia asupra au avea avem aveţi azi ca că căci când care cărei căror cărui "
     "către ce cel ceva chiar cine cineva cît cum cu da dacă dar de deci deja din după ea ei el "
     "ele "
     "era este eşti eu face fără fi fie fiecare fii fim fiu fost i ia iar îi îl îmi în înainte "
     "între "
     "îţi la le li lor lui mă mai mâine mea mei mele mereu meu mi mie mine mult multă mulţi ne "
     "nici "
     "nimic noastră noi nostru nouă nu o or ori oricare orice pe pentru peste pînă poate pot prea "
     "prin sa să sale sau se şi sînt sunt suntem sunteţi sub ta tăi tale tău te ţi ţie tine toată "
     "toate tot toţi totuşi tu un una unde unei unele uneori unor unui vă voastră voi vor vostru "
     "vouă vreo vreun"},
    {"russian",
     "и в во не что он на я с со как а то все она так его но да ты к у же вы за бы по только ее "
     "мне "
     "было вот от меня еще нет о из ему теперь когда даже ну вдруг ли если уже или ни быть был "
     "него "
     "до вас нибудь опять уж вам сказал ведь там потом себя ничего ей может они тут где есть надо "
     "ней для мы тебя их чем была сам чтоб без будто человек чего раз тоже себе под жизнь будет ж "
     "тогда кто этот говорил того потому этого какой совсем ним здесь этом один почти мой тем "
     "чтобы "
     "нее кажется сейчас были куда зачем сказать всех никогда сегодня можно при наконец два об "
     "другой хоть после над больше тот через эти нас про всего них какая много разве сказала три "
     "эту моя впрочем хорошо свою этой перед иногда лучше чуть том нельзя такой им более всегда "
     "конечно всю между"},
    {"turkish",
     "acaba ama aslında az bazı belki biri birkaç birşey biz bu çok çünkü da daha de defa diye "
     "eğer "
     "en gibi hem hep hepsi her hiç için ile ise kez ki kim mı mu mü nasıl ne neden nerde nerede "
     "nereye niçin niye o sanki şey siz şu tüm ve veya ya yani"},
};

using WordSet = std::unordered_set<std::string_view>;

std::map<std::string_view, WordSet> BuildSets() {
  std::map<std::string_view, WordSet> sets;
  for (const StopWordsRow& row : kRows) {
    WordSet& set = sets[row.language];
    std::string_view rest = row.words;
    while (!rest.empty()) {
      size_t end = rest.find(' ');
      set.insert(rest.substr(0, end));
      rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
    }
  }
  return sets;
}

}  // namespace

bool InStopWords(std::string_view language, std::string_view word) {
  static const std::map<std::string_view, WordSet> sets = BuildSets();
  auto found = sets.find(language);
  return found != sets.end() && found->second.contains(word);
}

}  // namespace quire::expr::text
