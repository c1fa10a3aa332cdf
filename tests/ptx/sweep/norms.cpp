#include "matrices.hpp"

// Batch normalisation.

namespace rueda::sweep {
namespace {

/// What a batch norm has, with numbers of the kind that networks have.
template <typename T>
struct Norm {
  Matrix m;
  std::vector<T> x, residual, y;
  std::vector<float> gamma, beta;
  Doubles mean, variance;
  Operand<T> device_x, device_residual, device_y;
  Operand<float> device_gamma, device_beta, statistics;
  Scratch scratch;

  explicit Norm(const Matrix& shape, double offset = 0)
      : m(shape),
        x(shifted(random_values<T>(31, shape.elements(), 2), shape, offset)),
        residual(random_values<T>(32, shape.elements())),
        y(random_values<T>(33, shape.elements())),
        gamma(random_values<float>(34, std::size_t(shape.channels))),
        beta(random_values<float>(35, std::size_t(shape.channels))),
        mean(std::size_t(shape.channels)),
        variance(std::size_t(shape.channels)),
        device_x(x, before<T>(shape)),
        device_residual(residual, before<T>(shape)),
        device_y(y, before<T>(shape)),
        device_gamma(gamma, 4),
        device_beta(beta, 8),
        statistics(2 * std::size_t(shape.channels), 4) {
    for (std::size_t i = 0; i < x.size(); ++i)
      mean[i % mean.size()] += widened(x[i]) / double(m.rows);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double d = widened(x[i]) - mean[i % mean.size()];
      variance[i % mean.size()] += d * d / double(m.rows);
    }
  }

  /// Means of channels differ, by little from each other.
  static std::vector<T> shifted(std::vector<T> x, const Matrix& m, double offset) {
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] = rounded<T>(widened(x[i]) + offset + double(i % std::size_t(m.channels) % 5) - 2);
    return x;
  }
  /// As if they had been computed already.
  void upload_statistics() {
    std::vector<float> all;
    for (double& v : mean) all.push_back(float(v = as_float(v)));
    for (double& v : variance) all.push_back(float(v = as_float(v)));
    statistics.write(all);
  }
  double deviation(std::size_t c) const { return std::sqrt(variance[c] + double(1e-3F)); }
  double standardised(std::size_t i) const {
    const std::size_t c = i % mean.size();
    return (widened(x[i]) - mean[c]) / deviation(c);
  }
  double normalised(std::size_t i) const {
    return standardised(i) * double(gamma[i % mean.size()]) + double(beta[i % mean.size()]);
  }
  cuda::NormWork work(bool relu, bool has_residual, const Operand<T>& to) const {
    return {.element = kElement<T>,
            .rows = m.rows,
            .channels = m.channels,
            .x = device_x.get(),
            .gamma = device_gamma.get(),
            .beta = device_beta.get(),
            .epsilon = 1e-3F,
            .statistics = statistics.get(),
            .relu = relu,
            .residual = has_residual ? device_residual.get() : nullptr,
            .y = to.get(),
            .scratch = scratch.get()};
  }
};

template <typename T>
void norm_statistics(const Matrix& m, double offset = 0) {
  row(text("norm_statistics %s", kName<T>), shape_of(m), [&](Row& r) {
    const Norm<T> norm(m, offset);
    for (int turn = 0; turn < 2; ++turn) {  // the second finds the counters that the first left
      cuda::norm_statistics(norm.work(false, false, norm.device_y), stream());
      const auto got = norm.statistics.read(r);
      const std::vector<float> means(got.begin(), got.begin() + m.channels),
          variances(got.begin() + m.channels, got.end());
      expect(r, means, norm.mean, 8, 1, "means");
      expect(r, variances, norm.variance, 32, 0.1, "variances");
      norm.scratch.check_counters(r);
    }
  });
}

template <typename T>
void norm_apply(const Matrix& m, bool residual, bool relu) {
  row(text("norm_apply %s%s%s", kName<T>, residual ? " residual" : "", relu ? " relu" : ""),
      shape_of(m), [&](Row& r) {
        Norm<T> norm(m);
        norm.upload_statistics();
        const Operand<T> to(m.elements(), before<T>(m));
        cuda::norm_apply(norm.work(relu, residual, to), stream());
        Doubles want(m.elements());
        for (std::size_t i = 0; i < want.size(); ++i) {
          want[i] = norm.normalised(i) + (residual ? widened(norm.residual[i]) : 0.0);
          if (relu && want[i] < 0) want[i] = 0;
        }
        expect(r, to.read(r), want, std::is_same_v<T, float> ? 16 : 1, 1);
      });
}

