#include "cuda/kernels/kernels.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include <catch2/catch.hpp>

#include "base/bfloat16.hpp"
#include "base/element_hash.hpp"
#include "base/error.hpp"
#include "base/random.hpp"
#include "device_tools.hpp"
#include "kernels/batch_norm.hpp"
#include "kernels/pixel.hpp"
#include "rueda/data/dataset.hpp"
#include "tests/support/square_sums.hpp"
#include "tests/support/values.hpp"

// Every launcher against a loop on the host over the same inline function: equal bit for bit. Each
// vector is longer than what the launcher may touch, so a write out of bounds is a difference too.

namespace {

using namespace rueda::test;
using Floats = std::vector<float>;

constexpr std::size_t kMargin = 8;
/// Above what one pass of the largest grid covers, four by four: 4096 blocks of 256 threads.
constexpr std::size_t kManyPasses = 4096 * 256 * 4 + 1021;

struct Place {
  std::size_t length;
  std::size_t offset;        ///< of every operand, in floats: 1 to 3 are not aligned for float4
  std::size_t other_offset;  ///< of one operand more than the others
};

std::vector<Place> places() {
  std::vector<Place> all;
  for (const std::size_t length : {0U, 1U, 2U, 3U, 4U, 5U, 7U, 8U, 31U, 255U, 256U, 257U, 1021U,
                                   1023U, 1024U, 1025U, 70001U}) {
    for (const std::size_t offset : {0U, 1U, 2U, 3U, 4U}) all.push_back({length, offset, 0});
    all.push_back({length, 0, 1});
  }
  all.push_back({kManyPasses, 0, 0});
  all.push_back({kManyPasses, 1, 0});
  return all;
}

/// An operand in host and device memory, with the margin around it.
class Operand {
 public:
  Operand(int key, const Place& place, bool other, cudaStream_t stream)
      : offset_(place.offset + (other ? place.other_offset : 0)),
        host_(filled<rough_value>(key, place.length + kMargin)),
        device_(host_, stream) {}
  float* host() { return host_.data() + offset_; }
  float* device() const { return device_.data() + offset_; }
  std::size_t difference() const { return first_difference(device_.read(), host_); }

 private:
  std::size_t offset_;
  Floats host_;
  DeviceVector<float> device_;
};

/// Three operands a, b, c; `launch` works on the device's, `one` on element i of the host's.
template <typename Launch, typename One>
void compare_at(const Place& place, const Launch& launch, const One& one) {
  CAPTURE(place.length, place.offset, place.other_offset);
  const auto stream = rueda::cuda::make_stream();
  Operand a(0, place, false, stream.get());
  Operand b(1, place, false, stream.get());
  Operand c(2, place, true, stream.get());
  launch(a.device(), b.device(), c.device(), place.length, stream.get());
  for (std::size_t i = 0; i < place.length; ++i) one(a.host()[i], b.host()[i], c.host()[i]);
  CHECK(a.difference() == kNoDifference);
  CHECK(b.difference() == kNoDifference);
  CHECK(c.difference() == kNoDifference);
}

template <typename Launch, typename One>
void compare(const Launch& launch, const One& one) {
  for (const Place& place : places()) compare_at(place, launch, one);
}

}  // namespace

TEST_CASE("accumulate adds as the host does", "[device]") {
  compare([](float* a, float*, float* c, std::size_t count,
             cudaStream_t stream) { return rueda::cuda::accumulate(a, c, count, stream); },
          [](float& a, float&, float& c) { a = a + c; });
}

