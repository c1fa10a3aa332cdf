#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/files.hpp"

namespace rueda {

// The one place where text that comes from elsewhere is decoded.

/// UTF-8 of a text in UTF-8, UTF-16 or UTF-32, without a byte-order mark. Without
/// a mark UTF-16 and UTF-32 are known by the zeros in their first unit. What
/// neither of them has becomes U+FFFD.
std::string decode_text(std::string bytes);

/// A text file, decoded. Refuses what read_whole refuses.
std::string read_text(const InputFile& file, std::size_t most_bytes);

/// What launchers and log collectors put before a line: "[1,0]<stdout>:" (mpirun,
/// horovodrun), "0: " (srun), "[0] " and "[mpiexec@host] " (Hydra),
/// "[default0]:" (torchrun), "rank0:", "(Worker pid=7) " (Ray), "worker-0 | "
/// (Docker), "node7 python3[1234]: " (journald), "INFO:root:" (Python's logging),
/// and time stamps.
struct LinePrefix {
  std::size_t bytes = 0;
  std::optional<std::size_t> rank{};  ///< where it says
  std::string worker{};               ///< a process that has a name or a number, but no rank
};
LinePrefix launcher_prefix(std::string_view line);

/// A line of what a program printed. The views live until the next line.
struct OutputLine {
  std::string_view text;   ///< without the launcher's prefix
  std::string_view whole;  ///< with it
  bool of_rank_0 = true;   ///< of rank 0, of the first worker, or of the only process
};

/// Reads what a program printed, decoded, as a terminal would have shown it in
/// time: line feeds, carriage returns, backspaces and the mark of a rank within a
/// line end lines, escape sequences are left out, and a line is cut after 4096 bytes. Memory does
/// not grow with the file. Refuses as require_regular_file does.
void read_output(const InputFile& file, std::size_t most_bytes,
                 const std::function<void(const OutputLine&)>& use);

}  // namespace rueda
