#include "rueda/weights/weights_file.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "rueda/weights/safetensors.hpp"
#include "tests/support/data_files.hpp"
#include "tests/support/small_graphs.hpp"
#include "weights/origin_tensors.hpp"

namespace rueda::test {
namespace {

using Catch::Matchers::Contains;
namespace fs = std::filesystem;

std::vector<float> numbered(std::size_t count, float first) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

/// The file of a small network with values 1, 2, 3 ... in each tensor, to be spoilt by a test.
struct Draft {
  explicit Draft(const Graph& graph) {
    for (const OriginTensor& tensor : origin_tensors(graph)) {
      values.push_back(numbered(tensor.elements(), 1));
      tensors.push_back({tensor.name, "F32", tensor.shape, {}});
    }
  }

  std::size_t index_of(const std::string& name) const {
    const auto found = std::find_if(tensors.begin(), tensors.end(),
                                    [&](const TensorData& tensor) { return tensor.name == name; });
    return static_cast<std::size_t>(found - tensors.begin());
  }
  TensorData& at(const std::string& name) { return tensors.at(index_of(name)); }
  std::vector<float>& values_of(const std::string& name) { return values.at(index_of(name)); }
  void erase(const std::string& name) {
    const auto index = static_cast<long>(index_of(name));
    values.erase(values.begin() + index);
    tensors.erase(tensors.begin() + index);
  }
  void add(const std::string& name, const std::string& dtype, std::size_t elements) {
    tensors.push_back({name, dtype, {elements}, {}});
    values.push_back(numbered(elements, 1));
  }

  void write(const fs::path& path) {
    for (std::size_t i = 0; i < tensors.size(); ++i)
      tensors[i].bytes = std::as_bytes(std::span(values[i]));
    write_safetensors(path, tensors, {});
  }

