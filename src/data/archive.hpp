#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace rueda {

/// Largest file that is read, and largest sum of an archive's members: five times an official
/// file, ten times the official set. Bounds what a damaged or hostile archive can unfold to.
inline constexpr std::size_t kMaxFileBytes = 200'000'000;
inline constexpr std::size_t kMaxSetBytes = 2'000'000'000;
/// Bytes of an archive, packed or unpacked, with its headers and what stands behind the last
/// member.
inline constexpr std::size_t kMaxUnfoldedBytes = kMaxSetBytes + kMaxFileBytes;

/// A file out of an archive.
struct ArchiveMember {
  std::string path;  ///< as the archive has it
  std::vector<std::uint8_t> bytes;
};

/// Reads those members of a .tar.gz (or .tar) whose path `wanted` accepts, in archive order, into
/// memory; never writes, so a path may say what it likes. Throws InputError naming the archive if
/// it is not one, is truncated or damaged, exceeds the bounds, or if a wanted member is not a
/// regular file.
std::vector<ArchiveMember> read_archive(const std::filesystem::path& archive,
                                        const std::function<bool(std::string_view)>& wanted);

}  // namespace rueda
