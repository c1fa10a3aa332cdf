"""JSON from a file of any origin: read within limits, and refused with its file, place and remedy."""

import json
import math
import os
import re

from ..start import Unusable, path_of
from .definitions import LIMITS
from .file_kind import HEAD_BYTES, other_kind
from .files import open_regular, read_at_most
from .text import printable

MOST_BYTES = LIMITS["json_bytes"]  # of a run.json, and of other files that the program writes about runs
MOST_VALUES, MOST_DEPTH = LIMITS["json_values"], LIMITS["json_depth"]  # keys count as values
_MOST_EXACT = 2**53  # whole numbers beyond lose digits in a double
_LONGEST_TEXT = 10_000  # bytes
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_AS_PARENTHESES = bytes.maketrans(b"[]{}", b"()()")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)


class InputFile:
    """A file that a user gives to the program, and how messages refuse it: "NAME: WHY; REMEDY"."""

    def __init__(self, path, remedy, name=None):
        self.path, self.remedy, self.name = path_of(path), remedy, str(name or path)

    def refuse(self, why):
        """Raises Unusable."""
        raise Unusable(f"{self.name}: {why}; {self.remedy}")

    def open(self, most_bytes=MOST_BYTES):
        """A regular file of at most that size, for reading the bytes of a text: a pipe or a device might never end.
        Raises Unusable, also for what is known to be something else, such as an archive."""
        try:
            file = open_regular(self.path)
        except OSError as error:
            self.refuse(_why_unopened(self.path, error))
        size = os.fstat(file.fileno()).st_size
        if size > most_bytes:
            file.close()
            self.refuse(f"it has {size} bytes, more than the {most_bytes} that are read")
        kind = other_kind(file.read(HEAD_BYTES), self.name)
        if kind:
            file.close()
            raise Unusable(f"{self.name}: it is {kind.name}; {kind.remedy or self.remedy}")
        file.seek(0)
        return file

    def read(self, most_bytes=MOST_BYTES):
        """All bytes of a regular file. Raises Unusable."""
        with self.open(most_bytes) as file:
            size = os.fstat(file.fileno()).st_size
            content = read_at_most(file, most_bytes + 1)
        if len(content) > most_bytes:
            self.refuse("it grows while it is read")
        if size == 0 and content:
            self.refuse("it is no file on a disk: the kernel makes it while it is read")
        return content


def _why_unopened(path, error):
    if os.path.islink(path) and not os.path.exists(path):
        return f"it cannot be opened: it is a link to {printable(os.readlink(path))}, and nothing is there"
    if isinstance(error, FileNotFoundError):
        return "it cannot be opened: it is not there"
    if os.path.isdir(path):
        return "it is a directory"
    return error.strerror if error.strerror == "it is no regular file" else f"it cannot be opened: {error.strerror}"


def decoded(content):
    """The text of bytes in UTF-8, UTF-16 or UTF-32, without a byte-order mark. Raises UnicodeDecodeError."""
    return content.decode(json.detect_encoding(content)).lstrip("\ufeff")


def _deeper(text):
    """Whether brackets lie deeper in each other than MOST_DEPTH: each round takes the innermost ones away."""
    brackets = text.encode("utf-8", "replace").translate(_AS_PARENTHESES, _NO_BRACKETS)
    for _ in range(MOST_DEPTH):
        if not brackets:
            return False
        brackets = brackets.replace(b"()", b"")
    return bool(brackets)


def _values_in(text):
    """An upper bound: entries of lists and objects follow a comma or a bracket, and keys come before a colon."""
    return 1 + sum(text.count(mark) for mark in ",:[{")


def _has_too_many_values(text):
    """Texts in quotes may have any mark, so they count only if the quick look is not enough."""
    return _values_in(text) > MOST_VALUES and _values_in(_STRING.sub('""', text)) > MOST_VALUES


def _no_constant(name):
    raise ValueError(name)