TEST_CASE("peer_sum adds along the tree, into one array or into all", "[device]") {
  const auto stream = rueda::cuda::make_stream();
  for (const int sources : {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17, 31, 32}) {
    for (const Place& place : {Place{0, 0, 0},
                               {1, 1, 0},
                               {5, 3, 0},
                               {257, 0, 0},
                               {1021, 2, 0},
                               {1021, 0, 1},
                               {20001, 1, 0}}) {
      CAPTURE(sources, place.length, place.offset, place.other_offset);
      std::vector<Operand> all;
      for (int r = 0; r < sources; ++r) all.emplace_back(r, place, false, stream.get());
      Operand apart(sources, place, true, stream.get());
      std::vector<float*> arrays;
      for (const Operand& one : all) arrays.push_back(one.device());
      const std::vector<const float*> from(arrays.begin(), arrays.end());
      float* const into = apart.device();
      rueda::cuda::peer_sum(from, {&into, 1}, place.length, stream.get());
      for (std::size_t i = 0; i < place.length; ++i)
        apart.host()[i] = serial_tree(sources, place.offset + i);
      CHECK(apart.difference() == kNoDifference);
      for (const Operand& one : all) CHECK(one.difference() == kNoDifference);
      rueda::cuda::peer_sum(from, arrays, place.length, stream.get());
      for (Operand& one : all) {
        std::copy_n(apart.host(), place.length, one.host());
        CHECK(one.difference() == kNoDifference);
      }
    }
  }
  const std::vector<const float*> many(33);
  CHECK_THROWS_AS(rueda::cuda::peer_sum(many, {}, 1, stream.get()), rueda::RunError);
}

TEST_CASE("sgd_update equals the host's", "[device]") {
  const bool nesterov = GENERATE(false, true);
  const rueda::kernels::SgdStep step{0.1F, 0.9F, 5e-4F, nesterov};
  compare(
      [&](float* a, float* b, float* c, std::size_t count, cudaStream_t stream) {
        return rueda::cuda::sgd_update(a, b, c, {}, nullptr, count, step, stream);
      },
      [&](float& a, float& b, float& c) { rueda::kernels::sgd_update(a, b, c, step); });
}

namespace {

/// Cuts `length` elements into up to `most` tensors of growing lengths and one with the rest.
std::vector<rueda::LarsTensor> cut_tensors(std::size_t length, std::size_t most) {
  std::vector<rueda::LarsTensor> tensors;
  std::size_t begin = 0;
  while (begin < length) {
    const bool last = tensors.size() == most;
    const std::size_t count = std::min(last ? length : 1 + tensors.size() * 3, length - begin);
    tensors.push_back({begin, count, tensors.size() % 3 != 1});
    begin += count;
  }
  return tensors;
}

void compare_lars(const Place& place, std::size_t most_tensors) {
  CAPTURE(place.length, place.offset, place.other_offset, most_tensors);
  const auto stream = rueda::cuda::make_stream();
  const rueda::kernels::LarsStep step{{0.1F, 0.9F, 5e-4F, true}, 0.02, 1e-3};
  Operand values(0, place, false, stream.get());
  Operand velocities(1, place, false, stream.get());
  Operand gradients(2, place, true, stream.get());
  const auto tensors = cut_tensors(place.length, most_tensors);
  std::vector<double> squares;
  for (std::size_t k = 0; k < 2 * tensors.size(); ++k) squares.push_back(double(k * k % 23) / 7);
  const DeviceVector<double> on_device(squares, stream.get());
  const double* of_gradients = squares.data() + tensors.size();
  rueda::cuda::lars_update(
      {.values = {values.device(), place.length},
       .velocities = {velocities.device(), place.length},
       .gradients = {gradients.device(), place.length},
       .tensors = tensors,
       .value_squares = {on_device.data(), tensors.size()},
       .gradient_squares = {on_device.data() + tensors.size(), tensors.size()}},
      nullptr, step, stream.get());
  for (std::size_t k = 0; k < tensors.size(); ++k) {
    const auto [begin, count, adapted] = tensors[k];
    const auto own = rueda::kernels::lars_step(step, adapted, squares[k], of_gradients[k]);
    for (std::size_t i = begin; i < begin + count; ++i) {
      rueda::kernels::sgd_update(values.host()[i], velocities.host()[i], gradients.host()[i], own);
    }
  }
  CHECK(values.difference() == kNoDifference);
  CHECK(velocities.difference() == kNoDifference);
  CHECK(gradients.difference() == kNoDifference);
}

}  // namespace

TEST_CASE("lars_update equals the host's", "[device]") {
  for (const Place& place : places()) compare_lars(place, 5);
  compare_lars({70001, 1, 0}, 200);  // more tensors than a launch takes
}

TEST_CASE("weigh_statistics equals the host's", "[device]") {
  compare([](float* a, float* b, float* c, std::size_t count,
             cudaStream_t s) { return rueda::cuda::weigh_statistics(a, c, b, count, 37, s); },
          [](float& a, float& b, float& c) {
            a = rueda::kernels::weighted_statistic(c, 37, rueda::kernels::bessel(37 * b));
          });
}

