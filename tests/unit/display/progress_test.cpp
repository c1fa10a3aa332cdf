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

EpochRecord example() {
  EpochRecord e;
  e.epoch = 2;
  e.steps = 20;
  e.train = {1.23449, 0.55118, 5117, 0};
  e.seconds = 6.4118;
  e.images_per_second = 5117 / 6.4118;
  return e;
}

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

TEST_CASE("epoch line: as Keras users know it, with real precision", "[epoch_line]") {
  CHECK(epoch_line(example(), 3, 2) ==
        "Epoch 2/3 - 20/20 - 6.412 s - 0.321 s/step - loss: 1.2345 - accuracy: 0.5512 - "
        "798 images/s (399 per rank)");
}

TEST_CASE("epoch line: evaluation comes last under Keras's names", "[epoch_line]") {
  EpochRecord e = example();
  e.test = Score{1.1, 0.6, 1000, 0.5};
  CHECK_THAT(epoch_line(e, 3, 2),
             Catch::EndsWith("(399 per rank) - val_loss: 1.1000 - val_accuracy: 0.6000"));
}

TEST_CASE("epoch line: one rank needs no rate per rank", "[epoch_line]") {
  CHECK_THAT(epoch_line(example(), 3, 1), Catch::EndsWith("- 798 images/s"));
}

TEST_CASE("epoch line: short times keep three digits, long ones all", "[epoch_line]") {
  EpochRecord e = example();
  e.seconds = 0.02345;
  e.images_per_second = 12.345;
  e.train.loss = 0.00021;
  const std::string line = epoch_line(e, 3, 2);
  CHECK_THAT(line, Catch::Contains(" - 0.0234 s - 0.00117 s/step - ") ||
                       Catch::Contains(" - 0.0235 s - 0.00117 s/step - "));
  CHECK_THAT(line, Catch::Contains("12.3 images/s (6.17 per rank)"));
  CHECK_THAT(line, Catch::Contains("loss: 2.1000e-04"));
  e.seconds = 4321.0987;
  CHECK_THAT(epoch_line(e, 3, 2), Catch::Contains(" - 4321.099 s - 216.055 s/step - "));
}

TEST_CASE("epoch line: a loss that is no number is shown as such", "[epoch_line]") {
  EpochRecord e = example();
  e.train.loss = std::numeric_limits<double>::quiet_NaN();
  CHECK_THAT(epoch_line(e, 3, 2), Catch::Contains("loss: nan"));
}

TEST_CASE("epoch line: where nothing was computed, no score is shown", "[epoch_line]") {
  EpochRecord e = example();
  e.train.loss = e.train.accuracy = std::numeric_limits<double>::quiet_NaN();
  CHECK(epoch_line(e, 3, 2) ==
        "Epoch 2/3 - 20/20 - 6.412 s - 0.321 s/step - timed, nothing computed - "
        "798 images/s (399 per rank)");
}
