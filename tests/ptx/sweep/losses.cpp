#include <algorithm>
#include <functional>
#include <numeric>

#include "sweep.hpp"

// Kernels at the end of a step: rows of logits, and sums of them.

namespace rueda::sweep {
namespace {

/// Rows of logits, and what is expected of them.
struct Logits {
  std::size_t rows;
  std::size_t classes;
  double smoothing;
  std::vector<float> values;
  std::vector<std::int32_t> labels;
  Doubles losses, correct, gradients;

  Logits(std::size_t number, int width, float smoothed)
      : rows(number),
        classes(std::size_t(width)),
        smoothing(smoothed),
        values(random_values<float>(24, rows * classes, 8)),
        labels(rows),
        losses(rows),
        correct(rows),
        gradients(rows * classes) {
    if (classes > 2) values[0] = values[2] = 9;  // of equals the first
    for (std::size_t i = 0; i < rows; ++i) expect_row(i);
  }

 private:
  void expect_row(std::size_t row) {
    labels[row] = std::int32_t(row * 7 % classes);
    const float* z = &values[row * classes];
    const float* best = std::max_element(z, z + classes);
    double sum = 0;
    for (std::size_t k = 0; k < classes; ++k) sum += std::exp(double(z[k]) - double(*best));
    losses[row] = std::log(sum);
    correct[row] = best - z == labels[row] ? 1 : 0;
    for (std::size_t k = 0; k < classes; ++k) {
      const double logit = double(z[k]) - double(*best);
      const bool right = k == std::size_t(labels[row]);
      const double target = (right ? 1 - smoothing : 0) + smoothing / double(classes);
      losses[row] -= target * logit;
      gradients[row * classes + k] = 0.25 * (std::exp(logit) / sum - target);
    }
  }
};

void dense_forward(std::size_t rows, int inputs, int units) {
  row("dense_forward", text("%zu x %d to %d", rows, inputs, units),
      [&](Row& r) {
        const auto length = std::size_t(inputs), width = std::size_t(units);
        const auto x = random_values<float>(33, rows * length),
                   w = random_values<float>(34, width * length),
                   b = random_values<float>(35, width);
        const Operand<float> inputs_of(x, 4), weights(w, 4), bias(b, 4), y(rows * width, 4);
        cuda::dense_forward(y.get(), inputs_of.get(), weights.get(), bias.get(), rows, inputs,
                            units, stream());
        Doubles want;
        for (std::size_t i = 0; i < rows * width; ++i) {
          const float* left = &x[i / width * length];
          const float* right = &w[i % width * length];
          want.push_back(
              std::inner_product(left, left + length, right, double(b[i % width]), std::plus<>(),
                                 [](float a, float c) { return double(a) * double(c); }));
        }
        expect(r, y.read(r), want, 4, std::sqrt(double(length)));
      },
      {2, rows < 100});
}

void softmax_cross_entropy(std::size_t rows, int classes, bool gradients, float smoothing = 0) {
  row(text("softmax_cross_entropy%s", gradients ? " gradients" : ""),
      text("%zu x %d, smoothing %g", rows, classes, double(smoothing)),
      [&](Row& r) {
        const Logits logits(rows, classes, smoothing);
        const Operand<float> x(logits.values, 4), scale(std::vector<float>{0.25F}),
            dx(logits.values.size(), 4);
        const Operand<std::int32_t> labels(logits.labels, 4);
        const Operand<kernels::RowLoss> out(rows, 4);
        cuda::softmax_cross_entropy(x.get(), labels.get(), rows, classes, smoothing,
                                    gradients ? scale.get() : nullptr,
                                    gradients ? dx.get() : nullptr, out.get(), stream());
        std::vector<float> losses, correct;
        for (const kernels::RowLoss& row : out.read(r)) {
          losses.push_back(row.loss);
          correct.push_back(row.correct ? 1.0F : 0.0F);
        }
        expect(r, losses, logits.losses, 8, 1, "losses");
        expect(r, correct, logits.correct, 0, 0, "correct rows");
        if (gradients) expect(r, dx.read(r), logits.gradients, 8, 0.25, "gradients");
      },
      {2, rows < 10000});
}

void sum_losses(std::size_t rows) {
  row("sum_losses", text("%zu rows", rows), [&](Row& r) {
    std::vector<kernels::RowLoss> all(rows);
    double loss = 0, correct = 0;
    for (std::size_t i = 0; i < rows; ++i) {
      all[i] = {float(noise(25, i)), i % 3 == 0};
      loss += double(all[i].loss);
      correct += i % 3 == 0 ? 1 : 0;
    }
    const Operand<kernels::RowLoss> losses(all);
    const Operand<float> sums(2, 4);
    cuda::sum_losses(losses.get(), rows, sums.get(), stream());
    const auto got = sums.read(r);
    expect<float>(r, {got[0]}, {loss}, 1);
    expect<float>(r, {got[1]}, {correct}, 0);
  });
}

/// `bad`: the place of a statistic that is not finite, if it is below n.
void write_step_sums(std::size_t n, std::size_t bad) {
  row("write_step_sums", text("n=%zu, bad at %lld", n, static_cast<long long>(bad)),
      [&](Row& r) {
        auto x = random_values<float>(26, n);
        const bool has_bad = bad < n;
        if (has_bad) x[bad] = bad % 2 == 0 ? NAN : -INFINITY;
        const Operand<float> statistics(x, 4), sums(std::vector<float>{3.5F, 2.0F}),
            flags(std::vector<float>{0, 7}), to(7, 4);
        const Scratch scratch;
        const auto write = [&](const Operand<float>& loss) {
          cuda::write_step_sums(to.get(), loss.get(), statistics.get(), n, 12, flags.get(),
                                scratch.get(), stream());
          scratch.check_counters(r);
        };
        const Doubles want = {3.5, 2, 12, has_bad ? 1.0 : 0.0, 7, 0, 0};
        for (int turn = 0; turn < 2; ++turn) {  // the second finds what the first left
          write(sums);
          expect(r, to.read(r), want, 0);
          expect(r, flags.read(r), {has_bad ? 1.0 : 0.0, 7}, 0, 0, "flags");
        }
        write(Operand<float>(std::vector<float>{NAN, 0.0F}));
        if (to.read(r)[3] != 1.0F) r.fail("mismatch: a NaN was not seen");
        write(sums);
        expect(r, to.read(r), want, 0);
        expect(r, flags.read(r), {1, 7}, 0, 0, "flags");
      },
      {3});
}

/// As many ranges of `n` elements each, from 0 to `ranges`, as do not fill a launch and as do.
void square_sums(std::size_t n, std::size_t ranges, std::size_t off) {
  row("square_sums", text("%zu ranges of %zu at +%zu", ranges, n, off),
      [&](Row& r) {
        const auto x = random_values<float>(28, n * ranges);
        std::vector<std::size_t> ends;
        Doubles want;
        for (std::size_t k = 0; k < ranges; ++k) {
          ends.push_back((k + 1) * n);
          constexpr std::size_t kPart = 1024;  // else the last bits of a long sum are lost
          long double sum = 0;
          for (std::size_t from = k * n; from < ends.back(); from += kPart) {
            long double part = 0;
            for (std::size_t i = from; i < std::min(from + kPart, ends.back()); ++i)
              part += static_cast<long double>(x[i]) * x[i];
            sum += part;
          }
          want.push_back(double(sum));
        }
        const Operand<float> values(x, off);
        const Operand<double> to(ranges, 8);
        const Scratch scratch;
        for (int turn = 0; turn < 2; ++turn) {  // the second finds what the first left
          cuda::square_sums(values.get(), ends, to.get(), scratch.get(), stream());
          scratch.check_counters(r);
          expect_near(r, to.read(r), want, 1e-14, 0, "sums");
        }
      },
      {3, n * ranges < 100000});
}

void write_part_squares(std::size_t n, double bad) {
  row("write_part_squares", text("n=%zu, bad %g", n, bad), [&](Row& r) {
    std::vector<double> x(n);
    double want = 0;
    for (std::size_t i = 0; i < n; ++i) want += x[i] = 1 + noise(29, i);
    const bool is_bad = n > 0 && bad != 0;
    if (is_bad) x[n / 2] = bad;
    const Operand<double> squares(x, 8);
    const Operand<float> to(std::vector<float>{1, 2, 3, 0, 5, 6, 7}, 4),
        flags(std::vector<float>{0, 7});
    cuda::write_part_squares(to.get(), {squares.get(), n}, 24, flags.get(), stream());
    if (is_bad) want = 24 * bad;
    expect(r, to.read(r), {1, 2, 3, is_bad ? 1.0 : 0.0, 5, as_float(want / 24), 1}, 1);
    expect(r, flags.read(r), {is_bad ? 1.0 : 0.0, 7}, 0, 0, "flags");
  });
}

void count_up() {
  row("count_up", "3 counters", [&](Row& r) {
    const auto counts = cuda::make_device_memory(24);
    const auto memory = cuda::make_pinned_memory(24);
    auto* seen = static_cast<std::uint64_t*>(memory.get());
    std::fill_n(seen, 3, 7U);
    cuda::check(cudaMemsetAsync(counts.get(), 0, 24, stream()), "memset");
    for (int i = 0; i < 2; ++i)
      cuda::count_up(static_cast<std::uint64_t*>(counts.get()), seen, 1, stream());
    cuda::check(cudaStreamSynchronize(stream()), "wait");
    if (seen[0] != 7 || seen[1] != 2 || seen[2] != 7) r.fail("mismatch");
  });
}

}  // namespace

void sweep_losses() {
  for (const std::size_t rows : {1, 2, 9})
    for (const int units : {1, 2, 7, 10})
      for (const int inputs : {1, 31, 64, 129, 512}) dense_forward(rows, inputs, units);
  dense_forward(choice().whole ? 70000 : 300, 33, 3);
  for (const bool gradients : {false, true}) {
    for (const int classes : {1, 2, 3, 4, 5, 6, 7, 10, 11, 100}) {
      for (const std::size_t rows : {1, 31, 257}) softmax_cross_entropy(rows, classes, gradients);
      softmax_cross_entropy(31, classes, gradients, 0.1F);
      if (choice().whole) softmax_cross_entropy(1000, classes, gradients);
    }
    if (!choice().whole) continue;
    for (const int classes : {1, 2}) softmax_cross_entropy(4096 * 256 + 3, classes, gradients);
  }
  for (const std::size_t rows : {1, 255, 256, 257, 3000}) sum_losses(rows);
  std::vector<std::size_t> lengths = {0, 1, 256, 1024, 3000};
  if (choice().whole) lengths.insert(lengths.end(), {70000, 300000});
  for (const std::size_t n : lengths)
    for (const std::size_t bad : {std::size_t(-1), std::size_t{0}, n / 2, n - 1})
      write_step_sums(n, bad);
  for (const std::size_t n : {1, 33, 1024, 1031, 9001})
    for (const std::size_t off : {0, 4}) square_sums(n, 3, off);
  square_sums(5, 201, 0);
  for (const std::size_t n : {0, 1, 33, 500})
    for (const double bad : {0.0, double(NAN), double(INFINITY), 1e300}) write_part_squares(n, bad);
  if (choice().whole) square_sums(4096UL * 8 * 1024 + 1031, 1, 4);
  count_up();
}

}  // namespace rueda::sweep
