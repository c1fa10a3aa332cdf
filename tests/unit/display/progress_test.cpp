#include "rueda/display/progress.hpp"

#include <limits>
#include <sstream>
#include <string>

#include <catch2/catch.hpp>
#include <stdlib.h>

using namespace rueda;

namespace {

const Progress kTwelveOfTwenty{2, 3, 12, 20, 1.2345, 1536, 1.89};

std::size_t count(const std::string& text, char c) {
  std::size_t n = 0;
  for (const char each : text) n += each == c ? 1 : 0;
  return n;
}

/// What a terminal shows on one line after `written`.
std::string screen_line(const std::string& written) {
  std::string line;
  std::size_t column = 0;
  for (const char c : written) {
    if (c == '\r') {
      column = 0;
      continue;
    }
    line.resize(std::max(line.size(), column + 1), ' ');
    line[column++] = c;
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

/// 80 columns for the length of a test, whatever window it runs in.
struct FixedColumns {
  explicit FixedColumns(const char* columns) { ::setenv("COLUMNS", columns, 1); }
  ~FixedColumns() { ::unsetenv("COLUMNS"); }
  FixedColumns(const FixedColumns&) = delete;
  FixedColumns& operator=(const FixedColumns&) = delete;
};

}  // namespace

TEST_CASE("progress: the whole line", "[progress]") {
  CHECK(progress_text(kTwelveOfTwenty, 79) ==
        "Epoch 2/3 [===========>       ] 12/20 - loss: 1.2345 - 813 images/s - 0:02 left");
}

TEST_CASE("progress: begin, end and numbers that are none", "[progress]") {
  CHECK(progress_text({1, 3, 0, 20, 0, 0, 0}, 60) ==
        "Epoch 1/3 [>                          ]  0/20 - loss: 0.0000");
  CHECK_THAT(progress_text({1, 3, 20, 20, 1, 100, 4}, 120),
             Catch::Contains("[==============================] 20/20") &&
                 Catch::EndsWith("25.0 images/s - 0:00 left"));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK_THAT(progress_text({1, 3, 1, 20, nan, 100, 4}, 120), Catch::Contains("loss: nan"));
}

TEST_CASE("progress: time left in minutes and hours", "[progress]") {
  CHECK_THAT(progress_text({1, 1, 1, 66, 1, 64, 1}, 99), Catch::EndsWith(" 1:05 left"));
  CHECK_THAT(progress_text({1, 1, 1, 2, 1, 64, 3661}, 99), Catch::EndsWith(" 1:01:01 left"));
}

TEST_CASE("progress: never wider than asked, and never less than it could say", "[progress]") {
  for (int columns = 0; columns <= 130; ++columns) {
    CHECK(progress_text(kTwelveOfTwenty, columns).size() <= static_cast<std::size_t>(columns));
  }
  CHECK_THAT(progress_text(kTwelveOfTwenty, 60), Catch::EndsWith("813 images/s"));
  CHECK_THAT(progress_text(kTwelveOfTwenty, 50), Catch::EndsWith("loss: 1.2345"));
  CHECK(progress_text(kTwelveOfTwenty, 15) == "Epoch 2/3 12/20");
}

TEST_CASE("progress: one line in place, ten times a second, wiped in the end", "[progress]") {
  const FixedColumns eighty("80");
  std::ostringstream out;
  {
    ProgressBar bar(out, Terminal(), ProgressMode::bar);
    Progress p = kTwelveOfTwenty;
    for (p.step = 1, p.seconds = 0.03; p.step <= 10; ++p.step, p.seconds += 0.03) bar.update(p);
    CHECK(count(out.str(), '\r') == 3);  // at 0.03, 0.15 and 0.27 s
    CHECK(count(out.str(), '\n') == 0);
    p.step = p.steps;
    bar.update(p);
    CHECK(count(out.str(), '\r') == 4);
    CHECK_THAT(screen_line(out.str()), Catch::StartsWith("Epoch 2/3 [=====") &&
                                           Catch::Contains("20/20") && Catch::EndsWith("left"));
    CHECK(screen_line(out.str()).size() < 80);
  }
  CHECK(screen_line(out.str()).empty());
  CHECK(out.str().back() == '\r');
}

TEST_CASE("progress: a shorter line leaves nothing of a longer one", "[progress]") {
  const FixedColumns wide("120");
  std::ostringstream out;
  ProgressBar bar(out, Terminal(), ProgressMode::bar);
  bar.update({9, 10, 19, 20, 1.5e-5, 152'000, 0.001});
  bar.update({10, 10, 0, 20, 0, 0, 0});
  CHECK(screen_line(out.str()) == progress_text({10, 10, 0, 20, 0, 0, 0}, 119));
}

TEST_CASE("progress: no byte outside bar mode", "[progress]") {
  for (const ProgressMode mode : {ProgressMode::lines, ProgressMode::off}) {
    std::ostringstream out;
    {
      ProgressBar bar(out, Terminal(), mode);
      bar.update(kTwelveOfTwenty);
      bar.clear();
    }
    CHECK(out.str().empty());
  }
}