TEST_CASE("update_running equals the host's", "[device]") {
  compare([](float* a, float*, float* c, std::size_t count,
             cudaStream_t s) { return rueda::cuda::update_running(a, c, count, 37, 0.9F, s); },
          [](float& a, float&, float& c) { a = rueda::kernels::updated_running(a, c, 37, 0.9F); });
}

TEST_CASE("norm_finish_sums: a usual channel, a difference below zero, a NaN", "[device]") {
  const auto stream = rueda::cuda::make_stream();
  const float nan = std::nanf("");
  const DeviceVector<float> statistics({8, 4, nan, 20, 3.9999F, nan}, stream.get());
  rueda::cuda::norm_finish_sums({.rows = 4, .channels = 3, .statistics = statistics.data()},
                                stream.get());
  const Floats made = statistics.read();
  CHECK(Floats{made[0], made[1], made[3], made[4]} == Floats{2, 1, 1, 0});
  CHECK(std::isnan(made[2]));
  CHECK(std::isnan(made[5]));
}

namespace {

/// Of a sum over all elements that a kernel makes of the shares that the host knows.
template <typename Queue, typename Share>
void compare_sums(Queue queue, Share share) {
  const auto stream = rueda::cuda::make_stream();
  for (const Place& place : places()) {
    CAPTURE(place.length, place.offset);
    Operand values(0, place, false, stream.get());
    const DeviceVector<std::uint64_t> sum({123, 456}, stream.get());  // the first is overwritten
    queue(values.device(), place.length, sum.data(), stream.get());
    std::uint64_t expected = 0;
    for (std::size_t i = 0; i < place.length; ++i) expected += share(i, values.host()[i]);
    CHECK(sum.read() == std::vector<std::uint64_t>{expected, 456});
  }
}

}  // namespace

TEST_CASE("element_hash equals the host's", "[device]") {
  compare_sums(rueda::cuda::element_hash, rueda::kernels::element_hash);
}

TEST_CASE("message_check equals the host's", "[device]") {
  compare_sums(rueda::cuda::message_check, rueda::kernels::message_check);
}

TEST_CASE("square_sums takes more pieces than its memory holds at once", "[device][long]") {
  const auto stream = rueda::cuda::make_stream();
  const Floats values = filled<rough_value>(9, 40'000'000);
  const DeviceVector<float> on_device(values, stream.get());
  const DeviceVector<rueda::cuda::SumScratch> scratch(std::vector<rueda::cuda::SumScratch>(1),
                                                      stream.get());
  // Both together have too many pieces, and the third alone has longer ones.
  for (const std::vector<std::size_t>& ends :
       {std::vector<std::size_t>{20'000'000, 40'000'000}, std::vector<std::size_t>{40'000'000}}) {
    const DeviceVector<double> sums(std::vector<double>(ends.size()), stream.get());
    rueda::cuda::square_sums(on_device.data(), ends, sums.data(), scratch.data(), stream.get());
    std::vector<double> expected;
    std::size_t begin = 0;
    for (const std::size_t end : ends) {
      const std::span<const float> range(&values[begin], end - begin);
      expected.push_back(ordered_square_sum(range, ends.size() == 1 ? 1248 : 1024));
      begin = end;
    }
    CHECK(sums.read() == expected);
  }
}

TEST_CASE("NaNs and infinities are counted", "[device]") {
  const auto stream = rueda::cuda::make_stream();
  for (const std::size_t length : {std::size_t{1}, std::size_t{257}, kManyPasses}) {
    Floats host = filled<rough_value>(0, length);
    std::size_t bad = 0;
    for (std::size_t i = 0; i < length; i += length / 4 + 1)
      host[i] = bad++ % 2 == 0 ? std::nanf("") : -INFINITY;
    const DeviceVector<float> values(host, stream.get());
    const DeviceVector<std::uint64_t> sum({123, 456}, stream.get());
    rueda::cuda::nonfinite(values.data(), length, sum.data(), stream.get());
    CHECK(sum.read() == std::vector<std::uint64_t>{bad, 456});
  }
}

