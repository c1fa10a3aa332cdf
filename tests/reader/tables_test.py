"""Tables in their forms: Markdown, CSV, JSON, a terminal."""

import math
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "jobs"))
from reader.base.estimate import Estimate, exactly  # noqa: E402
from reader.base.terminal import columns_of, paragraph  # noqa: E402
from reader.tables.table import Field, Table, shown, to_csv, to_markdown, to_text  # noqa: E402


def sample():
    columns = [("name", "name", "text"), ("epoch_seconds", "epoch, s", "seconds"),
               ("efficiency", "efficiency, %", "percent")]
    table = Table("t", "A | title", columns, ["What it means."])
    table.add(["a|b", 13.6, 0.84])
    table.add(['with "quotes", and comma', None, math.nan])
    return table


class Forms(unittest.TestCase):
    def test_markdown(self):
        wanted = ("### A \\| title\n\n| name | epoch, s | efficiency, % |\n|---|---:|---:|\n| a\\|b | 13.600 | 84.0 |\n"
                  '| with "quotes", and comma | - | - |\n\n- What it means.\n')  # fmt: skip
        self.assertEqual(to_markdown(sample()), wanted)

    def test_csv_has_every_digit_and_quotes_as_rfc_4180_says(self):
        wanted = 'name,epoch_seconds,efficiency\r\na|b,13.6,0.84\r\n"with ""quotes"", and comma",,\r\n'
        self.assertEqual(to_csv(sample()), wanted)

    def test_terminal(self):
        wanted = ("A | title\n"
                  "  name                      epoch, s  efficiency, %\n"
                  "  a|b                         13.600           84.0\n"
                  '  with "quotes", and comma         -              -\n'
                  "  - What it means.\n")  # fmt: skip
        self.assertEqual(to_text(sample()), wanted)

    def test_foreign_text_is_no_markup_and_no_formula(self):
        table = sample()
        table.add(["=<b>[x](javascript:)", 1.0, 1.0])
        self.assertIn("| =\\<b>\\[x](javascript:) |", to_markdown(table))
        self.assertIn("\n'=<b>[x](javascript:),1,1", to_csv(table))
        table.add(["\x1b[31mred", 1.0, 1.0])
        self.assertNotIn("\x1b", to_text(table))

    def test_a_row_has_a_cell_for_each_column(self):
        self.assertRaises(ValueError, sample().add, ["one"])

    def test_the_first_row_of_fields_makes_the_columns(self):
        table = Table("t", "title")
        table.add_fields([Field("a", "A", "count", 1), Field("b", "B", "text", "x")])
        table.add_fields([Field("a", "A", "count", 2), Field("b", "B", "text", None)])
        self.assertEqual([column.key for column in table.columns], ["a", "b"])
        self.assertEqual(table.row_objects(), [{"a": 1, "b": "x"}, {"a": 2, "b": None}])


class Undetermined(unittest.TestCase):
    """What a finding disowns is no figure in a table."""

    def table(self, cell):
        table = Table("t", "title", [("s", "s, %", "percent")], ["A note."])
        table.add([cell])
        return table

    def test_people_read_that_it_is_not_determined_and_why(self):
        table = self.table(exactly(2.504).because("the law does not fit"))
        for text in (to_markdown(table), to_text(table)):
            self.assertIn("not determined", text)
            self.assertIn("*Not determined*: the law does not fit.", text)
            self.assertNotIn("250", text)

    def test_programs_read_nothing_and_where_the_reason_is(self):
        table = self.table(exactly(2.504).because("the law does not fit"))
        self.assertEqual(to_csv(table), "s\r\n\r\n")
        self.assertEqual(table.json()["rows"], [[None]])
        self.assertEqual(table.json()["not_determined"], [{"row": 0, "key": "s", "why": "the law does not fit"}])

    def test_what_is_determined_is_its_value(self):
        table = self.table(Estimate(0.25, 0.2, 0.3))
        self.assertIn("| 25.0 |", to_markdown(table))
        self.assertEqual(to_csv(table), "s\r\n0.25\r\n")
        self.assertEqual(table.json()["not_determined"], [])
        self.assertEqual(table.all_notes(), ["A note."])

    def test_what_is_unknown_is_a_dash_even_with_a_reason(self):
        self.assertEqual(shown(Estimate(why="x"), "percent"), "-")


class Numbers(unittest.TestCase):
    def test_numbers_are_shown_as_their_column_says(self):
        for number, show, text in (
            (1234567.0, "count", "1,234,567"), (0.0123, "seconds", "0.0123"), (2e-7, "seconds", "0.000"),
            (-2e-7, "seconds", "0.000"), (0.5439, "millis", "543.9"), (0.00543, "millis", "5.43"),
            (2e-7, "millis", "0.000"),
            (3571.4, "rate", "3,571"), (45.23, "rate", "45.2"), (1.678, "ratio", "1.68"), (44.7e6, "bytes", "44.7 MB"),
            (0.40123, "gigabytes", "0.401"), ("", "text", "-"),
        ):  # fmt: skip
            self.assertEqual(shown(number, show), text)


class Terminal(unittest.TestCase):
    def test_a_paragraph_breaks_at_blanks_and_keeps_its_width(self):
        self.assertEqual(paragraph("  - ", 4, "one two three", 12), "  - one two\n    three\n")
        self.assertEqual(paragraph("  - ", 4, "longerthantwelve x", 12), "  - longerthantwelve\n    x\n")

    def test_letters_of_two_columns_and_of_none_are_counted_as_such(self):
        self.assertEqual(columns_of("ab"), 2)
        self.assertEqual(columns_of("漢字"), 4)
        self.assertEqual(columns_of("e\u0301"), 1)

    def test_the_last_column_is_shortened_to_keep_a_row_within_the_page(self):
        table = Table("t", "title", [("a", "a", "text"), ("b", "b", "text")])
        table.add(["x" * 50, "y" * 50])
        line = to_text(table).splitlines()[2]
        self.assertEqual(len(line), 80)
        self.assertTrue(line.endswith("y..."))


if __name__ == "__main__":
    unittest.main()
