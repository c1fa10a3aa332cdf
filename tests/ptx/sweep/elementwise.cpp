#include "sweep.hpp"

// Kernels that look at one element at a time, by packs.

namespace rueda::sweep {
namespace {

/// Some threads of the largest grid have a second pack of four, and so the loop over several.
constexpr std::size_t kPasses = 4096UL * 256 * 4 + 4099;
constexpr Schedules kOnce{1, false};

/// Bytes before an operand are multiples of its element.
std::vector<Length> lengths(std::size_t element) {
  std::vector<std::size_t> counts = {3, 9, 4099};
  if (choice().whole) counts = {1, 3, 4, 5, 8, 9, 255, 1025, 4099};
  std::vector<Length> all;
  for (const std::size_t count : counts) {
    all.push_back({count, 0, 0});
    all.push_back({count, element, element});
    all.push_back({count, 16 - element, 16 - element});
    all.push_back({count, 0, element});
    all.push_back({count, element, 0});
  }
  return all;
}

/// So many that threads take several turns: with packs of 16 bytes, and without.
std::vector<Length> long_lengths(std::size_t element) {
  if (!choice().whole) return {};
  return {{kPasses * 4 / element, 0, 0}, {kPasses, 0, element}};
}

void accumulate(const Length& l, Schedules schedules) {
  row(
      "accumulate", shape_of(l),
      [&](Row& r) {
        const auto x = random_values<float>(1, l.count, 8), y = random_values<float>(2, l.count);
        const Operand<float> a(x, l.a), b(y, l.b);
        cuda::accumulate(a.get(), b.get(), l.count, stream());
        Doubles want(l.count);
        for (std::size_t i = 0; i < l.count; ++i) want[i] = as_float(double(x[i]) + double(y[i]));
        expect(r, a.read(r), want, 0);
      },
      schedules);
}

template <typename T>
void add_activations(const Length& l, bool relu, Schedules schedules) {
  row(
      text("add_activations %s%s", kName<T>, relu ? " relu" : ""), shape_of(l),
      [&](Row& r) {
        auto x = random_values<T>(3, l.count), y = random_values<T>(4, l.count);
        if (l.count > 4) x[2] = rounded<T>(NAN);
        const Operand<T> a(x, l.a), b(y, l.b), to(l.count, l.a);
        cuda::add_activations(kElement<T>, to.get(), a.get(), b.get(), l.count, relu, stream());
        Doubles want(l.count);
        for (std::size_t i = 0; i < l.count; ++i) {
          const double sum = as_float(widened(x[i]) + widened(y[i]));
          want[i] = widened(rounded<T>(relu && sum <= 0 ? 0.0 : sum));
        }
        expect(r, to.read(r), want, 0);
      },
      schedules);
}

template <typename T>
void mask_gradient(const Length& l, bool two, Schedules schedules) {
  row(
      text("mask_gradient %s%s", kName<T>, two ? " two" : ""), shape_of(l),
      [&](Row& r) {
        auto y = random_values<T>(5, l.count);
        for (std::size_t i = 0; i < l.count; i += 3) y[i] = rounded<T>(i % 2 == 0 ? 0.0 : -0.0);
        const auto dy = random_values<T>(6, l.count), other = random_values<T>(7, l.count);
        const Operand<T> output(y, l.a), gradient(dy, l.b), second(other, l.a), to(l.count, l.a);
        cuda::mask_gradient(kElement<T>, to.get(), output.get(), gradient.get(),
                            two ? second.get() : nullptr, l.count, stream());
        Doubles want(l.count);
        for (std::size_t i = 0; i < l.count; ++i) {
          const double d = two ? as_float(widened(dy[i]) + widened(other[i])) : widened(dy[i]);
          if (widened(y[i]) > 0) want[i] = widened(rounded<T>(d));
        }
        expect(r, to.read(r), want, 0);
      },
      schedules);
}

/// Whether the copy, which begins as an arena in bf16 does, has all values, rounded.
void expect_packed(Row& row, const Operand<Bfloat16>& packed, const Operand<float>& values) {
  Doubles want;
  for (const float value : values.read(row))
    want.push_back(widened(rounded_to_bf16(double(value))));
  expect(row, packed.read(row), want, 0, 0, "packed values");
}

/// Two slices, with something before, between and after them.
std::vector<cuda::Slice> two_slices(std::size_t count) {
  return {{count / 7, count / 3}, {count / 2, count / 3}};
}

/// `packs`: new values are written in bf16 too, and of two slices gradients are read in bf16.
void sgd_update(const Length& l, bool nesterov, bool packs, Schedules schedules) {
  row(
      text("sgd_update%s%s", nesterov ? " nesterov" : "", packs ? " packed" : ""), shape_of(l),
      [&](Row& r) {
        const auto w = random_values<float>(8, l.count), v = random_values<float>(9, l.count);
        auto g = random_values<float>(10, l.count);
        const auto narrow = random_values<Bfloat16>(11, l.count);
        const auto slices = packs ? two_slices(l.count) : std::vector<cuda::Slice>();
        for (const auto& [begin, count] : slices)
          std::fill_n(g.begin() + std::ptrdiff_t(begin), count, NAN);
        const Operand<float> values(w, l.a), velocities(v, l.a), gradients(g, l.b);
        const Operand<Bfloat16> packed(l.count, l.a / 2), narrow_gradients(narrow, l.a / 2);
        for (const auto& [begin, count] : slices)
          for (std::size_t i = begin; i < begin + count; ++i) g[i] = float(widened(narrow[i]));
        const double rate = double(0.1F), momentum = double(0.9F), decay = double(5e-4F);
        cuda::sgd_update(values.get(), velocities.get(), gradients.get(),
                         {narrow_gradients.get(), slices}, packs ? packed.get() : nullptr, l.count,
                         {0.1F, 0.9F, 5e-4F, nesterov}, stream());
        Doubles want_w(l.count), want_v(l.count);
        for (std::size_t i = 0; i < l.count; ++i) {
          const double gradient = double(g[i]) + decay * double(w[i]);
          want_v[i] = momentum * double(v[i]) + gradient;
          const double step = nesterov ? gradient + momentum * want_v[i] : want_v[i];
          want_w[i] = double(w[i]) - rate * step;
        }
        expect(r, values.read(r), want_w, 1, 1);
        expect(r, velocities.read(r), want_v, 1, 1);
        if (packs) expect_packed(r, packed, values);
      },
      schedules);
}

/// In three tensors, of which the second is not adapted.
void lars_update(const Length& l, Schedules schedules) {
  row(
      "lars_update", shape_of(l),
      [&](Row& r) {
        const auto w = random_values<float>(30, l.count), v = random_values<float>(31, l.count),
                   g = random_values<float>(32, l.count);
        const Operand<float> values(w, l.a), velocities(v, l.a), gradients(g, l.b);
        const Operand<Bfloat16> packed(l.count, l.a / 2);
        const std::size_t first = l.count / 3, second = l.count / 3 * 2;
        const std::vector<LarsTensor> tensors = {
            {0, first, true}, {first, second - first, false}, {second, l.count - second, true}};
        const Operand<double> squares({16, 9, 0.25, 4, 1, 36});
        cuda::lars_update({.values = {values.get(), l.count},
                           .velocities = {velocities.get(), l.count},
                           .gradients = {gradients.get(), l.count},
                           .tensors = tensors,
                           .value_squares = {squares.get(), 3},
                           .gradient_squares = {squares.get() + 3, 3}},
                          packed.get(), {{0.5F, 0.875F, 0.25F, false}, 0.125, 0.5}, stream());
        // rate trust |w| / (|g| + decay |w| + epsilon)
        const double rates[] = {0.5 * 0.125 * 4 / (2 + 0.25 * 4 + 0.5), 0.5,
                                0.5 * 0.125 * 0.5 / (6 + 0.25 * 0.5 + 0.5)};
        Doubles want_w(l.count), want_v(l.count);
        for (std::size_t i = 0; i < l.count; ++i) {
          const int tensor = int(i >= first) + int(i >= second);
          const double decay = tensor == 1 ? 0 : 0.25;
          want_v[i] = 0.875 * double(v[i]) + rates[tensor] * (double(g[i]) + decay * double(w[i]));
          want_w[i] = double(w[i]) - want_v[i];
        }
        expect(r, values.read(r), want_w, 2.1, 1);  // six roundings
        expect(r, velocities.read(r), want_v, 1, 1);
        expect_packed(r, packed, values);
      },
      schedules);
}

template <typename T>
void activations() {
  for (const bool flag : {false, true}) {
    for (const Length& l : lengths(sizeof(T))) {
      add_activations<T>(l, flag, {});
      mask_gradient<T>(l, flag, {});
    }
    for (const Length& l : long_lengths(sizeof(T))) {
      add_activations<T>(l, flag, kOnce);
      mask_gradient<T>(l, flag, kOnce);
    }
  }
}

}  // namespace

void sweep_elementwise() {
  for (const Length& l : lengths(4)) accumulate(l, {});
  for (const Length& l : long_lengths(4)) accumulate(l, {1, true});
  activations<float>();
  activations<Bfloat16>();
  for (const Length& l : lengths(4)) lars_update(l, {});
  for (const Length& l : long_lengths(4)) lars_update(l, kOnce);
  for (const bool nesterov : {false, true}) {
    for (const bool packs : {false, true}) {
      for (const Length& l : lengths(4)) sgd_update(l, nesterov, packs, {});
      for (const Length& l : long_lengths(4)) sgd_update(l, nesterov, packs, kOnce);
    }
  }
}

}  // namespace rueda::sweep
