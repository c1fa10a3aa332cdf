#include "rueda/reduce/agreement.hpp"

#include <algorithm>
#include <string_view>

#include "rueda/reduce/host_name.hpp"

namespace rueda {
namespace {

/// Cuts the first line off `text`.
std::string_view take_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(text.size(), line.size() + 1));
  return line;
}

std::string quoted(std::string_view line) {
  if (line.empty()) return "nothing";
  std::string text = "'";
  text += line;
  text += "'";
  return text;
}

/// "rank 0 (a) has 'x', rank 2 (b) has 'y'" for the first line in which the texts differ.
std::string first_difference(std::string_view zero, std::string_view other,
                             const std::vector<std::string>& hosts, std::size_t rank) {
  std::string_view left, right;
  while (left == right && !(zero.empty() && other.empty())) {
    left = take_line(zero);
    right = take_line(other);
  }
  return "rank 0 (" + hosts[0] + ") has " + quoted(left) + ", rank " + std::to_string(rank) + " (" +
         hosts[rank] + ") has " + quoted(right);
}

}  // namespace

void require_same(RankGroup& group, const std::string& what, const std::string& text) {
  const auto texts = all_gather_text(group, text);
  const auto other =
      std::find_if(texts.begin(), texts.end(), [&](const auto& t) { return t != texts[0]; });
  if (other == texts.end()) return;
  const auto hosts = all_gather_text(group, host_name());
  const auto rank = static_cast<std::size_t>(other - texts.begin());
  throw_agreed(ExitCode::bad_input,
               what + " differs between ranks: " + first_difference(texts[0], *other, hosts, rank) +
                   "; give every rank the same");
}

}  // namespace rueda