namespace {

using rueda::kernels::Bfloat16;

/// So many bf16 numbers and the margin, in host and device memory.
struct NarrowOperand {
  NarrowOperand(int key, std::size_t place, std::size_t length, cudaStream_t stream)
      : offset(place) {
    for (const float v : filled<rough_value>(key, offset + length + kMargin))
      all.push_back(rueda::kernels::from_float<Bfloat16>(v));
    memory.emplace(all, stream);
  }
  Bfloat16* host() { return all.data() + offset; }
  Bfloat16* device() const { return memory->data() + offset; }
  std::size_t difference() const { return first_difference(memory->read(), all); }

  std::size_t offset;
  std::vector<Bfloat16> all;
  std::optional<DeviceVector<Bfloat16>> memory;
};

/// bf16 numbers at `offset`: where fp32 ones lie at as many, both begin packs together.
void compare_conversions(const Place& place, std::size_t offset) {
  namespace cuda = rueda::cuda;
  CAPTURE(place.length, place.offset, place.other_offset, offset);
  const auto stream = cuda::make_stream();
  Operand a(0, place, false, stream.get());
  Operand wide(2, place, false, stream.get());
  NarrowOperand plain(3, offset, place.length, stream.get());
  NarrowOperand source(4, offset, place.length, stream.get());
  cuda::add_bf16(a.device(), plain.device(), place.length, stream.get());
  cuda::to_fp32(wide.device(), source.device(), place.length, stream.get());
  cuda::to_bf16(plain.device(), a.device(), place.length, stream.get());
  for (std::size_t i = 0; i < place.length; ++i) {
    float& sum = a.host()[i];
    sum = sum + rueda::kernels::to_float(plain.host()[i]);
    wide.host()[i] = rueda::kernels::to_float(source.host()[i]);
    plain.host()[i] = rueda::kernels::from_float<Bfloat16>(sum);
  }
  CHECK(a.difference() == kNoDifference);
  CHECK(wide.difference() == kNoDifference);
  CHECK(plain.difference() == kNoDifference);
  CHECK(source.difference() == kNoDifference);
}

/// `offset` of the fp32 array, in elements; the bf16 one begins at 8.
void compare_slices(std::size_t offset) {
  CAPTURE(offset);
  const auto stream = rueda::cuda::make_stream();
  const Place place{70001, offset, 0};
  Operand wide(0, place, false, stream.get());
  NarrowOperand narrow(1, 8, place.length, stream.get());
  std::vector<rueda::cuda::Slice> slices;
  std::size_t begin = 3;
  for (const std::size_t count : {0U, 1U, 5U, 8U, 17U, 40000U, 16U, 20000U}) {
    slices.push_back({begin, count});
    for (std::size_t i = begin; i < begin + count; ++i)
      wide.host()[i] = rueda::kernels::to_float(narrow.host()[i]);
    begin += count + 1;  // between slices nothing is written
  }
  rueda::cuda::to_fp32(wide.device(), narrow.device(), slices, stream.get());
  CHECK(wide.difference() == kNoDifference);
}

/// Of slices of the gradients the fp32 ones are not read.
void compare_narrow_update(const Place& place) {
  CAPTURE(place.length, place.offset, place.other_offset);
  const auto stream = rueda::cuda::make_stream();
  const rueda::kernels::SgdStep step{0.1F, 0.9F, 5e-4F, true};
  Operand values(0, place, false, stream.get());
  Operand velocities(1, place, false, stream.get());
  Operand gradients(2, place, true, stream.get());
  NarrowOperand narrow(3, 8, place.length, stream.get());
  NarrowOperand packed(4, 8, place.length, stream.get());
  rueda::cuda::NarrowGradients left{narrow.device(), {}};
  for (const auto& [begin, count, some] : cut_tensors(place.length, 200))
    if (some) left.slices.push_back({begin, count});
  rueda::cuda::sgd_update(values.device(), velocities.device(), gradients.device(), left,
                          packed.device(), place.length, step, stream.get());
  std::vector<float> all(gradients.host(), gradients.host() + place.length);
  for (const auto& [begin, count] : left.slices)
    for (std::size_t i = begin; i < begin + count; ++i)
      all[i] = rueda::kernels::to_float(narrow.host()[i]);
  for (std::size_t i = 0; i < place.length; ++i) {
    rueda::kernels::sgd_update(values.host()[i], velocities.host()[i], all[i], step);
    packed.host()[i] = rueda::kernels::from_float<Bfloat16>(values.host()[i]);
  }
  CHECK(values.difference() == kNoDifference);
  CHECK(velocities.difference() == kNoDifference);
  CHECK(gradients.difference() == kNoDifference);
  CHECK(narrow.difference() == kNoDifference);
  CHECK(packed.difference() == kNoDifference);
}

/// All upper halves of fp32 numbers with lower halves around ties, half at a time.
Floats every_bf16_and_around() {
  Floats values;
  for (std::uint32_t upper = 0; upper < 0x10000U; ++upper)
    for (const std::uint32_t lower : {0x0000U, 0x0001U, 0x7fffU, 0x8000U, 0x8001U, 0xffffU})
      values.push_back(std::bit_cast<float>(upper << 16U | lower));
  return values;
}

template <typename T>
void compare_input_sums(int channels, std::size_t rows) {
  CAPTURE(sizeof(T), channels, rows);
  const auto stream = rueda::cuda::make_stream();
  const auto make = [&](int key) {
    std::vector<T> values;
    for (const float v : filled<rough_value>(key, rows * std::size_t(channels)))
      values.push_back(rueda::kernels::from_float<T>(v));
    return DeviceVector<T>(values, stream.get());
  };
  const auto c = std::size_t(channels);
  const auto x = make(1), y = make(2), dy = make(3), addend = make(4), dx = make(5);
  const DeviceVector<float> ones(Floats(c, 1.0F), stream.get()), got(Floats(3 * c), stream.get());
  const DeviceVector<float> statistics(Floats(2 * c), stream.get());
  const DeviceVector<rueda::cuda::SumScratch> scratch(std::vector<rueda::cuda::SumScratch>(1),
                                                      stream.get());
  const auto element = sizeof(T) == 2 ? rueda::cuda::Element::bf16 : rueda::cuda::Element::fp32;
  const rueda::cuda::NormWork work{element,     rows,        channels, x.data(),
                                   ones.data(), ones.data(), 1e-5F,    statistics.data(),
                                   true,        nullptr,     y.data(), scratch.data()};
  rueda::cuda::norm_statistics(work, stream.get());
  const rueda::cuda::NormGradient gradient{.dy = dy.data(),
                                           .addend = addend.data(),
                                           .dx = dx.data(),
                                           .dgamma = got.data(),
                                           .dbeta = got.data() + c,
                                           .input_sums = got.data() + 2 * c};
  rueda::cuda::norm_gradient_sums(work, gradient, stream.get());
  rueda::cuda::norm_input_gradient(work, gradient, stream.get());
  const Floats sums = got.read();
  const std::vector<T> stored = dx.read();
  for (std::size_t i = 0; i < c; ++i) {
    double sum = 0, magnitude = 0;
    for (std::size_t row = 0; row < rows; ++row) {
      const auto value = double(rueda::kernels::to_float(stored[row * c + i]));
      sum += value;
      magnitude += std::abs(value);
    }
    CHECK(std::abs(double(sums[2 * c + i]) - sum) <= 1e-6 * magnitude);
  }
}

}  // namespace

