#include <algorithm>
#include <array>
#include <cmath>
#include <exception>
#include <iostream>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <fmt/ranges.h>

#include "commands.hpp"
#include "record/json_parts.hpp"
#include "rueda/display/text.hpp"
#include "rueda/model/registry.hpp"
#include "rueda/record/run_json.hpp"
#include "run/console.hpp"
#include "run/resume_point.hpp"
#include "run/run_directory.hpp"
#include "run/train_setup.hpp"
#include "train/evaluator.hpp"
#include "wiring/open_backend.hpp"

namespace rueda {
namespace {

constexpr const char* kMatrixScript = "plot_confusion";
constexpr auto kAll = std::size_t(kClasses);

/// Images by their class and by the one that they were taken for; at `kAll` are the sums.
using Counts = std::array<std::array<std::size_t, kAll + 1>, kAll + 1>;

/// A dash where there are no images.
std::string percent(std::size_t part, std::size_t whole, int decimals) {
  return whole == 0 ? "-" : fmt::format("{:.{}f}", 100 * double(part) / double(whole), decimals);
}

/// The class of the largest logit, the first of equals, as where the loss counts.
std::size_t predicted_class(std::span<const float> logits) {
  return std::size_t(std::ranges::max_element(logits) - logits.begin());
}

/// An evaluation on one rank.
class Evaluation {
 public:
  Evaluation(const EvaluateOptions& options, const SelectedDevice& device)
      : options_(options), config_(options.train) {
    together(world_, [&] {  // meets ranks whose command line is faulty: see refuse_train
      if (device.failure) std::rethrow_exception(device.failure);
      open_log(config_.log_level, config_.log_dir, world_.rank());
      data_ = open_data(config_);
    });
    require_same(world_, "the program version", version_text());
    require_same(world_, "what is to be evaluated", config_text(config_));
    require_same(world_, "the data set", fmt::format("{}\n", fmt::join(data_lines(data_), "\n")));
    check_shared_devices(world_, {world_.host(), device.uuid}, config_.allow_shared_gpu);
    find_weights();
    open_replica();
  }

  /// Returns the text of --json on rank 0, and an empty one elsewhere.
  std::string run() {
    std::vector<float> logits;
    Evaluator evaluator(world_, *replica_, data_.test, config_, config_.batch_per_rank);
    const Score score = evaluator.score(&logits, nullptr);
    std::string json;
    together(world_, [&] {
      if (world_.rank() != 0) return;
      Counts counts{};
      for (std::size_t i = 0; i < score.samples; ++i) {
        const std::size_t predicted = predicted_class(row_of(logits, i));
        for (const std::size_t label : {std::size_t(data_.test.labels[i]), kAll})
          for (const std::size_t column : {predicted, kAll}) ++counts[label][column];
      }
      json = json_text(score, counts);
      if (!options_.json.empty()) write_output(options_.json, json);
      if (!options_.predictions.empty()) write_predictions(logits);
      std::cout << harmless(text(score, counts)) << std::flush;
    });
    return json;
  }

 private:
  static std::span<const float> row_of(std::span<const float> logits, std::size_t image) {
    return logits.subspan(image * kAll, kAll);
  }

  void find_weights() {
    weights_ = config_.init_weights;
    const auto point = find_resume_point(world_, config_);
    if (!point) return;
    const Manifest& m = point->manifest;
    weights_ = point->checkpoint + "/weights.safetensors";
    for (const std::string& remark : point->remarks) log(LogLevel::info, remark);
    if (!config_.given.contains("batch-per-rank"))  // the same batches give the same bits
      config_.batch_per_rank = even_split(m.global_batch, m.world * m.micro_batches, 0).size();
  }

