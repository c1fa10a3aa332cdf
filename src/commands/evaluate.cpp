#include "commands/evaluate.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>
#include <numeric>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <vector>

#include <fmt/ranges.h>

#include "base/log.hpp"
#include "commands/reader.hpp"
#include "commands/sample_images.hpp"
#include "display/run_text.hpp"
#include "display/text.hpp"
#include "model/registry.hpp"
#include "record/evaluation_record.hpp"
#include "record/run_json.hpp"
#include "run/job.hpp"
#include "run/resume/evaluated_weights.hpp"
#include "run/resume/taken_options.hpp"
#include "run/run_directory.hpp"
#include "run/train_setup.hpp"
#include "run/wiring/engines.hpp"
#include "run/wiring/open_backend.hpp"
#include "run/wiring/versions.hpp"
#include "train/evaluator.hpp"

namespace rueda {
namespace {

constexpr const char* kMatrixScript = "plot_confusion";
/// So many classes make a matrix that a terminal shows; of more, so many mistakes are listed.
constexpr std::size_t kMostColumns = 20;
constexpr std::size_t kMostMistakes = 10;

/// Images by their class and by the one that they were taken for; the last of each are the sums.
using Counts = std::vector<std::vector<std::size_t>>;

/// Images of a class that were taken for another.
struct Mistake {
  std::size_t images;
  std::size_t label;
  std::size_t predicted;
};

/// A dash where there are no images.
std::string percent(std::size_t part, std::size_t whole, int decimals) {
  return whole == 0 ? "-" : fmt::format("{:.{}f}", 100 * double(part) / double(whole), decimals);
}

/// Shows on rank 0 how many of its images are scored.
class ScoreBar final : public TrainObserver {
 public:
  ScoreBar(ProgressChoice choice, bool speaks) {
    const Terminal terminal = speaks ? Terminal::of_stdout() : Terminal();
    if (speaks) bar_.emplace(std::cout, terminal, progress_mode(choice, terminal));
  }
  void on_step(const TrainPosition&, std::span<const RankTimes>) override {}
  void on_epoch(RunRecord&) override {}
  void on_evaluation(std::size_t done, std::size_t of, double seconds) override {
    if (bar_)
      bar_->update({.epoch = 1, .step = done, .seconds = seconds, .steps = of, .evaluates = true});
  }

 private:
  std::optional<ProgressBar> bar_;
};

/// An evaluation on one rank.
class Evaluation {
 public:
  Evaluation(const EvaluateOptions& options, const TrainConfig& config, std::string weights,
             Job& job)
      : options_(options),
        config_(config),
        job_(job),
        world_(job.world()),
        weights_(std::move(weights)) {
    data_ = agree_on_data(world_, config_).images;
    open_replica();
  }

  /// Returns the text of --json on rank 0, and an empty one elsewhere.
  std::string run() {
    std::vector<float> logits;
    Evaluator evaluator(world_, *replica_, data_.test, config_, config_.batch.per_rank);
    log(LogLevel::info, fmt::format("scores {} on {}", counted(data_.test.size(), "test image"),
                                    counted(std::size_t(world_.size()), "rank")));
    const Score score = [&] {
      ScoreBar bar(config_.output.progress, world_.rank() == 0);
      return evaluator.score(&logits, &bar);
    }();
    std::string json;
    job_.on_rank_0([&] {
      const std::size_t all = classes();
      const Answers answers{logits, all};
      Counts counts(all + 1, std::vector<std::size_t>(all + 1));
      for (std::size_t i = 0; i < score.samples; ++i) {
        const std::size_t predicted = answers.predicted(i);
        for (const std::size_t label : {std::size_t(data_.test.labels[i]), all})
          for (const std::size_t column : {predicted, all}) ++counts[label][column];
      }
      json = json_text(score, counts, answers);
      if (!options_.json.empty()) write_output(options_.json, json);
      if (!options_.predictions.empty()) write_predictions(answers);
      std::cout << harmless(text(score, counts)) << std::flush;
    });
    return json;
  }

 private:
  std::size_t classes() const { return data_.class_names.size(); }

  /// On rank 0 alone. A run that goes on may have removed the checkpoint that was found: then its
  /// latest one counts.
  HostWeights read_weights() {
    constexpr int kTries = 10;
    for (int left = kTries;; --left) {
      try {
        return load_weights(*graph_, weights_);
      } catch (const InputError&) {
        std::error_code none;
        if (left == 0 || config_.checkpoints.resume.empty() ||
            std::filesystem::exists(weights_, none))
          throw;
        weights_ = later_weights(config_);
        log(LogLevel::info,
            "the run goes on and has removed that checkpoint: weights of " + weights_);
      }
    }
  }

  /// Rank 0's weights go to the other ranks.
  void open_replica() {
    const int threads = job_.agree_on_cores(config_.device.threads).choice.threads;
    const BackendOptions options = options_of(config_, threads);
    together(world_, [&] {
      graph_ = build_model(config_.model.name, config_.model.image_size, int(classes()));
      backend_ = open_backend(options);
    });
    agree_on_engines(world_, config_, options, *backend_, {});
    together(world_, [&] {
      const auto plan = plan_evaluation(data_.test.size(), std::size_t(world_.size()),
                                        std::size_t(world_.rank()), config_.batch.per_rank);
      replica_ = std::make_unique<Replica>(*graph_, *backend_, std::vector<std::size_t>(),
                                           plan.batch_sizes());
      if (world_.rank() == 0) upload_weights(*replica_, read_weights());
    });
    broadcast_replica(world_, *replica_);
  }