void norm_finish(int channels) {
  row("norm_finish_sums", text("%d channels", channels), [&](Row& r) {
    const auto n = std::size_t(channels);
    std::vector<float> sums(2 * n);
    Doubles want(2 * n);
    for (std::size_t c = 0; c < n; ++c) {
      sums[c] = float(100 * noise(36, c));
      sums[n + c] = float(200 * std::abs(noise(37, c)));
      want[c] = double(sums[c]) / 77;
      want[n + c] = std::max(0.0, double(sums[n + c]) / 77 - want[c] * want[c]);
    }
    const Operand<float> statistics(sums, 4);
    cuda::norm_finish_sums({.rows = 77, .channels = channels, .statistics = statistics.get()},
                           stream());
    expect(r, statistics.read(r), want, 2);
  });
}

struct Flags {
  bool relu, residual, two, adds, dx;
  int sums;  ///< 0: none, 1: the first, 2: the second, 3: both
};

std::string name_of(const Flags& f) {
  return text("%s%s%s%s%s%s", f.relu ? " relu" : "", f.residual ? " residual" : "",
              f.two ? " two" : "", f.adds ? " adds" : "", f.dx ? "" : " no-dx",
              f.sums == 0 ? "" : text(" sums%d", f.sums).c_str());
}

/// A norm's backward pass: what it reads and writes, and what is expected of it.
template <typename T>
class Backward {
 public:
  Backward(const Matrix& m, const Flags& flags)
      : norm_(m),
        f_(flags),
        dy_(random_values<T>(41, m.elements())),
        other_(random_values<T>(42, m.elements())),
        addend_(random_values<T>(43, m.elements())),
        device_dy_(dy_, before<T>(m)),
        device_other_(other_, before<T>(m)),
        device_addend_(addend_, before<T>(m)),
        dx_(m.elements(), before<T>(m)),
        kept_(m.elements(), before<T>(m)),
        dgamma_(std::size_t(m.channels), 4),
        dbeta_(std::size_t(m.channels), 8),
        first_(std::size_t(m.channels), 12),
        second_(std::size_t(m.channels)),
        entering_(m.elements()) {
    norm_.upload_statistics();
    for (std::size_t i = 0; i < entering_.size(); ++i) entering_[i] = entering(i);
  }

  void run(Row& row) {
    const cuda::NormWork work = norm_.work(f_.relu, f_.residual, norm_.device_y);
    cuda::norm_gradient_sums(work, gradient(), stream());
    if (f_.dx) cuda::norm_input_gradient(work, gradient(), stream());
    norm_.scratch.check_counters(row);
    got_beta_ = doubles(dbeta_.read(row));
    got_gamma_ = doubles(dgamma_.read(row));
    check_sums(row);
    if (f_.residual) expect(row, kept_.read(row), entering_, 0, 0, "residual gradient");
    if (!f_.dx) return;
    const Doubles got = doubles(dx_.read(row));
    check_dx(row, got);
    if ((f_.sums & 1) != 0) check_input_sums(row, got, first_.read(row));
    if ((f_.sums & 2) != 0) check_input_sums(row, got, second_.read(row));
  }

 private:
  cuda::NormGradient gradient() const {
    return {.dy = device_dy_.get(),
            .dy_other = f_.two ? device_other_.get() : nullptr,
            .addend = f_.adds ? device_addend_.get() : nullptr,
            .dx = f_.dx ? dx_.get() : nullptr,
            .residual_gradient = f_.residual ? kept_.get() : nullptr,
            .dgamma = dgamma_.get(),
            .dbeta = dbeta_.get(),
            .input_sums = {(f_.sums & 1) != 0 ? first_.get() : nullptr,
                           (f_.sums & 2) != 0 ? second_.get() : nullptr}};
  }
  double arriving(std::size_t i) const {
    return f_.two ? as_float(widened(dy_[i]) + widened(other_[i])) : widened(dy_[i]);
  }
  double entering(std::size_t i) const {
    const double output = f_.residual ? widened(norm_.y[i]) : norm_.normalised(i);
    const double d = f_.relu && output <= 0 ? 0.0 : arriving(i);
    return f_.residual ? widened(rounded<T>(d)) : d;
  }
  /// The mask of what is near zero may differ from float64's.
  bool is_unsure(std::size_t i) const {
    return f_.relu && !f_.residual && std::abs(norm_.normalised(i)) < 1e-5;
  }

