#include <sstream>

#include <catch2/catch.hpp>

#include "commands/commands.hpp"
#include "rueda/core/error.hpp"

namespace rueda {
namespace {

using Catch::Contains;

std::string summary(const SummaryOptions& options) {
  std::ostringstream out;
  run_command(options, out);
  return out.str();
}

TEST_CASE("summary: amounts of memory", "[summary]") {
  CHECK(parse_memory("64GB") == 64'000'000'000);
  CHECK(parse_memory("1.5TB") == 1'500'000'000'000);
  CHECK(parse_memory("800 MB") == 800'000'000);
  CHECK(parse_memory("2GiB") == 2'147'483'648);
  CHECK(parse_memory("512MiB") == 536'870'912);
  for (const char* text : {"", "64", "GB", "64gb", "64 kB", "-1GB", "0GB", "nanGB", "infGB",
                           "1e300GB", "64GB of it", "64  GB", "0x10GB"}) {
    CAPTURE(text);
    CHECK_THROWS_WITH(parse_memory(text), Contains("--memory") && Contains("64GB"));
  }
}

TEST_CASE("summary: memory in two groups", "[summary]") {
  const std::string text = summary({.model = "resnet18", .threads = 1});
  CHECK_THAT(text, Contains("Memory of one rank of 1: cpu, 1 thread, fp32, batch of 64"));
  CHECK_THAT(text, Contains("  model "));
  CHECK_THAT(text, Contains("    parameters   44.7 MB"));
  CHECK_THAT(text, Contains("    optimizer    44.7 MB"));
  CHECK_THAT(text, Contains("  batch "));
  CHECK_THAT(text, Contains("    activations "));
  CHECK_THAT(text, !Contains("messages"));
  CHECK_THAT(summary({.model = "resnet18", .ranks = 2, .threads = 1}),
             Contains("    messages     22.4 MB"));
}

TEST_CASE("summary: the largest batch that fits", "[summary]") {
  const std::string text = summary({.threads = 1, .memory = "1GB"});
  CHECK_THAT(text, Contains("Largest batch that fits into 1GB: "));
  CHECK_THAT(text, Contains("  total           999 MB") || Contains("  total          1.00 GB"));
  CHECK_THAT(summary({.threads = 1, .memory = "1MB"}),
             Contains("Not even a batch of 1 fits into 1MB: it takes "));
}

}  // namespace
}  // namespace rueda
