#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace rueda {

/// Takes a code point from the front of `text`; nothing, and `text` as it is, if
/// it does not begin with one in UTF-8 (RFC 3629).
std::optional<char32_t> take_code_point(std::string_view& text) noexcept;

/// Text with letters, digits and signs of any script as they are. As \xNN
/// appear bytes that are no UTF-8, control characters, and what is unseen or
/// turns the direction of writing.
std::string escaped(std::string_view text);

/// Text from a file as messages show it: escaped, and at most 60 characters of it.
std::string printable(std::string_view text);

/// Text for a terminal, whatever files it quotes: escaped but for its line ends and tabs.
std::string harmless(std::string_view text);

/// A message or a path as its reader sees it, whatever it quotes: one line,
/// escaped, and at most 4,000 bytes. Of a longer one the middle is left out: a
/// message begins with what and where, and ends with the remedy.
std::string one_line(std::string_view message);

/// Takes a number from the front of `text`; nothing, and `text` as it is, if it does not begin so.
template <typename Number = std::size_t>
std::optional<Number> take_number(std::string_view& text) {
  Number number{};
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(std::size_t(rest - text.data()));
  return number;
}

/// Takes `word` from the front of `text`; false if it does not begin so.
inline bool take(std::string_view& text, std::string_view word) noexcept {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

/// The word of an enum's value, where `words_of` gives its words in their order.
template <typename Enum>
requires requires(Enum value) { words_of(value); }
constexpr const char* to_string(Enum value) { return words_of(value).at(std::size_t(value)); }

/// Components and their versions.
using Versions = std::vector<std::pair<std::string, std::string>>;

/// What stands between commas, or another separator. No text is one empty word.
template <typename Word = std::string>
std::vector<Word> split_words(std::string_view text, char separator = ',') {
  std::vector<Word> words;
  std::size_t end = 0;
  for (; (end = text.find(separator)) != text.npos; text.remove_prefix(end + 1))
    words.emplace_back(text.substr(0, end));
  words.emplace_back(text);
  return words;
}

/// The argument as a shell would take it back.
inline std::string shell_word(std::string_view argument) {
  constexpr std::string_view kPlain =
      "_-./:=,+@%0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  const bool plain = argument.find_first_not_of(kPlain) == argument.npos;
  if (plain && !argument.empty()) return std::string(argument);
  std::string text = "'";
  for (const char c : argument) {
    if (c == '\'')
      text += "'\\''";
    else
      text += c;
  }
  return text + "'";
}

/// 11,173,962.
std::string count_text(std::size_t count);
/// "epoch", "epochs": a noun after this number.
std::string plural(double count, const std::string& noun);
/// "1 rank", "2 ranks", "50,000 images".
std::string counted(std::size_t count, const std::string& noun);

/// With A to Z as a to z.
inline std::string lowered(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = char(c - 'A' + 'a');
  return text;
}

/// Texts with `between` in between them.
template <typename Texts>
std::string joined(const Texts& texts, std::string_view between) {
  std::string line;
  for (const auto& text : texts) {
    if (!line.empty()) line += between;
    line += text;
  }
  return line;
}

/// "a, b, ...": the first `most` of the names.
std::string first_few(std::vector<std::string> names, std::size_t most);

/// Reads a whole text as a number: std::size_t, int or double. Throws InputError for anything else.
template <typename Number>
Number parse_number(const std::string& text);

/// ": did you mean X?" with that of `known` which is `word` but for a slip or
/// two of the keyboard; empty if there is none.
std::string did_you_mean(const std::string& word, const std::vector<std::string>& known);

/// The index of `word` in `words`. Throws InputError that lists the words.
std::size_t parse_word(const std::vector<const char*>& words, const std::string& word);

/// A constant text that has several owners.
using SharedText = std::shared_ptr<const std::string>;

/// A text in pieces, in order. It grows, and gets a second owner, without a copy.
using TextPieces = std::vector<SharedText>;

inline SharedText share(std::string text) {
  text.shrink_to_fit();
  return std::make_shared<const std::string>(std::move(text));
}

inline std::string join(const TextPieces& pieces) {
  std::string text;
  for (const SharedText& piece : pieces) text += *piece;
  return text;
}

}  // namespace rueda
