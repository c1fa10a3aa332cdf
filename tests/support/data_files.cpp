#include "data_files.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include <archive.h>
#include <archive_entry.h>

#include "base/error.hpp"

namespace rueda::test {

namespace fs = std::filesystem;

Bytes read_bytes(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw std::runtime_error("cannot read " + file.string());
  return {std::istreambuf_iterator<char>(stream), {}};
}

void write_bytes(const fs::path& file, const Bytes& bytes) {
  fs::create_directories(file.parent_path());
  std::ofstream stream(file, std::ios::binary);
  stream.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  if (!stream) throw std::runtime_error("cannot write " + file.string());
}

void write_tar_gz(const fs::path& file, const std::vector<TarMember>& members) {
  archive* tar = archive_write_new();
  archive_write_add_filter_gzip(tar);
  archive_write_set_format_ustar(tar);
  const bool opened = archive_write_open_filename(tar, file.c_str()) == ARCHIVE_OK;
  for (const TarMember& member : members) {
    archive_entry* entry = archive_entry_new();
    archive_entry_set_pathname(entry, member.path.c_str());
    archive_entry_set_filetype(entry, member.symlink ? AE_IFLNK : AE_IFREG);
    if (member.path.ends_with('/')) archive_entry_set_filetype(entry, AE_IFDIR);
    if (member.symlink) archive_entry_set_symlink(entry, "/etc/passwd");
    archive_entry_set_size(entry, static_cast<la_int64_t>(member.bytes.size()));
    archive_entry_set_perm(entry, 0644);
    archive_write_header(tar, entry);
    archive_write_data(tar, member.bytes.data(), member.bytes.size());
    archive_entry_free(entry);
  }
  const bool closed = archive_write_close(tar) == ARCHIVE_OK;
  archive_write_free(tar);
  if (!opened || !closed) throw std::runtime_error("cannot write " + file.string());
}

std::vector<TarMember> members_of(const fs::path& directory, const std::string& prefix) {
  std::vector<TarMember> members;
  for (const auto& entry : fs::directory_iterator(directory))
    members.push_back({prefix + "/" + entry.path().filename().string(), read_bytes(entry.path())});
  std::ranges::sort(members, std::greater{}, &TarMember::path);
  return members;
}

ImageSet numbered_images(std::size_t count, std::size_t first) {
  ImageSet set;
  for (std::size_t i = first; i < first + count; ++i) {
    set.labels.push_back(std::uint8_t((3 * i + 1) % kClasses));
    for (std::size_t p = 0; p < kImageBytes; ++p)
      set.pixels.push_back(std::uint8_t(31 * i + p + p / 251));
  }
  return set;
}

Dataset numbered_dataset(std::size_t train, std::size_t test) {
  Dataset dataset;
  dataset.train = numbered_images(train);
  dataset.test = numbered_images(test, train);
  for (std::size_t i = 0; i < dataset.class_names.size(); ++i)
    dataset.class_names[i] = "class " + std::to_string(i);
  return dataset;
}

}  // namespace rueda::test
