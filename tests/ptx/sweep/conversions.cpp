#include "sweep.hpp"

// Kernels that look at one element at a time: conversions, statistics, sums of hashes.

namespace rueda::sweep {
namespace {

constexpr std::size_t kOnePass = 4096UL * 256;  ///< of the largest grid

std::vector<std::size_t> counts(std::size_t more) {
  std::vector<std::size_t> all = {1, 63, 255, 1030};
  if (choice().whole) all.push_back(kOnePass + more);
  return all;
}

/// Races are looked for where it does not take long.
Schedules schedules_of(std::size_t n) { return {2, n < 10000}; }

void to_bf16(const Length& l) {
  row(
      "to_bf16", shape_of(l),
      [&](Row& r) {
        auto x = random_values<float>(11, l.count);
        for (std::size_t i = 1; i < l.count; i += 2)  // ties, numbers below the normal, infinities
          x[i] = std::bit_cast<float>(std::uint32_t(i * 2654435761U & 0xffff0000U) |
                                      std::uint32_t(0x7fff + i % 3));
        const Operand<float> from(x, l.a);
        const Operand<Bfloat16> to(l.count, l.b);
        cuda::to_bf16(to.get(), from.get(), l.count, stream());
        Doubles want(l.count);
        for (std::size_t i = 0; i < l.count; ++i)
          want[i] = widened(rounded<Bfloat16>(double(x[i])));
        expect(r, to.read(r), want, 0);
      },
      schedules_of(l.count));
}

void from_bf16(const Length& l) {
  row(
      "add_bf16, to_fp32", shape_of(l),
      [&](Row& r) {
        const auto x = random_values<float>(14, l.count);
        const auto y = random_values<Bfloat16>(15, l.count);
        const Operand<float> into(x, l.a), to(l.count, l.a);
        const Operand<Bfloat16> from(y, l.b);
        cuda::add_bf16(into.get(), from.get(), l.count, stream());
        cuda::to_fp32(to.get(), from.get(), l.count, stream());
        Doubles want(l.count);
        for (std::size_t i = 0; i < l.count; ++i) want[i] = as_float(double(x[i]) + widened(y[i]));
        expect(r, into.read(r), want, 0);
        expect(r, to.read(r), doubles(y), 0);
      },
      schedules_of(l.count));
}

void slices_to_fp32(unsigned slices) {
  row("to_fp32 of slices", text("%u slices", slices), [&](Row& r) {
    std::vector<cuda::Slice> all;
    std::vector<bool> taken;
    for (unsigned k = 0; k < slices; ++k) {
      const std::size_t gap = k % 3, count = k == 1 ? 20011 : k * 7 % 300;
      taken.insert(taken.end(), gap, false);
      all.push_back({taken.size(), count});
      taken.insert(taken.end(), count, true);
    }
    const auto y = random_values<Bfloat16>(17, taken.size());
    const Operand<Bfloat16> from(y, 2);
    const Operand<float> to(std::vector<float>(taken.size(), -7), 4);
    cuda::to_fp32(to.get(), from.get(), all, stream());
    Doubles want = doubles(y);
    for (std::size_t i = 0; i < want.size(); ++i)
      if (!taken[i]) want[i] = -7;
    expect(r, to.read(r), want, 0);
  });
}

void weigh_statistics(std::size_t n) {
  row(
      "weigh_statistics", text("n=%zu", n),
      [&](Row& r) {
        const auto x = random_values<float>(18, n), m = random_values<float>(19, n, 4);
        const Operand<float> from(x, 4), per(m, 8), to(n, 12);
        cuda::weigh_statistics(to.get(), from.get(), per.get(), n, 37, stream());
        Doubles want(n);
        for (std::size_t i = 0; i < n; ++i) {
          const auto values = double(37 * m[i]);
          want[i] = double(x[i]) * 37 * (values > 1 ? values / (values - 1) : 1.0);
        }
        expect(r, to.read(r), want, 2.1);  // four roundings
      },
      schedules_of(n));
}

void update_running(std::size_t n) {
  row(
      "update_running", text("n=%zu", n),
      [&](Row& r) {
        const auto x = random_values<float>(20, n), s = random_values<float>(21, n, 37);
        const Operand<float> running(x, 4), sums(s);
        cuda::update_running(running.get(), sums.get(), n, 37, 0.9F, stream());
        Doubles want(n);
        for (std::size_t i = 0; i < n; ++i)
          want[i] = double(0.9F) * double(x[i]) + (1 - double(0.9F)) * double(s[i]) / 37;
        expect(r, running.read(r), want, 2, 1);
      },
      schedules_of(n));
}

/// Another program for the same numbers as mix64: it is part of the format of checkpoints.
std::uint64_t mixed(std::uint64_t z) {
  z += 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

std::uint64_t hash_share(std::uint64_t i, float v) {
  return mixed((i << 32) ^ std::bit_cast<std::uint32_t>(v));
}

std::uint64_t check_share(std::uint64_t i, float v) {
  return std::uint64_t(std::bit_cast<std::uint32_t>(v)) * (std::uint32_t(i) * 0x3C6EF362U + 1U);
}

template <typename Queue, typename Share>
void sum_of_shares(const char* name, std::size_t n, std::size_t off, Queue queue, Share share) {
  row(
      name, text("n=%zu at +%zu", n, off),
      [&](Row& r) {
        const auto x = random_values<float>(22, n);
        const Operand<float> values(x, off);
        const Operand<std::uint64_t> sum(std::vector<std::uint64_t>{123, 456});
        queue(values.get(), n, sum.get(), stream());
        std::uint64_t want = 0;
        for (std::size_t i = 0; i < n; ++i) want += share(i, x[i]);
        if (sum.read(r) != std::vector<std::uint64_t>{want, 456}) r.fail("mismatch");
      },
      schedules_of(n));
}

}  // namespace

void sweep_conversions() {
  for (const std::size_t n : counts(77)) {
    for (const Length& l : {Length{n, 0, 0}, {n, 4, 2}, {n, 4, 0}}) {
      to_bf16(l);
      from_bf16(l);
    }
    for (const std::size_t off : {0, 4}) {
      sum_of_shares("element_hash", n, off, cuda::element_hash, hash_share);
      sum_of_shares("message_check", n, off, cuda::message_check, check_share);
    }
  }
  for (const unsigned slices : {0U, 1U, 3U, 240U}) slices_to_fp32(slices);
  for (const std::size_t n : counts(5)) {
    weigh_statistics(n);
    update_running(n);
  }
  if (!choice().whole) update_running(kOnePass + 5);  // of one kernel always: the step of a grid
}

}  // namespace rueda::sweep
