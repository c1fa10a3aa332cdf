#include <functional>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "cuda/kernels/kernels.hpp"
#include "device_tools.hpp"

// A length of 0 queues nothing. Most of it needs no device: what is queued without one is an error,
// and with one, or on the stand-in, a kernel would use these null pointers.

namespace {

using namespace rueda::cuda;
using rueda::kernels::Bfloat16;
using rueda::test::DeviceVector;

struct Call {
  std::string name;
  std::function<void(Element)> queue;
};

void add_calls_of_elements(std::vector<Call>& calls) {
  const auto add = [&](const char* name, std::function<void(Element)> queue) {
    calls.push_back({name, std::move(queue)});
  };
  add("accumulate", [](Element) { accumulate(nullptr, nullptr, 0, nullptr); });
  add("to_bf16", [](Element) { to_bf16(nullptr, nullptr, 0, nullptr); });
  add("add_bf16", [](Element) { add_bf16(nullptr, nullptr, 0, nullptr); });
  add("to_fp32", [](Element) { to_fp32(nullptr, nullptr, 0, nullptr); });
  add("no slices", [](Element) { to_fp32(nullptr, nullptr, std::span<const Slice>(), nullptr); });
  add("empty slices", [](Element) {
    const std::vector<Slice> slices = {{7, 0}, {7, 0}};
    to_fp32(nullptr, nullptr, slices, nullptr);
  });
  add("square_sums", [](Element) { square_sums(nullptr, {}, nullptr, nullptr, nullptr); });
  add("sgd_update",
      [](Element) { sgd_update(nullptr, nullptr, nullptr, {}, nullptr, 0, {}, nullptr); });
  add("lars_update", [](Element) { lars_update({}, nullptr, {}, nullptr); });
  add("weigh_statistics",
      [](Element) { weigh_statistics(nullptr, nullptr, nullptr, 0, 1, nullptr); });
  add("update_running", [](Element) { update_running(nullptr, nullptr, 0, 1, 1, nullptr); });
  add("make_batch", [](Element e) { make_batch({}, {}, 0, 0, {.element = e}, nullptr); });
  add("unroll_rows", [](Element e) { unroll_rows(e, nullptr, nullptr, 0, {}, nullptr); });
  add("add_activations",
      [](Element e) { add_activations(e, nullptr, nullptr, nullptr, 0, true, nullptr); });
  add("mask_gradient",
      [](Element e) { mask_gradient(e, nullptr, nullptr, nullptr, nullptr, 0, nullptr); });
}

/// Of matrices of so many rows and columns, of which one is 0.
void add_calls_of_rows(std::vector<Call>& calls, std::size_t rows, int channels) {
  const auto add = [&](const std::string& name, std::function<void(Element)> queue) {
    calls.push_back({name + (rows == 0 ? " without rows" : " without channels"), queue});
  };
  const auto work = [=](Element e) {
    return NormWork{.element = e, .rows = rows, .channels = channels};
  };
  add("softmax_cross_entropy", [=](Element) {
    softmax_cross_entropy(nullptr, nullptr, rows, channels, 0, nullptr, nullptr, nullptr, nullptr);
  });
  add("norm_statistics", [=](Element e) { norm_statistics(work(e), nullptr); });
  add("norm_finish_sums", [=](Element e) { norm_finish_sums(work(e), nullptr); });
  add("norm_apply", [=](Element e) { norm_apply(work(e), nullptr); });
  add("norm_gradient_sums", [=](Element e) { norm_gradient_sums(work(e), {}, nullptr); });
  add("norm_input_gradient", [=](Element e) { norm_input_gradient(work(e), {}, nullptr); });
  add("column_sums",
      [=](Element e) { column_sums(e, nullptr, nullptr, rows, channels, nullptr, nullptr); });
  add("add_bias",
      [=](Element e) { add_bias(e, nullptr, nullptr, nullptr, nullptr, rows, channels, nullptr); });
  add("dense_forward", [=](Element) {
    dense_forward(nullptr, nullptr, nullptr, nullptr, rows, channels, 3, nullptr);
    dense_forward(nullptr, nullptr, nullptr, nullptr, rows, 3, channels, nullptr);
  });
  add("pad_channels", [=](Element e) {
    pad_channels(e, nullptr, nullptr, rows, channels, channels == 0 ? 0 : 8, nullptr);
  });
  add("drop_channels",
      [=](Element e) { drop_channels(e, nullptr, nullptr, rows, 8, channels, nullptr); });
}

/// Of images of which one extent is 0, as input or as output.
void add_calls_of_images(std::vector<Call>& calls, const ImageShape& in, const ImageShape& out) {
  const auto work = [=](Element e) { return PoolWork{.element = e, .in = in, .out = out}; };
  const auto add = [&](const char* name, std::function<void(Element)> queue) {
    calls.push_back({name, std::move(queue)});
  };
  add("max_pool", [=](Element e) { max_pool(work(e), nullptr, nullptr, nullptr, nullptr); });
  add("max_pool_backward",
      [=](Element e) { max_pool_backward(work(e), nullptr, nullptr, nullptr, nullptr); });
  add("pad_shortcut", [=](Element e) { pad_shortcut(work(e), nullptr, nullptr, nullptr); });
  add("pad_shortcut_backward",
      [=](Element e) { pad_shortcut_backward(work(e), nullptr, nullptr, nullptr); });
  add("global_average_pool",
      [=](Element e) { global_average_pool(work(e), nullptr, nullptr, nullptr); });
  add("global_average_pool_backward",
      [=](Element e) { global_average_pool_backward(work(e), nullptr, nullptr, nullptr); });
}

std::vector<Call> empty_calls() {
  std::vector<Call> calls;
  add_calls_of_elements(calls);
  add_calls_of_rows(calls, 0, 8);
  add_calls_of_rows(calls, 5, 0);
  const ImageShape some{2, 8, 4, 4};
  for (const ImageShape none : {ImageShape{0, 8, 4, 4}, ImageShape{2, 0, 4, 4},
                                ImageShape{2, 8, 0, 4}, ImageShape{2, 8, 4, 0}}) {
    add_calls_of_images(calls, none, some);
    add_calls_of_images(calls, some, none);
  }
  return calls;
}

}  // namespace

