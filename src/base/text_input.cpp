#include "base/text_input.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <utility>

#include "base/text.hpp"

namespace rueda {
namespace {

using namespace std::string_view_literals;

/// How a text is coded: in units of `width` bytes.
struct Coding {
  std::string_view mark{};  ///< at its beginning
  std::size_t width = 1;
  bool big = false;
};
constexpr std::array<Coding, 5> kMarked = {{{"\xEF\xBB\xBF"sv, 1, false},
                                            {"\xFF\xFE\0\0"sv, 4, false},
                                            {"\0\0\xFE\xFF"sv, 4, true},
                                            {"\xFF\xFE"sv, 2, false},
                                            {"\xFE\xFF"sv, 2, true}}};
constexpr std::size_t kHead = 4;  // bytes that tell it

/// By its mark, or by the zeros of its first letter.
Coding coding_of(std::string_view head) {
  for (const Coding& coding : kMarked)
    if (head.starts_with(coding.mark)) return coding;
  const auto zeros = head.substr(0, kHead).find_first_not_of('\0');
  if (head.size() >= kHead && zeros == 3) return {"", 4, true};
  if (head.size() >= kHead && zeros == 0 && head.substr(1, 3) == "\0\0\0"sv) return {"", 4, false};
  if (head.size() > 1 && zeros == 1) return {"", 2, true};
  if (head.size() > 1 && zeros == 0 && head[1] == '\0') return {"", 2, false};
  return {};
}

/// Turns bytes into UTF-8, one after the other.
class TextDecoder {
 public:
  /// `head`: the first bytes of the text, as many as there are up to kHead.
  explicit TextDecoder(std::string_view head) : coding_(coding_of(head)) {}

  /// How many bytes belong to the mark.
  std::size_t mark_bytes() const noexcept { return coding_.mark.size(); }
  bool changes_text() const noexcept { return coding_.width > 1 || mark_bytes() > 0; }

  /// Appends what the byte completes.
  void add(char c, std::string& to) {
    if (coding_.width == 1) {
      to += c;
      return;
    }
    const unsigned byte = static_cast<unsigned char>(c);
    unit_ = coding_.big ? unit_ << 8 | byte : unit_ | byte << (8 * bytes_);
    if (++bytes_ < coding_.width) return;
    const unsigned unit = std::exchange(unit_, 0);
    bytes_ = 0;
    if (coding_.width == 2)
      add_unit(unit, to);
    else
      add_code(is_code(unit) ? unit : kReplacement, to);
  }

 private:
  static bool is_code(unsigned unit) {
    return unit < 0x110000 && (unit < 0xd800 || unit >= 0xe000);
  }

  /// RFC 2781: a code point above 65535 is a high and a low half.
  void add_unit(unsigned unit, std::string& to) {
    const unsigned high = std::exchange(high_, 0);
    const bool is_high = unit >= 0xd800 && unit < 0xdc00, is_low = unit >= 0xdc00 && unit < 0xe000;
    if (high != 0 && !is_low) add_code(kReplacement, to);
    if (is_high)
      high_ = unit;
    else if (is_low && high == 0)
      add_code(kReplacement, to);
    else if (is_low)
      add_code(0x10000 + (high - 0xd800) * 1024 + (unit - 0xdc00), to);
    else
      add_code(unit, to);
  }

  /// RFC 3629.
  static void add_code(unsigned code, std::string& to) {
    if (code < 0x80) {
      to += char(code);
      return;
    }
    const int following = 1 + int(code >= 0x800) + int(code >= 0x10000);
    constexpr std::array<unsigned, 4> kLeads = {0, 0xc0, 0xe0, 0xf0};
    to += char(kLeads.at(std::size_t(following)) | code >> (6 * following));
    for (int i = following; i-- > 0;) to += char(0x80 | (code >> (6 * i) & 0x3f));
  }

  static constexpr unsigned kReplacement = 0xfffd;

