#include <map>
#include <set>
#include <sstream>
#include <vector>

#include <catch2/catch.hpp>

#include "base/text.hpp"
#include "record/run_json.hpp"
#include "tests/support/common.hpp"
#include "written_files.hpp"

// By which names and in which units a run is written down.

namespace rueda::test {
namespace {

/// Paths of keys and their types.
const std::string kKeys =
#include "written_keys.txt"
    ;

/// What stands at some of these paths, as JSON.
const std::string kValues =
#include "written_values.txt"
    ;

std::string kind_of(const WrittenFiles& value) {
  const auto has = [&](std::vector<std::string> keys) {
    std::vector<std::string> own;
    for (const auto& [key, part] : value.items()) own.push_back(key);
    return own == keys;
  };
  if (value.is_object() && has({"min", "mean", "max"})) return "range";
  if (value.is_object() && has({"count", "min", "mean", "median", "p90", "max", "deviation"}))
    return "spread";
  if (value.is_string()) return "text";
  if (value.is_number_integer()) return "integer";
  if (!value.is_array()) return value.type_name();
  std::set<std::string> kinds;
  for (const WrittenFiles& part : value) kinds.insert(kind_of(part));
  std::string text = "[";
  for (const std::string& kind : kinds) text += (text.size() > 1 ? "/" : "") + kind;
  return text + "]";
}

/// The keys of each object in their order, and the types that each has somewhere.
struct Keys {
  std::map<std::string, std::vector<std::string>> order;  ///< by the object's path
  std::map<std::string, std::set<std::string>> kinds;     ///< by the key's path

