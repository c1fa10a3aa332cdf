#include "entries.hpp"

#include <algorithm>

#include "rueda/core/error.hpp"
#include "rueda/core/text.hpp"
#include "sizes.hpp"

namespace rueda::bench {
namespace {

Entries every_entry() {
  Entries entries;
  for (const Algorithm algorithm : kAlgorithms) {
    entries.push_back({to_string(algorithm), algorithm, ReduceOrder::ring});
  }
  entries.push_back({"fixed", Algorithm::ring, ReduceOrder::fixed});
  entries.all = true;
  return entries;
}

}  // namespace

std::string known_entries() {
  std::string known;
  for (const Entry& entry : every_entry()) known += (known.empty() ? "" : ", ") + entry.name;
  return known;
}

Entries parse_entries(const std::string& words) {
  const Entries every = every_entry();
  if (words == "all") return every;
  Entries entries;
  for (const std::string& word : split_words(words)) {
    const auto is = [&word](const Entry& entry) { return entry.name == word; };
    const auto found = std::find_if(every.begin(), every.end(), is);
    if (found == every.end()) {
      throw InputError("--algorithms '" + printable(word) + "': give all, or some of " +
                       known_entries());
    }
    if (std::none_of(entries.begin(), entries.end(), is)) entries.push_back(*found);
  }
  return entries;
}

}  // namespace rueda::bench
