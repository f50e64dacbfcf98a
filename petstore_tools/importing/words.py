"""
Pure: the words of many languages in spreadsheets, and which column holds which field, by exact
names, by `columns=`, and what may be proposed.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final
from unicodedata import normalize

from petstore_tools import spec
from petstore_tools.errors import SheetError
from petstore_tools.tabular.cells import column_letter
from petstore_tools.text import first_of

FIELDS: Final = spec.NEW_PET_FIELDS
# Titles that may mean a field in many languages, the likeliest first, as `_bare` returns them:
# proposed, never just taken. Those before | say it better than the field's own title does.
_PROPOSED: Final = {
    "name": """tiername petname petsname animalname animalsname nameofanimal nameoftheanimal
        nameofpet dogname catname nameofdog namedestieres namedertiere nametier tiernamen hundename
        katzenname nomdelanimal nomanimal nomduchien nomduchat imięzwierzęcia imiezwierzecia
        nazwazwierzęcia nombredelanimal nombreanimal nombredelamascota nombremascota nomedellanimale
        nomeanimale naamdier naamvanhetdier diernaam nomedoanimal jménozvířete | name nom imię imie
        nombre nome naam rufname nazwa jméno jmeno meno namn navn nimi név nume isim ad имя
        кличка імя όνομα 名前 名称 tier haustier animal pet zwierzę animale dier bezeichnung""",
    "categoryId": """| categoryid category kategorieid idkategorie kategorienr kategorienummer
        kategorie categoryno categorynr categorynumber categorycode categoryname catégorie categorie
        idcatégorie kategoria idkategorii categoría categoria idcategoria idcategoría iddacategoria
        kategori kategória luokka kategoriid категория категорія κατηγορία カテゴリ 类别 tierart art
        gattung espèce espece gatunek especie espécie specie soort diersoort species kind
        animaltype type typ tipo druh gruppe group rubrik animalcategory petcategory tierkategorie
        breed rasse race rasa raza raça razza ras вид""",
    "status": """petstatus animalstatus tierstatus statutdelanimal | status statut stan estado stato
        availability verfügbarkeit verfuegbarkeit disponibilité dostępność disponibilidad
        disponibilità disponibilidade beschikbaarheid situação situacao stav tillstånd tilstand tila
        állapot durum статус состояние κατάσταση 状態 状态 zustand state état etat toestand
        verkaufsstatus""",
}
# words for a status, "" for none, in the languages of the titles: proposed, never just taken
STATUS_WORDS: Final = {
    word: status
    for status, words in {
        "available": """frei verfügbar disponible libre dostępny dostępna disponibile beschikbaar
            disponível volný volná dostupný ledig tillgänglig tilgængelig""",
        "pending": """reserviert vorgemerkt réservé réservée zarezerwowany zarezerwowana reservado
            reservada prenotato riservato gereserveerd reserved rezervovaný reserverad""",
        "sold": """verkauft vendu vendue sprzedany sprzedana vendido vendida venduto venduta
            verkocht prodaný prodaná prodáno såld solgt prodán""",
        "": "n/a - k.a. none keine keiner aucun brak ninguno nessuno geen unbekannt unknown",
    }.items()
    for word in words.split()
}
# words for a total or a mean in many languages, folded and without the signs around them
_TOTALS: Final = frozenset(
    "total|totals|grand total|subtotal|subtotals|sub total|sub-total|sum|total sum|average|"
    "total animals|total pets|number of animals|gesamt|insgesamt|summe|gesamtsumme|zwischensumme|"
    "endsumme|ergebnis|gesamtergebnis|gesamt ergebnis|teilergebnis|total result|gesamtanzahl|"
    "gesamtzahl|gesamttotal|anzahl|anzahl tiere|tiere gesamt|durchschnitt|mittelwert|"
    "total général|sous-total|sous total|totaux|somme|moyenne|nombre total|total animaux|suma|"
    "suma total|total general|subtotales|promedio|número total|total animales|totale|"
    "totale generale|totale complessivo|totali|somma|subtotale|totale animali|razem|suma końcowa|"
    "suma całkowita|suma częściowa|łącznie|ogółem|podsuma|średnia|w sumie|totaal|eindtotaal|"
    "subtotaal|som|gemiddelde|totaal dieren|total geral|celkem|součet|mezisoučet|spolu|súčet|"
    "ukupno|skupaj|összesen|végösszeg|yhteensä|summa|totalt|i alt|samtals|kokku|kopā|iš viso|"
    "toplam|genel toplam|ara toplam|итого|всего|сумма|суммарно|разом|усього|всього|общо|σύνολο|"
    "\u03c3|∑|jumlah|合計|小計|総計|总计|合计|小计|總計|합계|총계".split("|")
)
_AROUND: Final = " \t\xa0:=.()-_*#/0123456789"  # signs and numbers beside a word for a total
# how a line begins that is about the table, not about an animal: a total, a page, a signature
A_NOTE: Final = re.compile(
    rf".*:|(?:{'|'.join(_TOTALS)}|page|seite|blatt|pages?|strona|p[aá]gina|pagina|stand|as of|date"
    r"|datum|data|fecha|erstellt|created|prepared|printed|gedruckt|signature|unterschrift|podpis"
    r"|firma|handtekening|geprüft|genehmigt|exportiert|approved|checked|exported|generated"
    r"|last updated|créé|généré|imprimé|établi|signé|creado|impreso|firmado|creato|stampato"
    r"|utworzono|wygenerowano|wydrukowano|sporządził|gemaakt|afgedrukt|opgesteld)\b.*",
    re.IGNORECASE | re.DOTALL,
)
# what stands in a text file for an error, in the languages of spreadsheet programs
ERRORS: Final = frozenset(
    """#n/a #nv #n/d #n/d! #n/b #ref! #bezug! #rif! #¡ref! #adr! #verw! #name? #nom? #¿nombre?
    #nome? #nazwa? #naam? #value! #wert! #valeur! #¡valor! #valore! #arg! #waarde! #div/0! #¡div/0!
    #dzielenie/0! #deel/0! #num! #zahl! #nombre! #¡num! #liczba! #getal! #null! #nul! #¡nulo!
    #nullo! #zero! #leeg! #error! #spill! #calc! #field! #blocked! #unknown! #überlauf!""".split()
)
_EXACT: Final = {name.casefold(): name for name in FIELDS}
_SHOWN: Final = 20  # titles
_SPECIAL: Final = {*'"\\$`!'}  # signs that a shell or Python reads as something else