  void add(const std::string& path, const std::string& key, const std::string& kind) {
    auto& known = kinds[path + "/" + key];
    if (known.empty()) order[path].push_back(key);
    known.insert(kind);
  }
  void add_all(const WrittenFiles& value, const std::string& path) {
    if (value.is_array())
      for (const WrittenFiles& part : value) add_all(part, path + "/*");
    if (!value.is_object() || kind_of(value) != "object") return;
    for (const auto& [key, part] : value.items()) add(path, key, kind_of(part));
    for (const auto& [key, part] : value.items()) add_all(part, path + "/" + key);
  }
};

/// "PATH: KEY TYPE|TYPE, KEY TYPE", where what is indented goes on.
Keys listed_keys() {
  Keys keys;
  std::istringstream words(kKeys);
  std::string path;
  std::string key;
  for (std::string word; words >> word;) {
    if (word.ends_with(':')) {
      path = word.substr(0, word.size() - 1);
    } else if (key.empty()) {
      key = word;
    } else {
      if (word.ends_with(',')) word.pop_back();
      for (const std::string& kind : split_words(word, '|')) keys.add(path, key, kind);
      key.clear();
    }
  }
  return keys;
}

}  // namespace

TEST_CASE("what a run writes down has the keys, types and order of the list", "[written]") {
  Keys found;
  const WrittenFiles files = files_of(full_run());
  for (const auto& [file, content] : files.items()) found.add_all(content, file);
  const Keys listed = listed_keys();
  for (const auto& [path, kinds] : listed.kinds) {
    INFO(path + " is in written_keys.txt, and is it written?");
    CHECK(found.kinds.contains(path));
  }
  for (const auto& [path, kinds] : found.kinds) {
    INFO(path + " is written, and is it in written_keys.txt with these types?");
    const auto entry = listed.kinds.find(path);
    CHECK((entry != listed.kinds.end() ? entry->second : std::set<std::string>()) == kinds);
  }
  if (found.kinds == listed.kinds) CHECK(found.order == listed.order);
}

TEST_CASE("run.json says what was run, with which means", "[written]") {
  const WrittenFiles j = files_of(full_run()).at("run.json");
  const WrittenFiles values = WrittenFiles::parse(kValues);
  for (const auto& [path, value] : values.items()) {
    CAPTURE(path);
    CHECK(value_at(j, path) == value);
  }
  CHECK(number_at(j, "/startup/mpi/mean") == Approx(0.265));
  CHECK(number_at(j, "/startup/plan/mean") == Approx(0.128));
}

/// A history without what only it has of epochs.
WrittenFiles without_sums(WrittenFiles history) {
  for (WrittenFiles& epoch : history.at("epochs")) REQUIRE(epoch.erase("sums") == 1);
  return history;
}

TEST_CASE("the history has what run.json says of the epochs, an object a line", "[written]") {
  const RunRecord run = full_run();
  const std::string text = join(history_json(run));
  const WrittenFiles j = files_of(run).at("run.json");
  CHECK(without_sums(WrittenFiles::parse(text)) ==
        WrittenFiles{{"started_at", j.at("started_at")},
                     {"resumptions", j.at("resumptions")},
                     {"checkpoints", j.at("checkpoints")},
                     {"audit", j.at("audit")},
                     {"total_seconds", j.at("summary").at("total_seconds")},
                     {"epochs", j.at("epochs")}});
  auto lines = split_words(text, '\n');
  REQUIRE(lines.size() == 5);  // the last is empty
  CHECK(lines[1].ends_with(','));
  lines[1].pop_back();
  for (std::size_t i = 0; i < 2; ++i)
    CHECK(WrittenFiles::parse(lines[i + 1]).at("epoch") == j.at("epochs").at(i).at("epoch"));
}

TEST_CASE("epochs.csv has the numbers of run.json", "[written]") {
  const std::map<std::string, std::string> noise_places = {
      {"noise_scale", "/gradient_noise/scale"},
      {"noise_scale_low", "/gradient_noise/low"},
      {"noise_scale_high", "/gradient_noise/high"}};
  const WrittenFiles files = files_of(full_run());
  const WrittenFiles& epochs = files.at("run.json").at("epochs");
  REQUIRE(files.at("epochs.csv").size() == epochs.size());
  for (std::size_t i = 0; i < epochs.size(); ++i) {
    for (const auto& [column, value] : files.at("epochs.csv").at(i).items()) {
      CAPTURE(i, column);
      const std::string phase = "/phases/" + column.substr(0, column.rfind("_seconds"));
      if (column == "ranks")
        CHECK(value == kWrittenRanks);
      else if (column == "joules")
        CHECK(value == value_at(epochs.at(i), "/energy/total_joules"));
      else if (column.starts_with("noise_scale"))
        CHECK(value == value_at(epochs.at(i), noise_places.at(column)));
      else if (column == "learning_efficiency")
        CHECK(value == value_at(epochs.at(i), "/gradient_noise/learning_efficiency"));
      else if (column.ends_with("_seconds") && column != "val_seconds")
        CHECK(value == value_at(epochs.at(i), phase + "/mean"));
      else
        CHECK(value == epochs.at(i).at(column));
    }
  }
}

TEST_CASE("the trace has spans in microseconds from the first one, and names for a viewer",
          "[written]") {
  const WrittenFiles trace = files_of(full_run()).at("trace");
  CHECK(trace.at("otherData") == WrittenFiles{{"program", "rueda"},
                                              {"command_line", "rueda train --model resnet20"},
                                              {"clock_error_us", 500}});
  std::vector<WrittenFiles> spans;
  std::vector<WrittenFiles> names;
  for (const WrittenFiles& event : trace.at("traceEvents"))
    (event.at("ph") == "X" ? spans : names).push_back(event);
  REQUIRE(spans.size() == 2);
  CHECK(spans[0] ==
        WrittenFiles::parse(R"({"name": "sum", "cat": "training", "ph": "X", "pid": 1, "tid": 1,
      "ts": 0, "dur": 1000000,
      "args": {"step": 3, "bucket": 1, "ring_step": 0, "to_rank": 1, "from_rank": 3}})"));
  CHECK(spans[1] ==
        WrittenFiles::parse(R"({"name": "", "cat": "all-reduce", "ph": "X", "pid": 2, "tid": 3,
      "ts": 250000, "dur": 125000, "args": {"step": 4}})"));
  REQUIRE(names.size() == 2 * (1 + 2 * 3));  // of each rank, and of its three lanes
  CHECK(names[0].at("name") == "process_name");
  CHECK(names[0].at("args").at("name") == "rank 0 on node1");
  CHECK(names[7].at("pid") == 2);
  CHECK(names[7].at("args").at("name") == "rank 1 on node1");
  const std::vector<std::string> lanes = {"training", "buckets", "all-reduce"};
  for (std::size_t lane = 0; lane < 3; ++lane) {
    const WrittenFiles& name = names[1 + 2 * lane];
    const WrittenFiles& order = names[2 + 2 * lane];
    CHECK((name.at("name") == "thread_name" && name.at("tid") == lane + 1));
    CHECK(name.at("args").at("name") == lanes[lane]);
    CHECK((order.at("name") == "thread_sort_index" && order.at("tid") == lane + 1));
    CHECK(order.at("args").at("sort_index") == lane);
  }
}

}  // namespace rueda::test
