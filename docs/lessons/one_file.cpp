// ResNet-20 on CIFAR-10, data-parallel, in one file: the whole idea of rueda without its comfort.
//
// Each rank holds a replica, computes the gradient of its part of the batch, and the ranks add
// their gradients with a ring of MPI_Sendrecv. Then all take the same step of SGD. Rank 0 gathers
// the times. It begins with the weights of `rueda train --seed 1`, or with those of a file, and
// follows rueda from there; tests/cli/lessons_test.py holds it to that.
//
//   mpicxx -std=c++20 -O3 -fopenmp one_file.cpp -ldnnl -o one_file
//   mpirun -n 2 ./one_file data/synth 20 128 0.1
//
// Needs an MPI and oneDNN (2.6 to 3.13). Where to read on: docs/architecture.md.

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <numbers>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include <mpi.h>
#include <oneapi/dnnl/dnnl.hpp>

using dnnl::memory;
using Floats = std::vector<float>;

constexpr int kClasses = 10;
constexpr std::uint64_t kSeed = 1;  // of the first weights
constexpr int kSide = 32;           // pixels
constexpr int kImageBytes = 3 * kSide * kSide;

[[noreturn]] void fail(const std::string& why) {
  std::fprintf(stderr, "one_file: %s\n", why.c_str());
  MPI_Abort(MPI_COMM_WORLD, 2);
  std::abort();
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), {});
  if (bytes.empty()) fail(path + ": cannot be read, or is empty");
  return bytes;
}

// ---------------------------------------------------------------------------------------------
// Parameters: all of them in one vector, so that a gradient of the same length goes round the ring.

// Random bits that depend on seed, name and index alone: splitmix64's finaliser (G. Steele et al.,
// "Fast splittable pseudorandom number generators", OOPSLA 2014).
std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

std::uint64_t key_of(const std::string& name) {  // FNV-1a
  std::uint64_t h = 0xcbf29ce484222325ULL;
  for (const char c : name) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return h;
}

double unit(std::uint64_t bits) { return double(bits >> 11) * 0x1.0p-53; }  // in [0, 1)

// Of a normal distribution (G. Box, M. Muller, 1958).
double normal(std::uint64_t bits) {
  return std::sqrt(-2 * std::log(1 - unit(bits))) *
         std::cos(2 * std::numbers::pi * unit(mix(bits)));
}

struct Tensor {
  std::string name;
  std::size_t at, count;  // in the vector of all parameters
};

struct Parameters {
  Floats values, gradient, velocity;
  std::vector<Tensor> tensors;

  std::size_t add(const std::string& name, int count, float value) {
    return append(name, Floats(std::size_t(count), value));
  }

  // Weights: for each output, the inputs; of each input, the pixels of the kernel. Deviation after
  // K. He et al., "Delving deep into rectifiers", ICCV 2015. rueda's tensors have the inputs last,
  // so the index that is drawn for is theirs.
  std::size_t add_weights(const std::string& name, int outputs, int inputs, int pixels) {
    Floats drawn;
    const std::uint64_t key = mix(mix(kSeed) ^ key_of(name));
    for (int o = 0; o < outputs; ++o)
      for (int i = 0; i < inputs; ++i)
        for (int k = 0; k < pixels; ++k)
          drawn.push_back(float(normal(mix(key ^ std::uint64_t((o * pixels + k) * inputs + i))) *
                                std::sqrt(2.0 / (pixels * inputs))));
    return append(name, drawn);
  }

  // A safetensors file is the length of a JSON header, the header, and the tensors' bytes. The
  // header says of each: "NAME":{"dtype":"F32","shape":[...],"data_offsets":[BEGIN,END]}.
  void load(const std::string& path) {
    const std::string bytes = read_file(path);
    std::uint64_t length = 0;
    if (bytes.size() >= 8) std::memcpy(&length, bytes.data(), 8);
    if (bytes.size() < 8 || length > bytes.size() - 8) fail(path + ": no safetensors file");
    const std::string header = bytes.substr(8, length);
    const std::size_t data = 8 + length;
    for (const Tensor& t : tensors) {
      std::size_t place = header.find('"' + t.name + "\":{");
      if (place != std::string::npos) place = header.find("\"data_offsets\":[", place);
      unsigned long long begin = 0, end = 0;
      if (place != std::string::npos)
        std::sscanf(header.c_str() + place, "\"data_offsets\":[%llu,%llu]", &begin, &end);
      if (end - begin != t.count * sizeof(float) || end > bytes.size() - data)
        fail(path + ": no " + t.name + " of resnet20 in fp32");
      std::memcpy(values.data() + t.at, bytes.data() + data + begin, end - begin);
    }
  }

