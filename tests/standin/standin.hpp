#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

// What a test may ask of the stand-in, and how it may change it. docs/dev/testing.md says what the
// stand-in is.
//
// Variables of the environment, all RUEDA_STANDIN_...:
//   DEVICES (1)          devices; CUDA_VISIBLE_DEVICES chooses among them
//   NAME                 the name of each [stand-in (host memory, no GPU)]
//   MEMORY (8 GiB)       bytes of each
//   CLAIMED              bytes that each reports as free, whatever is free
//   ALIGNMENT (256)      device memory begins at odd multiples of it, at most 256
//   COPY_US (0)          what each copy between host and device takes
//   DELAY_US (0)         mean delay of each item of work; SEED (1) is its seed
//   SINGLE_OPERATION=1   no engine for graphs of several operations
//   NO_COMPILE, NO_RUN   the number of an engine that does not compile (9: all), or does not run
//   NO_FUSED_RUN=1       no plan of several operations runs
//   NO_RESTORE=1         no plan can be restored from text
//   COUNTERS             a folder, in which each process leaves its counts when it ends
//   DRIVER               a libcuda.so.1 whose device memory other processes can map, as
//                        tests/standin/driver makes it; without it there is no CUDA IPC
//   NVML_LACKS           queries that its NVML does not support ("energy,power")

namespace rueda {

struct StandinMemory {
  /// Blocks of device and pinned memory handed out since the process began. A step that allocates
  /// nothing leaves it as it was.
  std::size_t allocations = 0;
  /// Bytes of device memory in use on all devices, and the most there ever were since the process
  /// began or `standin_reset_peak` was called.
  std::size_t in_use = 0, peak = 0;
  /// Freed blocks of device memory that had been written past their end. Each is reported on stderr
  /// too.
  std::size_t overruns = 0;
  /// Bytes that calls have asked to be copied from devices to the host.
  std::size_t to_host = 0;
};
StandinMemory standin_memory();
void standin_reset_peak();

/// What was queued on a stream: a kernel, a product, a clearing or a copy.
struct StandinLaunch {
  /// The type of a kernel, or its name in the PTX; the name of a graph's first operation; "gemm",
  /// "clear", "copy".
  std::string name;
  double flops = 0;                         ///< of products
  std::array<unsigned, 2> grid{}, block{};  ///< of kernels: how many, across and down
  bool early = false;  ///< of kernels: may begin before the one before has ended
  struct Bytes {
    std::size_t read = 0, written = 0;  ///< each counted once
    std::size_t shared = 0;             ///< of those written: in lines that several blocks write
  };
  /// By the size of the block of memory that they lie in; 0: any. Of kernels they are known only
  /// where PTX is interpreted, once the kernel has run.
  std::map<std::size_t, Bytes> touched = {};
};
/// Notes from now on what is queued; `runs`: whether kernels run as well, for which memory is
/// there.
void standin_note_launches(bool runs = true);
/// What was noted since, in order. Nothing more is noted.
std::vector<StandinLaunch> standin_take_launches();

}  // namespace rueda
