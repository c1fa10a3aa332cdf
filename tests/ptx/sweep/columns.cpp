#include <utility>

#include "matrices.hpp"

// Sums of columns, biases, channels that are added or left out.

namespace rueda::sweep {

std::string shape_of(const Matrix& m) {
  return text("%zu x %d%s", m.rows, m.channels, m.aligned ? "" : " not aligned");
}

std::vector<Matrix> matrices() {
  if (!choice().whole)
    return {{1, 3, true},   {7, 8, true},     {61, 33, true},  {61, 16, false},
            {61, 72, true}, {1311, 8, false}, {515, 40, true}, {10500, 5, true}};
  std::vector<Matrix> all;
  for (const std::size_t rows : {1, 2, 7, 61})
    for (const int channels : {1, 3, 4, 8, 12, 24, 33, 40}) all.push_back({rows, channels, true});
  for (const std::size_t rows : {300, 515, 1311})
    for (const int channels : {5, 16, 40}) all.push_back({rows, channels, true});
  all.push_back({4111, 8, true});
  all.push_back({2600, 72, true});
  all.push_back({10500, 5, true});  // the last block sums in two rounds
  all.push_back({61, 16, false});
  all.push_back({1311, 8, false});
  return all;
}

namespace {

template <typename T>
void column_sums(const Matrix& m) {
  row(text("column_sums %s", kName<T>), shape_of(m), [&](Row& r) {
    const auto channels = std::size_t(m.channels);
    const auto x = random_values<T>(51, m.elements());
    const Operand<T> from(x, before<T>(m));
    const Operand<float> sums(channels, 4);
    const Scratch scratch;
    Doubles want(channels);
    for (std::size_t i = 0; i < x.size(); ++i) want[i % channels] += widened(x[i]);
    for (int turn = 0; turn < 2; ++turn) {
      cuda::column_sums(kElement<T>, sums.get(), from.get(), m.rows, m.channels, scratch.get(),
                        stream());
      expect(r, sums.read(r), want, 8, std::sqrt(double(m.rows)));
      scratch.check_counters(r);
    }
  });
}

template <typename T>
void add_bias(const Matrix& m, bool biased, bool adds, bool in_place) {
  row(text("add_bias %s%s%s%s", kName<T>, biased ? " bias" : "", adds ? " residual" : "",
           in_place ? " in place" : ""),
      shape_of(m), [&](Row& r) {
        const auto channels = std::size_t(m.channels);
        const auto x = random_values<T>(52, m.elements()), z = random_values<T>(53, m.elements());
        const auto bias = random_values<float>(54, channels);
        const Operand<T> from(x, before<T>(m)), residual(z, before<T>(m)),
            to(m.elements(), before<T>(m));
        const Operand<float> biases(bias, 4);
        const Operand<T>& out = in_place ? from : to;
        cuda::add_bias(kElement<T>, out.get(), from.get(), biased ? biases.get() : nullptr,
                       adds ? residual.get() : nullptr, m.rows, m.channels, stream());
        Doubles want(m.elements());
        for (std::size_t i = 0; i < want.size(); ++i) {
          double v = widened(x[i]);
          if (biased) v = as_float(v + double(bias[i % channels]));
          if (adds) v = as_float(v + widened(z[i]));
          want[i] = widened(rounded<T>(v));
        }
        expect(r, out.read(r), want, 0);
      });
}

template <typename T>
void pad_channels(std::size_t rows, int channels, int wide) {
  row(text("pad_channels %s", kName<T>), text("%zu x %d to %d", rows, channels, wide), [&](Row& r) {
    const auto few = std::size_t(channels), many = std::size_t(wide);
    const auto x = random_values<float>(55, rows * few);
    const Operand<float> from(x, 4);
    const Operand<T> to(rows * many, sizeof(T));
    cuda::pad_channels(kElement<T>, to.get(), from.get(), rows, channels, wide, stream());
    Doubles want(rows * many);
    for (std::size_t i = 0; i < want.size(); ++i) {
      const std::size_t c = i % many;
      if (c < few) want[i] = widened(rounded<T>(double(x[i / many * few + c])));
    }
    expect(r, to.read(r), want, 0);
  });
}

template <typename T>
void drop_channels(std::size_t rows, int channels, int wide) {
  row(text("drop_channels %s", kName<T>), text("%zu x %d to %d", rows, wide, channels),
      [&](Row& r) {
        const auto few = std::size_t(channels), many = std::size_t(wide);
        const auto x = random_values<T>(56, rows * many);
        const Operand<T> from(x, sizeof(T));
        const Operand<float> to(rows * few, 4);
        cuda::drop_channels(kElement<T>, to.get(), from.get(), rows, wide, channels, stream());
        Doubles want(rows * few);
        for (std::size_t i = 0; i < want.size(); ++i)
          want[i] = widened(x[i / few * many + i % few]);
        expect(r, to.read(r), want, 0);
      });
}

template <typename T>
void sums_and_bias(const Matrix& m) {
  column_sums<T>(m);
  for (int bits = 0; bits < 8; ++bits)
    add_bias<T>(m, (bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0);
}

template <typename T>
void all_columns() {
  for (const Matrix& m : matrices()) sums_and_bias<T>(m);
  for (const Matrix& m : large_matrices<T>()) sums_and_bias<T>(m);
  for (const std::size_t rows : {1, 65, 400})
    for (const auto& [channels, wide] : {std::pair{3, 8}, {3, 4}, {1, 8}, {64, 64}, {5, 7}}) {
      pad_channels<T>(rows, channels, wide);
      drop_channels<T>(rows, channels, wide);
    }
}

}  // namespace

void sweep_columns() {
  all_columns<float>();
  all_columns<Bfloat16>();
}

}  // namespace rueda::sweep
