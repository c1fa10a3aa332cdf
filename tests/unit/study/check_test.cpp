#include "study/check/check.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>

#include <catch2/catch.hpp>

#include "base/error.hpp"
#include "tests/support/common.hpp"

using namespace rueda;
using Catch::Contains;
using test::ScratchDirectory;

namespace {

/// What the runs give: a table of times and one of times with other columns.
Tables tables() {
  Table times{.id = "book_task_10_5_s1",
              .title = "Task 10.5: net",
              .columns = {{"ranks", "GPUs", Show::count},
                          {"epoch_s", "Time (s)", Show::seconds},
                          {"images_per_second", "Throughput (images/s)", Show::rate},
                          {"efficiency", "Efficiency (%)", Show::percent},
                          {"remark", "Remark", Show::text}}};
  times.add({1.0, 13.6, 3676.47, 1.0, "single run"});
  times.add({2.0, 8.099, 6173.6, 0.8396, ""});
  times.add({4.0, 5.376, 9300.6, Cell(), ""});
  Table steps{.id = "steps",
              .title = "Steps",
              .columns = {{"series", "series", Show::text},
                          {"ranks", "P", Show::count},
                          {"full_step_seconds", "full step, ms", Show::millis}}};
  steps.add({"resnet20, 64 per rank", 1.0, 0.5439});
  steps.add({"resnet18, 64 per rank", 1.0, 1.5});
  return {times, steps};
}

class CheckCase {
 public:
  CsvTable read(const std::string& text) {
    std::ofstream(file(), std::ios::binary) << text;
    return read_csv(file());
  }
  TableCheck check(const std::string& text, const std::string& name = "mine") {
    return check_table(name, read(text), tables());
  }
  std::filesystem::path file() const { return folder_.path() / "table.csv"; }

 protected:
  ScratchDirectory folder_;
};

std::vector<double> readings(const std::string& cell) {
  std::vector<double> values;
  for (const WrittenNumber& number : written_numbers(cell)) values.push_back(number.value);
  return values;
}

bool reads(const std::string& cell, double value) {
  const auto values = readings(cell);
  return std::ranges::find(values, value) != values.end();
}

}  // namespace

TEST_CASE("numbers as people write them", "[check]") {
  CHECK(reads("3,571", 3571));
  CHECK(reads("3,571", 3.571));  // a comma may be the decimal one
  CHECK(reads("3.571,25", 3571.25));
  CHECK(reads("84,0 %", 84));
  CHECK(reads(" 544 ms", 544));
  CHECK(reads("-1.5e-3", -1.5e-3));
  CHECK(reads("1,234,567.5", 1234567.5));
  CHECK(written_numbers("84.0").front().half_unit == Approx(0.05));
  CHECK(written_numbers("84").front().half_unit == Approx(0.5));
  CHECK(written_numbers("1.50e3").front().half_unit == Approx(5));
  for (const char* none : {"", "-", "ms", "25/25", "2026-01-02", "1.2.3", "--1", "nan", "inf"})
    CHECK(readings(none).empty());
  CHECK(readings("1" + std::string(400, '0')).empty());
}

TEST_CASE_METHOD(CheckCase, "tables as spreadsheets write them", "[check]") {
  for (const char* text : {"a,b\r\n1,\"x, \"\"y\"\"\"\r\n", "a;b\n1;\"x, \"\"y\"\"\"\n",
                           "\xEF\xBB\xBF"
                           "a\tb\n\n1\tx, \"y\"\n\t\n"}) {
    const CsvTable table = read(text);
    CHECK(table.headings == std::vector<std::string>{"a", "b"});
    REQUIRE(table.rows.size() >= 1);
    CHECK(table.rows[0].cells == std::vector<std::string>{"1", "x, \"y\""});
  }
  CHECK(read("a,b\n1,\"2\n3\"\n4,5\n").rows[1].line == 4);
}

TEST_CASE_METHOD(CheckCase, "tables that are none are refused", "[check]") {
  for (const auto& [text, fault] : std::vector<std::pair<std::string, std::string>>{
           {"", "it is empty"},
           {"\n,\n", "it is empty"},
           {"a,b\n", "no row"},
           {"a,b\n1,2,3\n", "line 2 has 3 cells, but there are 2 headings"},
           {"a,b\n1,\"2\n3", "line 2: a quote is not closed"},
           {"a,b\n1,\"2\"3\n", "line 2: text follows a closing quote"},
           {std::string("a,b\n1,\0002\n", 9), "table.csv: "}}) {
    INFO(fault);
    CHECK_THROWS_WITH(read(text), Contains(fault) && Contains("table.csv"));
  }
  CHECK_THROWS_WITH(read_csv(folder_.path() / "none.csv"), Contains("none.csv"));
  CHECK_THROWS_AS(read_csv(folder_.path()), InputError);
}