TEST_CASE("to_bf16 rounds every number as the host does, NaN payloads aside", "[device]") {
  const auto stream = rueda::cuda::make_stream();
  const Floats values = every_bf16_and_around();
  const DeviceVector<float> from(values, stream.get());
  const DeviceVector<Bfloat16> to(std::vector<Bfloat16>(values.size()), stream.get());
  rueda::cuda::to_bf16(to.data(), from.data(), values.size(), stream.get());
  const std::vector<Bfloat16> got = to.read();
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool same = got[i].bits == rueda::kernels::from_float<Bfloat16>(values[i]).bits;
    const bool both_none = std::isnan(values[i]) && std::isnan(rueda::kernels::to_float(got[i]));
    wrong += same || both_none ? 0 : 1;
  }
  CHECK(wrong == 0);
}

TEST_CASE("fp32 to bf16 and back, and sums of both, equal the host's", "[device]") {
  for (const Place& place : places()) {
    compare_conversions(place, place.offset);
    if (place.length < kManyPasses) compare_conversions(place, place.offset + 3);
  }
}

TEST_CASE("sgd_update takes the gradients of slices in bf16", "[device]") {
  for (const Place& place : places()) compare_narrow_update(place);
  compare_narrow_update({70001, 8, 8});  // more slices than a launch takes
}