@dataclass(frozen=True)
class Titles:
    """
    The fields that a header names.

    Attributes:
        header: Cells as typed; the letters of the columns where there is no header.
        columns: Position from 0, by field, in the order of the document.
        proposals: Field that may be meant, by title, or by letter where the title is not clear.
        missing: Fields that need an answer: required ones without a column or a default, and those
            that two columns could be.
        doubts: Which columns could be the same field, in words, by field.
        has_header: Whether the sheet has one.
    """

    header: tuple[str, ...]
    columns: Mapping[str, int]
    proposals: Mapping[str, str]
    missing: Sequence[str]
    doubts: Mapping[str, str] = field(default_factory=dict)
    has_header: bool = True

    @cached_property
    def places(self) -> tuple[int | None, ...]:
        """Position of each field, None where it has no column."""
        return tuple(map(self.columns.get, FIELDS))

    @cached_property
    def last_required(self) -> int:
        """Position of the last column that no row may lack."""
        return max(self.columns.get(name, -1) for name in spec.REQUIRED)

    def place(self, at: int) -> str:
        """Return a column as people find it: `A 'Name'`."""
        letter = column_letter(at)
        return f"{letter} {self.header[at]!r}" if self.has_header else letter

    def describe(self) -> str:
        """Say which column is which field: `name ← A 'Name', categoryId ← C 'Category ID'`."""
        return ", ".join(f"{name} ← {self.place(at)}" for name, at in self.columns.items())

    def shown(self) -> str:
        """Return the cells of the header, the first of very many."""
        cells = [repr(cell) if cell else getattr(cell, "kind", "''") for cell in self.header]
        return first_of(cells, _SHOWN)

    def refusal(self) -> str:
        """Say what is missing."""
        missing = [name for name in self.missing if name not in self.doubts]
        said = [f"no column for {' and '.join(missing)}"] if missing else []
        return f"{'; '.join([*said, *self.doubts.values()])}; the header has {self.shown()}"


