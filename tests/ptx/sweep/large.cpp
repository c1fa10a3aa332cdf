// Kernels on arrays of many gigabytes: whether no index is cut to 32 bits on its way. An array is a
// few megabytes of memory that appear again and again, a number of times that is no power of two,
// and only some blocks run. What they leave must be what their place in the array asks for.

#include <stdexcept>

#include <sys/mman.h>
#include <unistd.h>

#include "sweep.hpp"
#include "tests/ptx/launch.hpp"

namespace rueda::sweep {
namespace {

constexpr std::size_t kPeriod = 3UL * 5 * 7 * 4096 * 16;  // bytes; a multiple of 16 and of pages
constexpr const char* kNoRoom = "no room to map arrays of many gigabytes";

std::vector<ptx::Range> arrays;

/// Memory of `bytes` at `place`, again and again up to `end`.
std::byte* repeat(std::byte* place, std::size_t bytes, std::byte* end) {
  const int file = memfd_create("repeated", 0);
  if (file < 0 || ftruncate(file, off_t(bytes)) != 0) throw std::runtime_error(kNoRoom);
  for (; place < end; place += bytes)
    if (mmap(place, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED)
      throw std::runtime_error(kNoRoom);
  close(file);
  return end;
}

/// An array of `count`. The last part, more than a grid covers at once, has memory of its own.
template <typename T>
class Endless {
 public:
  static constexpr std::size_t kLength = kPeriod / sizeof(T), kTail = 10 * kLength;

  explicit Endless(std::size_t count)
      : bytes_((count * sizeof(T) + kPeriod - 1) / kPeriod * kPeriod) {
    void* begin =
        mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (begin == MAP_FAILED) throw std::runtime_error(kNoRoom);
    auto* first = static_cast<std::byte*>(begin);
    std::byte* tail = first + bytes_ - 10 * kPeriod;
    repeat(repeat(first, kPeriod, tail), 10 * kPeriod, first + bytes_);
    data_ = static_cast<T*>(begin);
    const auto address = reinterpret_cast<std::uintptr_t>(begin);
    arrays.push_back({address, address + count * sizeof(T)});
  }
  ~Endless() {
    arrays.pop_back();
    munmap(data_, bytes_);
  }
  Endless(const Endless&) = delete;
  Endless& operator=(const Endless&) = delete;
  T* get() const { return data_; }
  T* tail() const { return data_ + bytes_ / sizeof(T) - kTail; }

 private:
  std::size_t bytes_;
  T* data_ = nullptr;
};

/// Whole numbers that either type has.
template <typename T>
T whole(std::size_t i) {
  return kernels::from_float<T>(float(i % 241));
}

template <typename T>
void fill(const Endless<T>& array, std::size_t first) {
  for (std::size_t i = 0; i < array.kLength; ++i) array.get()[i] = whole<T>(first + i);
  for (std::size_t i = 0; i < array.kTail; ++i) array.tail()[i] = whole<T>(first + 100 + i);
}

template <typename T>
void clear(const Endless<T>& array) {
  std::fill_n(array.get(), array.kLength, rounded<T>(NAN));
  std::fill_n(array.tail(), array.kTail, rounded<T>(NAN));
}

/// Each value is what is wanted there or was not touched; some must have been.
template <typename T, typename F>
void check_part(Row& r, const T* got, std::size_t count, const F& want) {
  std::size_t touched = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (std::isnan(widened(got[i]))) continue;
    ++touched;
    if (widened(got[i]) != want(i)) return r.fail(text("mismatch at %zu of %zu", i, count));
  }
  if (touched == 0) r.fail("nothing was touched");
}

template <typename T>
void check_same(Row& r, const Endless<T>& got, const Endless<T>& want) {
  check_part(r, got.get(), got.kLength, [&](std::size_t i) { return widened(want.get()[i]); });
  check_part(r, got.tail(), got.kTail, [&](std::size_t i) { return widened(want.tail()[i]); });
}

template <typename T>
void add(std::size_t count, std::size_t shift) {
  row(text("add_activations %s", kName<T>), text("n=%zu, +%zu", count, shift),
      [&](Row& r) {
        const Endless<T> a(count + shift), b(count + shift), to(count + shift);
        fill(a, 1);
        fill(b, 2);
        clear(to);
        cuda::add_activations(kElement<T>, to.get() + shift, a.get() + shift, b.get(), count, false,
                              stream());
        cuda::check(cudaStreamSynchronize(stream()), "wait");
        const auto sum = [](T x, T y) {
          return widened(rounded<T>(double(float(widened(x) + widened(y)))));
        };
        check_part(r, to.get() + shift, to.kLength - shift,
                   [&](std::size_t i) { return sum(a.get()[i + shift], b.get()[i]); });
        check_part(r, to.tail() + shift, to.kTail - shift,
                   [&](std::size_t i) { return sum(a.tail()[i + shift], b.tail()[i]); });
      },
      {2, false});
}

void narrow(std::size_t count) {
  row("to_bf16", text("n=%zu", count),
      [&](Row& r) {
        const Endless<float> from(count);
        const Endless<Bfloat16> to(count);
        fill(from, 1);
        clear(to);
        cuda::to_bf16(to.get(), from.get(), count, stream());
        cuda::check(cudaStreamSynchronize(stream()), "wait");
        // Of two bytes, a period has twice as many: each place is one of two of the other.
        check_part(r, to.get(), to.kLength,
                   [&](std::size_t i) { return double(from.get()[i % from.kLength]); });
        const std::size_t end = count - 10 * from.kLength;  // what is in both tails
        check_part(r, to.get() + end, 10 * from.kLength,
                   [&](std::size_t i) { return double(from.get()[end + i]); });
      },
      {2, false});
}

template <typename T>
void normalise(std::size_t rows, int channels) {
  row(text("norm_apply %s", kName<T>), text("%zu x %d", rows, channels),
      [&](Row& r) {
        const std::size_t count = rows * std::size_t(channels);
        const Endless<T> x(count), y(count);
        fill(x, 3);
        clear(y);
        const auto c = std::size_t(channels);
        std::vector<float> statistics(2 * c, 0.0F);
        for (std::size_t i = c; i < 2 * c; ++i) statistics[i] = 1.0F;
        const Operand<float> ones(std::vector<float>(c, 1.0F)), zeros(std::vector<float>(c, 0.0F)),
            s(statistics);
        cuda::norm_apply({.element = kElement<T>,
                          .rows = rows,
                          .channels = channels,
                          .x = x.get(),
                          .gamma = ones.get(),
                          .beta = zeros.get(),
                          .epsilon = 0,
                          .statistics = s.get(),
                          .y = y.get()},
                         stream());
        cuda::check(cudaStreamSynchronize(stream()), "wait");
        check_same(r, y, x);
      },
      {2, false});
}

template <typename T>
void pool(const cuda::ImageShape& s) {
  row(text("max_pool %s", kName<T>), text("%dx%dx%dx%d", s.images, s.height, s.width, s.channels),
      [&](Row& r) {
        const std::size_t count = std::size_t(s.images) * std::size_t(s.height) *
                                  std::size_t(s.width) * std::size_t(s.channels);
        const Endless<T> x(count), y(count);
        fill(x, 4);
        clear(y);
        cuda::max_pool({kElement<T>, s, s, 1, 1, 0, false}, y.get(), x.get(), nullptr, stream());
        cuda::check(cudaStreamSynchronize(stream()), "wait");
        check_same(r, y, x);
      },
      {2, false});
}

}  // namespace

void sweep_large() {
  const ptx::Settings before = ptx::launch_settings();
  ptx::launch_settings().most_blocks = 3;
  ptx::launch_settings().find_memory = [&](std::uintptr_t address) -> std::optional<ptx::Range> {
    for (const ptx::Range& r : arrays)
      if (address >= r.begin && address < r.end) return r;
    return before.find_memory(address);
  };
  add<Bfloat16>(5'200'000'003, 0);
  normalise<float>(900'000'001, 5);
  pool<float>({7000, 5, 256, 257});
  if (choice().whole) {
    add<Bfloat16>(5'200'000'003, 1);
    add<float>(4'700'000'001, 0);
    add<float>(4'700'000'001, 1);
    narrow(5'000'000'001);
    normalise<Bfloat16>((std::size_t{1} << 31) - 1, 8);
    pool<Bfloat16>({60000, 8, 256, 256});
  }
  ptx::launch_settings() = before;
}

}  // namespace rueda::sweep
