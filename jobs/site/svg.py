"""A drawing as SVG: boxes, words and arrows on a card of its own, so that it reads on white and on dark pages."""

from html import escape

WIDTH = 420  # of every drawing: what a narrow page shows without making letters too small to read
INK, PALE, PAPER, LINE = "#1b2733", "#5b6875", "#ffffff", "#c5ccd3"
BLUE, ORANGE, GREEN, PURPLE = "#0b62a4", "#b34700", "#00704f", "#8f3f73"
TINTS = {BLUE: "#d8e9f7", ORANGE: "#fde4cd", GREEN: "#d3efe4", PURPLE: "#f1deea", PALE: "#e8ebee"}
DEFINITIONS = f"""<defs>
<marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
<path d="M0 0 8 4 0 8z" fill="{INK}"/></marker>
<pattern id="waits" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
<rect width="7" height="7" fill="{PAPER}"/><rect width="2.5" height="7" fill="{ORANGE}"/></pattern>
</defs>"""


def width_of(words, size):
    """Roughly, in a sans serif: a little too much is better than words that do not fit."""
    return sum(0.34 if letter in "ilj.,:;'|!()ft " else 0.6 for letter in words) * size


def wrapped(words, size, width):
    """The words in lines that are at most so wide."""
    lines = [""]
    for word in words.split():
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and width_of(longer, size) > width:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


class Drawing:
    """Elements in the order in which they are drawn. Coordinates are pixels at the drawing's own width."""

    def __init__(self, title, description):
        self.title, self.description = title, description
        self.elements = []
        self.text(WIDTH / 2, 26, title, size=15, bold=True, anchor="middle")

    def add(self, element):
        self.elements.append(element)

    def text(self, x, y, words, *, size=12, colour=INK, bold=False, anchor="start"):
        weight = ' font-weight="bold"' if bold else ""
        self.add(f'<text x="{x:g}" y="{y:g}" font-size="{size:g}" fill="{colour}" text-anchor="{anchor}"{weight}>'
                 f"{escape(words)}</text>")

    def paragraph(self, x, y, words, width, *, size=12, colour=INK, anchor="start"):
        """The y of the line after the last one."""
        for line in wrapped(words, size, width):
            self.text(x, y, line, size=size, colour=colour, anchor=anchor)
            y += size * 1.3
        return y

    def box(self, x, y, width, height, *, fill=PAPER, edge=INK, thick=1, round_by=3):
        self.add(f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{round_by}" fill="{fill}" '
                 f'stroke="{edge}" stroke-width="{thick:g}"/>')

    def named_box(self, x, y, width, height, words, *, colour=None, full=False, strong=False, size=12):
        """`full`: in the strong colour, with white words. `strong`: with a thick edge."""
        fill = colour if full else TINTS.get(colour, PAPER)
        edge = INK if strong or not colour else colour
        self.box(x, y, width, height, fill=fill, edge=edge, thick=2.2 if strong else 0.9)
        lines = wrapped(words, size, width - 4)
        top = y + height / 2 + size * (0.36 - 0.6 * (len(lines) - 1))
        for number, line in enumerate(lines):
            self.text(x + width / 2, top + number * size * 1.2, line, size=size, bold=full, anchor="middle",
                      colour=PAPER if full else INK)

    def arrow(self, *points, dashed=False, tip=True, colour=INK):
        path = " ".join(f"{x:g},{y:g}" for x, y in points)
        style = ' stroke-dasharray="3 2"' if dashed else ""
        end = ' marker-end="url(#tip)"' if tip else ""
        self.add(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.3"{style}{end}/>')

    def text_of(self, height):
        """The file."""
        size = f'width="{WIDTH}" height="{height:g}" viewBox="0 0 {WIDTH} {height:g}"'
        head = (f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-labelledby="title desc" '
                'font-family="DejaVu Sans, Verdana, sans-serif">')
        words = f'<title id="title">{escape(self.title)}</title>\n<desc id="desc">{escape(self.description)}</desc>'
        card = (f'<rect x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1:g}" rx="8" fill="{PAPER}" '
                f'stroke="{LINE}"/>')
        return "\n".join([head, words, DEFINITIONS, card, *self.elements, "</svg>", ""])
