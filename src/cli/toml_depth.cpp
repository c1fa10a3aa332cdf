#include "cli/toml_depth.hpp"

#include <algorithm>

namespace rueda {
namespace {

/// Where the string that begins at `at` ends. One of a single line ends there
/// if nothing closes it.
std::size_t end_of_string(std::string_view text, std::size_t at) {
  const char quote = text[at];
  const std::string_view three = text.substr(at, 3);
  const bool long_one = three == std::string_view("\"\"\"") || three == std::string_view("'''");
  const std::size_t quotes = long_one ? 3 : 1;
  for (std::size_t i = at + quotes; i < text.size(); ++i) {
    if (text[i] == '\\' && quote == '"') {
      ++i;
    } else if (text[i] == '\n' && !long_one) {
      return i;
    } else if (text[i] == quote && (!long_one || text.substr(i, 3) == three)) {
      return i + quotes;
    }
  }
  return text.size();
}

}  // namespace

std::size_t line_nested_deeper(std::string_view toml, std::size_t most) {
  std::size_t line = 1, open = 0, dots = 0;
  for (std::size_t i = 0; i < toml.size();) {
    const char c = toml[i];
    if (c == '"' || c == '\'') {
      const std::size_t end = end_of_string(toml, i);
      for (; i < end; ++i) line += toml[i] == '\n';
      continue;
    }
    if (c == '#') {
      i = std::min(toml.find('\n', i), toml.size());
      continue;
    }
    if (c == '.') ++dots;
    if (c == '[' || c == '{') ++open;
    if ((c == ']' || c == '}') && open > 0) --open;
    if (std::string_view("[]{},=\n").find(c) != std::string_view::npos) dots = 0;
    if (open + dots > most) return line;
    line += c == '\n';
    ++i;
  }
  return 0;
}

}  // namespace rueda