TEST_CASE("a length of 0 queues nothing") {
  for (const Call& call : empty_calls()) {
    for (const Element element : {Element::fp32, Element::bf16}) {
      CAPTURE(call.name, bytes_of(element));
      CHECK_NOTHROW(call.queue(element));
    }
  }
}

TEST_CASE("single totals of nothing are 0", "[device]") {
  const auto stream = rueda::cuda::make_stream();
  for (const auto queue : {element_hash, message_check, nonfinite}) {
    const DeviceVector<std::uint64_t> sum({123}, stream.get());
    queue(nullptr, 0, sum.data(), stream.get());
    CHECK(sum.read().front() == 0);
  }
  const DeviceVector<float> sums({3, 4}, stream.get());
  sum_losses(nullptr, 0, sums.data(), stream.get());
  CHECK(sums.read() == std::vector<float>{0, 0});
  const DeviceVector<float> to(std::vector<float>(7, 9), stream.get()), flags({0, 7}, stream.get());
  const DeviceVector<SumScratch> scratch(std::vector<SumScratch>(1), stream.get());
  write_step_sums(to.data(), sums.data(), nullptr, 0, 12, flags.data(), scratch.data(),
                  stream.get());
  CHECK(to.read() == std::vector<float>{0, 0, 12, 0, 7, 0, 0});
  const DeviceVector<double> squares({3, 4, 5}, stream.get());
  square_sums(nullptr, std::vector<std::size_t>{0, 0}, squares.data(), scratch.data(),
              stream.get());
  CHECK(squares.read() == std::vector<double>{0, 0, 5});
  write_part_squares(to.data(), {}, 8, flags.data(), stream.get());
  CHECK(to.read() == std::vector<float>{0, 0, 12, 0, 7, 0, 1});
}