TEST_CASE("slices of bf16 become fp32, and nothing between them", "[device]") {
  for (const std::size_t offset : {0U, 1U, 4U, 8U}) compare_slices(offset);
}

TEST_CASE("norm_input_gradient sums what it stores", "[device]") {
  const int channels = GENERATE(5, 16, 40);
  const auto rows = GENERATE(std::size_t{3}, std::size_t{1311});
  compare_input_sums<float>(channels, rows);
  compare_input_sums<Bfloat16>(channels, rows);
}

// The batch kernel against rueda::kernels::input_value on the host: equal bit for bit.

namespace {

namespace kernels = rueda::kernels;

constexpr std::uint64_t kSeed = 11;
constexpr std::uint64_t kEpoch = 4;
constexpr std::size_t kImages = 23;
constexpr std::size_t kBatchMargin = 16;
constexpr float kSentinel = -77;

rueda::ImageSet some_images() {
  rueda::ImageSet set;
  for (std::size_t i = 0; i < kImages * rueda::kImageBytes; ++i)
    set.pixels.push_back(std::uint8_t(rueda::random_bits(5, i)));
  for (std::size_t i = 0; i < kImages; ++i)
    set.labels.push_back(std::uint8_t((i * 3 + 1) % rueda::kClasses));
  return set;
}

kernels::PixelTransform transform_to(int size, bool augment) {
  return {size, augment, {125.3F, 123.0F, 113.9F}, {1 / 63.0F, 1 / 62.1F, 1 / 66.7F}};
}

/// Sample `n` of the batch.
template <typename T>
void make_on_host(const rueda::ImageSet& images, std::uint32_t index, std::size_t n,
                  const kernels::PixelTransform& t, std::vector<T>& values) {
  const auto augment =
      t.augment ? kernels::draw_augment(kSeed, kEpoch, index) : kernels::SampleAugment{};
  const std::uint8_t* image = images.image(index).data();
  const auto pixels = std::size_t(t.image_size * t.image_size);
  auto value = values.begin() + std::ptrdiff_t(n * pixels * rueda::kImageChannels);
  for (int y = 0; y < t.image_size; ++y) {
    for (int x = 0; x < t.image_size; ++x) {
      for (int c = 0; c < rueda::kImageChannels; ++c)
        *value++ = kernels::from_float<T>(kernels::input_value(image, t, augment, c, y, x));
    }
  }
}

template <typename T>
void compare_batch(const kernels::PixelTransform& t, std::size_t count) {
  const auto stream = rueda::cuda::make_stream();
  const rueda::ImageSet images = some_images();
  std::vector<std::uint32_t> indices;
  for (std::size_t n = 0; n < count; ++n) indices.push_back(std::uint32_t((n * 5 + 22) % kImages));
  const auto pixels = std::size_t(t.image_size * t.image_size);
  const std::size_t elements = count * pixels * rueda::kImageChannels;
  std::vector<T> values(elements + kBatchMargin, kernels::from_float<T>(kSentinel));
  std::vector<std::int32_t> labels(count + kBatchMargin, -1);

  const DeviceVector<std::uint8_t> device_pixels(images.pixels, stream.get());
  const DeviceVector<std::uint8_t> device_labels(images.labels, stream.get());
  const DeviceVector<std::uint32_t> device_indices(indices, stream.get());
  const DeviceVector<T> batch(values, stream.get());
  rueda::cuda::BatchTarget target{
      .values = batch.data(),
      .element = sizeof(T) == 2 ? rueda::cuda::Element::bf16 : rueda::cuda::Element::fp32,
      .labels = nullptr};
  const DeviceVector<std::int32_t> batch_labels(labels, stream.get());
  target.labels = batch_labels.data();
  rueda::cuda::make_batch(
      {device_pixels.data(), device_labels.data(), device_indices.data(), count}, t, kSeed, kEpoch,
      target, stream.get());

  for (std::size_t n = 0; n < count; ++n) {
    make_on_host(images, indices[n], n, t, values);
    labels[n] = images.labels[indices[n]];
  }
  CHECK(first_difference(batch.read(), values) == kNoDifference);
  CHECK(first_difference(batch_labels.read(), labels) == kNoDifference);
}

}  // namespace

