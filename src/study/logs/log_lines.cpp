#include "log_lines.hpp"

#include <array>
#include <fstream>

#include "rueda/core/files.hpp"

namespace rueda {
namespace {

constexpr std::size_t kMostBytes = 1'000'000'000;
constexpr std::size_t kLongestLine = 4096;

/// ECMA-48: ESC [ parameters, ended by a byte from @ to ~; other sequences are ESC and one byte.
enum class Escape { none, begun, parameters };

class LineSplitter {
 public:
  explicit LineSplitter(const std::function<void(std::string_view)>& use) : use_(&use) {}

  void add(char c) {
    if (c == '\n' || c == '\r' || c == '\b')
      end_line();
    else if (escape_ != Escape::none)
      in_escape(c);
    else if (c == '\x1b')
      escape_ = Escape::begun;
    else if (line_.size() < kLongestLine)
      line_ += c;
  }

  void end_line() {
    escape_ = Escape::none;
    if (!line_.empty()) (*use_)(line_);
    line_.clear();
  }

 private:
  void in_escape(char c) {
    const bool begins = escape_ == Escape::begun && c == '[';
    const bool goes_on = escape_ == Escape::parameters && (c < '@' || c > '~');
    escape_ = begins || goes_on ? Escape::parameters : Escape::none;
  }

  const std::function<void(std::string_view)>* use_;
  std::string line_;
  Escape escape_ = Escape::none;
};

}  // namespace

void for_each_line(const std::filesystem::path& path, const std::string& remedy,
                   const std::function<void(std::string_view)>& use) {
  const InputFile file{path, path.string(), remedy};
  require_regular_file(file, kMostBytes);
  std::ifstream stream(path, std::ios::binary);
  if (!stream) file.refuse("it cannot be opened");
  LineSplitter splitter(use);
  std::array<char, 65536> buffer;
  while (stream.read(buffer.data(), buffer.size()), stream.gcount() > 0) {
    for (std::streamsize i = 0; i < stream.gcount(); ++i) splitter.add(buffer[std::size_t(i)]);
  }
  splitter.end_line();
}

}  // namespace rueda
