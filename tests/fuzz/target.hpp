#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "rueda/core/error.hpp"

/// One run of a target: libFuzzer's entry point, and tests/fuzz/replay_main.cpp's.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace rueda::fuzz {

/// Has a reader read. To refuse is all that a reader may do with what it does not like: whatever
/// else it throws ends the process.
template <typename Read>
void read_or_refuse(Read read) {
  try {
    read();
  } catch (const InputError&) {
  }
}

/// A file in a directory of this process, for readers that take a path; in memory where the system
/// has /dev/shm. The path stays the same from run to run.
class ScratchFile {
 public:
  explicit ScratchFile(const std::string& name);
  ~ScratchFile();
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  const std::filesystem::path& path() const noexcept { return path_; }
  std::filesystem::path directory() const { return path_.parent_path(); }
  void write(std::span<const std::uint8_t> bytes) const;

 private:
  std::filesystem::path path_;
};

inline std::string text_of(std::span<const std::uint8_t> bytes) {
  return {bytes.begin(), bytes.end()};
}

}  // namespace rueda::fuzz
