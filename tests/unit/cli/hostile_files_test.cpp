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
#include "display/run_text.hpp"
#include "model/weights/safetensors.hpp"
#include "record/run_json.hpp"
#include "rueda/data/dataset.hpp"
#include "rueda/reduce/rank_group.hpp"
#include "run/wiring/timed_setup.hpp"
#include "run/wiring/tuning_file.hpp"
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

void read_steps(const fs::path& path) {
  for_each_step(path, {}, [](std::span<const double>) {});
}

const std::vector<Reader>& readers() {
  static const std::vector<Reader> all = {
      {"old.json", [](const fs::path& path) { recorded_image_seconds(path, "resnet20", 32); }},
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
  RunRecord run = test::sample_run();
  run.config.output.run_dir = path;
  run.kept_weights = path;
  CHECK_THAT(result_table(run), Contains("a\\x0arueda: all") && !Contains("\x1b"));
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