  Coding coding_;
  unsigned unit_ = 0;  ///< as far as its bytes have come
  std::size_t bytes_ = 0;
  unsigned high_ = 0;  ///< of a pair, whose other half comes next
};

/// Whether `c` fits the letter of a pattern: 9 is a digit, a a letter, _ a digit or blank.
bool fits(char c, char pattern) {
  const bool digit = c >= '0' && c <= '9';
  if (pattern == '9') return digit;
  if (pattern == '_') return digit || c == ' ';
  if (pattern == 'a') return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return c == pattern;
}

bool take_pattern(std::string_view& text, std::string_view pattern) {
  if (text.size() < pattern.size()) return false;
  for (std::size_t i = 0; i < pattern.size(); ++i)
    if (!fits(text[i], pattern[i])) return false;
  text.remove_prefix(pattern.size());
  return true;
}

void skip(std::string_view& text, std::string_view any_of) {
  text.remove_prefix(std::min(text.find_first_not_of(any_of), text.size()));
}

// Each of these takes a prefix of one kind from the front of a line. If there is
// none, it returns false, and the line may have lost its beginning.

/// "2026-11-26 02:39:28,123", "2026-11-26T02:39:28.1Z stdout F", "Thu Nov 26
/// 02:39:28 2026", "02:39:28", also in brackets.
bool take_time_stamp(std::string_view& line, LinePrefix&) {
  take(line, "[");
  for (const char* date : {"9999-99-99T", "9999-99-99 ", "9999/99/99 ", "aaa aaa _9 ", "aaa _9 "})
    if (take_pattern(line, date)) break;
  if (!take_pattern(line, "99:99:99")) return false;
  if (line.starts_with('.') || line.starts_with(',')) skip(line, ".,0123456789");
  take(line, "Z");
  if (!take_pattern(line, "+99:99")) take_pattern(line, "-99:99");
  take_pattern(line, " 9999");
  take(line, "]");
  if (take(line, " stdout ") || take(line, " stderr ")) take_pattern(line, "a ");
  take(line, ":");
  skip(line, " ");
  return true;
}

/// "[1,0]<stdout>:", "[prterun-host-1@1,0]<stderr>: ", "<stdout>:".
bool take_stream(std::string_view& line, LinePrefix& found) {
  if (take(line, "[")) {
    const std::size_t comma = line.find_first_of(",]");
    if (comma == line.npos || line[comma] != ',') return false;
    line.remove_prefix(comma + 1);
    const auto rank = take_number(line);
    if (!rank || !take(line, "]<")) return false;
    found.rank = rank;
  } else if (!take(line, "<")) {
    return false;
  }
  if (!take(line, "stdout>:") && !take(line, "stderr>:")) return false;
  skip(line, " ");
  return true;
}

/// " 0: ", "[0] ", "[default0]:", "[rank0]:", "rank0:", "rank 0: ".
bool take_rank(std::string_view& line, LinePrefix& found) {
  const bool bracket = take(line, "[");
  if (bracket)
    while (!line.empty() && fits(line.front(), 'a')) line.remove_prefix(1);
  else
    skip(line, " ");
  const bool named = bracket || take(line, "rank");
  if (named) skip(line, " ");
  const auto rank = take_number(line);
  if (!rank || (bracket && !take(line, "]"))) return false;
  const bool ended = take(line, ": ") || (named && take(line, ":")) || (bracket && take(line, " "));
  if (!ended) return false;
  found.rank = rank;
  return true;
}

/// "[mpiexec@host] ", "[proxy:0:0@host] ", which Hydra puts before what it passes on.
bool take_hydra(std::string_view& line, LinePrefix&) {
  const std::size_t at = line.find('@'), end = line.find("] ");
  if (!line.starts_with('[') || at > end || end == line.npos) return false;
  if (line.substr(0, end).find(' ') != line.npos) return false;
  line.remove_prefix(end + 2);
  return true;
}

/// "node7 python3[1234]: ", which follows the time stamp of the system's journal.
bool take_journal(std::string_view& line, LinePrefix&) {
  std::string_view rest = line;
  rest.remove_prefix(std::min(rest.find(' ') + 1, rest.size()));
  const std::size_t pid = rest.find('[');
  if (pid == 0 || pid >= rest.find(' ')) return false;
  rest.remove_prefix(pid + 1);
  if (!take_number(rest) || !take(rest, "]: ")) return false;
  line = rest;
  return true;
}

/// "INFO:root:", "WARNING:tensorflow:", as Python's logging begins lines.
bool take_logger(std::string_view& line, LinePrefix&) {
  for (const std::string_view level : {"DEBUG:"sv, "INFO:"sv, "WARNING:"sv, "ERROR:"sv}) {
    const std::size_t end = line.find(':', level.size());
    if (!line.starts_with(level) || end == line.npos) continue;
    if (line.substr(0, end).find(' ') != line.npos) continue;
    line.remove_prefix(end + 1);
    return true;
  }
  return false;
}

/// "(TrainWorker pid=1234, ip=10.0.0.1) ".
bool take_ray(std::string_view& line, LinePrefix& found) {
  if (!take(line, "(")) return false;
  const std::size_t pid = line.find(" pid="), end = line.find(')');
  if (end == line.npos || pid > end) return false;
  found.worker = line.substr(0, end);
  line.remove_prefix(end + 1);
  skip(line, " ");
  return true;
}

/// "worker-0  | ".
bool take_container(std::string_view& line, LinePrefix& found) {
  const std::size_t end = line.find_first_of(" |(<[");
  if (end == line.npos || end == 0) return false;
  const std::string_view name = line.substr(0, end);
  line.remove_prefix(end);
  skip(line, " ");
  if (!take(line, "| ")) return false;
  found.worker = name;
  return true;
}

/// Where the next line of a rank begins within a line, whose line end was lost; npos: nowhere.
std::size_t next_mark(std::string_view line) {
  for (std::size_t at = line.find_first_of("[r", 1); at != line.npos;
       at = line.find_first_of("[r", at + 1)) {
    std::string_view rest = line.substr(at);
    LinePrefix ignored;
    if (take_stream(rest, ignored)) return at;
    if (take(rest, "rank") && take_number(rest) && rest.starts_with(':')) return at;
  }
  return line.npos;
}

/// Puts characters together to lines.
class OutputLines {
 public:
  explicit OutputLines(const std::function<void(const OutputLine&)>& use) : use_(&use) {}

