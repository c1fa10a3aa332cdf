#include "data/cifar10_files.hpp"

#include <algorithm>
#include <fstream>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/text.hpp"

namespace rueda {
namespace {

namespace fs = std::filesystem;

constexpr std::array kFormats{Cifar10Format::binary, Cifar10Format::python};

std::string_view official_directory(Cifar10Format format) {
  if (format == Cifar10Format::binary) return "cifar-10-batches-bin";
  return "cifar-10-batches-py";
}

enum class Purpose { train, test, meta };

/// What a file is for, by its name.
struct Role {
  Cifar10Format format;
  Purpose purpose;
  int number = 0;
};

/// N of "data_batch_N": digits without a leading zero.
std::optional<int> training_number(std::string_view name) {
  if (!take(name, "data_batch_") || name.starts_with('0')) return std::nullopt;
  const auto number = take_number<int>(name);
  if (!name.empty() || number <= 0) return std::nullopt;
  return number;
}

std::optional<Role> role_of(std::string_view name) {
  if (name == "batches.meta.txt") return Role{Cifar10Format::binary, Purpose::meta};
  if (name == "batches.meta") return Role{Cifar10Format::python, Purpose::meta};
  Cifar10Format format = Cifar10Format::python;
  const std::string_view suffix = suffix_of(Cifar10Format::binary);
  if (name.ends_with(suffix)) {
    name.remove_suffix(suffix.size());
    format = Cifar10Format::binary;
  }
  if (name == "test_batch") return Role{format, Purpose::test};
  if (const auto number = training_number(name)) return Role{format, Purpose::train, *number};
  return std::nullopt;
}

void add_file(Cifar10Files& files, const Role& role, SetFile file) {
  file.number = role.number;
  if (role.purpose == Purpose::train) return files.train.push_back(std::move(file));
  std::optional<SetFile>& slot = role.purpose == Purpose::test ? files.test : files.meta;
  if (slot)
    throw InputError(
        fmt::format("{} holds {} and {}: remove one", files.place, slot->name, file.name));
  slot = std::move(file);
}

/// The files of `format` that lie directly in `directory`; none if it does not exist.
Cifar10Files scan_directory(const fs::path& directory, Cifar10Format format) {
  Cifar10Files files{.format = format, .place = directory.string()};
  std::uintmax_t bytes = 0;
  std::error_code error;
  for (const fs::path& path : entries_of(directory, error)) {
    const auto role = role_of(path.filename().string());
    if (!role || role->format != format) continue;
    require_regular_file({path, path.string(), "replace or remove it", Wanted::anything},
                         kMaxFileBytes);
    std::error_code ignored;
    bytes += fs::file_size(path, ignored);
    require(bytes <= kMaxSetBytes,
            fmt::format("{} has over {} bytes of CIFAR-10 files: give a set of its own",
                        directory.string(), kMaxSetBytes));
    add_file(files, *role, {.name = path.string(), .path = path});
  }
  if (error && error != std::errc::no_such_file_or_directory)
    throw InputError(fmt::format("cannot list the directory {}: {}; check its permissions",
                                 directory.string(), error.message()));
  return files;
}

/// Role of an archive member: the last component of its path must be a file of
/// the set, the one before it the set's official directory or nothing.
std::optional<Role> role_in_archive(std::string_view member) {
  if (member.ends_with('/')) member.remove_suffix(1);  // a folder, which is refused
  const fs::path path(member);
  const auto role = role_of(path.filename().string());
  const std::string parent = path.parent_path().filename().string();
  if (!role || parent.empty() || parent == "." || parent == official_directory(role->format))
    return role;
  return std::nullopt;
}

std::vector<Cifar10Files> scan_archive(const fs::path& archive) {
  std::vector<Cifar10Files> sets;
  for (const Cifar10Format format : kFormats)
    sets.push_back({.format = format, .place = archive.string()});
  const auto wanted = [&](std::string_view path) {
    require(path.find("cifar-100-") == path.npos, archive.string() + kOfCifar100);
    return role_in_archive(path).has_value();
  };
  for (ArchiveMember& member : read_archive(archive, wanted)) {
    const auto role = role_in_archive(member.path);
    add_file(sets[std::size_t(role->format)], *role,
             {.name = fmt::format("{}({})", archive.string(), printable(member.path)),
              .bytes = std::move(member.bytes)});
  }
  return sets;
}

/// One file of a set by itself: known by its name, or by its length and first label.
void refuse_lone_batch(const fs::path& file) {
  fs::path parent = file.parent_path();
  if (parent.empty()) parent = ".";
  std::error_code error;
  const std::uintmax_t bytes = fs::file_size(file, error);
  const bool records = !error && bytes > 0 && bytes % (1 + kImageBytes) == 0;
  const bool labelled = records && std::ifstream(file, std::ios::binary).get() < kClasses;
  require(!role_of(file.filename().string()) && !labelled,
          fmt::format("{} is one file of a CIFAR-10 set: give the directory that holds all of "
                      "them: {}",
                      file.string(), parent.string()));
}

std::vector<Cifar10Files> scan(const fs::path& where) {
  std::error_code error;
  const fs::file_status status = fs::status(where, error);
  if (!fs::exists(status)) {
    std::string why = absence(where);
    if (status.type() != fs::file_type::not_found) why = error.message();
    throw InputError(
        fmt::format("no data set at {}: {}; give a CIFAR-10 directory or .tar.gz "
                    "(docs/data.md)",
                    where.string(), why));
  }
  require(
      fs::is_directory(status) || fs::is_regular_file(status),
      where.string() + " is neither a directory nor a file: give a CIFAR-10 directory or .tar.gz");
  if (!fs::is_directory(status)) {
    refuse_lone_batch(where);
    return scan_archive(where);
  }
  std::vector<Cifar10Files> sets;
  for (const Cifar10Format format : kFormats) {
    sets.push_back(scan_directory(where, format));
    sets.push_back(scan_directory(where / official_directory(format), format));
  }
  return sets;
}

bool complete(const Cifar10Files& files) { return !files.train.empty() && files.test; }

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored) && !fs::is_directory(path, ignored);
}

