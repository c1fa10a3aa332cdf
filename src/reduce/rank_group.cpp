#include "rueda/reduce/rank_group.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <unistd.h>

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

/// Cuts the first line off `text`.
std::string_view take_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(text.size(), line.size() + 1));
  return line;
}

std::string quoted(std::string_view line) {
  if (line.empty()) return "nothing";
  std::string text = "'";
  text += line;
  text += "'";
  return text;
}

/// "rank 0 (a) has 'x', rank 2 (b) has 'y'" for the first line in which the texts differ.
std::string first_difference(std::string_view zero, std::string_view other,
                             const std::vector<std::string>& hosts, std::size_t rank) {
  std::string_view left, right;
  while (left == right && !(zero.empty() && other.empty())) {
    left = take_line(zero);
    right = take_line(other);
  }
  return "rank 0 (" + hosts[0] + ") has " + quoted(left) + ", rank " + std::to_string(rank) + " (" +
         hosts[rank] + ") has " + quoted(right);
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

std::vector<std::size_t> ranks_where(RankGroup& group, bool condition) {
  std::vector<std::size_t> ranks;
  const auto all = all_gather(group, condition);
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank]) ranks.push_back(rank);
  }
  return ranks;
}

void require_same(RankGroup& group, const std::string& what, const std::string& text) {
  const auto texts = all_gather_text(group, text);
  const auto other =
      std::find_if(texts.begin(), texts.end(), [&](const auto& t) { return t != texts[0]; });
  if (other == texts.end()) return;
  const auto hosts = all_gather_text(group, host_name());
  const auto rank = static_cast<std::size_t>(other - texts.begin());
  throw_agreed(ExitCode::bad_input,
               what + " differs between ranks: " + first_difference(texts[0], *other, hosts, rank) +
                   "; give every rank the same");
}

std::string rank_list(const std::vector<std::size_t>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (i > 0) text += i + 1 == ranks.size() ? " and " : ", ";
    text += std::to_string(ranks[i]);
  }
  return text;
}

std::string host_name() {
  std::array<char, 256> name{};  // POSIX allows 255; the last byte stays 0 when one is cut
  if (gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "unknown host";
  return name.data();
}

void end_process(const std::string& message, ExitCode code) noexcept {
  if (!message.empty()) std::fputs((message + '\n').c_str(), stderr);
  std::fflush(nullptr);
  std::_Exit(static_cast<int>(code));
}

}  // namespace rueda
