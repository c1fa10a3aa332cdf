#pragma once

#include <string>
#include <vector>

#include "study/logged_run.hpp"

namespace rueda {

/// The observations of the chapter whose figures docs/report.md discusses have this source.
inline constexpr const char* kBookSource = "Torres 2026, ch. 10";

/// Where published runs are from.
struct PublishedSource {
  std::string set;     ///< "book", "nyu"
  std::string source;  ///< short, as in Observation::source
  std::string citation;
  std::string url;
  std::string hardware;
  std::string software;
  std::vector<std::string> remarks;
  std::vector<LoggedRun> runs;
};

/// docs/data/published.json, which is compiled into the program. `which` is a set, or "all". Throws
/// InputError naming the sets for any other word.
std::vector<PublishedSource> published_sources(const std::string& which);

/// The same as observations.
std::vector<Observation> published(const std::string& which);

}  // namespace rueda
