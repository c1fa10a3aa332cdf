"""report.html, slides.html and hand-in.html: each one file that needs nothing else, neither a network nor scripts."""

import pkgutil
import re

from ..base.prose import spans
from ..charts.report import text
from .head import facts
from .sections import anchored, contents_of, sections_of
from .sheets import sheets_of

# Findings and notes are Markdown, of which only the asterisks for emphasis are used.
_EMPHASIS = re.compile(r"\*([^\s*](?:[^*]*[^\s*])?)\*")


def _template_text(name):
    """Also from within an archive."""
    return pkgutil.get_data(__package__, f"templates/{name}").decode("utf-8")


def _emphasised(words):
    from markupsafe import Markup, escape

    return Markup(_EMPHASIS.sub(r"<em>\1</em>", str(escape(text(words)))))


def _environment():
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(loader=FunctionLoader(_template_text), autoescape=True, undefined=StrictUndefined,
                              trim_blocks=True, lstrip_blocks=True)  # fmt: skip
    environment.filters["emphasised"] = _emphasised
    environment.filters["spans"] = spans
    return environment


def _render(name, title, **content):
    return _environment().get_template(name).render(title=text(title) or "Scaling report", **content)


def _sheets(title, sheets, **content):
    """A page of sheets, which begins with a list of them."""
    contents = [(sheet.title, f"s{i}", ()) for i, sheet in enumerate(sheets, 1)]
    return _render("sheets.html", title, sheets=sheets, contents=contents, **content)


def page(report, drawn, with_slides=False):
    """The whole of report.html; `drawn` holds (chart, bytes of its PNG). Beside it is slides.html `with_slides`."""
    sections = anchored(sections_of(report, drawn))
    return _render("report.html", report.get("title"), facts=facts(report), sections=sections,
                   contents=contents_of(sections), slides=with_slides)  # fmt: skip


def slides(report, drawn):
    """The whole of slides.html."""
    return _sheets(report.get("title"), sheets_of(report, drawn), facts=facts(report), form="slides", head=())


def hand_in(document):
    """The whole of hand-in.html, of a Document."""
    head = [(name, spans(words)) for name, words in document.head]
    return _sheets(document.title, document.sheets, facts=document.facts, form=document.form, head=head)