  // I. Sutskever et al., "On the importance of initialization and momentum", ICML 2013.
  void step(float rate, float momentum, float decay) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      velocity[i] = momentum * velocity[i] + gradient[i] + decay * values[i];
      values[i] -= rate * velocity[i];
    }
  }

 private:
  std::size_t append(const std::string& name, const Floats& start) {
    tensors.push_back({name, values.size(), start.size()});
    values.insert(values.end(), start.begin(), start.end());
    gradient.resize(values.size());
    velocity.resize(values.size());
    return tensors.back().at;
  }
};

// ---------------------------------------------------------------------------------------------
// The network: a list of operations. Each knows its way forward and its way back.

// Images, rows, columns, channels: the channels of a pixel lie side by side.
struct Map {
  int images, side, channels;
  Floats values, gradient;

  Map(int n, int s, int c)
      : images(n),
        side(s),
        channels(c),
        values(std::size_t(n) * s * s * c),
        gradient(values.size()) {}
  std::size_t pixels() const { return std::size_t(images) * side * side; }
};
using Maps = std::shared_ptr<Map>;

// `backward` *adds* to the gradients of its inputs: a map can have two readers.
struct Operation {
  std::function<void()> forward, backward;
};

dnnl::engine engine(dnnl::engine::kind::cpu, 0);
dnnl::stream stream(engine);

// oneDNN 3 has no descriptors apart from the primitives' own.
template <typename Primitive, typename... Hints, typename... Shapes>
auto plan(const std::tuple<Shapes...>& shapes, const Hints&... hints) {
  return std::apply(
      [&](const auto&... shape) {
#if DNNL_VERSION_MAJOR >= 3
        return typename Primitive::primitive_desc(engine, shape..., hints...);
#else
        return typename Primitive::primitive_desc(typename Primitive::desc(shape...), engine,
                                                  hints...);
#endif
      },
      shapes);
}

void run(const dnnl::primitive& primitive, const std::unordered_map<int, memory>& arguments) {
  primitive.execute(stream, arguments);
  stream.wait();
}

// A convolution is the one thing that is not worth writing by hand. oneDNN wants the weights packed
// in a layout of its own: they are reordered before each use, and the gradient back after it.
struct Convolution {
  Maps x, y;
  Parameters& p;
  std::size_t at;
  memory::desc plain, source, output;
  dnnl::convolution_forward::primitive_desc forward_plan;
  dnnl::convolution_backward_data::primitive_desc data_plan;
  dnnl::convolution_backward_weights::primitive_desc weights_plan;

  Convolution(Maps in, Maps out, int stride, Parameters& parameters, const std::string& name)
      : x(std::move(in)),
        y(std::move(out)),
        p(parameters),
        at(p.add_weights(name, y->channels, x->channels, 9)) {
    const memory::dims shape{y->channels, x->channels, 3, 3};
    const auto f32 = memory::data_type::f32;
    plain = memory::desc(shape, f32, memory::format_tag::oihw);
    const memory::desc packed(shape, f32, memory::format_tag::any);
    source = desc_of(*x);
    output = desc_of(*y);
    const memory::dims strides{stride, stride}, padding{1, 1};
    const auto direct = dnnl::algorithm::convolution_direct;
    forward_plan = plan<dnnl::convolution_forward>(std::tuple(dnnl::prop_kind::forward_training,
                                                              direct, source, packed, output,
                                                              strides, padding, padding));
    data_plan = plan<dnnl::convolution_backward_data>(
        std::tuple(direct, source, packed, output, strides, padding, padding), forward_plan);
    weights_plan = plan<dnnl::convolution_backward_weights>(
        std::tuple(direct, source, packed, output, strides, padding, padding), forward_plan);
  }

