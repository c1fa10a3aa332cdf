#include "rueda/reduce/rank_group.hpp"

#include <algorithm>

#include "rueda/reduce/host_name.hpp"

namespace rueda {
namespace {

struct AgreedInputError final : InputError, Agreed {
  using InputError::InputError;
};

struct AgreedRunError final : RunError, Agreed {
  using RunError::RunError;
};

/// How `work` ended on one rank.
struct Outcome {
  ExitCode code = ExitCode::done;
  std::string message;

  bool failed() const { return code != ExitCode::done; }
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

Outcome attempt(const std::function<void()>& work) {
  try {
    work();
    return {};
  } catch (const Error& error) {
    const bool failure = error.code() != ExitCode::done;
    return {failure ? error.code() : ExitCode::run_failed, error.what()};
  } catch (const std::exception& error) {
    return {ExitCode::run_failed, error.what()};
  } catch (...) {
    return {ExitCode::run_failed, "an exception that carries no message"};
  }
}

std::string encode(const Outcome& outcome) {
  return std::string(1, static_cast<char>(outcome.code)) + outcome.message;
}

Outcome decode(const std::string& text) {
  return {static_cast<ExitCode>(text.at(0)), text.substr(1)};
}

/// Throws what the lowest failing rank met; at least one did.
[[noreturn]] void throw_first_failure(const std::vector<Outcome>& outcomes,
                                      const std::vector<std::string>& hosts) {
  const auto first =
      std::find_if(outcomes.begin(), outcomes.end(), [](const auto& o) { return o.failed(); });
  const bool alike =
      std::all_of(outcomes.begin(), outcomes.end(), [&](const auto& o) { return o == *first; });
  if (alike) throw_agreed(first->code, first->message);
  const auto rank = static_cast<std::size_t>(first - outcomes.begin());
  throw_agreed(first->code,
               "rank " + std::to_string(rank) + " (" + hosts[rank] + "): " + first->message);
}

}  // namespace

bool is_agreed(const std::exception& error) {
  return dynamic_cast<const Agreed*>(&error) != nullptr;
}

void throw_agreed(ExitCode code, const std::string& message) {
  if (code == ExitCode::bad_input) throw AgreedInputError(message);
  throw AgreedRunError(message);
}

void together(RankGroup& group, const std::function<void()>& work) {
  const auto texts = all_gather_text(group, encode(attempt(work)));
  std::vector<Outcome> outcomes;
  for (const auto& text : texts) outcomes.push_back(decode(text));
  const bool failed =
      std::any_of(outcomes.begin(), outcomes.end(), [](const auto& o) { return o.failed(); });
  if (failed) throw_first_failure(outcomes, all_gather_text(group, host_name()));
}

std::vector<std::string> all_gather_text(RankGroup& group, const std::string& mine) {
  const auto gathered = group.all_gather(std::as_bytes(std::span(mine)));
  std::vector<std::string> texts;
  texts.reserve(gathered.size());
  for (const auto& bytes : gathered) {
    texts.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  return texts;
}

}  // namespace rueda
