#include <cstdio>
#include <cstdlib>
#include <memory>
#include <system_error>

#include <stdlib.h>

#include "target.hpp"

namespace rueda::fuzz {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void give_up(const char* what) {
  std::perror(what);
  std::abort();
}

fs::path parent() {
  std::error_code error;
  return fs::is_directory("/dev/shm", error) ? "/dev/shm" : fs::temp_directory_path();
}

}  // namespace

ScratchFile::ScratchFile(const std::string& name) {
  std::string directory = (parent() / "rueda-fuzz-XXXXXX").string();
  if (mkdtemp(directory.data()) == nullptr) give_up("mkdtemp");
  path_ = fs::path(directory) / name;
}

ScratchFile::~ScratchFile() {
  std::error_code ignored;
  fs::remove_all(directory(), ignored);
}

void ScratchFile::write(std::span<const std::uint8_t> bytes) const {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path_.c_str(), "wb"),
                                                             std::fclose);
  if (file == nullptr) give_up(path_.c_str());
  if (std::fwrite(bytes.data(), 1, bytes.size(), file.get()) != bytes.size()) give_up("fwrite");
}

}  // namespace rueda::fuzz