  static memory::desc desc_of(const Map& map) {
    return {{map.images, map.channels, map.side, map.side},
            memory::data_type::f32,
            memory::format_tag::nhwc};
  }

  memory packed(const memory::desc& layout) {
    memory weights(plain, engine, p.values.data() + at), result(layout, engine);
    run(dnnl::reorder(weights, result), {{DNNL_ARG_FROM, weights}, {DNNL_ARG_TO, result}});
    return result;
  }

  void forward() {
    run(dnnl::convolution_forward(forward_plan),
        {{DNNL_ARG_SRC, memory(source, engine, x->values.data())},
         {DNNL_ARG_WEIGHTS, packed(forward_plan.weights_desc())},
         {DNNL_ARG_DST, memory(output, engine, y->values.data())}});
  }

  void backward() {
    const memory from(output, engine, y->gradient.data());
    memory weights(weights_plan.diff_weights_desc(), engine);
    run(dnnl::convolution_backward_weights(weights_plan),
        {{DNNL_ARG_SRC, memory(source, engine, x->values.data())},
         {DNNL_ARG_DIFF_DST, from},
         {DNNL_ARG_DIFF_WEIGHTS, weights}});
    memory gradient(plain, engine, p.gradient.data() + at);
    run(dnnl::reorder(weights, gradient), {{DNNL_ARG_FROM, weights}, {DNNL_ARG_TO, gradient}});

    Floats to(x->gradient.size());
    run(dnnl::convolution_backward_data(data_plan),
        {{DNNL_ARG_DIFF_DST, from},
         {DNNL_ARG_WEIGHTS, packed(data_plan.weights_desc())},
         {DNNL_ARG_DIFF_SRC, memory(source, engine, to.data())}});
    for (std::size_t i = 0; i < to.size(); ++i) x->gradient[i] += to[i];
  }
};

// Batch normalisation with the batch's statistics, over the images of this rank alone, as
// data-parallel training has it (S. Ioffe, C. Szegedy: "Batch Normalization", ICML 2015).
struct BatchNorm {
  Maps x, y;
  Parameters& p;
  std::size_t gamma, beta;
  std::vector<double> mean{}, scale{};  // scale: 1 / standard deviation

  void forward() {
    const std::size_t pixels = x->pixels(), channels = std::size_t(x->channels);
    mean.assign(channels, 0);
    scale.assign(channels, 0);
    for (std::size_t i = 0; i < pixels; ++i)
      for (std::size_t c = 0; c < channels; ++c) mean[c] += x->values[i * channels + c];
    for (double& m : mean) m /= double(pixels);
    for (std::size_t i = 0; i < pixels; ++i)
      for (std::size_t c = 0; c < channels; ++c) {
        const double difference = x->values[i * channels + c] - mean[c];
        scale[c] += difference * difference;
      }
    for (double& s : scale) s = 1 / std::sqrt(s / double(pixels) + 1e-5);
    for (std::size_t i = 0; i < pixels; ++i)
      for (std::size_t c = 0; c < channels; ++c)
        y->values[i * channels + c] =
            float((x->values[i * channels + c] - mean[c]) * scale[c] * p.values[gamma + c] +
                  p.values[beta + c]);
  }

  void backward() {
    const std::size_t pixels = x->pixels(), channels = std::size_t(x->channels);
    std::vector<double> sum(channels), product(channels);
    for (std::size_t i = 0; i < pixels; ++i)
      for (std::size_t c = 0; c < channels; ++c) {
        const double g = y->gradient[i * channels + c];
        sum[c] += g;
        product[c] += g * (x->values[i * channels + c] - mean[c]) * scale[c];
      }
    for (std::size_t c = 0; c < channels; ++c) {
      p.gradient[beta + c] = float(sum[c]);
      p.gradient[gamma + c] = float(product[c]);
    }
    for (std::size_t i = 0; i < pixels; ++i)
      for (std::size_t c = 0; c < channels; ++c) {
        const double normal = (x->values[i * channels + c] - mean[c]) * scale[c];
        const double g =
            y->gradient[i * channels + c] - (sum[c] + normal * product[c]) / double(pixels);
        x->gradient[i * channels + c] += float(p.values[gamma + c] * scale[c] * g);
      }
  }
};

