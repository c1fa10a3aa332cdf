// Catch2's own code, and the runners that mains share.
#define CATCH_CONFIG_RUNNER
#include "skipping_main.hpp"

#include <iostream>

#include <catch2/catch.hpp>

namespace rueda::test {
namespace {

constexpr int kAllSkipped = 77;

Catch::Counts counts;  // of the cases that ran

struct KeepCounts final : Catch::TestEventListenerBase {
  using Catch::TestEventListenerBase::TestEventListenerBase;
  void testRunEnded(const Catch::TestRunStats& stats) override { counts = stats.totals.testCases; }
};
CATCH_REGISTER_LISTENER(KeepCounts)

std::size_t chosen_cases(const Catch::ConfigData& data) {
  const Catch::Config config(data);
  return Catch::filterTests(Catch::getAllTestCasesSorted(config), config.testSpec(), config).size();
}

/// The first comma from `begin` on that begins an alternative; those of a name come escaped.
std::size_t next_comma(const std::string& words, std::size_t begin) {
  std::size_t at = words.find(',', begin);
  while (at != std::string::npos && at > 0 && words[at - 1] == '\\') at = words.find(',', at + 1);
  return at;
}

/// The same choice of cases without those of a tag, which goes to every alternative.
std::vector<std::string> without(const std::string& tag, const std::vector<std::string>& chosen) {
  const std::string no_such = '~' + tag;
  std::vector<std::string> result;
  for (const std::string& words : chosen) {
    std::size_t begin = 0;
    for (std::size_t end; (end = next_comma(words, begin)) != std::string::npos; begin = end + 1)
      result.insert(result.end(), {words.substr(begin, end - begin), no_such, ","});
    result.push_back(words.substr(begin));
  }
  result.push_back(no_such);
  return result;
}

/// Leaves the cases out; says why and returns how many they are.
std::size_t leave_out(Catch::ConfigData& data, const Missing& missing) {
  const std::size_t before = chosen_cases(data);
  data.testsOrTags = without(missing.tag, data.testsOrTags);
  const std::size_t skipped = before - chosen_cases(data);
  if (skipped > 0)
    std::cout << "skipped: " << missing.reason << " (" << skipped
              << (skipped > 1 ? " cases)" : " case)") << std::endl;
  return skipped;
}

int run_without(Catch::Session& session, const std::vector<Missing>& missing) {
  auto& data = session.configData();
  if (data.testsOrTags.empty()) data.testsOrTags = {"~[.]"};  // what Catch2 runs by default
  const std::size_t chosen = chosen_cases(data);
  std::size_t skipped = 0;
  for (const Missing& m : missing) skipped += leave_out(data, m);
  const int result = skipped > 0 && skipped == chosen ? kAllSkipped : session.run();
  if (skipped > 0)
    std::cout << counts.passed << " passed, " << counts.failed << " failed, " << skipped
              << " skipped" << std::endl;
  return result;
}

}  // namespace

int run_skipping(int argc, char** argv, const std::function<std::vector<Missing>()>& find_missing) {
  Catch::Session session;
  if (const int result = session.applyCommandLine(argc, argv); result != 0) return result;
  const auto& data = session.configData();
  const bool lists = data.listTests || data.listTags || data.listReporters || data.showHelp;
  const std::vector<Missing> missing = lists ? std::vector<Missing>{} : find_missing();
  return missing.empty() ? session.run() : run_without(session, missing);
}

int run_plainly(int argc, char** argv) {
  Catch::Session session;
#if CATCH_VERSION_MAJOR < 3
  session.configData().useColour = Catch::UseColour::No;
#else
  session.configData().defaultColourMode = Catch::ColourMode::None;
#endif
  return session.run(argc, argv);
}

}  // namespace rueda::test