  std::string json_text(const Score& score, const Counts& counts, const Answers& answers) const {
    Json j = {{"schema", kEvaluationSchema}, {"schema_version", kEvaluationVersion}};
    j["config"] = Json::parse(options_json(config_));
    j["versions"] = json_of(component_versions());
    j["weights"] = weights_;
    j["world_size"] = world_.size();
    put_fields(j, score, kTestScoreFields);
    EvaluationRecord record;
    for (std::size_t k = 0; k < classes(); ++k) {
      record.confusion.emplace_back(counts[k].begin(), counts[k].end() - 1);
      record.classes.push_back(
          {data_.class_names[k], counts[k].back(), counts[k][k], counts.back()[k]});
    }
    record.samples = sample_images(answers, data_.test);
    put_fields(j, record, kAnswerFields);
    return text_of(j, 1) + '\n';
  }

  std::string text(const Score& score, const Counts& counts) const {
    const std::string head = fmt::format(
        "weights   {}\ndata      {}{}, {}\nloss      {}\naccuracy  {}\ntime      {} s\n\n",
        one_line(weights_), one_line(data_.source),
        config_.data.path == "synthetic" ? " (drawn; --data names others)" : "",
        counted(score.samples, "test image"), metric_text(score.loss), metric_text(score.accuracy),
        seconds_text(score.seconds));
    return head + (classes() <= kMostColumns ? matrix_text(score, counts) : list_text(counts));
  }

  std::string class_text(std::size_t k) const {
    return fmt::format("{} {}", k, data_.class_names[k]);
  }

  std::string matrix_text(const Score& score, const Counts& counts) const {
    Texts head = {"class"};
    Texts last = {"precision, %"};
    for (std::size_t k = 0; k < classes(); ++k) {
      head.push_back(std::to_string(k));
      last.push_back(percent(counts[k][k], counts.back()[k], 0));
    }
    head.push_back("accuracy, %");
    last.push_back(fmt::format("{:.1f}", 100 * score.accuracy));
    TextTable table = number_table(head);
    for (std::size_t k = 0; k < classes(); ++k) {
      Texts cells = {class_text(k)};
      for (std::size_t j = 0; j < classes(); ++j) cells.push_back(std::to_string(counts[k][j]));
      cells.push_back(percent(counts[k][k], counts[k].back(), 1));
      table.add(cells);
    }
    table.add(last);
    return "Images of each class, by the class that they were taken for\n" + table.text();
  }

  /// Without the matrix, which --json and --plot have.
  std::string list_text(const Counts& counts) const {
    TextTable table = number_table({"class", "images", "accuracy, %", "precision, %"});
    for (std::size_t k = 0; k < classes(); ++k)
      table.add({class_text(k), std::to_string(counts[k].back()),
                 percent(counts[k][k], counts[k].back(), 1),
                 percent(counts[k][k], counts.back()[k], 0)});
    return table.text() + mistakes_text(counts);
  }

  /// The most frequent ones, equals in the order of their classes.
  std::string mistakes_text(const Counts& counts) const {
    std::vector<Mistake> mistakes;
    for (std::size_t k = 0; k < classes(); ++k)
      for (std::size_t j = 0; j < classes(); ++j)
        if (k != j && counts[k][j] > 0) mistakes.push_back({counts[k][j], k, j});
    if (mistakes.empty()) return {};
    std::ranges::stable_sort(mistakes, std::ranges::greater(), &Mistake::images);
    TextTable table({Align::left, Align::left, Align::right, Align::right}, 2);
    table.add({"class", "taken for", "images", "of its class, %"});
    for (const auto& [images, label, predicted] : mistakes | std::views::take(kMostMistakes))
      table.add({class_text(label), class_text(predicted), std::to_string(images),
                 percent(images, counts[label].back(), 1)});
    return "\nMost frequent mistakes\n" + table.text();
  }

  /// In the order of the test images.
  void write_predictions(const Answers& answers) const {
    write_output(options_.predictions, [&](const TextSink& put) {
      put("image,label,predicted,probability");
      for (std::size_t k = 0; k < classes(); ++k) put(fmt::format(",p_{}", k));
      put("\r\n");
      for (std::size_t i = 0; i < data_.test.size(); ++i) {
        const auto row = answers.row(i);
        const std::size_t predicted = answers.predicted(i);
        std::vector<float> p(classes());  // softmax
        for (std::size_t k = 0; k < classes(); ++k) p[k] = std::exp(row[k] - row[predicted]);
        const float sum = std::accumulate(p.begin(), p.end(), 0.0F);
        for (float& value : p) value /= sum;
        put(fmt::format("{},{},{},{},{}\r\n", i, data_.test.labels[i], predicted, p[predicted],
                        fmt::join(p, ",")));
      }
    });
  }

  const EvaluateOptions& options_;
  TrainConfig config_;
  Job& job_;
  Communicator& world_;
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
  TrainConfig config = options.train;
  std::string weights;  // on rank 0
  const auto settle = [&](RankGroup& world) {
    settle_on_rank_0(world, config, [&] { weights = find_weights(config); });
  };
  const JobRequest request{.config = config,
                           .what = "what is to be evaluated",
                           .asked = config_text(config),
                           .prepare = prepare,
                           .settle = settle};
  std::string json;
  const int code = run_job(request, [&](Job& job) {
    json = Evaluation(options, config, weights, job).run();
    return ExitCode::done;
  });
  if (!json.empty()) draw_plot(kMatrixScript, options.plot, json);
  return code;
}

}  // namespace rueda