  void check_sums(Row& row) const {
    const std::size_t channels = got_beta_.size();
    Doubles sums(channels), products(channels), near(channels, 1e-30);
    for (std::size_t i = 0; i < entering_.size(); ++i) {
      const std::size_t c = i % channels;
      const double x = norm_.standardised(i), size = 1 + std::abs(x);
      sums[c] += entering_[i];
      products[c] += entering_[i] * x;
      near[c] += std::abs(entering_[i]) * size * 16 * 0x1p-23;
      if (is_unsure(i)) near[c] += std::abs(arriving(i)) * size;
    }
    for (std::size_t c = 0; c < channels; ++c) {
      if (!(std::abs(got_beta_[c] - sums[c]) <= near[c]))
        row.fail(text("mismatch of dbeta [%zu]", c));
      if (!(std::abs(got_gamma_[c] - products[c]) <= near[c]))
        row.fail(text("mismatch of dgamma [%zu]", c));
    }
  }

  void check_dx(Row& row, const Doubles& got) const {
    const std::size_t channels = got_beta_.size();
    const auto rows = double(norm_.m.rows);
    for (std::size_t i = 0; i < got.size(); ++i) {
      const std::size_t c = i % channels;
      const double x = norm_.standardised(i), share = got_gamma_[c] / rows;
      const double factor = double(norm_.gamma[c]) / norm_.deviation(c);
      double want = factor * (entering_[i] - got_beta_[c] / rows - x * share);
      if (f_.adds) want += widened(addend_[i]);
      const double size = 1 + std::abs(factor) * (1 + std::abs(x * share));
      const double near = std::max(std::abs(want) * kUnit<T>, size * 16 * 0x1p-23);
      if (!is_unsure(i) && !(std::abs(got[i] - want) <= near))
        return row.fail(text("mismatch of dx [%zu]: %.9g, not %.9g", i, got[i], want));
    }
  }

  /// Of what was stored.
  void check_input_sums(Row& row, const Doubles& dx, const std::vector<float>& got) const {
    Doubles stored(got.size()), magnitude(got.size());
    for (std::size_t i = 0; i < dx.size(); ++i) {
      stored[i % got.size()] += dx[i];
      magnitude[i % got.size()] += std::abs(dx[i]);
    }
    for (std::size_t c = 0; c < got.size(); ++c)
      if (!(std::abs(double(got[c]) - stored[c]) <= 4e-6 * magnitude[c]))
        row.fail(text("mismatch of input sums [%zu]", c));
  }

  Norm<T> norm_;
  Flags f_;
  std::vector<T> dy_, other_, addend_;
  Operand<T> device_dy_, device_other_, device_addend_, dx_, kept_;
  Operand<float> dgamma_, dbeta_, first_, second_;
  Doubles entering_, got_beta_, got_gamma_;
};

template <typename T>
void norm_backward(const Matrix& m, const Flags& f, int schedules = 2) {
  row(text("norm_backward %s%s", kName<T>, name_of(f).c_str()), shape_of(m),
      [&](Row& r) {
        Backward<T> backward(m, f);
        backward.run(r);
        backward.run(r);  // finds the counters that the first left
      },
      {schedules});
}

/// Every combination of what a kernel decides.
std::vector<Flags> all_flags() {
  std::vector<Flags> all;
  for (int bits = 0; bits < 32; ++bits) {
    const bool relu = (bits & 1) != 0, residual = (bits & 2) != 0, two = (bits & 4) != 0,
               adds = (bits & 8) != 0, sums = (bits & 16) != 0;
    all.push_back({relu, residual, two, adds, true, sums ? 1 + bits % 3 : 0});
    if (!adds && !sums) all.push_back({relu, residual, two, false, false, 0});
  }
  return all;
}

template <typename T>
void all_backward() {
  std::vector<Matrix> few = {{1311, 40, true}, {61, 16, false}};
  if (choice().whole) few.insert(few.end(), {{61, 24, true}, {300, 5, true}, {1, 8, true}});
  for (const Flags& f : all_flags()) {
    for (const Matrix& m : few) norm_backward<T>(m, f);
    if (!choice().whole) continue;
    norm_backward<T>({10500, 5, true}, f, 1);
    norm_backward<T>(large_matrices<T>().front(), f, 1);
  }
  for (const Matrix& m : matrices()) norm_backward<T>(m, {true, false, false, true, true, 3});
}

template <typename T>
void all_norms() {
  for (const Matrix& m : matrices()) {
    norm_statistics<T>(m);
    for (const bool residual : {false, true})
      for (const bool relu : {false, true}) norm_apply<T>(m, residual, relu);
  }
  norm_statistics<T>({1311, 40, true}, 64);  // a mean much larger than the deviation
  for (const Matrix& m : large_matrices<T>()) norm_statistics<T>(m);
  if (choice().whole)
    norm_statistics<T>({3, 32 * 1024, true});  // as many columns of blocks as there are counters
  all_backward<T>();
}

}  // namespace

void sweep_norms() {
  for (const int channels : {1, 64, 300}) norm_finish(channels);
  all_norms<float>();
  all_norms<Bfloat16>();
}

}  // namespace rueda::sweep
