#include "rueda/display/progress.hpp"

#include <algorithm>
#include <limits>
#include <sstream>
#include <string>

#include <catch2/catch.hpp>
#include <stdlib.h>

using namespace rueda;

namespace {

const Progress kTwelveOfTwenty{{2, 12, 1536, 1.2345, 1.89}, 3, 20};
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// What a terminal shows on one line after `written`.
std::string screen_line(const std::string& written) {
  std::string line;
  std::size_t column = 0;
  for (const char c : written) {
    if (c != '\r') line.replace(column, 1, 1, c);
    column = c == '\r' ? 0 : column + 1;
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

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

TEST_CASE("progress: the line, from its begin to its end", "[progress]") {
  CHECK(progress_text(kTwelveOfTwenty, 79) ==
        "Epoch 2/3 [===========>       ] 12/20 - loss: 1.2345 - 813 images/s - 0:02 left");
  CHECK(progress_text({{1, 0, 0, 0, 0}, 3, 20}, 60) ==
        "Epoch 1/3 [>                          ]  0/20 - loss: 0.0000");
  CHECK(progress_text({{1, 20, 100, kNan, 4}, 3, 20}, 120) ==
        "Epoch 1/3 [==============================] 20/20 - loss: nan - 25.0 images/s - 0:00 left");
  CHECK_THAT(progress_text({{1, 1, 64, 1, 1}, 1, 66}, 99), Catch::EndsWith(" 1:05 left"));
  CHECK_THAT(progress_text({{1, 1, 64, 1, 3661}, 1, 2}, 99), Catch::EndsWith(" 1:01:01 left"));
}

TEST_CASE("progress: never wider than asked, and never less than it could say", "[progress]") {
  for (int columns = 0; columns <= 130; ++columns)
    CHECK(progress_text(kTwelveOfTwenty, columns).size() <= std::size_t(columns));
  CHECK_THAT(progress_text(kTwelveOfTwenty, 60), Catch::EndsWith("813 images/s"));
  CHECK_THAT(progress_text(kTwelveOfTwenty, 50), Catch::EndsWith("loss: 1.2345"));
  CHECK(progress_text(kTwelveOfTwenty, 15) == "Epoch 2/3 12/20");
}

TEST_CASE("progress: one line in place, ten times a second, wiped in the end", "[progress]") {
  ::setenv("COLUMNS", "80", 1);  // whatever window it runs in
  std::ostringstream out;
  {
    ProgressBar bar(out, Terminal(), ProgressChoice::bar);
    Progress p = kTwelveOfTwenty;
    for (p.step = 1, p.seconds = 0.03; p.step <= 10; ++p.step, p.seconds += 0.03) bar.update(p);
    CHECK(std::ranges::count(out.str(), '\r') == 3);  // at 0.03, 0.15 and 0.27 s
    CHECK(std::ranges::count(out.str(), '\n') == 0);
    p.step = p.steps;
    bar.update(p);
    CHECK(std::ranges::count(out.str(), '\r') == 4);
    CHECK_THAT(screen_line(out.str()), Catch::StartsWith("Epoch 2/3 [=====") &&
                                           Catch::Contains("20/20") && Catch::EndsWith("left"));
    CHECK(screen_line(out.str()).size() < 80);
  }
  CHECK(screen_line(out.str()).empty());
  CHECK(out.str().back() == '\r');
  // A shorter line leaves nothing of a longer one.
  ::setenv("COLUMNS", "120", 1);
  ProgressBar bar(out, Terminal(), ProgressChoice::bar);
  bar.update({{9, 19, 152'000, 1.5e-5, 0.001}, 10, 20});
  bar.update({{10, 0, 0, 0, 0}, 10, 20});
  CHECK(screen_line(out.str()) == progress_text({{10, 0, 0, 0, 0}, 10, 20}, 119));
  ::unsetenv("COLUMNS");
}

TEST_CASE("progress: no byte outside bar mode", "[progress]") {
  for (const ProgressChoice mode : {ProgressChoice::lines, ProgressChoice::off}) {
    std::ostringstream out;
    ProgressBar(out, Terminal(), mode).update(kTwelveOfTwenty);
    CHECK(out.str().empty());
  }
}

TEST_CASE("epoch line: as Keras users know it, with real precision", "[epoch_line]") {
  EpochRecord e = example();
  const std::string line =
      "Epoch 2/3 - 20/20 - 6.412 s - 0.321 s/step - loss: 1.2345 - accuracy: 0.5512 - 798 images/s";
  CHECK(epoch_line(e, 3, 1) == line);
  CHECK(epoch_line(e, 3, 2) == line + " (399 per rank)");
  e.test = Score{1.1, 0.6, 1000, 0.5};
  CHECK(epoch_line(e, 3, 2) == line + " (399 per rank) - val_loss: 1.1000 - val_accuracy: 0.6000");
}

TEST_CASE("epoch line: numbers that are small, large or none", "[epoch_line]") {
  EpochRecord e = example();
  e.seconds = 0.02346;
  e.images_per_second = 12.345;
  e.train.loss = 0.00021;
  CHECK(epoch_line(e, 3, 2) ==
        "Epoch 2/3 - 20/20 - 0.0235 s - 0.00117 s/step - loss: 2.1000e-04 - accuracy: 0.5512 - "
        "12.3 images/s (6.17 per rank)");
  e.seconds = 4321.0987;
  e.train.loss = kNan;
  CHECK_THAT(epoch_line(e, 3, 2),
             Catch::Contains(" - 4321.099 s - 216.055 s/step - loss: nan - accuracy: 0.5512 - "));
  e.train.accuracy = kNan;
  CHECK_THAT(epoch_line(e, 3, 2), Catch::Contains(" s/step - timed, nothing computed - 12.3 im"));
}