  std::vector<TensorData> tensors;
  std::vector<std::vector<float>> values;
};

/// The message with which the spoilt file is refused; "" if it is not.
std::string refusal_of(const std::function<void(Draft&)>& spoil) {
  static const TempDirectory directory;
  const fs::path path = directory.path() / "spoilt.safetensors";
  const Graph graph = small_one_of_each(Origin::pytorch);
  Draft draft(graph);
  spoil(draft);
  draft.write(path);
  std::vector<float> parameters(graph.parameter_count());
  std::vector<float> statistics(graph.statistics_count());
  return refusal([&] { load_weights(graph, path, parameters, statistics); });
}

}  // namespace

TEST_CASE("weights: what was saved is loaded again", "[weights]") {
  const TempDirectory directory;
  const fs::path path = directory.path() / "weights";
  for (const Graph& graph : {small_one_of_each(Origin::pytorch), small_one_of_each(Origin::keras),
                             small_projection(9), small_preactivation(9)}) {
    CAPTURE(graph.name());
    const auto parameters = numbered(graph.parameter_count(), 0.5F);
    const auto statistics = numbered(graph.statistics_count(), -3.25F);
    save_weights(graph, path, parameters, statistics, 3);
    std::vector<float> parameters_again(parameters.size());
    std::vector<float> statistics_again(statistics.size());
    load_weights(graph, path, parameters_again, statistics_again);
    CHECK(parameters_again == parameters);
    CHECK(statistics_again == statistics);
  }
}

TEST_CASE("weights: PyTorch's step counters stand first, Keras has none", "[weights]") {
  const TempDirectory directory;
  const fs::path path = directory.path() / "weights";
  const auto first_saved = [&](Origin origin) {
    const Graph graph = small_one_of_each(origin);
    save_weights(graph, path, numbered(graph.parameter_count(), 0),
                 numbered(graph.statistics_count(), 0), 258);
    return SafetensorsFile(path).tensors();
  };
  CHECK(first_saved(Origin::keras).size() == 8);
  const auto tensors = first_saved(Origin::pytorch);
  REQUIRE(tensors.size() == 9);
  CHECK(tensors.front().name == "bn.num_batches_tracked");
  CHECK(tensors.front().dtype == "I64");
  CHECK(tensors.front().shape.empty());
  const Bytes bytes = read_bytes(path);
  const std::size_t data = bytes.size() - tensors.back().end;
  CHECK(Bytes(bytes.begin() + static_cast<long>(data),
              bytes.begin() + static_cast<long>(data) + 8) == Bytes{2, 1, 0, 0, 0, 0, 0, 0});
}

TEST_CASE("weights: values come from the place that the file names", "[weights]") {
  const TempDirectory directory;
  const fs::path path = directory.path() / "weights";
  const Graph graph = small_one_of_each(Origin::pytorch);
  Draft draft(graph);
  draft.values_of("bn.running_var") = {2, 4, 6, 8, 10};
  std::reverse(draft.tensors.begin(), draft.tensors.end());  // the order does not matter
  std::reverse(draft.values.begin(), draft.values.end());
  draft.write(path);
  std::vector<float> parameters(graph.parameter_count());
  std::vector<float> statistics(graph.statistics_count());
  load_weights(graph, path, parameters, statistics);
  CHECK(statistics == std::vector<float>{1, 2, 3, 4, 5, 2, 4, 6, 8, 10});
}

TEST_CASE("weights: step counters may be there or not", "[weights]") {
  CHECK(refusal_of([](Draft&) {}).empty());
  CHECK(refusal_of([](Draft& d) { d.add("bn.num_batches_tracked", "F32", 1); }).empty());
  CHECK_FALSE(refusal_of([](Draft& d) { d.add("conv.num_batches_tracked", "F32", 1); }).empty());
}

TEST_CASE("weights: missing tensors are refused by the first and the count", "[weights]") {
  CHECK_THAT(refusal_of([](Draft& d) { d.erase("dense.bias"); }),
             Contains("spoilt.safetensors") && Contains("it lacks the tensor 'dense.bias':") &&
                 Contains("small_one_of_each"));
  CHECK_THAT(refusal_of([](Draft& d) {
               d.erase("conv.bias");
               d.erase("bn.running_mean");
             }),
             Contains("it lacks 2 tensors, the first 'conv.bias':"));
}

TEST_CASE("weights: unexpected tensors are refused", "[weights]") {
  CHECK_THAT(refusal_of([](Draft& d) { d.add("fc.weight", "F32", 3); }),
             Contains("it has the tensor 'fc.weight' too many"));
  CHECK_THAT(
      refusal_of([](Draft& d) {
        d.add("fc.weight", "F32", 3);
        d.add("fc.bias", "F32", 3);
        d.erase("dense.bias");
      }),
      Contains("it lacks the tensor 'dense.bias', and has 2 tensors, the first 'fc.weight'"));
}

TEST_CASE("weights: another shape is refused, also one of as many elements", "[weights]") {
  CHECK_THAT(refusal_of([](Draft& d) {
               d.at("conv.weight").shape = {5, 2, 2, 3};
             }),
             Contains("tensor 'conv.weight' has the shape (5, 2, 2, 3), expected (5, 3, 2, 2)"));
  CHECK_THAT(refusal_of([](Draft& d) {
               d.at("conv.bias").shape = {5, 1};
             }),
             Contains("(5, 1), expected (5)"));
}

TEST_CASE("weights: another dtype is refused", "[weights]") {
  CHECK_THAT(refusal_of([](Draft& d) { d.at("bn.weight").dtype = "I32"; }),
             Contains("tensor 'bn.weight' is I32, expected F32"));
}

TEST_CASE("weights: values that are not finite are refused", "[weights]") {
  using Limits = std::numeric_limits<float>;
  CHECK_THAT(refusal_of([](Draft& d) { d.values_of("dense.weight")[3] = Limits::quiet_NaN(); }),
             Contains("tensor 'dense.weight' is nan at element 3"));
  CHECK_THAT(refusal_of([](Draft& d) { d.values_of("bn.running_var")[4] = -Limits::infinity(); }),
             Contains("tensor 'bn.running_var' is -inf at element 4"));
}

}  // namespace rueda::test