TEST_CASE("make_batch equals the host's in either type, with every size and augmentation",
          "[device]") {
  const int size = GENERATE(32, 1, 7, 31, 48, 224);
  const bool augment = GENERATE(false, true);
  CAPTURE(size, augment);
  compare_batch<float>(transform_to(size, augment), 5);
  compare_batch<kernels::Bfloat16>(transform_to(size, augment), 5);
}

TEST_CASE("make_batch takes any number of samples", "[device]") {
  const auto count = GENERATE(std::size_t{0}, std::size_t{1}, std::size_t{64}, std::size_t{1100});
  CAPTURE(count);
  compare_batch<float>(transform_to(32, true), count);
  compare_batch<kernels::Bfloat16>(transform_to(32, true), count);
}

namespace {

/// Each window of a convolution over `kernel` columns of `channels`, from its definition.
template <typename T>
void compare_windows(int width, int channels, int kernel, int stride, int padding) {
  constexpr std::size_t kRows = 5;
  constexpr int kPack = 16 / sizeof(T);
  const auto stream = rueda::cuda::make_stream();
  const kernels::RowWindows w{.row = width * channels,
                              .count = (width + 2 * padding - kernel) / stride + 1,
                              .step = stride * channels,
                              .before = padding * channels,
                              .values = kernel * channels,
                              .stored = (kernel * channels + kPack - 1) / kPack * kPack};
  std::vector<T> image;
  for (std::size_t i = 0; i < kRows * std::size_t(w.row); ++i)
    image.push_back(kernels::from_float<T>(float(i % 251) - 100));
  std::vector<T> expected;
  for (std::size_t row = 0; row < kRows; ++row) {
    for (int window = 0; window < w.count; ++window) {
      for (int k = 0; k < w.stored; ++k) {
        const int column = window * stride - padding + k / channels;
        const bool covered = k < w.values && column >= 0 && column < width;
        const auto at = row * std::size_t(w.row) + std::size_t(column * channels + k % channels);
        expected.push_back(covered ? image[at] : kernels::from_float<T>(0.0F));
      }
    }
  }
  expected.resize(expected.size() + kBatchMargin, kernels::from_float<T>(kSentinel));
  const DeviceVector<T> from(image, stream.get());
  const DeviceVector<T> to(std::vector<T>(expected.size(), kernels::from_float<T>(kSentinel)),
                           stream.get());
  const auto element = sizeof(T) == 2 ? rueda::cuda::Element::bf16 : rueda::cuda::Element::fp32;
  rueda::cuda::unroll_rows(element, to.data(), from.data(), kRows, w, stream.get());
  CHECK(first_difference(to.read(), expected) == kNoDifference);
}

}  // namespace

TEST_CASE("unroll_rows puts what a kernel covers of a row next to each other", "[device]") {
  const int channels = GENERATE(1, 3, 8);
  const int kernel = GENERATE(1, 3, 7);
  const int stride = GENERATE(1, 2);
  const int padding = GENERATE(0, 1, 3);
  CAPTURE(channels, kernel, stride, padding);
  for (const int width : {7, 32}) {
    compare_windows<float>(width, channels, kernel, stride, padding);
    compare_windows<kernels::Bfloat16>(width, channels, kernel, stride, padding);
  }
}

TEST_CASE("kernels on images refuse what they could not fill") {
  alignas(16) float unaligned[2] = {};
  const kernels::RowWindows whole{.row = 9, .count = 3, .step = 3, .values = 9, .stored = 12};
  CHECK_THROWS_AS(rueda::cuda::unroll_rows(rueda::cuda::Element::fp32, &unaligned[1], nullptr, 0,
                                           whole, nullptr),
                  rueda::RunError);
  kernels::RowWindows part = whole;
  part.stored = 9;
  CHECK_THROWS_AS(rueda::cuda::unroll_rows(rueda::cuda::Element::fp32, &unaligned[0], nullptr, 0,
                                           part, nullptr),
                  rueda::RunError);
  CHECK_THROWS_AS(rueda::cuda::make_batch({}, transform_to(0, false), 0, 0, {}, nullptr),
                  rueda::RunError);
}