def is_total(cell: str) -> bool:
    """Say whether a cell is a word for a total, with a number or without: `Summe: 17`."""
    return cell.strip(_AROUND).casefold() in _TOTALS


def has_total(name: str) -> bool:
    """Say whether a name begins or ends with a word for a total: `Dogs Total: 12`."""
    words = name.replace("-", " ").split()
    parts = (words[:1], words[:2], words[-2:], words[-1:])
    return any(is_total(" ".join(part)) for part in parts)


def is_known(title: str) -> bool:
    """Say whether a title is one that may mean a field."""
    return any(_bare(title) in words.split() for words in _PROPOSED.values())


def _bare(title: str) -> str:
    """Return the letters of a title, without what stands in brackets: `2. Name (*)` is `name`."""
    return re.sub(r"\(.*?\)|\[.*?\]|[\W\d_]", "", normalize("NFKC", title)).casefold()


def read_titles(
    header: Sequence[str],
    given: Mapping[str, str] | None = None,
    *,
    defaults: Collection[str] = (),
) -> Titles:
    """
    Find the fields in a header.

    Args:
        header: Cells as typed.
        given: Field by title, or by column letter where no title is that.
        defaults: Fields that have a default: they need no column.

    Raises:
        SheetError: `given` names a column or a field that is not there.

    Spec: §2.1, required fields.
    """
    titles = [cell.strip() for cell in header]
    chosen = {
        _position(str(key).strip(), titles, name): name for key, name in (given or {}).items()
    }
    exact = [_EXACT.get(re.sub(r"[\s_-]", "", title).casefold()) for title in titles]
    named = {at: name for at, name in enumerate(exact) if name not in chosen.values()} | chosen
    free = {_bare(titles[at]): at for at in reversed(range(len(titles))) if not named.get(at)}
    columns: dict[str, int] = {}
    doubts: dict[str, str] = {}
    proposals: dict[str, str] = {}
    missing: list[str] = []
    for name in FIELDS:
        places = [at for at in named if named[at] == name]
        clearer, _, _ = _PROPOSED[name].partition("|")
        if places and name not in chosen.values():
            places += [free[word] for word in clearer.split() if word in free]
        word = next((word for word in _PROPOSED[name].split() if word in free), "")
        if len(places) == 1:
            columns[name] = places[0]
        elif places:
            both = " and ".join(f"{column_letter(at)} {titles[at]!r}" for at in places)
            doubts[name] = f"columns {both} could both be {name}"
        elif word:
            title = titles[free[word]]
            is_clear = titles.count(title) == 1 and title.isprintable() and not _SPECIAL & {*title}
            proposals[title if is_clear else column_letter(free[word])] = name
        is_required = name in spec.REQUIRED and name not in defaults
        if name not in columns and (places or is_required):
            missing.append(name)
    return Titles(tuple(header), columns, proposals, missing, doubts)


def _position(key: str, titles: Sequence[str], name: str) -> int:
    """Return the position of the column of a title or a letter."""
    if name not in FIELDS:
        raise SheetError(f"{name!r} is not a field; a column can be name, categoryId or status")
    places = [at for at, title in enumerate(titles) if title == key]
    if len(places) > 1:
        letters = " and ".join(map(column_letter, places))
        raise SheetError(
            f"columns {letters} both have the title {key!r}: give a letter, such as "
            f'columns={{"{column_letter(places[0])}": "{name}"}}'
        )
    places = places or [at for at in range(len(titles)) if column_letter(at) == key]
    if not places:
        listed = ", ".join(map(repr, titles[:_SHOWN]))
        raise SheetError(f"there is no column {key!r}; the header has {listed}")
    return places[0]
