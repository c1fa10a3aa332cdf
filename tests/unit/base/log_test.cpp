#include "base/log.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch.hpp>

#include "base/files.hpp"
#include "rueda/reduce/rank_group.hpp"
#include "tests/support/common.hpp"
#include "tests/support/logged_text.hpp"

namespace rueda::test {
namespace {

TEST_CASE("log: rank 0 shows what is important enough, one line each", "[log]") {
  LoggedText logged;
  log(LogLevel::debug, "not shown");
  log(LogLevel::info, "");
  log(LogLevel::info, "a\nb");
  log(LogLevel::warn, "\x1b[31mc");
  CHECK(logged.take() == "note: a\\x0ab\nwarning: \\x1b[31mc\n");
}

TEST_CASE("log: what was said once is not said again", "[log]") {
  LoggedText logged;
  log_once(LogLevel::info, "said once by the test of the log");
  log_once(LogLevel::info, "said once by the test of the log");
  CHECK(logged.take() == "note: said once by the test of the log\n");
}

TEST_CASE("log: other ranks show what is their own, and errors", "[log]") {
  LoggedText logged(3);
  log(LogLevel::warn, "of all ranks");
  CHECK(logged.take().empty());
  log_own(LogLevel::debug, "not important enough");
  log_own(LogLevel::info, "of this host");
  CHECK(logged.take() == "note: rank 3: of this host\n");
  print_error("the end");
  CHECK(logged.take() == "rueda: the end\n");
}

TEST_CASE("log: off logs nothing, and an error that ends the process is shown", "[log]") {
  LoggedText logged;
  open_log(LogLevel::off, "", 0);
  for (const LogLevel level : {LogLevel::trace, LogLevel::error, LogLevel::off}) {
    log(level, "not shown");
    CHECK(logged.take().empty());
  }
  print_error("the end");
  CHECK(logged.take() == "rueda: the end\n");
}

TEST_CASE("log: a file has each line with time, rank and level", "[log]") {
  const ScratchDirectory scratch;
  LoggedText logged;
  open_log(LogLevel::warn, scratch.path().string(), 2);
  log(LogLevel::warn, "of all ranks");
  log_own(LogLevel::warn, "of this host");
  CHECK(logged.take() == "warning: rank 2: of this host\n");
  const std::string text = read_whole({scratch.path() / "rank-2.log", "", ""}, 1000);
  CHECK(text.find(" rank-2 warning: of all ranks\n") != text.npos);
  CHECK(text.find(" rank-2 warning: rank 2: of this host\n") != text.npos);
}

TEST_CASE("log: a bar is taken away before each line", "[log]") {
  LoggedText logged;
  int cleared = 0;
  {
    const BeforeLogLine bar([&cleared] { ++cleared; });
    log(LogLevel::info, "a");
    log(LogLevel::debug, "not shown");
  }
  log(LogLevel::info, "b");
  CHECK(cleared == 1);
}

/// Rank `rank` of six alone, whose texts come from others.
class OneOfSix final : public RankGroup {
 public:
  explicit OneOfSix(int rank) : rank_(rank) {}
  int rank() const override { return rank_; }
  int size() const override { return 6; }
  void barrier() override {}
  void broadcast(std::span<std::byte>, int) override {}
  std::vector<Bytes> all_gather(std::span<const std::byte>) override {
    std::vector<Bytes> all;
    for (const std::string_view text : {"", "a", "a", "b", "", "a"}) {
      const auto bytes = std::as_bytes(std::span(text));
      all.emplace_back(bytes.begin(), bytes.end());
    }
    return all;
  }
  std::vector<Bytes> gather(std::span<const std::byte>, int) override { return {}; }

 private:
  int rank_;
};

TEST_CASE("log: rank 0 says what each rank has to say, equal neighbours once", "[log]") {
  LoggedText logged;
  OneOfSix zero(0);
  log_of_ranks(zero, LogLevel::info, "");
  CHECK(logged.take() == "note: rank 1: a\nnote: rank 3: b\nnote: rank 5: a\n");
  OneOfSix two(2);
  log_of_ranks(two, LogLevel::info, "a");  // shown here because the log is that of rank 0
  CHECK(logged.take() == "note: rank 2: a\n");
}

}  // namespace
}  // namespace rueda::test
