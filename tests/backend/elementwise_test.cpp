#include <algorithm>
#include <cmath>
#include <limits>

#include <catch2/catch.hpp>

#include "base/element_hash.hpp"
#include "kernels/lars.hpp"
#include "reduce/host_sums.hpp"
#include "tests/support/replica_bench.hpp"
#include "tests/support/rounding.hpp"
#include "tests/support/square_sums.hpp"
#include "train/sgd.hpp"

namespace rueda::test {
namespace {

/// Above and below the length from which a loop is shared among threads; odd, so parts differ.
constexpr std::size_t kLengths[] = {0, 1, 7, 16383, 40001};

TEST_CASE("softmax cross entropy of a batch", "[backend]") {
  ImageBench bench(4, 5, Precision::fp32);
  Backend& backend = bench.backend();
  const float smoothing = GENERATE(0.0F, 0.25F);
  const Tensor logits = random_tensor(1, 5, {10, 1, 1}, 4.0);
  const std::vector<std::int32_t> labels = {3, 0, 9, 7, 7};
  const DeviceFloats from(backend, to_floats(logits.values));
  const DeviceLabels device_labels(backend, labels);
  const DeviceFloats gradient(backend, std::vector<float>(50));
  const DeviceValues<LossSums> sums(backend, {LossSums{}, LossSums{}});
  const DeviceFloats scale(backend, {0.0625F});
  LossRequest request{.logits = from.bytes(),
                      .labels = device_labels.data(),
                      .rows = 5,
                      .classes = 10,
                      .smoothing = smoothing,
                      .sums = sums.data(),
                      .scale = scale.data(),
                      .gradient = gradient.bytes()};
  backend.softmax_cross_entropy(request);
  const ReferenceLoss expected = softmax_cross_entropy(logits, labels, 0.0625, smoothing);
  const LossSums first = sums.read()[0];
  CHECK(excess({double(first.loss)}, {expected.loss}, {5 * 8 + expected.loss}, 16) <= 1);
  CHECK(int(first.correct) == expected.correct);
  CHECK(excess(to_doubles(gradient.read()), expected.gradient.values, Vector(50, 0.0625 * 3), 16) <=
        1);
  request.sums = sums.data() + 1;
  request.scale = nullptr;
  request.gradient = nullptr;
  backend.softmax_cross_entropy(request);
  CHECK(sums.read()[1].loss == first.loss);
}

TEST_CASE("batches: rows follow the indices", "[backend]") {
  ImageBench bench(32, 3, Precision::fp32);
  const ImageSet images = random_images(4);
  const auto held = bench.backend().hold(images);
  kernels::PixelTransform t = plain_transform(32);
  t.augment = GENERATE(false, true);
  const std::vector<std::uint32_t> indices = {2, 0, 2};
  const DeviceLabels labels(bench.backend(), {0, 0, 0});
  bench.backend().make_batch({held.get(), indices, t, 8, 6}, bench.input(), labels.data());
  CHECK(labels.read() == std::vector<std::int32_t>{6, 0, 6});
  Vector expected;
  for (const std::uint32_t index : indices) {
    const auto augment = t.augment ? kernels::draw_augment(8, 6, index) : kernels::SampleAugment{};
    const Tensor place(1, 3, 32, 32);
    for_each_place(place, [&](int, int c, int y, int x) {
      expected.push_back(
          double(kernels::input_value(images.image(index).data(), t, augment, c, y, x)));
    });
  }
  CHECK(bench.read_input() == expected);
}

TEST_CASE("loops give the same for any length and number of threads", "[backend]") {
  const int threads = GENERATE(1, 3);
  ImageBench bench(4, 1, Precision::fp32, threads);
  Backend& backend = bench.backend();
  for (const std::size_t n : kLengths) {
    CAPTURE(threads, n);
    const DeviceFloats w(backend, to_floats(random_vector(4, n)));
    const DeviceFloats v(backend, to_floats(random_vector(5, n)));
    const DeviceFloats g(backend, to_floats(random_vector(6, n)));
    const DeviceFloats sum(backend, w.read());
    std::vector<float> expected_w = w.read();
    std::vector<float> expected_v = v.read();
    std::vector<float> expected_sum = expected_w;
    const std::vector<float> gradients = g.read();
    std::uint64_t expected_hash = 0;
    const kernels::SgdStep step{0.1F, 0.9F, 0.01F, true};
    for (std::size_t i = 0; i < n; ++i) {
      expected_hash += kernels::element_hash(i, expected_w[i]);
      expected_sum[i] += gradients[i];
      kernels::sgd_update(expected_w[i], expected_v[i], gradients[i], step);
    }
    CHECK(backend.hash(w.span()) == expected_hash);
    CHECK(backend.nonfinite(w.span()) == 0);
    ReduceDevice& reduce = backend.reduce_device();
    reduce.add(sum.span(), g.span());
    reduce.wait(reduce.record());
    CHECK(sum.read() == expected_sum);
    CHECK(reduce.check_sum(g.span()) == check_part(gradients, 0, n));
    backend.sgd_update(w.span(), v.span(), g.span(), step);
    CHECK(w.read() == expected_w);
    CHECK(v.read() == expected_v);
  }
  open_backend_under_test();  // leaves the process with one thread
}

TEST_CASE("NaNs and infinities are counted wherever they are", "[backend]") {
  ImageBench bench(4, 1, Precision::fp32);
  Backend& backend = bench.backend();
  for (const std::size_t n : kLengths) {
    std::vector<float> values = to_floats(random_vector(7, n));
    if (n > 0) values.front() = std::nanf("");
    if (n > 1) values.back() = -INFINITY;
    if (n > 2) values[n / 2] = INFINITY;
    const DeviceFloats on_device(backend, values);
    CHECK(backend.nonfinite(on_device.span()) == std::min<std::size_t>(n, 3));
  }
}

TEST_CASE("sums of squares have one order on every backend, for any number of threads",
          "[backend]") {
  const int threads = GENERATE(1, 3);
  ImageBench bench(4, 1, Precision::fp32, threads);
  Backend& backend = bench.backend();
  const std::vector<std::size_t> ends = square_ends();
  for (const std::size_t before : {0U, 1U, 3U}) {
    const auto values = filled<rough_value>(8, before + ends.back());
    const DeviceFloats on_device(backend, values);
    const DeviceValues<double> sums(backend, std::vector<double>(ends.size() + 1, 7.5));
    backend.square_sums(on_device.span().subspan(before), ends, sums.span().first(ends.size()));
    const std::vector<double> found = sums.read();
    std::size_t begin = 0;
    for (std::size_t k = 0; k < ends.size(); ++k) {
      CAPTURE(threads, before, k, begin, ends[k]);
      const std::span<const float> range(&values[before + begin], ends[k] - begin);
      CHECK(found[k] == ordered_square_sum(range));
      CHECK(std::abs(found[k] - exact_square_sum(range)) <= 1e-14 * exact_square_sum(range));
      begin = ends[k];
    }
    CHECK(found.back() == 7.5);
  }
  open_backend_under_test();  // leaves the process with one thread
}

TEST_CASE("sums of squares: no number of fp32 is too large, and what is not finite stays",
          "[backend]") {
  const auto backend = open_backend_under_test();
  const float largest = std::numeric_limits<float>::max();
  const DeviceFloats values(*backend, {largest, largest, 1.0F, INFINITY, 1.0F, std::nanf("")});
  const DeviceValues<double> sums(*backend, std::vector<double>(3));
  backend->square_sums(values.span(), std::vector<std::size_t>{2, 4, 6}, sums.span());
  const std::vector<double> found = sums.read();
  CHECK(found[0] == 2 * double(largest) * double(largest));
  CHECK(found[1] == INFINITY);
  CHECK(std::isnan(found[2]));
  backend->square_sums({}, {}, {});
}

TEST_CASE("statistics, copies and zeros", "[backend]") {
  const auto backend = open_backend_under_test();
  const DeviceFloats to(*backend, {0.0F, 0.0F});
  // The second is over 8 * 0.625 = 5 values: 5/4 of it.
  const DeviceFloats from(*backend, {1.5F, -2.0F});
  const DeviceFloats values_per_image(*backend, {0.0F, 0.625F});
  backend->weigh_statistics(to.span(), from.span(), values_per_image.span(), 8.0F);
  const std::vector<float> weighted = {12.0F, -20.0F};
  CHECK(to.read() == weighted);
  const DeviceFloats running(*backend, {4.0F, 0.0F});
  const DeviceFloats sums(*backend, {16.0F, 8.0F});
  backend->update_running(running.span(), sums.span(), 8.0F, 0.75F);
  CHECK(running.read() == std::vector<float>{3.5F, 0.25F});
  std::vector<float> host(2);
  backend->download(host, to.span());
  CHECK(host == weighted);
  backend->zero(to.span());
  CHECK(to.read() == std::vector<float>(2, 0.0F));
  backend->upload(to.span(), host);
  CHECK(to.read() == weighted);
  ReduceDevice& reduce = backend->reduce_device();
  reduce.copy(to.span(), running.span());
  reduce.wait(reduce.record());
  CHECK(to.read() == running.read());
}

TEST_CASE("the sums of a step, and what is not finite in them", "[backend]") {
  const auto backend = open_backend_under_test();
  const float nan = std::nanf("");
  for (const bool broken : {false, true}) {
    const DeviceValues<StepSums> to(*backend, {StepSums{9, 9, 9, 9, 9, 9, 9}});
    const DeviceValues<LossSums> sums(*backend, {LossSums{2.5F, 3.0F}});
    const DeviceFloats statistics(*backend, {1.0F, broken ? nan : 2.0F});
    const float stop = broken ? 0.0F : 1.0F;
    const DeviceValues<RankFlags> flags(*backend, {RankFlags{0.0F, stop}});
    backend->write_step_sums(to.data(), sums.data(), statistics.span(), 4.0F, flags.data());
    const StepSums found = to.read().front();
    CHECK(
        std::vector<float>{found.loss, found.correct, found.samples, found.nonfinite, found.stop} ==
        std::vector<float>{2.5F, 3.0F, 4.0F, broken ? 1.0F : 0.0F, stop});
    CHECK((found.part_squares == 0 && found.parts == 0));
    CHECK(flags.read().front().nonfinite == found.nonfinite);
    CHECK(flags.read().front().stop == stop);
  }
}

TEST_CASE("the squares of a part go into the sums of a step, unless they are too large",
          "[backend]") {
  const auto backend = open_backend_under_test();
  for (const double one : {0.125, 1e300, double(NAN)}) {
    std::vector<double> squares(70, 0.125);
    squares[40] = one;
    const DeviceValues<double> on_device(*backend, squares);
    const DeviceValues<StepSums> to(*backend, {StepSums{1, 2, 3, 0, 4, 5, 6}});
    const DeviceValues<RankFlags> flags(*backend, {RankFlags{0, 0}});
    backend->write_part_squares(to.data(), on_device.span(), 16.0F, flags.data());
    const StepSums found = to.read().front();
    const float nonfinite = one == 0.125 ? 0.0F : 1.0F;
    CHECK(found.nonfinite == nonfinite);
    CHECK(flags.read().front().nonfinite == nonfinite);
    CHECK((found.loss == 1 && found.correct == 2 && found.samples == 3 && found.stop == 4));
    CHECK(found.parts == 1);
    if (one == 0.125) CHECK(found.part_squares == 70 * 0.125F / 16);
  }
}

TEST_CASE("memory is zeroed and aligned", "[backend]") {
  const auto backend = open_backend_under_test();
  CHECK_FALSE(backend->name().empty());
  CHECK_FALSE(backend->device().empty());
  for (const std::size_t bytes : {0U, 4U, 1000U}) {
    const auto memory = backend->allocate(bytes);
    CHECK(memory.size() == bytes);
    CHECK(reinterpret_cast<std::uintptr_t>(memory.data()) % 64 == 0);
    for (const float v : read_floats(*backend, memory.floats())) CHECK(v == 0.0F);
  }
}

TEST_CASE("sgd: slices give the same bits as the whole arena", "[backend][optim]") {
  const auto backend = open_backend_under_test();
  const Sgd::Options options{.momentum = 0.9F, .weight_decay = 1e-4F, .nesterov = true};
  const DeviceFloats a(*backend, to_floats(random_vector(1, 100)));
  const DeviceFloats b(*backend, a.read());
  Sgd whole(*backend, a.span(), options);
  Sgd sliced(*backend, b.span(), options);
  for (std::uint64_t step = 0; step < 3; ++step) {
    const DeviceFloats g(*backend, to_floats(random_vector(2 + step, 100)));
    whole.update(a.span(), g.span(), 0, 0.1);
    const std::span<float> values = b.span();
    const std::span<const float> gradients = g.span();
    sliced.update(values.subspan(37), gradients.subspan(37), 37, 0.1);
    sliced.update(values.first(37), gradients.first(37), 0, 0.1);
  }
  CHECK(a.read() == b.read());
  CHECK(read_floats(*backend, whole.velocities()) == read_floats(*backend, sliced.velocities()));
}

/// Tensors of an arena, one after the other: of usual and odd lengths, more than a launch takes.
std::vector<LarsTensor> many_tensors() {
  std::vector<LarsTensor> tensors;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < 333; ++i) {
    const std::size_t count = i == 160 ? 40'000 : 1 + i * i % 97;
    tensors.push_back({begin, count, i % 3 != 1});
    begin += count;
  }
  return tensors;
}

TEST_CASE("lars: buckets give the same bits as the whole arena", "[backend][optim]") {
  const auto backend = open_backend_under_test();
  const LarsOptions lars{0.02, 1e-3, many_tensors()};
  const std::size_t count = lars.tensors.back().begin + lars.tensors.back().count;
  const Sgd::Options options{.momentum = 0.9F, .weight_decay = 1e-2F};
  const DeviceFloats a(*backend, to_floats(random_vector(1, count)));
  const DeviceFloats b(*backend, a.read());
  Sgd whole(*backend, a.span(), options, lars);
  Sgd sliced(*backend, b.span(), options, lars);
  for (std::uint64_t step = 0; step < 3; ++step) {
    const DeviceFloats g(*backend, to_floats(random_vector(2 + step, count)));
    whole.update(a.span(), g.span(), 0, 0.5);
    std::size_t end = count;
    for (const std::size_t tensor : {201U, 160U, 7U, 0U}) {
      const std::size_t begin = lars.tensors[tensor].begin;
      sliced.update(b.span().subspan(begin, end - begin),
                    std::span<const float>(g.span()).subspan(begin, end - begin), begin, 0.5);
      end = begin;
    }
  }
  CHECK(a.read() == b.read());
  CHECK(read_floats(*backend, whole.velocities()) == read_floats(*backend, sliced.velocities()));
  CHECK_THROWS_AS(whole.update(a.span().subspan(2), b.span().subspan(2), 2, 0.5), RunError);
  CHECK_THROWS_AS(whole.update(a.span().first(count - 1), b.span().first(count - 1), 0, 0.5),
                  RunError);
}

TEST_CASE("lars: a rate for each tensor, by the kernels' arithmetic", "[backend][optim]") {
  const auto backend = open_backend_under_test();
  const LarsOptions lars{0.02, 1e-3, many_tensors()};
  const std::size_t count = lars.tensors.back().begin + lars.tensors.back().count;
  const std::vector<float> values = to_floats(random_vector(1, count));
  const std::vector<float> gradients = to_floats(random_vector(2, count));
  const DeviceFloats on_device(*backend, values);
  const DeviceFloats by(*backend, gradients);
  const Sgd::Options options{.momentum = 0.9F, .weight_decay = 1e-2F};
  Sgd sgd(*backend, on_device.span(), options, lars);
  sgd.update(on_device.span(), by.span(), 0, 0.5);
  std::vector<float> expected = values;
  kernels::LarsStep step{options, lars.trust, lars.epsilon};
  step.sgd.learning_rate = 0.5F;
  for (const auto& [begin, length, adapted] : lars.tensors) {
    const auto squares = [&](const std::vector<float>& all) {
      return ordered_square_sum(std::span(all).subspan(begin, length));
    };
    const auto own = kernels::lars_step(step, adapted, squares(values), squares(gradients));
    for (std::size_t i = begin; i < begin + length; ++i) {
      float velocity = 0;
      kernels::sgd_update(expected[i], velocity, gradients[i], own);
    }
  }
  CHECK(on_device.read() == expected);
}

TEST_CASE("sgd: options reach the update", "[backend][optim]") {
  const auto backend = open_backend_under_test();
  const auto after_two_steps = [&](const Sgd::Options& options) {
    const DeviceFloats value(*backend, {1.0F});
    Sgd sgd(*backend, value.span(), options);
    const DeviceFloats first(*backend, {0.5F});
    const DeviceFloats second(*backend, {-1.0F});
    sgd.update(value.span(), first.span(), 0, 0.125);
    sgd.update(value.span(), second.span(), 0, 0.125);
    return value.read().front();
  };
  CHECK(after_two_steps({.momentum = 0}) == 1.0625F);
  CHECK(after_two_steps({.momentum = 0.5F}) == 1.03125F);
  CHECK(after_two_steps({.momentum = 0.5F, .weight_decay = 0.25F}) == 0.9560546875F);
  CHECK(after_two_steps({.momentum = 0.5F, .weight_decay = 0.25F, .nesterov = true}) ==
        0.983154296875F);
}

}  // namespace
}  // namespace rueda::test