class Network {
 public:
  Network(int images, Parameters& parameters)
      : p_(parameters), input(std::make_shared<Map>(images, kSide, 3)) {
    Maps x = relu(norm(convolution(input, "conv1.weight", 16, 1), "bn1"));
    for (int stage = 1; stage <= 3; ++stage)
      for (int block = 0; block < 3; ++block)
        x = residual(x, "layer" + std::to_string(stage) + "." + std::to_string(block), 8 << stage,
                     stage > 1 && block == 0 ? 2 : 1);
    classify(x);
  }

  // Returns the sum of the losses of the images. `all` are the images of all ranks: the gradient is
  // of their mean loss, so that the ranks only have to add.
  double forward(const std::vector<int>& labels, int all) {
    for (const Maps& map : maps_) std::fill(map->gradient.begin(), map->gradient.end(), 0.0F);
    for (const Operation& o : operations_) o.forward();
    double loss = 0;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      float* logit = scores_.data() + i * kClasses;
      const double most = *std::max_element(logit, logit + kClasses);
      double sum = 0;
      for (int k = 0; k < kClasses; ++k) sum += std::exp(logit[k] - most);
      loss += std::log(sum) + most - logit[labels[i]];
      for (int k = 0; k < kClasses; ++k)  // the scores become their gradient
        logit[k] = float((std::exp(logit[k] - most) / sum - (k == labels[i] ? 1 : 0)) / all);
    }
    return loss;
  }

  void backward() {
    for (auto o = operations_.rbegin(); o != operations_.rend(); ++o) o->backward();
  }

 private:
  Parameters& p_;
  std::vector<Maps> maps_;
  std::vector<Operation> operations_;
  Floats scores_;

 public:
  Maps input;

 private:
  Maps map(int images, int side, int channels) {
    return maps_.emplace_back(std::make_shared<Map>(images, side, channels));
  }

  template <typename Layer>
  void add(std::shared_ptr<Layer> layer) {
    operations_.push_back({[layer] { layer->forward(); }, [layer] { layer->backward(); }});
  }

  Maps convolution(const Maps& x, const std::string& name, int filters, int stride) {
    Maps y = map(x->images, x->side / stride, filters);
    add(std::make_shared<Convolution>(x, y, stride, p_, name));
    return y;
  }

  Maps norm(const Maps& x, const std::string& name) {
    Maps y = map(x->images, x->side, x->channels);
    add(std::make_shared<BatchNorm>(BatchNorm{x, y, p_, p_.add(name + ".weight", x->channels, 1),
                                              p_.add(name + ".bias", x->channels, 0)}));
    return y;
  }

  Maps relu(const Maps& x) {
    Maps y = map(x->images, x->side, x->channels);
    operations_.push_back({[=] {
                             for (std::size_t i = 0; i < x->values.size(); ++i)
                               y->values[i] = std::max(x->values[i], 0.0F);
                           },
                           [=] {
                             for (std::size_t i = 0; i < x->values.size(); ++i)
                               if (y->values[i] > 0) x->gradient[i] += y->gradient[i];
                           }});
    return y;
  }

  // K. He et al., "Deep Residual Learning for Image Recognition", CVPR 2016. Where the shape
  // changes, the shortcut takes every second pixel and fills the new channels with zeros (option
  // A), half of them on either side.
  Maps residual(const Maps& x, const std::string& name, int filters, int stride) {
    Maps y = relu(norm(convolution(x, name + ".conv1.weight", filters, stride), name + ".bn1"));
    y = norm(convolution(y, name + ".conv2.weight", filters, 1), name + ".bn2");
    Maps sum = map(y->images, y->side, filters);
    const int before = (filters - x->channels) / 2;
    const auto for_both = [=](const auto& use) {  // use(place in x, place in y)
      for (int n = 0; n < y->images; ++n)
        for (int row = 0; row < y->side; ++row)
          for (int column = 0; column < y->side; ++column)
            for (int c = 0; c < x->channels; ++c)
              use((std::size_t(n * x->side + row * stride) * x->side + column * stride) *
                          x->channels +
                      c,
                  (std::size_t(n * y->side + row) * y->side + column) * filters + before + c);
    };
    operations_.push_back(
        {[=] {
           sum->values = y->values;
           for_both([&](auto from, auto to) { sum->values[to] += x->values[from]; });
         },
         [=] {
           for (std::size_t i = 0; i < y->gradient.size(); ++i) y->gradient[i] += sum->gradient[i];
           for_both([&](auto from, auto to) { x->gradient[from] += sum->gradient[to]; });
         }});
    return relu(sum);
  }

  // The mean over all pixels, and a dense layer: scores of the ten classes.
  void classify(const Maps& x) {
    const std::size_t weight = p_.add_weights("linear.weight", kClasses, x->channels, 1);
    const std::size_t bias = p_.add("linear.bias", kClasses, 0);
    const auto images = std::size_t(x->images), channels = std::size_t(x->channels);
    const std::size_t area = std::size_t(x->side) * x->side;
    scores_.resize(images * kClasses);
    auto means = std::make_shared<Floats>(images * channels);
    operations_.push_back(
        {[=, this] {
           for (std::size_t n = 0; n < images; ++n) {
             std::vector<double> sum(channels);
             for (std::size_t i = 0; i < area; ++i)
               for (std::size_t c = 0; c < channels; ++c)
                 sum[c] += x->values[(n * area + i) * channels + c];
             for (std::size_t c = 0; c < channels; ++c)
               (*means)[n * channels + c] = float(sum[c] / double(area));
             for (std::size_t k = 0; k < kClasses; ++k) {
               double score = p_.values[bias + k];
               for (std::size_t c = 0; c < channels; ++c)
                 score += double(p_.values[weight + k * channels + c]) * (*means)[n * channels + c];
               scores_[n * kClasses + k] = float(score);
             }
           }
         },
         [=, this] {
           std::fill_n(p_.gradient.data() + weight, kClasses * channels, 0.0F);
           std::fill_n(p_.gradient.data() + bias, kClasses, 0.0F);
           for (std::size_t n = 0; n < images; ++n) {
             Floats of_mean(channels);
             for (std::size_t k = 0; k < kClasses; ++k) {
               const float g = scores_[n * kClasses + k];
               p_.gradient[bias + k] += g;
               for (std::size_t c = 0; c < channels; ++c) {
                 p_.gradient[weight + k * channels + c] += g * (*means)[n * channels + c];
                 of_mean[c] += g * p_.values[weight + k * channels + c];
               }
             }
             for (std::size_t i = 0; i < area; ++i)
               for (std::size_t c = 0; c < channels; ++c)
                 x->gradient[(n * area + i) * channels + c] += of_mean[c] / float(area);
           }
         }});
  }
};

