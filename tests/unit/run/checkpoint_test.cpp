#include "run/checkpoint/checkpoint.hpp"

#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <numeric>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "../../support/common.hpp"
#include "../../support/small_graphs.hpp"
#include "base/error.hpp"
#include "run/checkpoint/checkpoint_files.hpp"

namespace rueda::test {
namespace {

using Catch::Contains;
namespace fs = std::filesystem;

Snapshot some_snapshot(const Graph& graph) {
  return {.parameters = numbered(graph.parameter_count(), 1),
          .statistics = numbered(graph.statistics_count(), 0.5F),
          .velocities = numbered(graph.parameter_count(), -7),
          .history = {share("{\"epochs\":["), share("]}\n")}};
}

Manifest some_manifest() {
  Manifest m;
  m.position = {.epochs = 2,
                .steps = 3,
                .so_far = {.loss = 0.1 + 0.2, .correct = 7, .samples = 96},
                .seconds = 1.0 / 3,
                .spent = 12.5,
                .energy = {1.5, 2.5}};
  m.steps_per_epoch = 4;
  m.world = 3;
  m.micro_batches = 2;
  m.global_batch = 32;
  m.written_at = "2026-01-02T03:04:05Z";
  m.versions = {{"rueda", "1"}, {"MPI", "other"}};
  m.config = R"({"model":"small","lr":0.1})";
  m.folder = "/where/it/began";
  m.reduce_table = "doubling:65536,ring";
  m.data = {"training images: 96", "test images: 4"};
  m.machines = {"cpu, one", "cpu, \"two\"", "cpu, one"};
  return m;
}

struct WrittenCheckpoint {
  WrittenCheckpoint() {
    Manifest manifest = some_manifest();
    path = write_checkpoint(directory(), graph, some_snapshot(graph), manifest);
  }
  fs::path directory() const { return scratch.path() / "checkpoints"; }

