"""Text that somebody wrote, in Markdown of which only this is meant: paragraphs, lists, code, emphasis, quotes, and
blanks (`___`). All else is text as it stands, so neither HTML nor links come of it."""

import re
from collections import namedtuple

Passage = namedtuple("Passage", "kind content")
"""`kind`: "paragraph" or "question", which is a quote, with [Span]; "items" with [[Span]]; "code" with its text."""

Span = namedtuple("Span", "kind words")
"""`kind`: "text", "strong", "emphasis", "code" or "blank"."""

BLANK = "___"
_SPANS = re.compile(r"`(?P<code>[^`]+)`|\*\*(?P<strong>[^\s*](?:[^*]*[^\s*])?)\*\*|"
                    r"\*(?P<emphasis>[^\s*](?:[^*]*[^\s*])?)\*|(?P<blank>_{3,})")  # fmt: skip
_FENCE = "```"
_ITEM = re.compile(r" {0,3}(?:[-*+]|\d{1,3}[.)]) +")
_QUOTE = re.compile(r" {0,3}> ?")
_MARKDOWN = re.compile(r"([\\`*_<>&\[\]#|~])")
_MARK_OF_ITEM = re.compile(r"^(\d{1,9})([.)])|^([-+=])")


def spans(words):
    """[Span] of words in one line."""
    found, at = [], 0
    for match in _SPANS.finditer(words):
        if match.start() > at:
            found.append(Span("text", words[at:match.start()]))
        found.append(Span(match.lastgroup, BLANK if match["blank"] else match[match.lastgroup]))
        at = match.end()
    return found + [Span("text", words[at:])] * (at < len(words))


def _printed(line):
    return "".join(c if c.isprintable() else " " * (c == "\t") for c in line).rstrip()


def _kind_of(line, open_kind):
    """What a line is part of; a line of text goes on with what is open."""
    if not line.strip():
        return ""
    if _QUOTE.match(line):
        return "question"
    if _ITEM.match(line):
        return "items"
    return "items" if open_kind == "items" else "paragraph"


def _pieces(lines):
    """(kind, its lines): lines of one kind that follow each other."""
    kind, piece, fenced = "", [], False
    for line in map(_printed, lines):
        if line.strip().startswith(_FENCE):
            yield kind, piece
            kind, piece, fenced = "" if fenced else "code", [], not fenced
            continue
        now = "code" if fenced else _kind_of(line, kind)
        if now != kind:
            yield kind, piece
            kind, piece = now, []
        piece.append(line)
    yield kind, piece


def _items(lines):
    """Each item in one line; other lines go on with the one before."""
    items = []
    for line in lines:
        mark = _ITEM.match(line)
        if mark:
            items.append([line[mark.end():]])
        else:
            items[-1].append(line.strip())
    return list(map(" ".join, items))


def passages(lines):
    """[Passage] of lines of text."""
    found = []
    for kind, piece in _pieces(lines):
        if kind == "code":
            found.append(Passage(kind, "\n".join(piece)))
        elif kind == "items":
            found.append(Passage(kind, [spans(item) for item in _items(piece)]))
        elif kind:
            words = (line[_QUOTE.match(line).end() if kind == "question" else 0:].strip() for line in piece)
            found.append(Passage(kind, spans(" ".join(filter(None, words)))))
    return [one for one in found if one.content]


def blanks_in(found):
    """How many blanks passages leave open; what a question has is not to be filled in."""
    lines = [one.content for one in found if one.kind == "paragraph"]
    lines += [item for one in found if one.kind == "items" for item in one.content]
    return sum(span.kind == "blank" for line in lines for span in line)


def escaped(words):
    """As text of a Markdown file, in which it can be nothing else."""
    words = _MARKDOWN.sub(r"\\\1", words)
    return _MARK_OF_ITEM.sub(lambda mark: f"{mark[1]}\\{mark[2]}" if mark[1] else f"\\{mark[3]}", words)


def _marked(span):
    if span.kind == "code":
        return f"`{span.words}`"
    around = {"strong": "**", "emphasis": "*"}.get(span.kind, "")
    return around + escaped(span.words) + around


def _line(found):
    return "".join(map(_marked, found)).strip()


def _of_passage(one):
    if one.kind == "code":
        return f"{_FENCE}\n{one.content}\n{_FENCE}"
    if one.kind == "items":
        return "\n".join(f"- {_line(item)}" for item in one.content)
    return "> " * (one.kind == "question") + _line(one.content)


def prose_markdown(found):
    """Of passages."""
    return "\n\n".join(map(_of_passage, found))
