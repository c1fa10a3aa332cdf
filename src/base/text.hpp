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

/// Text with all but printable ASCII as \xNN.
inline std::string escaped(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c >= ' ' && c <= '~')
      out += c;
    else
      out.append("\\x").append({kDigits[byte / 16], kDigits[byte % 16]});
  }
  return out;
}
/// Text from a file as messages show it: escaped, and at most 60 characters of it.
inline std::string printable(std::string_view text) {
  constexpr std::size_t kLongest = 60;
  if (text.size() <= kLongest) return escaped(text);
  return escaped(text.substr(0, kLongest)) + "...";
}

/// Bytes of the character at the front of `text` if it steers a terminal or
/// hides text: control characters, and those of Unicode that have no width or
/// turn the direction of writing. 0: it does neither.
inline std::size_t harmful_bytes(std::string_view text) {
  std::array<int, 3> bytes{};
  for (std::size_t i = 0; i < bytes.size() && i < text.size(); ++i) bytes[i] = text[i] & 0xff;
  const auto [first, second, third] = bytes;
  const bool control = (first < ' ' && first != '\n' && first != '\t') || first == 0x7f;
  const bool c1 = first == 0xc2 && second < 0xa0;
  const bool unseen = (first == 0xe2 && second == 0x80 &&
                       ((third >= 0x80 && third < 0x90) || (third >= 0xaa && third <= 0xae))) ||
                      (first == 0xe2 && second == 0x81 && third >= 0xa0) ||
                      (first == 0xef && second == 0xbb && third == 0xbf);
  if (unseen) return 3;
  if (c1) return 2;
  if (control) return 1;
  return 0;
}

/// Text for a terminal, whatever files it quotes: UTF-8 and lines stay, but what
/// is harmful becomes \xNN.
inline std::string harmless(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t harmful = std::min(harmful_bytes(text), text.size());
    if (harmful == 0)
      out += text.front();
    else
      out += escaped(text.substr(0, harmful));
    text.remove_prefix(std::max<std::size_t>(harmful, 1));
  }
  return out;
}

/// A message as its reader sees it, whatever it quotes: one line, harmless, and
/// at most 4,000 bytes. Of a longer one the middle is left out: it begins with
/// what and where, and ends with the remedy.
inline std::string one_line(std::string_view message) {
  constexpr std::size_t kMost = 4'000, kKept = 1'000;
  if (message.size() > kMost)
    return one_line(message.substr(0, kKept)) + " ... " +
           one_line(message.substr(message.size() - kKept));
  std::string line;
  for (const char c : harmless(message)) {
    if (c == '\n' || c == '\t')
      line += escaped({&c, 1});
    else
      line += c;
  }
  return line;
}

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
