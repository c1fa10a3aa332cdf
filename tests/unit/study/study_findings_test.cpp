#include <catch2/catch.hpp>

#include "rueda/study/findings.hpp"
#include "tests/support/made_study.hpp"

using namespace rueda;
using Catch::Contains;
using test::made_run;

namespace {

constexpr auto kBackward = static_cast<std::size_t>(Phase::backward);
constexpr auto kAllReduce = static_cast<std::size_t>(Phase::all_reduce);

/// Keeps alive what figures point to.
struct Evaluated {
  explicit Evaluated(Study given) : study(std::move(given)) {
    series = make_series(observe_all(study.runs));
    figures = evaluate(series);
  }
  std::string text(const FindingOptions& options = {}) const {
    std::string all;
    for (const Finding& finding : findings(study, figures, options))
      all += finding.about + ": " + finding.text + "\n";
    return all;
  }

  Study study;
  std::vector<Series> series;
  std::vector<SeriesFigures> figures;
};

/// The step times of the book's ResNet50V2 runs: 25 x 544, 13 x 623, 7 x 768 ms.
Study book_like() {
  Study study;
  for (const auto& [ranks, seconds] :
       std::vector<std::pair<std::size_t, double>>{{1, 13.60}, {2, 8.10}, {4, 5.38}}) {
    test::MadeRun made{.ranks = ranks, .epochs = {47, seconds}};
    made.phases[kBackward] = 13.6 / double(ranks);
    made.phases[kAllReduce] = seconds - 13.6 / double(ranks);
    study.runs.push_back(made_run(made));
  }
  return study;
}

}  // namespace

TEST_CASE("findings tell speedup, efficiency and what whole seconds would hide", "[study]") {
  const std::string text = Evaluated(book_like()).text();
  CHECK_THAT(text,
             Contains("4 ranks take 5.380 s for an epoch where 1 rank takes 13.600 s: speedup "
                      "2.53, efficiency 63.2 %"));
  CHECK_THAT(text,
             Contains("would show 14 s and 5 s, hence 70.0 % (anything from 61.4 % to 80.6 %) "
                      "instead of 63.2 %: rounding would have changed the conclusion"));
}

TEST_CASE("findings tell what the loss consists of", "[study]") {
  const std::string text = Evaluated(book_like()).text();
  CHECK_THAT(text, Contains("4 ranks lose 1.980 s an epoch"));
  CHECK_THAT(text, Contains("waiting for the all-reduce 1.980 s (100.0 %)"));
}

TEST_CASE("rounding that changes nothing is said to change nothing", "[study]") {
  Study study;
  for (const auto& [ranks, seconds] :
       std::vector<std::pair<std::size_t, double>>{{1, 1000.2}, {2, 501.3}}) {
    study.runs.push_back(made_run({.ranks = ranks, .epochs = {9, seconds}}));
  }
  CHECK_THAT(Evaluated(study).text(), Contains("rounding would not have changed the conclusion"));
}

TEST_CASE("epochs that round to nothing are said to tell nothing", "[study]") {
  Study study;
  for (const auto& [ranks, seconds] :
       std::vector<std::pair<std::size_t, double>>{{1, 0.8}, {2, 0.42}}) {
    study.runs.push_back(made_run({.ranks = ranks, .epochs = {9, seconds}}));
  }
  CHECK_THAT(Evaluated(study).text(),
             Contains("could not tell this efficiency at all: it would show "
                      "1 s and 0 s"));
}

TEST_CASE("a log in whole seconds is not compared with itself", "[study]") {
  std::vector<Observation> logged;
  for (const auto& [ranks, seconds] :
       std::vector<std::pair<std::size_t, double>>{{1, 14}, {4, 5}}) {
    Observation seen;
    seen.ranks = ranks;
    seen.rank_batch = 10;
    seen.global_batch = 10 * ranks;
    seen.epoch = rounded(seconds, 0.5);
    logged.push_back(seen);
  }
  const auto text = [&] {
    const auto series = make_series(logged);
    std::string all;
    for (const Finding& f : findings({}, evaluate(series), {})) all += f.text;
    return all;
  };
  CHECK_THAT(text(), !Contains("whole seconds"));
  logged[0].epoch = rounded(13.6, 0.0125);
  logged[1].epoch = rounded(5.376, 0.0035);
  CHECK_THAT(text(), Contains("hence 70.0 % (anything from 61.4 % to 80.6 %) instead of 63.2 %"));
}

