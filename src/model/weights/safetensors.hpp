#pragma once

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace rueda {

// Files of named tensors in the safetensors format: 8 bytes with the length of
// the header, little endian; the header, a JSON object of {name: {dtype, shape,
// data_offsets}} with an optional "__metadata__" of texts; then the data of all
// tensors without gaps.

/// What a file says about one of its tensors.
struct TensorEntry {
  std::string name;
  std::string dtype;  ///< "F32", "I64", "BF16" ...
  std::vector<std::size_t> shape;
  std::size_t begin = 0;  ///< of its bytes, counted from the end of the header
  std::size_t end = 0;
};

/// A file open for reading. It may come from anywhere: every field of its
/// header is checked before memory is allocated for it.
class SafetensorsFile {
 public:
  /// Reads the header. Throws InputError naming the file, the tensor if it is
  /// about one, what is wrong and the remedy: no regular file, cut off, a
  /// header above 100 MB or not as described above, a name twice, an unknown
  /// dtype, bytes that do not fit the shape, data that overlaps, has holes or
  /// is not all described.
  explicit SafetensorsFile(const std::filesystem::path& path);

  const std::filesystem::path& path() const noexcept { return path_; }
  /// In the order of the header.
  const std::vector<TensorEntry>& tensors() const noexcept { return tensors_; }

  /// Reads the values of an F32 tensor of `tensors()`; `out` has exactly its
  /// elements. Throws InputError if the file cannot be read any more.
  void read(const TensorEntry& tensor, std::span<float> out);

 private:
  std::filesystem::path path_;
  std::ifstream in_;
  std::size_t data_begin_ = 0;
  std::vector<TensorEntry> tensors_;
};

/// A tensor to be written. `bytes` must be as many as dtype and shape say.
struct TensorData {
  std::string name;
  std::string dtype;
  std::vector<std::size_t> shape;
  std::span<const std::byte> bytes;
};

/// Writes a file with the tensors in the given order, its data beginning at a
/// multiple of 8 bytes. Readers want every tensor at a multiple of its
/// element's size: the widest dtype goes first. A crash leaves the old file or
/// the new one, whole. Throws RunError naming path and reason.
void write_safetensors(const std::filesystem::path& path, std::span<const TensorData> tensors,
                       const std::map<std::string, std::string>& metadata);

}  // namespace rueda
