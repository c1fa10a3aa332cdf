#include "base/split.hpp"

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "../../support/common.hpp"
#include "base/error.hpp"
#include "base/json/json_fields.hpp"
#include "base/text.hpp"
#include "launch/machine.hpp"

using namespace rueda;
using Catch::Contains;
using test::repeated;

namespace {

TEST_CASE("even_split cuts into contiguous parts that differ by at most one", "[split]") {
  for (std::size_t parts = 1; parts <= 9; ++parts) {
    for (std::size_t total = 0; total <= 40; ++total) {
      std::size_t end = 0;
      for (std::size_t i = 0; i < parts; ++i) {
        const auto part = even_split(total, parts, i);
        CAPTURE(parts, total, i);
        CHECK(part.begin == end);
        CHECK(part.size() >= total / parts);
        CHECK(part.size() <= total / parts + 1);
        if (i > 0) CHECK(part.size() <= even_split(total, parts, i - 1).size());
        end = part.end;
      }
      CHECK(end == total);
    }
  }
}

TEST_CASE("even_split by hand, and where a product would overflow", "[split]") {
  constexpr std::size_t total = std::numeric_limits<std::size_t>::max();
  CHECK(even_split(total, 7, 0).begin == 0);
  CHECK(even_split(total, 7, 3).end == even_split(total, 7, 4).begin);
  CHECK(even_split(total, 7, 6).end == total);
  const Range parts[] = {{0, 3}, {3, 6}, {6, 8}, {8, 10}};
  for (std::size_t i = 0; i < 4; ++i) CHECK(even_split(10, 4, i) == parts[i]);
  CHECK(even_split(2, 3, 2).empty());
}

using Words = std::vector<std::string>;

/// Threads that a local rank gets, and what its remark mentions; no words: there is no remark.
void check(const NodeCores& node, std::size_t local, int requested, int threads,
           const Words& words = {}) {
  const ThreadChoice choice = choose_threads(node, local, requested);
  CHECK(choice.threads == threads);
  CHECK(choice.remark.empty() == words.empty());
  for (const std::string& word : words) CHECK_THAT(choice.remark, Catch::Contains(word));
}

TEST_CASE("Unbound ranks share the node's cores evenly", "[cores]") {
  const NodeCores node{{{0, 1, 2, 3}, {0, 1, 2, 3}}, 4};
  CHECK(core_share(node, 0) == Approx(2.0));
  check(node, 1, 0, 2);
  check({{{0, 1, 2}, {0, 1, 2}, {0, 1, 2}}, 3}, 2, 0, 1);  // despite rounding
}

TEST_CASE("A rank says where its threads and the launcher's cores do not fit", "[cores]") {
  const NodeCores bound{{{0}, {1}}, 8};
  check(bound, 0, 4, 4, {"bound to 1 core ", "4 threads", "--bind-to none", "--cpus-per-task 4"});
  check(bound, 0, 0, 1, {"leaves 6 cores", "--bind-to none"});
  check({{{0, 1}, {0, 1}, {0, 1}, {0, 1}}, 2}, 3, 0, 1, {"oversubscribed", "4 ranks"});
  const NodeCores alone{{{0, 1}}, 8, 0, false};  // no launcher whose options could be changed
  check(alone, 0, 0, 2);
  check(alone, 0, 3, 3, {"may use 2 cores but runs 3 threads: lower --threads"});
}

TEST_CASE("A quota of the control group counts like missing cores", "[cores]") {
  const NodeCores node{{{0, 1, 2, 3}, {0, 1, 2, 3}}, 4, 2.0, true};
  CHECK(core_share(node, 0) == Approx(1.0));
  check(node, 0, 0, 1);
  check(node, 0, 2, 2, {"oversubscribed"});
}

using Processors = std::vector<int>;

CoreList cores_of(const char* synthetic) {
  setenv("HWLOC_SYNTHETIC", synthetic, 1);
  CoreList cores = machine_cores();
  unsetenv("HWLOC_SYNTHETIC");
  return cores;
}

TEST_CASE("A rank's share is a run of whole cores of those that are allowed", "[cores]") {
  const CoreList cores = cores_of("package:2 numa:1 l3:2 core:4 pu:2");
  REQUIRE(cores.size() == 16);
  CHECK(cores[5] == Processors{10, 11});
  Processors all(32);
  std::iota(all.begin(), all.end(), 0);
  CHECK(rank_share(cores, all, ProcessorLists(4), 1) ==
        Processors{8, 9, 10, 11, 12, 13, 14, 15});  // one L3
  CHECK(rank_share(cores, all, ProcessorLists(1), 0) == all);
  CHECK(rank_share(cores, all, ProcessorLists(17), 0).empty());
  CHECK(rank_share(cores, {2, 3, 5, 30}, ProcessorLists(3), 0) == Processors{2, 3});
  CHECK(rank_share(cores, {2, 3, 5, 30}, ProcessorLists(3), 2) == Processors{30});
  // As Linux numbers them: the second hardware threads of all cores come last.
  const CoreList linux_cores = cores_of("core:4 pu:2(indexes=0,4,1,5,2,6,3,7)");
  CHECK(rank_share(linux_cores, {0, 1, 2, 3, 4, 5, 6, 7}, ProcessorLists(2), 1) ==
        Processors{2, 3, 6, 7});
}

TEST_CASE("Open MPI's own default is none that somebody asked for", "[cores]") {
  using namespace std::string_literals;
  for (const std::string& plain : {"PATH=/srv/bind/tools\0OMPI_MCA_orte_bound_at_launch=1\0"s,
                                   "OMPI_MCA_rmaps_base_mapping_policy=ppr:1:node\0"s,
                                   "mpirun\0--map-by\0slot:oversubscribe\0-n\0"
                                   "2\0"s}) {
    CAPTURE(plain);
    CHECK_FALSE(asks_for_binding(plain));
  }
  for (const std::string& asked :
       {"OMPI_MCA_hwloc_base_binding_policy=core\0"s, "OMPI_MCA_hwloc_base_cpu_set=0\0"s,
        "OMPI_MCA_rmaps_base_mapping_policy=slot:PE=4\0"s, "OMPI_MCA_orte_rankfile=hosts\0"s,
        "OMPI_MCA_rmaps_base_mapping_policy=numa\0"s, "prterun\0--bind-to\0core\0"s,
        "prterun\0--map-by\0ppr:2:package\0"s, "PRTE_MCA_hwloc_default_binding_policy=l3\0"s}) {
    CAPTURE(asked);
    CHECK(asks_for_binding(asked));
  }
}

TEST_CASE("A process has the name of its program, however it was started", "[cores]") {
  const auto name = [] { return test::content("/proc/thread-self/comm"); };
  const std::string before = name();
  take_program_name("build/rueda");
  CHECK(name() == "rueda\n");
  take_program_name("");
  CHECK(name() == "rueda\n");
  take_program_name(before.substr(0, before.size() - 1).c_str());
  CHECK(name() == before);
}

TEST_CASE("Ranks on the hardware threads of one core are warned", "[cores]") {
  const CoreList cores = cores_of("core:4 pu:2");
  check({{{0}, {1}}, 8, 0, true, cores}, 1, 0, 1,
        {"hardware threads of one core", "--bind-to core"});
  check({{{0, 1, 2, 3}, {4, 5, 6, 7}}, 8, 0, true, cores}, 1, 0, 4);
  check({{{0, 1}, {0, 1}}, 2, 0, true, cores}, 1, 0, 1);  // as the system places them
}

const InputFile kFile{"run.json", "run.json", "give another"};

/// {"k0":0,"k1":0,...}
std::string object_of(std::size_t keys) {
  std::string text = "{";
  for (std::size_t i = 0; i < keys; ++i)
    text += (i == 0 ? "\"k" : ",\"k") + std::to_string(i) + "\":0";
  return text + "}";
}

TEST_CASE("JSON within the limits is parsed in order", "[json]") {
  CHECK(parse_json(R"({"b":[1,-2,0.5,true,null],"a":"x"})", kFile).dump() ==
        R"({"b":[1,-2,0.5,true,null],"a":"x"})");
  CHECK(fault_of_json("7").empty());
}

TEST_CASE("what is no JSON is refused with its byte", "[json]") {
  CHECK_THROWS_WITH(parse_json("{\"a\":1,}", kFile),
                    "run.json: no JSON from byte 8 on; give another");
  CHECK_THROWS_AS(parse_json("", kFile), InputError);
  CHECK_THROWS_WITH(parse_json("[1]x"), Contains("no JSON from byte 4"));
  CHECK_THAT(fault_of_json("[\"\xff\"]"), Contains("no JSON"));
  CHECK_THAT(fault_of_json(std::string("[1]\0[", 5)), Contains("no JSON"));
  CHECK_THAT(fault_of_json("{\"a\":1e999}"), Contains("is out of range"));
}

TEST_CASE("a whole number is one that a double holds too", "[json]") {
  const auto number = [](const char* text) {
    return JsonView(parse_json(std::string("{\"n\":") + text + "}", kFile)).count("n");
  };
  CHECK(number("0") == 0);
  CHECK(number("9007199254740992") == std::size_t{1} << 53);
  for (const char* text : {"9007199254740993", "-1", "1.0", "1e3", "\"1\"", "null", "true"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(number(text), InputError);
  }
}

enum class Colour { red, green };
constexpr auto words_of(Colour) { return std::array{"red", "green"}; }

struct Leaf {
  int size = 0;
  Colour colour = Colour::red;
};
auto fields_of(const Leaf&) {
  return std::tuple{Field{"size", &Leaf::size}, Field{"colour", &Leaf::colour}};
}

struct Twig {
  std::vector<Leaf> leaves;
  std::optional<bool> dry;
  std::vector<std::pair<std::string, double>> lengths;
  double age = 0;
};
auto fields_of(const Twig&) {
  return std::tuple{Field{"leaves", &Twig::leaves}, Field{"dry", &Twig::dry},
                    Field{"lengths", &Twig::lengths}, Field{"age", &Twig::age, or_nan}};
}

TEST_CASE("one list of fields writes a record, reads it and names what is wrong", "[json]") {
  const std::string text =
      R"({"leaves":[{"size":-3,"colour":"green"}],"dry":null,"lengths":{"b":1.5,"a":2.0},"age":null})";
  const Twig twig = from_text<Twig>(text);
  CHECK(twig.leaves.at(0).size == -3);
  CHECK(text_of(json_of(twig)) == text);
  for (const auto& [from, to, why] :
       {std::tuple("\"size\"", "\"sizes\"", "leaves[0].size is missing"),
        {"-3", "0.5", "leaves[0].size is not a whole number from -2147483648"},
        {"-3", "3000000000", "leaves[0].size is not a whole number from -2147483648"},
        {"\"green\"", "\"blue\"", "leaves[0].colour is none of its words"},
        {"\"green\"", "1", "leaves[0].colour is not a text"},
        {"\"dry\":null", "\"dry\":0", "dry is neither true nor false"},
        {"1.5", "[]", "lengths.b is not a number"},
        {"\"age\":null", "\"age\":\"\"", "age is not a number"}}) {
    std::string wrong = text;
    wrong.replace(wrong.find(from), std::string(from).size(), to);
    CHECK_THROWS_WITH(from_text<Twig>(wrong), why);
  }
}

struct Tree {
  std::string name, species = "oak";
  double rings = 0;
  int height = 7;
  std::map<std::string, double> marks;
  Leaf leaf;
};
const std::tuple kTreeFields{
    Field{"name", &Tree::name, shown},
    Field{"species", &Tree::species, shown, if_any},
    Field{"rings", &Tree::rings, whole_or_nan},
    Field{"height", &Tree::height, if_any},
    Field{"bark", same_record, std::tuple{Field{"marks", &Tree::marks, if_any}}},
    Field{"leaf", &Tree::leaf, std::tuple{Field{"size", &Leaf::size}}, if_any}};

Tree tree_of(const std::string& text) {
  const auto json = parse_json(text);
  Tree tree;
  read_fields(JsonView(json), tree, kTreeFields);
  return tree;
}

TEST_CASE("a list says what may be missing, what is shown and what lies in an object", "[json]") {
  const std::string text =
      R"({"name":"a","species":"elm","rings":12,"height":3,"bark":{"marks":{"x":1.5}},)"
      R"("leaf":{"size":2}})";
  CHECK(text_of(fields_json(tree_of(text), kTreeFields)) == text);
  const Tree old = tree_of(R"({"name":"a","height":null,"bark":{}})");
  CHECK(old.species == "oak");
  CHECK(std::isnan(old.rings));
  CHECK(old.height == 7);
  CHECK(fields_json(old, kTreeFields).at("rings").is_null());
  for (const auto& [wrong, why] :
       {std::pair(R"({"bark":{}})", "name is missing"),
        {R"({"name":"a"})", "bark is missing"},
        {R"({"name":"\u001b"})", "name has control characters"},
        {R"({"name":"a","species":"\u001b"})", "species has control characters"},
        {R"({"name":"a","rings":1.5})", "rings is not a whole number from 0"},
        {R"({"name":"a","bark":{"marks":{"x":"y"}}})", "bark.marks.x is not a number"},
        {R"({"name":"a","bark":{},"leaf":{}})", "leaf.size is missing"}})
    CHECK_THROWS_WITH(tree_of(wrong), why);
}

TEST_CASE("JSON that nests deeply is refused, however deeply", "[json]") {
  CHECK(fault_of_json(repeated("[", 32) + repeated("]", 32)).empty());
  CHECK_THAT(fault_of_json(repeated("[", 33) + repeated("]", 33)), Contains("more than 32 levels"));
  CHECK_THAT(fault_of_json(repeated("[", 5'000'000)), Contains("more than 32 levels"));
  CHECK_THAT(fault_of_json(repeated("{\"a\":", 1'000'000)), Contains("more than 32 levels"));
}

TEST_CASE("JSON of too many values or keys is refused", "[json]") {
  const JsonLimits few{.most_values = 10, .most_depth = 3, .most_keys = 4};
  CHECK(fault_of_json("[1,2,3,4,5,6,7,8,9]", few).empty());
  CHECK_THAT(fault_of_json("[1,2,3,4,5,6,7,8,9,10]", few), Contains("more than 10 values"));
  CHECK(fault_of_json(object_of(4), few).empty());
  CHECK_THAT(fault_of_json(object_of(5), few), Contains("more than 4 keys in one object"));
  CHECK_THAT(fault_of_json(object_of(100'000)), Contains("more than 256 keys"));
  const JsonLimits two{.most_values = 100, .most_depth = 4, .most_keys = 2};  // of each object
  CHECK(fault_of_json(R"({"a":{"a":1,"b":2},"b":[{"a":1},{"b":1}]})", two).empty());
}

}  // namespace

namespace rueda {

TEST_CASE("text for a terminal keeps lines and letters, and nothing that steers or hides",
          "[text]") {
  CHECK(harmless("a\tb\nM\xc3\xbcnchen \xe2\x80\xb0") == "a\tb\nM\xc3\xbcnchen \xe2\x80\xb0");
  CHECK(harmless("\x1b[2J\r\x7f") == "\\x1b[2J\\x0d\\x7f");
  CHECK(harmless("\xc2\x9b"
                 "1m\xe2\x80\xae"
                 "x\xe2\x80\x8b\xe2\x81\xa6\xef\xbb\xbf") ==
        "\\xc2\\x9b1m\\xe2\\x80\\xaex\\xe2\\x80\\x8b\\xe2\\x81\\xa6\\xef\\xbb\\xbf");
  // What is no UTF-8: cut short, 0x9b (a control character of 8-bit terminals), overlong,
  // a surrogate, beyond Unicode.
  CHECK(harmless("\xe2\x80") == "\\xe2\\x80");
  CHECK(harmless("\x9b"
                 "2J\xff") == "\\x9b2J\\xff");
  CHECK(harmless("\xc0\x8a\xe0\x80\x8a") == "\\xc0\\x8a\\xe0\\x80\\x8a");
  CHECK(harmless("\xed\xa0\x80\xf4\x90\x80\x80") == "\\xed\\xa0\\x80\\xf4\\x90\\x80\\x80");
}

TEST_CASE("letters of any script are shown, in a name and in a message", "[text]") {
  for (const std::string name :
       {"日本語", "e\xcc\x81t\xc3\xa9", "Ελλάδα", "кошка", "한국어", "भारत", "\xf0\x9f\x90\x88"}) {
    CHECK(escaped(name) == name);
    CHECK(printable(name) == name);
    CHECK(one_line(name) == name);
  }
  CHECK(escaped("a\n\xe2\x80\x8d\xc2\xad\xf3\xa0\x81\x81") ==
        "a\\x0a\\xe2\\x80\\x8d\\xc2\\xad\\xf3\\xa0\\x81\\x81");
  std::string many, most;
  for (int i = 0; i < 70; ++i) many += "猫";
  for (int i = 0; i < 60; ++i) most += "猫";
  CHECK(printable(most) == most);
  CHECK(printable(many) == most + "...");
  std::string longer;
  for (int i = 0; i < 3'000; ++i) longer += "猫";
  const std::string line = one_line(longer);
  CHECK(line.find("\\x") == line.npos);
  CHECK(line.size() < 2'010);
}

}  // namespace rueda