TEST_CASE("epochs that scale worse than full steps are taken apart", "[study]") {
  Study study;
  // 100 images: 10 full steps on one rank, 3 of 30 and one of 10 on three.
  study.runs.push_back(made_run({.ranks = 1, .epochs = {9, 1.0}, .step = 0.1}));
  study.runs.push_back(made_run({.ranks = 3, .epochs = {9, 0.5}, .step = 0.1}));
  study.runs[1].steady_full_step_seconds.mean = 0.11;
  CHECK_THAT(
      Evaluated(study).text(),
      Contains("full step alone scales to 100.0 % on 3 ranks, the epoch to 66.7 %. Of an epoch, "
               "0.0300 s go to steps that took longer than the median, and 0.170 s to the "
               "partial last step (10 images, 0.0333 s by their number)"));
  // Repeats that leave both open.
  study.runs.push_back(made_run({.ranks = 3, .epochs = {9, 0.33}, .step = 0.12}));
  CHECK_THAT(Evaluated(study).text(), !Contains("full step alone"));
}

TEST_CASE("ranks are recommended by purpose", "[study]") {
  Study study;
  // Efficiencies 1, 0.9, 0.7, 0.3.
  for (const auto& [ranks, seconds] :
       std::vector<std::pair<std::size_t, double>>{{1, 72}, {2, 40}, {4, 72 / 2.8}, {8, 30}}) {
    study.runs.push_back(made_run({.ranks = ranks, .epochs = {99, seconds}}));
  }
  const Evaluated all(study);
  const SeriesFigures& s = all.figures[0];
  CHECK(sweet_spot(s, Purpose::time, 0.8)->point->ranks == 4);
  CHECK(sweet_spot(s, Purpose::cost, 0.8)->point->ranks == 1);
  CHECK(sweet_spot(s, Purpose::knee, 0.8)->point->ranks == 4);  // 2.8 x 0.7 > 1.8 x 0.9
  CHECK(sweet_spot(s, Purpose::efficiency, 0.8)->point->ranks == 2);
  CHECK(sweet_spot(s, Purpose::efficiency, 0.95)->point->ranks == 1);
  FindingOptions only_time;
  only_time.purposes = {Purpose::time};
  CHECK_THAT(all.text(only_time), Contains("take 4 ranks for the shortest epoch."));
}

TEST_CASE("an oversubscribed point is neither recommended nor the widest", "[study]") {
  Study study = book_like();
  for (RankResult& rank : study.runs[2].ranks) rank.cores = 0.5;
  const Evaluated all(study);
  CHECK(sweet_spot(all.figures[0], Purpose::time, 0.8)->point->ranks == 2);
  CHECK_THAT(all.text(), Contains("2 ranks take 8.100 s"));
  CHECK_THAT(all.text(), Contains("Some points ran more threads than there were cores"));
}

TEST_CASE("growing overhead is told from serial work", "[study]") {
  Study growing, serial;
  for (const double p : {1.0, 2.0, 4.0}) {
    const auto ranks = static_cast<std::size_t>(p);
    growing.runs.push_back(made_run({.ranks = ranks, .epochs = {9, 10 / p + 0.5 * (p - 1)}}));
    serial.runs.push_back(made_run({.ranks = ranks, .epochs = {9, 1 + 9 / p}}));
  }
  CHECK_THAT(Evaluated(growing).text(), Contains("overhead that grows with P"));
  CHECK_THAT(Evaluated(serial).text(), Contains("from 10.0 % to 10.0 %: no overhead that grows"));
}

TEST_CASE("doubts about a study are told", "[study]") {
  Study study = book_like();
  study.runs[0].epochs.resize(1);
  study.runs[1].ranks[0].threads = 2;
  study.runs[1].ranks[0].cores = 2;
  study.failed.push_back({"x/attempt.json", "net", 4, 512, 0, 2, "too large"});
  study.unreadable.push_back({"y/run.json", "y/run.json: no JSON from byte 7 on"});
  const std::string text = Evaluated(study).text();
  CHECK_THAT(text, Contains("one epoch only, so their times include warm-up"));
  CHECK_THAT(text, Contains("did not all have the same number of threads"));
  CHECK_THAT(text, Contains("1 run ended without an epoch"));
  CHECK_THAT(text, Contains("1 file could not be read"));
  CHECK_THAT(text, Contains("single runs"));
}