def _parsed(text):
    """(value, why there is none)."""
    if _has_too_many_values(text):
        return None, f"its JSON has more than {MOST_VALUES} values"
    too_deep = f"its JSON has more than {MOST_DEPTH} levels"
    try:
        value = json.loads(text, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        return None, f"no JSON from byte {len(text[:error.pos].encode('utf-8', 'replace')) + 1} on"
    except RecursionError:
        return None, too_deep
    except ValueError as error:
        return None, f"it has a number that is none ({printable(error)})"
    deep = _deeper(text) and _deeper(_STRING.sub('""', text))
    return value, too_deep if deep else None


def read_json(file, most_bytes=MOST_BYTES):
    """A JsonView of the file's only value. Raises Unusable if it is no regular file, too large, or no JSON."""
    content = file.read(most_bytes)
    try:
        text = decoded(content)
    except UnicodeDecodeError as error:
        file.refuse(f"no JSON from byte {error.start + 1} on")
    value, fault = _parsed(text)
    if fault:
        file.refuse(fault)
    return JsonView(value, file)


class JsonView:
    """A value in a JSON file, which knows its place there, so that an error can name it. Everything raises Unusable if
    the value is not as asked. Methods with a `name` ask the member of that name, without it the value itself."""

    __slots__ = ("value", "file", "_above", "_name")

    def __init__(self, value, file, above=None, name=None):
        self.value, self.file, self._above, self._name = value, file, above, name

    def place(self):
        """"epochs[1].seconds"."""
        if self._above is None:
            return ""
        above = self._above.place()
        if isinstance(self._name, int):
            return f"{above}[{self._name}]"
        return f"{above}.{printable(self._name)}" if above else printable(self._name)

    def refuse(self, why):
        self.file.refuse(f"{self.place() or 'it'} {why}")

    def _member(self, name):
        """None where there is none, or it is null."""
        return self.value.get(name) if type(self.value) is dict else None

    def has(self, name):
        """There, and not null."""
        return self._member(name) is not None

    def at(self, name):
        if type(self.value) is not dict:
            self.refuse("is not an object")
        if name not in self.value:
            JsonView(None, self.file, self, name).refuse("is missing")
        return JsonView(self.value[name], self.file, self, name)

    def part(self, name):
        """The same, or a view of nothing where it is missing."""
        return self.at(name) if self.has(name) else JsonView(None, self.file, self._above, self._name)

    def elements(self, name=None):
        """Views of a list's elements."""
        view = self if name is None else self.at(name)
        if type(view.value) is not list:
            view.refuse("is not a list")
        return [JsonView(value, view.file, view, index) for index, value in enumerate(view.value)]

    def members(self, name=None):
        """[(key, view)] of an object, in order."""
        view = self if name is None else self.at(name)
        if type(view.value) is not dict:
            view.refuse("is not an object")
        return [(key, JsonView(value, view.file, view, key)) for key, value in view.value.items()]

    def items(self, name):
        """Elements of the list `name`; none where it is missing or null."""
        return self.elements(name) if self.has(name) else []

    def fields(self, name):
        """Members of the object `name`, in order; none where it is missing or null."""
        return self.members(name) if self.has(name) else []

    def number(self, name=None):
        value = self.value if name is None else self._member(name)
        if type(value) is float and math.isfinite(value):
            return value
        view = self if name is None else self.at(name)
        if type(value) not in (int, float):
            view.refuse("is not a number")
        if not -1.7e308 < value < 1.7e308:
            view.refuse("is out of range")
        return float(value)

    def number_if_any(self, name):
        """NaN where it is missing or null."""
        value = self._member(name)
        if value is None:
            return math.nan
        return value if type(value) is float and math.isfinite(value) else self.number(name)

    def whole(self, least, most, name=None):
        """A whole number, written as one, within these bounds."""
        value = self.value if name is None else self._member(name)
        if type(value) is int and least <= value <= min(most, _MOST_EXACT):
            return value
        view = self if name is None else self.at(name)
        return view.refuse(f"is not a whole number from {least}")

    def count(self, name=None, least=0):
        return self.whole(least, _MOST_EXACT, name)

    def positive(self, name=None):
        return self.count(name, 1)

    def text(self, name=None):
        """For people: at most 10,000 bytes, without control characters but line ends and tabs."""
        view = self if name is None else self.at(name)
        text = view.raw_text()
        if _CONTROL.search(text):
            view.refuse("has control characters")
        if len(text.encode("utf-8", "replace")) > _LONGEST_TEXT:
            view.refuse(f"is longer than {_LONGEST_TEXT} bytes")
        return text

    def raw_text(self, name=None):
        """Whatever it holds."""
        view = self if name is None else self.at(name)
        if type(view.value) is not str:
            view.refuse("is not a text")
        return view.value

    def text_if_any(self, name):
        """Empty where it is missing or null."""
        return self.text(name) if self.has(name) else ""

    def flag(self, name=None):
        view = self if name is None else self.at(name)
        if type(view.value) is not bool:
            view.refuse("is neither true nor false")
        return view.value

    def require_kind(self, schema, what):
        """Refuses another kind than that of the field `schema`: "it is no WHAT"."""
        if self._member("schema") != schema:
            self.refuse(f"is no {what}")

    def require_version(self, field, version, oldest=None):
        """Refuses another number in this field, or one before `oldest`, with the remedy for a file that another version
        wrote."""
        found = self.count(field)
        if not (version if oldest is None else oldest) <= found <= version:
            other = InputFile(self.file.path, "read it with the rueda that wrote it", self.file.name)
            read = version if oldest is None else f"{oldest} to {version}"
            other.refuse(f"its {field} is {found}, and this rueda reads {read}")

    def require_schema(self, schema, version, what, oldest=None):
        """The kind, and the version in `schema_version`."""
        self.require_kind(schema, what)
        self.require_version("schema_version", version, oldest)
