#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include <cuda_runtime_api.h>

#include "cuda/device/handles.hpp"
#include "cuda/kernels/kernels.hpp"

// What the sweeps share. A sweep calls launchers with many shapes, on the interpreter of PTX, and
// compares with float64.

namespace rueda::sweep {

using kernels::Bfloat16;
using Doubles = std::vector<double>;

/// What the command line asks for.
struct Choice {
  bool whole = false;  ///< all shapes, each under more schedules; else some, for the default suite
  std::string kernel;  ///< calls of other kernels are left out
};
const Choice& choice();

/// One call of a launcher, under several schedules: what was wrong.
class Row {
 public:
  void fail(const std::string& why);
  const std::string& why() const { return why_; }

 private:
  std::string why_;
};

struct Schedules {
  int count = 2;      ///< of the whole sweep; one of the default suite's
  bool races = true;  ///< looks for races
};

/// Calls `run`, which makes its operands anew and checks them, under each schedule. Prints a line
/// if something was wrong.
void row(const std::string& kernel, const std::string& shape, const std::function<void(Row&)>& run,
         Schedules schedules = {});

/// As printf writes it.
template <typename... A>
std::string text(const char* format, A... arguments) {
  std::string buffer(200, ' ');
  buffer.resize(std::size_t(std::snprintf(buffer.data(), buffer.size(), format, arguments...)));
  return buffer;
}

/// A number from -1 to 1 that looks random, of many magnitudes.
double noise(std::uint64_t key, std::uint64_t index);

inline double widened(float v) { return double(v); }
inline double widened(Bfloat16 v) { return double(kernels::to_float(v)); }
inline double widened(std::int32_t v) { return double(v); }
inline double widened(std::uint8_t v) { return double(v); }

/// To the nearest, ties to even, by other means than the kernels'.
Bfloat16 rounded_to_bf16(double value);

template <typename T>
T rounded(double value) {
  if constexpr (std::is_same_v<T, Bfloat16>)
    return rounded_to_bf16(value);
  else
    return T(value);
}

/// Rounded to fp32.
inline double as_float(double value) { return double(float(value)); }

cudaStream_t stream();
void copy_to_device(void* to, const void* from, std::size_t bytes);
void copy_to_host(void* to, const void* from, std::size_t bytes);
/// Device memory that was not written yet.
cuda::DeviceMemory unwritten(std::size_t bytes);
/// Whether the first bytes of memory were not written.
bool is_unwritten(const void* memory, std::size_t bytes);

/// `before` bytes that no kernel may touch, then values, then the end of the memory.
template <typename T>
class Operand {
 public:
  explicit Operand(std::size_t count, std::size_t before = 0)
      : before_(before), count_(count), memory_(unwritten(before + count * sizeof(T))) {}
  explicit Operand(const std::vector<T>& values, std::size_t before = 0)
      : Operand(values.size(), before) {
    write(values);
  }

  void write(const std::vector<T>& values) { copy_to_device(get(), values.data(), bytes()); }
  T* get() const { return reinterpret_cast<T*>(static_cast<std::byte*>(memory_.get()) + before_); }
  std::vector<T> read(Row& row) const {
    std::vector<T> values(count_);
    copy_to_host(values.data(), get(), bytes());
    if (!is_unwritten(memory_.get(), before_)) row.fail("a write before the operand");
    return values;
  }

 private:
  std::size_t bytes() const { return count_ * sizeof(T); }
  std::size_t before_, count_;
  cuda::DeviceMemory memory_;
};

template <typename T>
std::vector<T> random_values(std::uint64_t key, std::size_t count, double scale = 1) {
  std::vector<T> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = rounded<T>(scale * noise(key, i));
  return values;
}

template <typename T>
Doubles doubles(const std::vector<T>& values) {
  Doubles all(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) all[i] = widened(values[i]);
  return all;
}

template <typename T>
constexpr double kUnit = std::is_same_v<T, Bfloat16> ? 0x1p-8 : 0x1p-23;

/// Whether all are within `allowed` of what is wanted, relative to the larger of |wanted| and
/// `size`. A NaN is right where one is wanted.
void expect_near(Row& row, const Doubles& got, const Doubles& want, double allowed, double size,
                 const char* what);

/// The same in units of the last place.
template <typename T>
void expect(Row& row, const std::vector<T>& got, const Doubles& want, double units, double size = 0,
            const char* what = "values") {
  expect_near(row, doubles(got), want, units * kUnit<T>, size, what);
}

template <typename T>
constexpr cuda::Element kElement =
    std::is_same_v<T, Bfloat16> ? cuda::Element::bf16 : cuda::Element::fp32;
template <typename T>
constexpr const char* kName = std::is_same_v<T, Bfloat16> ? "bf16" : "fp32";

/// Zeros for the counters; sums are not written yet.
class Scratch {
 public:
  Scratch();
  cuda::SumScratch* get() const { return static_cast<cuda::SumScratch*>(memory_.get()); }
  void check_counters(Row& row) const;

 private:
  cuda::DeviceMemory memory_;
};

/// A length of operands, and how many bytes lie before them.
struct Length {
  std::size_t count;
  std::size_t a, b;
};
std::string shape_of(const Length& length);

void sweep_elementwise();
void sweep_conversions();
void sweep_losses();
void sweep_norms();
void sweep_columns();
void sweep_images();
/// Arrays of many gigabytes.
void sweep_large();

}  // namespace rueda::sweep