  ScratchDirectory scratch;
  Graph graph = small_graphs().front().build(8);
  fs::path path;
};

std::string refusal(const fs::path& checkpoint) {
  return test::refusal([&] { verify_checkpoint(checkpoint); });
}

std::string refusal_of_text(const std::string& text) {
  return test::refusal([&] { parse_manifest(text, "x"); });
}

TEST_CASE("checkpoint: what was written is read again, bit for bit", "[checkpoint]") {
  const WrittenCheckpoint written;
  CHECK(written.path.filename() == "epoch-0002-step-00003");
  Manifest m = verify_checkpoint(written.path);
  CHECK(m.global_step() == 11);
  CHECK(m.files.size() == 3);
  const Snapshot snapshot = read_snapshot(written.path, written.graph);
  const Snapshot before = some_snapshot(written.graph);
  CHECK(snapshot.parameters == before.parameters);
  CHECK(snapshot.statistics == before.statistics);
  CHECK(snapshot.velocities == before.velocities);
  CHECK(join(snapshot.history) == join(before.history));
  m.files.clear();
  CHECK(to_json(m) == to_json(some_manifest()));
  CHECK(m.position.so_far.loss == 0.1 + 0.2);
  CHECK(m.position.energy.total() == 1.5 + 2.5);
  CHECK(m.folder == "/where/it/began");
  CHECK(m.reduce_table == "doubling:65536,ring");
  // Of a timed run, which has no losses.
  m.position.so_far.loss = m.position.so_far.correct = std::numeric_limits<double>::quiet_NaN();
  const Totals read = parse_manifest(to_json(m), "x").position.so_far;
  CHECK(std::isnan(read.loss));
  CHECK(std::isnan(read.correct));
  CHECK(read.samples == 96);
}

TEST_CASE("checkpoint: no changed byte of the manifest goes unnoticed", "[checkpoint]") {
  const std::string text = to_json(some_manifest());
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string damaged = text;
    damaged[i] = char(damaged[i] ^ 1);
    CHECK_THROWS_AS(parse_manifest(damaged, "x"), InputError);
    CHECK_THROWS_AS(parse_manifest(text.substr(0, i), "x"), InputError);
  }
  CHECK_THROWS_AS(parse_manifest(text + " ", "x"), InputError);
  CHECK(refusal_of_text(text).empty());
}

TEST_CASE("checkpoint: damage names the file", "[checkpoint]") {
  const WrittenCheckpoint written;
  for (const auto& entry : fs::directory_iterator(written.path)) {
    const std::string name = entry.path().filename().string();
    CAPTURE(name);
    const std::string whole = content(entry.path());
    const auto spoil = [&](const std::string& text) {
      const std::string file = written.scratch.write("x", text).string();
      fs::copy_file(file, entry.path(), fs::copy_options::overwrite_existing);
      const std::string message = refusal(written.path);
      CHECK_THAT(message, Contains(written.path.string()) && Contains("another checkpoint"));
      if (name != kManifestName) CHECK_THAT(message, Contains(name));
    };
    std::string flipped = whole;
    flipped[whole.size() / 2] ^= 0x40;
    spoil(flipped);
    spoil(whole.substr(0, whole.size() - 1));
    spoil(whole + "x");
    spoil("");
    fs::remove(entry.path());
    CHECK(refusal(written.path) != "");
    fs::create_directory(entry.path());
    CHECK(refusal(written.path) != "");
    fs::remove(entry.path());
    written.scratch.write("x", whole);
    fs::copy_file(written.scratch.path() / "x", entry.path());
    CHECK(refusal(written.path) == "");
  }
}

TEST_CASE("checkpoint: a manifest that lies is refused before files are read", "[checkpoint]") {
  const auto refused = [](const std::function<void(Manifest&)>& change, const std::string& why) {
    Manifest m = some_manifest();
    change(m);
    CHECK_THAT(refusal_of_text(to_json(m)), Contains(why));
  };
  for (const char* name : {"../run.json", "/etc/passwd", "..", ".", ""}) {
    refused(
        [name](Manifest& m) {
          m.files = {{name, 1, 2}};
        },
        std::string("it names the file '") + name + "'");
  }
  constexpr std::size_t kMostFile = std::size_t{1} << 36U;
  refused([](auto& m) { m.files = {{"weights.safetensors", kMostFile + 1, 2}}; }, "than 64 GiB");
  refused([](auto& m) { m.position.steps = 5; }, "5 steps of an epoch of 4");
  refused([](auto& m) { m.world = 1'000'001; }, "more than a million ranks");
  refused([](auto& m) { m.micro_batches = 1'000'001; }, "more than a million micro-batches");
  refused([](auto& m) { m.global_batch = (std::size_t{1} << 40U) + 1; },
          "its global batch is beyond any use");
  for (const auto count : {&Manifest::world, &Manifest::micro_batches, &Manifest::global_batch})
    refused([count](Manifest& m) { m.*count = 0; }, "a count in it is 0");
  // What it says twice: three ranks of two micro-batches, 32 images, 3 steps of 4.
  refused([](auto& m) { m.global_batch = std::size_t{1} << 30U; },
          "micro-batches are of 178956971");
  refused([](auto& m) { m.global_batch = 64; }, "it has 96 samples of 3 steps of 64");
  refused([](auto& m) { m.position.so_far.samples = 95; }, "it has 95 samples of 3 steps of 32");
  refused([](auto& m) { m.position.seconds = -1; }, "a time in it is below 0");
  refused([](auto& m) { m.world = 4; }, "it is of 4 ranks and names 3 machines");
  for (const auto& [config, why] :
       {std::pair(R"({"accumulate": 3})", "its --accumulate is 3, and its other numbers say 2"),
        {R"({"global-batch": 48})", "its --global-batch is 48, and its other numbers say 32"},
        {R"({"batch-per-rank": 5})", "its --batch-per-rank is 5, and its other numbers say 6"}})
    refused([json = config](Manifest& m) { m.config = json; }, why);
  for (const char* config : {R"({"accumulate": 2, "global-batch": 32, "batch-per-rank": 1})",
                             R"({"batch-per-rank": 6, "global-batch": 0})",
                             R"({"batch-per-rank": 12})", R"({"batch-per-rank": "max"})"}) {
    Manifest m = some_manifest();
    m.config = config;
    CHECK(refusal_of_text(to_json(m)).empty());
  }
  Manifest at_end = some_manifest();
  at_end.position.steps = 4;
  at_end.position.so_far.samples = 100;  // the last step is partial
  CHECK(refusal_of_text(to_json(at_end)).empty());
  at_end.position.so_far.samples = 129;
  CHECK_THAT(refusal_of_text(to_json(at_end)), Contains("it has 129 samples of 4 steps of 32"));
}

TEST_CASE("checkpoint: parts of ranks that do not fit the manifest are refused", "[checkpoint]") {
  const auto said_of = [](const std::vector<std::size_t>& shares) {
    Manifest m = some_manifest();  // three ranks, 32 images
    m.position.shares = shares;
    return refusal_of_text(to_json(m));
  };
  CHECK(said_of({16, 10, 6}).empty());
  CHECK_THAT(said_of({32}), Contains("manifest is not as expected") &&
                                Contains("it has the shares of 1 rank, not of 3"));
  constexpr std::size_t kHuge = 1'000'000'000'000'000'000;
  CHECK_THAT(said_of({kHuge, kHuge, kHuge}), Contains("manifest is not as expected"));
  for (const std::vector<std::size_t>& shares :
       {std::vector<std::size_t>{16, 16, 0}, {20, 8, 8}, {10, 10, 10}})
    CHECK_THAT(said_of(shares), Contains("its shares are not those of its global batch"));
}

/// With `from` made `to`, and the sum put right.
std::string forged(const std::string& from, const std::string& to) {
  std::string text = to_json(some_manifest());
  text.replace(text.find(from), from.size(), to);
  const std::size_t sum = text.rfind("\"manifest_crc32\": \"") + 19;
  text.replace(sum, 8, "00000000");
  return text.replace(sum, 8, fmt::format("{:08x}", crc32(text)));
}

TEST_CASE("checkpoint: a manifest of another kind is refused", "[checkpoint]") {
  CHECK(refusal_of_text(forged("2026", "2027")).empty());
  for (const auto& [from, to, why] :
       {std::tuple("\"rueda-checkpoint\"", "\"rueda-run\"", "it is no manifest of a checkpoint"),
        {"\"schema_version\": 1", "\"schema_version\": 2",
         "its schema_version is 2, and this rueda reads 1; read it with the rueda that wrote it"},
        {"\"world_size\": 3", "\"world_size\": -3", "world_size is not a whole number"},
        {"\"global_step\": 11", "\"global_step\": 12",
         "its global_step is 12, and its other numbers say 11"},
        {"\"data\"", "\"date\"", "data"}})
    CHECK_THAT(refusal_of_text(forged(from, to)), Contains(why));
}

TEST_CASE("checkpoint: files of another network, or beyond any run's, are refused",
          "[checkpoint]") {
  const WrittenCheckpoint written;
  const Manifest m = verify_checkpoint(written.path);
  const Graph other = small_graphs().back().build(8);
  CHECK_THROWS_AS(read_snapshot(written.path, other), InputError);
  fs::resize_file(written.path / "history.json", 1'000'000'001);  // takes no room on the disk
  CHECK_THROWS_WITH(read_snapshot(written.path, written.graph),
                    Contains("1000000001 bytes, more than the 1000000000"));
  fs::resize_file(written.path / "history.json", std::uintmax_t{1} << 42U);  // hours of reading
  CHECK_THAT(refusal(written.path), Contains("it has 4398046511104 bytes, its manifest says"));
  fs::resize_file(written.path / kManifestName, 16'777'217);
  CHECK_THAT(refusal(written.path), Contains("16777217 bytes, more than the 16777216"));
}

TEST_CASE("checkpoint: the same position is replaced, nothing half-written stays", "[checkpoint]") {
  const WrittenCheckpoint written;
  Snapshot other = some_snapshot(written.graph);
  other.velocities.front() = 99;
  Manifest manifest = some_manifest();
  CHECK(write_checkpoint(written.directory(), written.graph, other, manifest) == written.path);
  const Manifest read = verify_checkpoint(written.path);
  CHECK(read_snapshot(written.path, written.graph).velocities.front() == 99);
  CHECK(std::distance(fs::directory_iterator(written.directory()), {}) == 1);
}

TEST_CASE("checkpoint: nothing goes that is not proven to be a run's own", "[checkpoint]") {
  const WrittenCheckpoint written;
  const fs::path link = written.scratch.path() / "link";
  fs::create_directory_symlink(written.directory(), link);
  fs::create_directory(written.directory() / ".unfinished-epoch-0003-step-00000");
  Manifest manifest = some_manifest();
  remove_older_checkpoints(link, 0);
  remove_unfinished_checkpoints(link);
  CHECK_THROWS_WITH(write_checkpoint(link, written.graph, some_snapshot(written.graph), manifest),
                    Contains("has become a link"));
  CHECK(refusal(written.path) == "");
  CHECK(fs::exists(written.directory() / ".unfinished-epoch-0003-step-00000"));

  std::ofstream(written.path / "notes.txt") << "mine";
  CHECK(foreign_file_in(written.path) == "notes.txt");
  remove_older_checkpoints(written.directory(), 0);
  CHECK(fs::exists(written.path / "notes.txt"));
  std::ofstream(written.directory() / ".unfinished-epoch-0003-step-00000/mine") << "mine";
  remove_unfinished_checkpoints(written.directory());
  CHECK(fs::exists(written.directory() / ".unfinished-epoch-0003-step-00000/mine"));

  fs::remove(written.path / "notes.txt");
  fs::remove(written.directory() / ".unfinished-epoch-0003-step-00000/mine");
  CHECK(foreign_file_in(written.path).empty());
  remove_older_checkpoints(written.directory(), 0);
  remove_unfinished_checkpoints(written.directory());
  CHECK(fs::is_empty(written.directory()));
}

TEST_CASE("checkpoint: what can not be written is reported, and leaves nothing", "[checkpoint]") {
  const WrittenCheckpoint written;
  const fs::path file = written.scratch.write("file", "");
  Manifest manifest = some_manifest();
  const Snapshot snapshot = some_snapshot(written.graph);
  CHECK_THROWS_AS(write_checkpoint(file, written.graph, snapshot, manifest), RunError);
  std::vector<CheckpointRecord> records;
  CheckpointWriter writer(file, written.graph, 2, records);
  writer.free_snapshot() = snapshot;
  writer.write(some_manifest(), 0.25);
  CHECK_THROWS_AS(writer.wait(), RunError);
  CHECK_NOTHROW(writer.wait());  // reported once
  CHECK(records.empty());
}

TEST_CASE("checkpoint: the list is in the order of training, of whole names only", "[checkpoint]") {
  const ScratchDirectory scratch;
  CHECK(list_checkpoints(scratch.path() / "none").empty());
  CHECK(list_checkpoints(scratch.write("file", "")).empty());
  const fs::path loop = scratch.path() / "loop";  // cannot be read, hence is not empty
  fs::create_symlink("loop", loop);
  CHECK_THROWS_WITH(list_checkpoints(loop), Contains("cannot be listed"));
  CHECK_NOTHROW(remove_older_checkpoints(loop, 0));
  for (const char* name :
       {"epoch-0002-step-00003", "epoch-0010-step-00000", "epoch-0002-step-00012", "epoch-1",
        "epoch-0001-step-00001x", ".unfinished-epoch-0011-step-00000", "notes"}) {
    fs::create_directory(scratch.path() / name);
  }
  const auto names = [&] {
    std::vector<std::string> all;
    for (const fs::path& path : list_checkpoints(scratch.path()))
      all.push_back(path.filename().string());
    return all;
  };
  CHECK(names() == std::vector<std::string>{"epoch-0010-step-00000", "epoch-0002-step-00012",
                                            "epoch-0002-step-00003"});
  remove_unfinished_checkpoints(scratch.path());
  remove_older_checkpoints(scratch.path(), 2);
  CHECK(names().size() == 2);
  CHECK(scratch.files() == 7);
  CHECK(fs::exists(scratch.path() / "notes"));
}

TEST_CASE("checkpoint: what is set aside keeps its files under another name", "[checkpoint]") {
  const WrittenCheckpoint written;
  Manifest manifest = some_manifest();
  set_checkpoint_aside(written.path);
  write_checkpoint(written.directory(), written.graph, some_snapshot(written.graph), manifest);
  set_checkpoint_aside(written.path);
  CHECK(list_checkpoints(written.directory()).empty());
  const std::string name = "passed-over-" + written.path.filename().string();
  CHECK(refusal(written.directory() / name).empty());
  CHECK(refusal(written.directory() / (name + "-2")).empty());
}

TEST_CASE("checkpoint: the writer keeps the latest, and the one just written", "[checkpoint]") {
  const WrittenCheckpoint written;
  std::vector<CheckpointRecord> records;
  CheckpointWriter writer(written.directory(), written.graph, 2, records);
  const auto write = [&](std::size_t epochs, std::size_t steps) {
    writer.free_snapshot() = some_snapshot(written.graph);
    Manifest manifest = some_manifest();
    manifest.position = {
        .epochs = epochs, .steps = steps, .so_far = {.samples = double(steps * 32)}};
    writer.write(std::move(manifest), 0.25);
  };
  for (std::size_t epoch = 3; epoch < 7; ++epoch) write(epoch, 0);
  CHECK(writer.wait_for(std::chrono::minutes(1)));
  writer.wait();
  REQUIRE(records.size() == 4);
  CHECK(records[3].epochs == 6);
  CHECK(records[3].pause_seconds == 0.25);
  CHECK(records[3].write_seconds > 0);
  CHECK(records[3].bytes > 2 * sizeof(float) * written.graph.parameter_count());
  CHECK(list_checkpoints(written.directory()).size() == 2);
  write(2, 3);  // earlier than those
  writer.wait();
  CHECK(records.size() == 5);
  CHECK(refusal(written.path).empty());
  CHECK(list_checkpoints(written.directory()).size() == 3);
}

}  // namespace
}  // namespace rueda::test
