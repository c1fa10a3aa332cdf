#include "rueda/core/input_file.hpp"

#include <fstream>
#include <system_error>

#include "rueda/core/error.hpp"

namespace rueda {

namespace fs = std::filesystem;

void InputFile::refuse(const std::string& why) const {
  throw InputError(name + ": " + why + "; " + remedy);
}

void require_regular_file(const InputFile& file, std::size_t most_bytes) {
  std::error_code error;
  const fs::file_status status = fs::status(file.path, error);
  if (status.type() == fs::file_type::not_found)
    file.refuse("it cannot be opened: it is not there");
  if (!fs::status_known(status)) file.refuse("it cannot be opened: " + error.message());
  if (fs::is_directory(status)) file.refuse("it is a directory");
  if (!fs::is_regular_file(status)) file.refuse("it is not a regular file");
  const std::uintmax_t bytes = fs::file_size(file.path, error);
  if (error) file.refuse("it cannot be read: " + error.message());
  if (bytes > most_bytes) {
    file.refuse("it has " + std::to_string(bytes) + " bytes, more than the " +
                std::to_string(most_bytes) + " that are read");
  }
}

std::string read_whole(const InputFile& file, std::size_t most_bytes) {
  require_regular_file(file, most_bytes);
  std::error_code error;
  std::string text(static_cast<std::size_t>(fs::file_size(file.path, error)), '\0');
  std::ifstream stream(file.path, std::ios::binary);
  if (!stream) file.refuse("it cannot be opened");
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!stream) file.refuse("it cannot be read to its end");
  return text;
}

}  // namespace rueda