// ---------------------------------------------------------------------------------------------
// The ring (P. Patarasuk, X. Yuan: "Bandwidth optimal all-reduce algorithms for clusters of
// workstations", 2009). In P-1 steps each chunk travels round and is added to; then the chunk of
// which a rank has the whole sum travels round in P-1 more.

void ring_all_reduce(Floats& data, MPI_Comm comm) {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  const int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
  const auto begin = [&](int chunk) {
    return data.size() * std::size_t(chunk) / std::size_t(ranks);
  };
  const auto length = [&](int chunk) { return int(begin(chunk + 1) - begin(chunk)); };
  Floats received(data.size() / std::size_t(ranks) + 1);
  for (int step = 0; step < 2 * (ranks - 1); ++step) {
    const int out = (rank - step + 2 * ranks) % ranks, in = (out + ranks - 1) % ranks;
    const bool adding = step < ranks - 1;
    float* to = adding ? received.data() : data.data() + begin(in);
    MPI_Sendrecv(data.data() + begin(out), length(out), MPI_FLOAT, next, 0, to, length(in),
                 MPI_FLOAT, before, 0, comm, MPI_STATUS_IGNORE);
    if (adding)
      for (int i = 0; i < length(in); ++i)
        data[begin(in) + std::size_t(i)] += received[std::size_t(i)];
  }
}

