// What a file may not do to its reader, whatever kind of file it is: docs/reliability.md.
#include <algorithm>
#include <filesystem>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <sys/stat.h>

#include "base/error.hpp"
#include "cli/cli.hpp"
#include "commands/predict.hpp"
#include "commands/report.hpp"
#include "display/run_text.hpp"
#include "model/weights/safetensors.hpp"
#include "predict/predict.hpp"
#include "record/run_json.hpp"
#include "rueda/data/dataset.hpp"
#include "rueda/reduce/rank_group.hpp"
#include "run/wiring/timed_setup.hpp"
#include "run/wiring/tuning_file.hpp"
#include "study/observation.hpp"
#include "study/study.hpp"
#include "tests/support/common.hpp"
#include "tests/support/sample_run.hpp"

using namespace rueda;
using Catch::Contains;

namespace {

namespace fs = std::filesystem;

struct Reader {
  const char* file;
  std::function<void(const fs::path&)> read;
};

void read_log(const fs::path& path) {
  KerasLog log;
  log.file = path;
  read_keras_log(log);
}

void read_steps(const fs::path& path) {
  for_each_step(path, {}, [](std::span<const double>) {});
}

const std::vector<Reader>& readers() {
  static const std::vector<Reader> all = {
      {"run.json", [](const fs::path& path) { load_study({path}); }},
      {"attempt.json", [](const fs::path& path) { load_study({path}); }},
      {"bench.json", [](const fs::path& path) { predict::read_bench(path); }},
      {"old.json", [](const fs::path& path) { recorded_image_seconds(path, "resnet20", 32); }},
      {"run.out", read_log},
      {"steps.csv", read_steps},
      {"recipe.toml",
       [](const fs::path& path) {
         parse_command_line({"train", "--config", path.string()});
       }},
      {"tuning.json", [](const fs::path& path) { read_tuning_file(path); }},
      {"weights", [](const fs::path& path) { SafetensorsFile file(path); }},
      {"set.tar.gz", [](const fs::path& path) { read_cifar10(path); }}};
  return all;
}

std::string refusal(const Reader& reader, const fs::path& path) {
  return test::refusal([&] { reader.read(path); });
}

/// Said before anything is read, which might wait or never end.
bool names_kind(const std::string& refusal) {
  return refusal.find("not a regular file") != refusal.npos ||
         refusal.find("neither a directory nor a file") != refusal.npos;
}

/// Takes no room on the disk.
fs::path sparse_file(const test::ScratchDirectory& folder, const std::string& name,
                     std::uintmax_t bytes) {
  const fs::path path = folder.write(name, "");
  fs::resize_file(path, bytes);
  return path;
}

}  // namespace

TEST_CASE("a huge file, a pipe and a device are refused before they are read", "[hostile]") {
  for (const Reader& reader : readers()) {
    INFO(reader.file);
    const test::ScratchDirectory folder;
    const fs::path huge = sparse_file(folder, reader.file, 20'000'000'000);
    CHECK_THAT(refusal(reader, huge), Contains(reader.file));
    if (reader.file != std::string("weights"))
      CHECK_THAT(refusal(reader, huge), Contains("20000000000 bytes, more than"));
    const test::ScratchDirectory other;
    const fs::path pipe = other.path() / reader.file;
    REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);  // without a writer
    CHECK_THAT(refusal(reader, pipe), Contains(reader.file));
    CHECK(names_kind(refusal(reader, pipe)));
    CHECK(names_kind(refusal(reader, "/dev/zero")));
  }
}

TEST_CASE("JSON that nests a million levels deep is refused", "[hostile]") {
  for (const Reader& reader : readers()) {
    const test::ScratchDirectory folder;
    if (fs::path(reader.file).extension() != ".json") continue;
    if (reader.file == std::string("tuning.json")) continue;  // is read as a text
    INFO(reader.file);
    CHECK_THAT(refusal(reader, folder.write(reader.file, std::string(1'000'000, '['))),
               Contains("levels"));
  }
  CHECK_THROWS_AS(parse_tuning(std::string(1'000'000, '['), "t.json"), InputError);
}

