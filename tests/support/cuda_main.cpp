// The one main of the tests of the CUDA part. Cases tagged [device] need a GPU. Where there is none
// they are left out and counted in the last line, "N passed, M failed, K skipped"; if nothing else
// was asked for, the exit code is 77, which Meson reads as skipped.
#define CATCH_CONFIG_RUNNER
#include <iostream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "cuda/device_query.hpp"

namespace {

constexpr int kAllSkipped = 77;

Catch::Counts counts;  // of the cases that ran

struct KeepCounts final : Catch::TestEventListenerBase {
  using TestEventListenerBase::TestEventListenerBase;
  void testRunEnded(const Catch::TestRunStats& stats) override { counts = stats.totals.testCases; }
};
CATCH_REGISTER_LISTENER(KeepCounts)

std::size_t chosen_cases(const Catch::ConfigData& data) {
  const Catch::Config config(data);
  return Catch::filterTests(Catch::getAllTestCasesSorted(config), config.testSpec(), config).size();
}

/// The same choice of cases without [device]. A comma begins an alternative, so each of them is
/// told; no name of a case here holds one.
std::vector<std::string> without_device(const std::vector<std::string>& chosen) {
  std::vector<std::string> result;
  for (const std::string& words : chosen) {
    std::size_t begin = 0;
    for (std::size_t end; (end = words.find(',', begin)) != std::string::npos; begin = end + 1) {
      result.insert(result.end(), {words.substr(begin, end - begin), "~[device]", ","});
    }
    result.push_back(words.substr(begin));
  }
  result.push_back("~[device]");
  return result;
}

int run_without_device(Catch::Session& session, const std::string& reason) {
  auto& data = session.configData();
  if (data.testsOrTags.empty()) data.testsOrTags = {"~[.]"};  // what Catch2 runs by default
  const std::size_t chosen = chosen_cases(data);
  data.testsOrTags = without_device(data.testsOrTags);
  const std::size_t skipped = chosen - chosen_cases(data);
  const int result = skipped > 0 && skipped == chosen ? kAllSkipped : session.run();
  if (skipped > 0) {
    std::cout << "skipped: no CUDA device: " << reason << '\n'
              << counts.passed << " passed, " << counts.failed << " failed, " << skipped
              << " skipped" << std::endl;
  }
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  Catch::Session session;
  if (const int result = session.applyCommandLine(argc, argv); result != 0) return result;
  const auto& data = session.configData();
  const bool lists = data.listTests || data.listTags || data.listTestNamesOnly ||
                     data.listReporters || data.showHelp;
  const auto found = rueda::cuda_devices();
  if (lists || !found.devices.empty()) return session.run();
  return run_without_device(session, found.reason);
}