bool is_cifar100(const fs::path& directory) {
  std::error_code ignored;
  return is_file(directory / "fine_label_names.txt") ||
         (is_file(directory / "train") && is_file(directory / "meta")) ||
         fs::exists(directory / "cifar-100-binary", ignored) ||
         fs::exists(directory / "cifar-100-python", ignored);
}

/// The first folder in `directory` that seems to hold a set; empty if none does.
fs::path set_below(const fs::path& directory) {
  std::error_code ignored;
  std::vector<fs::path> folders = entries_of(directory, ignored);
  std::ranges::sort(folders);
  for (const fs::path& folder : folders)
    for (const Cifar10Format format : kFormats)
      if (is_file(folder / (std::string("test_batch") + suffix_of(format)))) return folder;
  return {};
}

/// Why none of the sets will do, by the most useful thing that can be said.
[[noreturn]] void refuse(const std::vector<Cifar10Files>& sets, const fs::path& where) {
  for (const Cifar10Files& files : sets) {
    if (!files.test && files.train.empty()) continue;
    const char* suffix = suffix_of(files.format);
    std::string lack = fmt::format("training files but no test file (test_batch{})", suffix);
    if (files.test)
      lack = fmt::format("a test file but no training file (data_batch_1{} and so on)", suffix);
    throw InputError(fmt::format("{} has {}: unpack or download the set again", files.place, lack));
  }
  require(!is_cifar100(where), where.string() + kOfCifar100);
  for (const char* name : {"cifar-10-binary.tar.gz", "cifar-10-python.tar.gz"}) {
    std::error_code ignored;
    if (fs::exists(where / name, ignored))
      throw InputError(
          fmt::format("{} holds no unpacked CIFAR-10 files; give the archive itself: {}",
                      where.string(), (where / name).string()));
  }
  std::string remedy = "give a directory or .tar.gz that does (docs/data.md)";
  if (const fs::path below = set_below(where); !below.empty()) remedy = "give " + below.string();
  throw InputError(fmt::format(
      "{} holds no CIFAR-10 files, neither itself nor in {} or {}: expected data_batch_1.bin ... "
      "and test_batch.bin, or data_batch_1 ... and test_batch; {}",
      where.string(), official_directory(Cifar10Format::binary),
      official_directory(Cifar10Format::python), remedy));
}

}  // namespace

void fail_at(const std::string& name, std::size_t offset, const std::string& reason) {
  throw InputError(
      fmt::format("{}: byte {}: {}; the file is damaged or not a CIFAR-10 file: download or make "
                  "it again",
                  name, offset, reason));
}

Cifar10Files find_cifar10(const fs::path& where) {
  std::vector<Cifar10Files> sets = scan(where);
  const auto chosen = std::ranges::find_if(sets, complete);
  if (chosen == sets.end()) refuse(sets, where);
  for (const Cifar10Files& other : sets) {
    if (&other == &*chosen || !complete(other)) continue;
    chosen->remarks.push_back(
        fmt::format("{} has more than one CIFAR-10 set; reads the {} version in {}", where.string(),
                    version_name(chosen->format), chosen->place));
    break;
  }
  std::ranges::sort(chosen->train, {}, &SetFile::number);
  const auto twin = std::ranges::adjacent_find(chosen->train, {}, &SetFile::number);
  if (twin != chosen->train.end())
    throw InputError(
        fmt::format("{} holds data_batch_{} twice: remove one", chosen->place, twin->number));
  return std::move(*chosen);
}

std::vector<std::uint8_t> load(SetFile& file) {
  if (file.path.empty()) return std::exchange(file.bytes, {});
  const InputFile input{file.path, file.name, "check that it is a readable CIFAR-10 file",
                        Wanted::anything};
  const std::string bytes = read_whole(input, kMaxFileBytes);
  return {bytes.begin(), bytes.end()};
}

}  // namespace rueda