  /// Rank 0's weights go to the other ranks.
  void open_replica() {
    const BackendOptions options{.choice = config_.backend,
                                 .precision = config_.precision,
                                 .threads = agree_on_cores(world_, config_.threads).choice.threads,
                                 .deterministic = config_.deterministic,
                                 .plan_cache = config_.plan_cache};
    together(world_, [&] {
      graph_ = build_model(config_.model, config_.image_size, kClasses);
      backend_ = open_backend(options);
    });
    agree_on_engines(world_, config_, options, *backend_, {});
    together(world_, [&] {
      const auto plan = plan_evaluation(data_.test.size(), std::size_t(world_.size()),
                                        std::size_t(world_.rank()), config_.batch_per_rank);
      replica_ = std::make_unique<Replica>(*graph_, *backend_, std::vector<std::size_t>(),
                                           plan.batch_sizes());
      if (world_.rank() == 0) upload_weights(*replica_, load_weights(*graph_, weights_));
    });
    broadcast_replica(world_, *replica_);
  }

  std::string json_text(const Score& score, const Counts& counts) const {
    Json j = {{"schema", "rueda-evaluation"}, {"schema_version", 1}};
    j["config"] = Json::parse(options_json(config_));
    j["versions"] = pairs_json(component_versions());
    j["weights"] = weights_;
    j["world_size"] = world_.size();
    put_fields(j, score, kTestScoreFields);
    for (std::size_t k = 0; k < kAll; ++k) {
      j["confusion"].push_back(std::vector(counts[k].begin(), counts[k].end() - 1));
      j["classes"].push_back({{"name", data_.class_names[k]},
                              {"images", counts[k][kAll]},
                              {"correct", counts[k][k]},
                              {"predicted", counts[kAll][k]}});
    }
    return text_of(j, 1) + '\n';
  }

  std::string text(const Score& score, const Counts& counts) const {
    TextTable table =
        number_table({"class", "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "accuracy, %"});
    Texts last = {"precision, %"};
    for (std::size_t k = 0; k < kAll; ++k) {
      Texts cells = {fmt::format("{} {}", k, data_.class_names[k])};
      for (std::size_t j = 0; j < kAll; ++j) cells.push_back(std::to_string(counts[k][j]));
      cells.push_back(percent(counts[k][k], counts[k][kAll], 1));
      table.add(cells);
      last.push_back(percent(counts[k][k], counts[kAll][k], 0));
    }
    last.push_back(fmt::format("{:.1f}", 100 * score.accuracy));
    table.add(last);
    return fmt::format(
               "weights   {}\ndata      {}{}, {}\nloss      {}\naccuracy  {}\ntime      {} s\n\n"
               "Images of each class, by the class that they were taken for\n",
               weights_, data_.source,
               config_.data == "synthetic" ? " (drawn; --data names others)" : "",
               counted(score.samples, "test image"), metric_text(score.loss),
               metric_text(score.accuracy), seconds_text(score.seconds)) +
           table.text();
  }

  /// In the order of the test images.
  void write_predictions(std::span<const float> logits) const {
    write_output(options_.predictions, [&](const TextSink& put) {
      put("image,label,predicted,probability,p_0,p_1,p_2,p_3,p_4,p_5,p_6,p_7,p_8,p_9\r\n");
      for (std::size_t i = 0; i < data_.test.size(); ++i) {
        const auto row = row_of(logits, i);
        const std::size_t predicted = predicted_class(row);
        std::array<float, kAll> p{};  // softmax
        for (std::size_t k = 0; k < kAll; ++k) p[k] = std::exp(row[k] - row[predicted]);
        const float sum = std::accumulate(p.begin(), p.end(), 0.0F);
        for (float& value : p) value /= sum;
        put(fmt::format("{},{},{},{},{}\r\n", i, data_.test.labels[i], predicted, p[predicted],
                        fmt::join(p, ",")));
      }
    });
  }

  const EvaluateOptions& options_;
  TrainConfig config_;
  Communicator world_;
  Dataset data_;
  std::string weights_;
  std::optional<Graph> graph_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Replica> replica_;
};

}  // namespace

int run_evaluate(const EvaluateOptions& options) {
  const auto prepare = [&] {
    check_output_file("--predictions", options.predictions);
    check_output_file("--json", options.json);
    check_plot(kMatrixScript, options.plot);
  };
  std::string json;
  const int code = in_session(options.train.backend, prepare, [&](const SelectedDevice& device) {
    json = Evaluation(options, device).run();
  });
  if (!json.empty()) draw_plot(kMatrixScript, options.plot, json);
  return code;
}

}  // namespace rueda