// ---------------------------------------------------------------------------------------------
// Training.

// Image `index` of a CIFAR-10 file (a label, then planes of red, green and blue) becomes image
// `to`.
int load(const std::string& file, std::size_t index, Map& input, int to) {
  constexpr std::array<double, 3> mean{0.4914, 0.4822, 0.4465}, deviation{0.2023, 0.1994, 0.2010};
  const auto* record =
      reinterpret_cast<const unsigned char*>(file.data()) + index * (1 + kImageBytes);
  for (int i = 0; i < kImageBytes; ++i) {
    const int channel = i / (kSide * kSide), pixel = i % (kSide * kSide);
    input
        .values[(std::size_t(to) * kSide * kSide + std::size_t(pixel)) * 3 + std::size_t(channel)] =
        float((record[1 + i] / 255.0 - mean[std::size_t(channel)]) /
              deviation[std::size_t(channel)]);
  }
  return record[0];
}

enum Phase { kLoad, kForward, kBackward, kAllReduce, kUpdate, kPhases };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc < 5 || argc > 7)
    fail("usage: one_file DATA STEPS GLOBAL_BATCH RATE [DECAY [WEIGHTS.safetensors]]");
  std::string data;
  for (int part = 1; part <= 5; ++part)
    data += read_file(std::string(argv[1]) + "/data_batch_" + std::to_string(part) + ".bin");
  const int steps = std::atoi(argv[2]), batch = std::atoi(argv[3]);
  const auto rate = float(std::atof(argv[4])), decay = argc > 5 ? float(std::atof(argv[5])) : 1e-4F;
  const std::size_t images = data.size() / (1 + kImageBytes);
  if (steps < 1 || batch < ranks || images < std::size_t(batch))
    fail("a step needs an image for each rank, and the data a batch of them");

  // Rank r takes a contiguous part of each global batch; parts differ by one image at most.
  const int first = batch / ranks * rank + std::min(rank, batch % ranks);
  const int mine = batch / ranks + (rank < batch % ranks ? 1 : 0);
  Parameters parameters;
  Network network(mine, parameters);
  if (argc > 6) parameters.load(argv[6]);
  std::vector<int> labels(std::size_t(mine), 0);
  std::array<double, kPhases> seconds{};
  for (int step = 0; step < steps; ++step) {
    auto last = std::chrono::steady_clock::now();
    const auto lap = [&](Phase phase) {
      const auto now = std::chrono::steady_clock::now();
      if (step > 0 || steps == 1)
        seconds[phase] += std::chrono::duration<double>(now - last).count();
      last = now;
    };
    const std::size_t start =
        std::size_t(step) % (images / std::size_t(batch)) * std::size_t(batch);
    for (int i = 0; i < mine; ++i)
      labels[std::size_t(i)] = load(data, start + std::size_t(first + i), *network.input, i);
    lap(kLoad);
    double loss = network.forward(labels, batch);
    lap(kForward);
    network.backward();
    lap(kBackward);
    ring_all_reduce(parameters.gradient, MPI_COMM_WORLD);
    lap(kAllReduce);
    parameters.step(rate, 0.9F, decay);
    lap(kUpdate);

    MPI_Allreduce(MPI_IN_PLACE, &loss, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) std::printf("step %d loss %.9f\n", step + 1, loss / batch);
  }

  std::vector<double> all(std::size_t(ranks) * kPhases);
  MPI_Gather(seconds.data(), kPhases, MPI_DOUBLE, all.data(), kPhases, MPI_DOUBLE, 0,
             MPI_COMM_WORLD);
  if (rank == 0) {
    // The first step is warm-up. A rank's all-reduce includes waiting for slower ones.
    std::printf("\nms a step  load forward backward all-reduce update\n");
    for (int r = 0; r < ranks; ++r) {
      std::printf("rank %-4d", r);
      for (int phase = 0; phase < kPhases; ++phase)
        std::printf(" %8.2f", 1e3 * all[std::size_t(r * kPhases + phase)] / std::max(steps - 1, 1));
      std::printf("\n");
    }
  }
  MPI_Finalize();
}
