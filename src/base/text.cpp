#include "base/text.hpp"

#include <cmath>
#include <numeric>
#include <type_traits>

#include "base/error.hpp"

namespace rueda {
namespace {

/// Bytes of a code point by its first byte; 0: no code point begins with it.
std::size_t bytes_of_lead(unsigned char lead) noexcept {
  if (lead < 0x80) return 1;
  if (lead < 0xc2 || lead > 0xf4) return 0;
  return lead < 0xe0 ? 2 : 3 + std::size_t(lead >= 0xf0);
}

struct CodeRange {
  char32_t first, last;
};
// Unicode's control and format characters (Cc, Cf), line and paragraph separators, variation
// selectors, fillers without a width, noncharacters. Arabic's visible signs of Cf are among the
// letters.
constexpr std::array<CodeRange, 24> kUnseen{{
    {0x0000, 0x001f},   {0x007f, 0x009f},   {0x00ad, 0x00ad},   {0x034f, 0x034f},
    {0x061c, 0x061c},   {0x115f, 0x1160},   {0x17b4, 0x17b5},   {0x180b, 0x180f},
    {0x200b, 0x200f},   {0x2028, 0x202e},   {0x2060, 0x206f},   {0x3164, 0x3164},
    {0xfdd0, 0xfdef},   {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},   {0xffa0, 0xffa0},
    {0xfff0, 0xfffb},   {0xfffe, 0xffff},   {0x13430, 0x1343f}, {0x1bca0, 0x1bca3},
    {0x1d173, 0x1d17a}, {0x1fffe, 0x1ffff}, {0xe0000, 0xe0fff}, {0xffffe, 0x10ffff},
}};

bool is_seen(char32_t code) noexcept {
  const auto* range = std::ranges::lower_bound(kUnseen, code, {}, &CodeRange::last);
  return range == kUnseen.end() || code < range->first;
}

void append_escaped(std::string& to, std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    to.append("\\x").append({kDigits[byte / 16], kDigits[byte % 16]});
  }
}

/// Appends the first character of `text`, or its first byte if that begins none, and takes it.
void move_escaped(std::string_view& text, std::string& to, std::string_view kept) {
  const std::string_view before = text;
  const auto code = take_code_point(text);
  if (!code) text.remove_prefix(1);
  const std::string_view taken = before.substr(0, before.size() - text.size());
  if (code && (is_seen(*code) || kept.find(taken) != kept.npos))
    to += taken;
  else
    append_escaped(to, taken);
}

std::string escaped_but(std::string_view text, std::string_view kept) {
  std::string out;
  while (!text.empty()) move_escaped(text, out, kept);
  return out;
}

}  // namespace

std::optional<char32_t> take_code_point(std::string_view& text) noexcept {
  if (text.empty()) return std::nullopt;
  const auto lead = static_cast<unsigned char>(text.front());
  const std::size_t bytes = bytes_of_lead(lead);
  if (bytes == 0 || bytes > text.size()) return std::nullopt;
  constexpr std::array<unsigned, 5> kLeadBits = {0, 0x7f, 0x1f, 0x0f, 0x07};
  constexpr std::array<char32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};
  char32_t code = lead & kLeadBits.at(bytes);
  for (const char c : text.substr(1, bytes - 1)) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte & 0xc0) != 0x80) return std::nullopt;
    code = code << 6 | (byte & 0x3f);
  }
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  if (code < kLeast.at(bytes) || code > 0x10ffff || surrogate) return std::nullopt;
  text.remove_prefix(bytes);
  return code;
}

std::string escaped(std::string_view text) { return escaped_but(text, ""); }

std::string printable(std::string_view text) {
  constexpr std::size_t kLongest = 60;
  std::string out;
  for (std::size_t i = 0; i < kLongest && !text.empty(); ++i) move_escaped(text, out, "");
  if (!text.empty()) out += "...";
  return out;
}

std::string harmless(std::string_view text) { return escaped_but(text, "\n\t"); }

std::string one_line(std::string_view message) {
  constexpr std::size_t kMost = 4'000, kKept = 1'000;
  if (message.size() <= kMost) return escaped(message);
  // Not inside of a character.
  std::string_view head = message.substr(0, kKept), tail = message.substr(message.size() - kKept);
  constexpr auto follows = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; };
  while (!tail.empty() && follows(tail.front())) tail.remove_prefix(1);
  while (!head.empty() && follows(message[head.size()])) head.remove_suffix(1);
  return escaped(head) + " ... " + escaped(tail);
}

std::string first_few(std::vector<std::string> names, std::size_t most) {
  if (names.size() > most) {
    names.resize(most);
    names.emplace_back("...");
  }
  return joined(names, ", ");
}

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
  constexpr std::size_t kShort = 3;  // with another letter it is another word: no is not on
  const std::string small = lowered(word);
  if (word.size() <= kShort && word.size() == known.size() && small != known) return word.size();
  return edits_between(small, known);
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

namespace {

/// What other programs call one of the words.
std::string meant_elsewhere(const std::string& word, const std::vector<const char*>& words) {
  struct Pair {
    const char* theirs;
    const char* ours;
  };
  constexpr std::array<Pair, 14> kPairs{{{"gpu", "cuda"},
                                         {"nvidia", "cuda"},
                                         {"fp16", "bf16"},
                                         {"float16", "bf16"},
                                         {"bfloat16", "bf16"},
                                         {"half", "bf16"},
                                         {"amp", "bf16"},
                                         {"float32", "fp32"},
                                         {"yes", "on"},
                                         {"true", "on"},
                                         {"no", "off"},
                                         {"false", "off"},
                                         {"none", "off"},
                                         {"warning", "warn"}}};
  for (const Pair& pair : kPairs)
    if (lowered(word) == pair.theirs && std::ranges::count(words, std::string_view(pair.ours)) > 0)
      return std::string(": did you mean ") + pair.ours + "?";
  return "";
}

}  // namespace

std::size_t parse_word(const std::vector<const char*>& words, const std::string& word) {
  const auto at = std::find(words.begin(), words.end(), word);
  if (at != words.end()) return std::size_t(at - words.begin());
  std::string hint = meant_elsewhere(word, words);
  if (hint.empty()) hint = did_you_mean(word, {words.begin(), words.end()});
  std::string message = "'" + printable(word) + "' is not known" + hint;
  message += hint.empty() ? ": give " : " Give ";
  throw InputError(message + joined(words, " or "));
}

}  // namespace rueda