TEST_CASE_METHOD(CheckCase, "a rounded and renamed copy agrees", "[check]") {
  const TableCheck check = this->check(
      "GPUs;Time (s);Throughput (images/s);Efficiency (%);My remark\n"
      "4;5,38;9.301;-;good\n1;13,6;3.676;100;\n2;8,1;6.174;84,0;\n");
  CHECK(check.agrees());
  CHECK(check.title == "Task 10.5: net");
  CHECK(check.figures == 8);
  CHECK(this->check("ranks,epoch_s,efficiency\n1,13.6,1.0\n2,8.099,0.8396\n4,5.376,\n").agrees());
  // Both sides of the last digit: 8.099 is 8.1 and not 8.0, 83.96 % is 84 and not 83.
  CHECK(this->check("P,Time\n1,14\n2,8.1\n4,5\n").agrees());
  CHECK_FALSE(this->check("P,Time\n1,14\n2,8.0\n4,5\n").agrees());
  CHECK_FALSE(this->check("P,Efficiency\n1,100\n2,83\n4,\n").agrees());
  CHECK(this->check("P,Efficiency\n1,100\n2,84\n4,\n").agrees());
  // A share of one decimal says too little.
  CHECK_FALSE(this->check("P,Efficiency\n1,1.00\n2,0.8\n4,\n").agrees());
}

TEST_CASE_METHOD(CheckCase, "what was changed is named with its line", "[check]") {
  TableCheck check =
      this->check("GPUs,Time (s),Efficiency (%)\n1,13.6,100\n2,7.1,84\n4,5.376,63\n");
  CHECK_FALSE(check.agrees());
  CHECK(check.differing == 2);
  CHECK(check.remarks == Texts{"line 3, Time (s): 7.1; the runs give 8.099",
                               "line 4, Efficiency (%): 63; the runs give no figure"});
  check = this->check("P,Time\n1,13.6\n2,\n8,2.7\n");
  CHECK(check.differing == 1);
  CHECK(check.rows_without_run == 1);
  CHECK(check.rows_left_out == 1);
  CHECK(check.remarks == Texts{"line 3, Time: nothing; the runs give 8.099",
                               "line 4: no run gives this row", "left out: GPUs 4"});
}

TEST_CASE_METHOD(CheckCase, "rows are told by what stands before the figures", "[check]") {
  const std::string text = "series,P,full step\nResNet18,1,1500\nresnet20,1,543.9\n";
  CHECK(check(text).agrees());
  CHECK(check(text).title == "Steps");
  CHECK_FALSE(check("series,P,full step\nresnet20,1,1500\nresnet18,1,543.9\n").agrees());
  CHECK(check("series,P,full step\nresnet50v2,1,1500\n").rows_without_run == 1);
}

TEST_CASE_METHOD(CheckCase, "a table that the runs do not give is not compared", "[check]") {
  const std::string text = "P,Time\n1,13.6\n2,8.1\n4,5.4\n";
  CHECK(check(text, "book_task_10_5_s1").agrees());
  const TableCheck missing = check(text, "book_task_10_6_s2");
  CHECK(missing.title.empty());
  CHECK_THAT(missing.remarks.at(0), Contains("runs are missing"));
  CHECK_THAT(check("name,colour\na,red\n").remarks.at(0), Contains("no table of the runs"));
  CHECK_THAT(check("name,colour\na,red\n", "steps").remarks.at(0), Contains("too few columns"));
}

TEST_CASE_METHOD(CheckCase, "a table with the row is meant, not one that lacks it", "[check]") {
  Tables all = tables();
  Table other = all[0];
  other.title = "Task 10.6: net";
  std::erase_if(other.rows, [](const auto& row) { return row[0].number() == 2; });
  all.insert(all.begin(), other);  // agrees with all that it has
  const CsvTable written = read("P,Time,Efficiency\n1,13.6,100\n2,7.1,99\n8,1,50\n");
  const TableCheck check = check_table("mine", written, all);
  CHECK(check.title == "Task 10.5: net");
  CHECK(check.differing == 2);
}

TEST_CASE_METHOD(CheckCase, "a folder is compared file by file", "[check]") {
  const auto write = [this](const std::string& name, const std::string& text) {
    std::filesystem::create_directories((folder_.path() / name).parent_path());
    std::ofstream(folder_.path() / name) << text;
  };
  std::ostringstream out;
  CHECK_THROWS_AS(check_tables(folder_.path(), tables(), out), InputError);
  CHECK_THROWS_AS(check_tables(folder_.path() / "none", tables(), out), InputError);
  write("a/times.CSV", "P,Time\n1,13.6\n2,8.1\n4,5.4\n");
  write("notes.txt", "P,Time\n1,1\n");
  check_tables(folder_.path(), tables(), out);
  CHECK_THAT(out.str(), Contains("a/times.CSV: Task 10.5: net: 3 figures compared") &&
                            Contains("All agree: 3 figures in 1 table"));
  write("b.csv", "P,Time\n1,13.6\n2,\x1b[31m9\n4,5.4\n");
  std::ostringstream again;
  CHECK_THROWS_WITH(check_tables(folder_.path(), tables(), again),
                    Contains("6 figures in 2 tables") && Contains("1 figure differs"));
  CHECK(again.str().find('\x1b') == std::string::npos);
  CHECK_THROWS_AS(check_tables(folder_.path(), tables(), again), RunError);
  std::filesystem::create_symlink("/dev/zero", folder_.path() / "endless.csv");
  CHECK_THROWS_AS(check_tables(folder_.path(), tables(), again), RunError);  // not followed
  write("c.csv", "P,Time\n1\n");
  CHECK_THROWS_WITH(check_tables(folder_.path(), tables(), again), Contains("c.csv: line 2 has 1"));
}
