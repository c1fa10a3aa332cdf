#include "base/text.hpp"

#include <cmath>
#include <numeric>
#include <type_traits>

#include "base/error.hpp"

namespace rueda {

template <typename Number>
Number parse_number(const std::string& text) {
  std::string_view rest = text;
  const auto number = take_number<Number>(rest);
  if (number && rest.empty() && std::isfinite(double(*number))) return *number;
  if (std::is_floating_point_v<Number>)
    throw InputError("'" + printable(text) + "' is not a number, for example 0.1 or 1e-4");
  throw InputError("'" + printable(text) + "' is not a whole number in digits, or does not fit");
}

template double parse_number(const std::string&);
template int parse_number(const std::string&);
template std::size_t parse_number(const std::string&);

std::string count_text(std::size_t count) {
  std::string digits = std::to_string(count);
  for (std::size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, ",");
  return digits;
}

std::string plural(double count, const std::string& noun) {
  if (count == 1) return noun;
  if (noun.ends_with("tch") || noun.ends_with("s")) return noun + "es";
  return noun + "s";
}

std::string counted(std::size_t count, const std::string& noun) {
  return count_text(count) + " " + plural(double(count), noun);
}

namespace {

/// The distance of V. Levenshtein (1966): letters inserted, removed or replaced.
std::size_t edits_between(const std::string& one, const std::string& other) {
  std::vector<std::size_t> row(other.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < one.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < other.size(); ++j) {
      const std::size_t replaced = diagonal + std::size_t(one[i] != other[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

/// What a word that is the beginning of another lacks is no slip.
std::size_t slips_between(const std::string& word, const std::string& known) {
  if (known.starts_with(word)) return 0;
  return edits_between(lowered(word), known);
}

}  // namespace

std::string did_you_mean(const std::string& word, const std::vector<std::string>& known) {
  constexpr std::size_t kLongest = 40;  // the distance takes the product of both lengths
  if (word.size() > kLongest || known.empty()) return "";
  const std::string* nearest = nullptr;
  std::size_t fewest = 2 + word.size() / 4;  // more are another word
  for (const std::string& one : known) {
    const std::size_t slips = slips_between(word, one);
    if (slips >= fewest) continue;
    fewest = slips;
    nearest = &one;
  }
  if (nearest == nullptr) return "";
  return ": did you mean " + *nearest + "?";
}

std::size_t parse_word(const std::vector<const char*>& words, const std::string& word) {
  const auto at = std::find(words.begin(), words.end(), word);
  if (at != words.end()) return std::size_t(at - words.begin());
  const std::string hint = did_you_mean(word, {words.begin(), words.end()});
  std::string message = "'" + printable(word) + "' is not known" + hint;
  message += hint.empty() ? ": give " : " Give ";
  throw InputError(message + joined(words, " or "));
}

}  // namespace rueda
