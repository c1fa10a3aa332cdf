#include "log_lines.hpp"

#include <array>
#include <fstream>
#include <system_error>

#include "rueda/core/error.hpp"

namespace rueda {
namespace {

constexpr std::uintmax_t kMostBytes = 1'000'000'000;
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

void check(const std::filesystem::path& file, const std::string& remedy) {
  const auto refuse = [&](const std::string& why) {
    throw InputError(file.string() + ": " + why + "; " + remedy);
  };
  std::error_code error;
  const auto status = std::filesystem::status(file, error);
  if (!std::filesystem::exists(status)) refuse("it is not there");
  if (std::filesystem::is_directory(status)) refuse("it is a directory");
  if (!std::filesystem::is_regular_file(status)) refuse("it is not a regular file");
  const std::uintmax_t bytes = std::filesystem::file_size(file, error);
  if (error) refuse("it cannot be read: " + error.message());
  if (bytes > kMostBytes) refuse("it has " + std::to_string(bytes) + " bytes, more than 1 GB");
}

}  // namespace

void for_each_line(const std::filesystem::path& file, const std::string& remedy,
                   const std::function<void(std::string_view)>& use) {
  check(file, remedy);
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw InputError(file.string() + ": it cannot be opened; " + remedy);
  LineSplitter splitter(use);
  std::array<char, 65536> buffer;
  while (stream.read(buffer.data(), buffer.size()), stream.gcount() > 0) {
    for (std::streamsize i = 0; i < stream.gcount(); ++i) splitter.add(buffer[std::size_t(i)]);
  }
  splitter.end_line();
}

}  // namespace rueda
