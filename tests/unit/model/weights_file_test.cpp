#include "model/weights/weights_file.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "../../support/data_files.hpp"
#include "../../support/small_graphs.hpp"
#include "model/weights/origin_tensors.hpp"
#include "model/weights/safetensors.hpp"

namespace rueda::test {
namespace {

using Catch::Contains;
namespace fs = std::filesystem;

/// The file of a small network with values 1, 2, 3 ... in each tensor, to be spoilt by a test.
struct Draft {
  struct Entry {
    TensorData tensor;
    std::vector<float> values;
  };

  explicit Draft(const Graph& graph) {
    for (const OriginTensor& tensor : origin_tensors(graph))
      entries.push_back({{tensor.name, "F32", tensor.shape, {}}, numbered(tensor.elements(), 1)});
  }

  Entry& at(const std::string& name) {
    return *std::ranges::find(entries, name, [](const Entry& e) { return e.tensor.name; });
  }
  void erase(const std::string& name) {
    std::erase_if(entries, [&](const Entry& e) { return e.tensor.name == name; });
  }
  void add(const std::string& name, const std::string& dtype, std::size_t elements) {
    entries.push_back({{name, dtype, {elements}, {}}, numbered(elements, 1)});
  }
  void write(const fs::path& path) {
    std::vector<TensorData> tensors;
    for (const Entry& e : entries) {
      tensors.push_back(e.tensor);
      tensors.back().bytes = std::as_bytes(std::span(e.values));
    }
    write_safetensors(path, tensors, {});
  }

