"""What our texts say of the interface document: cited sections, decided silences."""

import inspect
import re
from pathlib import Path

import pytest

from petstore_tools import spec

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "petstore_tools"
MODULES = sorted(PACKAGE.rglob("*.py"))
DOCUMENT = ROOT.parent / "shared" / "INTERFACE.md"
SILENCES = Path(__file__).with_name("silences.txt").read_text("utf-8").splitlines()[1:]


def test_each_cited_section_is_in_the_documents_list():
    """`spec` opens with the sections; nothing cites one that is not there."""
    sections = set(re.findall(r"^- (\d(?:\.\d)?) ", inspect.getdoc(spec) or "", re.M))

    assert len(sections) == 23
    for path in MODULES:
        text = path.read_text("utf-8")
        assert sections.issuperset(re.findall(r"§(\d(?:\.\d)?)", text)), path


@pytest.mark.parametrize("line", SILENCES)
def test_each_silence_of_the_document_has_a_row_of_choices(line):
    """
    What is not shown or not stated is decided, in the table of the service's README.
    """
    row = line.rpartition(" | ")[2].strip()
    readme = (PACKAGE / "service" / "README.md").read_text("utf-8")
    table = readme.partition("## Where the document is silent")[2].partition("\n## ")[0]

    assert any(row in line.split(" | ")[0] for line in table.splitlines())


@pytest.mark.document
def test_needing_the_document_each_of_its_silences_is_listed_in_its_words():
    """Its lines that say so are paired, with words that stand there."""
    document = DOCUMENT.read_text("utf-8")
    words = [line.rpartition(" | ")[0].strip() for line in SILENCES]
    pattern = r"not shown|not stated|no default is"
    silences = [line for line in document.splitlines() if re.search(pattern, line)]

    assert [phrase for phrase in words if phrase not in document] == []
    for line in silences:
        assert any(phrase in line for phrase in words), line