  void add(char c) {
    if (c == '\n' || c == '\r' || c == '\b')
      end_line(c == '\n');
    else if (escape_ != Escape::none)
      in_escape(c);
    else if (c == '\x1b')
      escape_ = Escape::begun;
    else if (line_.size() < kLongestLine)
      line_ += c;
  }

  void end_line(bool line_feed) {
    std::string_view rest = line_;
    do {
      const std::string_view piece = rest.substr(0, next_mark(rest));
      const LinePrefix prefix = launcher_prefix(piece);
      // What follows a carriage return is of the same process, and mostly without a prefix.
      if (begins_ || prefix.bytes > 0) of_rank_0_ = is_of_rank_0(prefix);
      (*use_)({piece.substr(prefix.bytes), line_, of_rank_0_});
      begins_ = false;
      rest.remove_prefix(piece.size());
    } while (!rest.empty());
    begins_ = line_feed;
    escape_ = Escape::none;
    line_.clear();
  }

 private:
  static constexpr std::size_t kLongestLine = 4096;
  /// ECMA-48: ESC [ parameters, ended by a byte from @ to ~; other sequences are ESC and one byte.
  enum class Escape { none, begun, parameters };

  void in_escape(char c) {
    const bool begins = escape_ == Escape::begun && c == '[';
    const bool goes_on = escape_ == Escape::parameters && (c < '@' || c > '~');
    escape_ = begins || goes_on ? Escape::parameters : Escape::none;
  }

  bool is_of_rank_0(const LinePrefix& prefix) {
    if (prefix.rank) return *prefix.rank == 0;
    if (worker_.empty()) worker_ = prefix.worker;
    return prefix.worker.empty() || prefix.worker == worker_;
  }

  const std::function<void(const OutputLine&)>* use_;
  std::string line_;
  Escape escape_ = Escape::none;
  std::string worker_;  ///< the first that was seen
  bool begins_ = true;
  bool of_rank_0_ = true;
};

}  // namespace

std::string decode_text(std::string bytes) {
  TextDecoder decoder(std::string_view(bytes).substr(0, kHead));
  if (!decoder.changes_text()) return bytes;
  std::string text;
  for (const char c : std::string_view(bytes).substr(decoder.mark_bytes())) decoder.add(c, text);
  return text;
}

std::string read_text(const InputFile& file, std::size_t most_bytes) {
  return decode_text(read_whole(file, most_bytes));
}

LinePrefix launcher_prefix(std::string_view line) {
  constexpr std::array kTakes = {take_hydra, take_time_stamp, take_journal,   take_stream,
                                 take_rank,  take_ray,        take_container, take_logger};
  LinePrefix found;
  std::string_view rest = line;
  for (const auto take_one : kTakes) {  // a launcher's mark may stand after a time stamp
    std::string_view tried = rest;
    LinePrefix with = found;
    if (!take_one(tried, with)) continue;
    rest = tried;
    found = with;
  }
  found.bytes = line.size() - rest.size();
  return found;
}

void read_output(const InputFile& file, std::size_t most_bytes,
                 const std::function<void(const OutputLine&)>& use) {
  require_regular_file(file, most_bytes);
  std::ifstream stream(file.path, std::ios::binary);
  file.require(stream.good(), "it cannot be opened");
  std::string head(kHead, '\0');
  stream.read(head.data(), std::streamsize(head.size()));
  head.resize(std::size_t(stream.gcount()));
  TextDecoder decoder(head);
  stream.clear();
  stream.seekg(std::streamoff(decoder.mark_bytes()));
  OutputLines lines(use);
  std::string decoded;
  for (std::istreambuf_iterator<char> next(stream), end; next != end; ++next) {
    decoded.clear();
    decoder.add(*next, decoded);
    for (const char c : decoded) lines.add(c);
  }
  lines.end_line(true);
}

}  // namespace rueda