  std::vector<Entry> entries;
};

/// The message with which the spoilt file is refused; "" if it is not.
std::string refusal_of(const std::function<void(Draft&)>& spoil) {
  static const ScratchDirectory directory;
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
  const ScratchDirectory directory;
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
  const ScratchDirectory directory;
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
  CHECK(Bytes(bytes.begin() + long(data), bytes.begin() + long(data) + 8) ==
        Bytes{2, 1, 0, 0, 0, 0, 0, 0});
}

TEST_CASE("weights: values come from the place that the file names", "[weights]") {
  const ScratchDirectory directory;
  const fs::path path = directory.path() / "weights";
  const Graph graph = small_one_of_each(Origin::pytorch);
  Draft draft(graph);
  draft.at("bn.running_var").values = {2, 4, 6, 8, 10};
  std::ranges::reverse(draft.entries);  // the order does not matter
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

TEST_CASE("weights: a prefix on some of the names is taken off", "[weights]") {
  const ScratchDirectory directory;
  const fs::path path = directory.path() / "weights";
  const Graph graph = small_one_of_each(Origin::pytorch);
  const auto read_with = [&](const std::string& prefix,
                             const std::function<bool(const std::string&)>& has_it) {
    Draft draft(graph);
    draft.add("bn.num_batches_tracked", "F32", 1);
    for (Draft::Entry& entry : draft.entries)
      if (has_it(entry.tensor.name)) entry.tensor.name = prefix + entry.tensor.name;
    draft.write(path);
    std::vector<float> parameters(graph.parameter_count());
    std::vector<float> statistics(graph.statistics_count());
    CHECK(load_weights(graph, path, parameters, statistics) == prefix);
    CHECK(statistics == std::vector<float>{1, 2, 3, 4, 5, 1, 2, 3, 4, 5});
  };
  read_with("module.", [](const std::string& name) { return !name.ends_with("_tracked"); });
  read_with("module.", [](const std::string& name) {
    return name.find("running") == name.npos && !name.ends_with("_tracked");
  });
  read_with("bn.module.", [](const std::string& name) { return name.starts_with("dense"); });
  read_with("model_", [](const std::string&) { return true; });
  CHECK_THAT(refusal_of([](Draft& d) {
               d.add("module.dense.bias", "F32", 5);  // there with and without
               d.at("conv.bias").tensor.name = "module.conv.bias";
             }),
             Contains("it has the tensor 'module.dense.bias' too many, with 'module.' left out"));
}

TEST_CASE("weights: a prefix that all names share is taken off and told", "[weights]") {
  const ScratchDirectory directory;
  const fs::path path = directory.path() / "weights";
  const Graph graph = small_one_of_each(Origin::pytorch);
  for (const std::string prefix :
       {"module.", "_orig_mod.", "module._orig_mod.", "resnet/", "net.backbone."}) {
    CAPTURE(prefix);
    Draft draft(graph);
    draft.add("bn.num_batches_tracked", "F32", 1);
    for (Draft::Entry& entry : draft.entries) entry.tensor.name = prefix + entry.tensor.name;
    draft.write(path);
    std::vector<float> parameters(graph.parameter_count());
    std::vector<float> statistics(graph.statistics_count());
    CHECK(load_weights(graph, path, parameters, statistics) == prefix);
    CHECK(statistics == std::vector<float>{1, 2, 3, 4, 5, 1, 2, 3, 4, 5});
  }
  const auto prefixed = [](Draft& draft) {
    for (Draft::Entry& entry : draft.entries) entry.tensor.name = "module." + entry.tensor.name;
  };
  CHECK_THAT(
      refusal_of([&](Draft& d) {
        d.erase("dense.bias");
        prefixed(d);
      }),
      Contains("it lacks the tensor 'dense.bias', with 'module.' left out before its names") &&
          Contains("give the weights of a"));
  CHECK_THAT(refusal_of([&](Draft& d) {
               prefixed(d);
               d.add("epoch", "F32", 1);
             }),
             Contains("it has the tensor 'epoch' too many, with 'module.' left out"));
}

TEST_CASE("weights: what does not fit the network is refused by name", "[weights]") {
  using Limits = std::numeric_limits<float>;
  struct Spoilt {
    std::function<void(Draft&)> how;
    std::string says;
  };
  const std::vector<Spoilt> cases = {
      // Missing or unexpected: the first and the count.
      {[](Draft& d) { d.erase("dense.bias"); }, "it lacks the tensor 'dense.bias':"},
      {[](Draft& d) {
         d.erase("conv.bias");
         d.erase("bn.running_mean");
       },
       "it lacks 2 tensors, the first 'conv.bias':"},
      {[](Draft& d) { d.add("fc.weight", "F32", 3); }, "it has the tensor 'fc.weight' too many"},
      // Another shape, also one of as many elements.
      {[](Draft& d) {
         d.at("conv.weight").tensor.shape = {5, 2, 2, 3};
       },
       "tensor 'conv.weight' has the shape (5, 2, 2, 3), expected (5, 3, 2, 2)"},
      {[](Draft& d) {
         d.at("conv.bias").tensor.shape = {5, 1};
       },
       "(5, 1), expected (5)"},
      {[](Draft& d) { d.at("bn.weight").tensor.dtype = "I32"; },
       "tensor 'bn.weight' is I32, expected F32"},
      {[](Draft& d) { d.at("dense.weight").values[3] = Limits::quiet_NaN(); },
       "tensor 'dense.weight' is nan at element 3"},
      {[](Draft& d) { d.at("bn.running_var").values[4] = -Limits::infinity(); },
       "tensor 'bn.running_var' is -inf at element 4"},
      {[](Draft& d) { d.at("bn.running_var").values[2] = -5; },
       "tensor 'bn.running_var' is -5 at element 2, and a variance is not negative: save"},
  };
  for (const Spoilt& spoilt : cases)
    CHECK_THAT(refusal_of(spoilt.how), Contains("spoilt.safetensors") && Contains(spoilt.says));
  CHECK(refusal_of([](Draft& d) {
          d.at("bn.running_mean").values[2] = -5;
          d.at("bn.running_var").values[2] = -0.0F;
        }).empty());
  const auto missing = refusal_of([](Draft& d) { d.erase("dense.bias"); });
  CHECK_THAT(missing, Contains("small_one_of_each"));
  const auto both = refusal_of([](Draft& d) {
    d.add("fc.weight", "F32", 3);
    d.add("fc.bias", "F32", 3);
    d.erase("dense.bias");
  });
  CHECK_THAT(both, Contains("it lacks the tensor 'dense.bias', and has 2 tensors, the first "
                            "'fc.weight'"));
}

}  // namespace rueda::test