TEST_CASE("TOML that nests half a million levels deep is refused", "[hostile]") {
  const test::ScratchDirectory folder;
  for (const char* form : {"a.", "[a.", "[[a.", "a={", "a=["}) {
    const std::string piece = std::string(form).substr(std::string(form).find('a'));
    std::string text = form;
    while (text.size() < 990'000) text += piece;
    CAPTURE(form);
    CHECK_THROWS_WITH(
        parse_command_line({"train", "--config", folder.write("recipe.toml", text).string()}),
        Contains("it nests more than 32 levels"));
  }
}

TEST_CASE("a steps.csv that is one long line is refused", "[hostile]") {
  const test::ScratchDirectory folder;
  const auto path = folder.write("steps.csv", "epoch,seconds\n" + std::string(100'000, '1'));
  CHECK_THROWS_WITH(read_steps(path), Contains("a line has more than 65536 bytes"));
}

TEST_CASE("a file larger than any of a set is refused before it is read", "[hostile]") {
  const test::ScratchDirectory folder;
  sparse_file(folder, "data_batch_1.bin", 200'000'001);
  sparse_file(folder, "test_batch.bin", 3073);
  CHECK_THROWS_WITH(read_cifar10(folder.path()),
                    Contains("data_batch_1.bin: it has 200000001 bytes, more than the 200000000"));
}

TEST_CASE("a directory of more than a set's bytes is refused before it is read", "[hostile]") {
  const test::ScratchDirectory folder;
  for (int i = 1; i <= 11; ++i)
    sparse_file(folder, "data_batch_" + std::to_string(i) + ".bin", 190'000'000);
  sparse_file(folder, "test_batch.bin", 3073);
  CHECK_THROWS_WITH(read_cifar10(folder.path()), Contains("over 2000000000 bytes"));
}

TEST_CASE("text that would steer a terminal and exit codes beyond an int are refused",
          "[hostile]") {
  const test::ScratchDirectory folder;
  const std::string head = R"({"schema":"rueda-attempt","exit_code":1,"ranks":1,"model":")";
  for (const char* text : {"\\u001b[2J", "\\u007f", "\\u009b2J"}) {
    const auto path = folder.write("attempt.json", head + text + "\"}");
    CHECK_THROWS_WITH(load_study({path}), Contains("model has control characters"));
  }
  const auto longer = folder.write("attempt.json", head + std::string(10'001, 'A') + "\"}");
  CHECK_THROWS_WITH(load_study({longer}), Contains("model is longer than 10000 bytes"));
  const auto path = folder.write(
      "attempt.json", R"({"schema":"rueda-attempt","exit_code":1e300,"ranks":1,"model":"m"})");
  CHECK_THROWS_WITH(load_study({path}), Contains("exit_code is no exit code"));
}

TEST_CASE("a path is printed in one line, whatever it holds", "[hostile]") {
  const test::ScratchDirectory folder;
  const std::string name = "a\nrueda: all fine\x1b[2J", shown = "a\\x0arueda: all fine\\x1b[2J";
  const std::string path = (folder.path() / name).string();
  for (const char* begin : {"wrote ", "/"}) {  // "already holds these"
    std::ostringstream out;
    run_command(SynthRequest{.out = path, .drawing = {.train = 5, .test = 1}}, out);
    CHECK_THAT(out.str(), Catch::StartsWith(begin) && Contains(shown));
    CHECK(std::ranges::count(out.str(), '\n') == 1);
  }
  ReportOptions options;
  options.published = "book";
  options.out = path;
  options.plots = "off";
  std::ostringstream out;
  run_command(options, out);
  CHECK_THAT(out.str(), Contains("Written to " + (folder.path() / shown).string() + ": report.md"));
  RunRecord run = test::sample_run();
  run.config.output.run_dir = path;
  run.kept_weights = path;
  CHECK_THAT(result_table(run), Contains(shown + "/run.json\n") && Contains(shown + "\n\n"));
}

TEST_CASE("a folder inside a report that is a link is not followed", "[hostile]") {
  const test::ScratchDirectory folder;
  const fs::path out = folder.path() / "out", elsewhere = folder.path() / "elsewhere";
  fs::create_directories(out);
  fs::create_directories(elsewhere);
  ReportOptions options;
  options.published = "book";
  options.layouts = {"book"};
  options.plots = "off";
  for (const char* inside : {"tables", "book"}) {
    fs::create_directory_symlink(elsewhere, out / inside);
    options.out = out.string();
    std::ostringstream text;
    CHECK_THAT(test::refusal([&] { run_command(options, text); }),
               Contains((out / inside).string() + ": it is a link to"));
    CHECK(fs::is_empty(elsewhere));
    CHECK_FALSE(fs::exists(out / "report.json"));
    fs::remove(out / inside);
  }
  fs::create_directory_symlink(out, folder.path() / "to-out");  // the output itself may be one
  options.out = (folder.path() / "to-out").string();
  std::ostringstream text;
  run_command(options, text);
  CHECK(fs::exists(out / "tables"));
}

TEST_CASE("a recipe of another kind of file is named", "[hostile]") {
  const test::ScratchDirectory folder;
  const auto refused = [&](const std::string& text) {
    const fs::path path = folder.write("recipe.toml", text);
    return test::refusal([&] { parse_command_line({"train", "--config", path.string()}); });
  };
  CHECK_THAT(refused("version https://git-lfs.github.com/spec/v1\noid sha256:4d\nsize 61\n"),
             Contains("recipe.toml: it is a Git LFS pointer"));
  CHECK_THAT(refused("<!doctype html>\n<title>Login</title>"), Contains("it is an HTML page"));
  CHECK_THAT(refused("epochs 3\n"), Contains("line 1: this is not of the form"));
}
