#include "rueda/reduce/rank_group.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string_view>

#include <fmt/ranges.h>
#include <unistd.h>

#include "base/text.hpp"

namespace rueda {
namespace {

struct AgreedInputError final : InputError, Agreed {
  using InputError::InputError;
};

struct AgreedRunError final : RunError, Agreed {
  using RunError::RunError;
};

/// How work ended on one rank: the exit code as a character, then the message.
std::string outcome(ExitCode code, const char* message) {
  return std::string(1, char(code)) + message;
}
ExitCode code_of(const std::string& outcome) { return static_cast<ExitCode>(outcome.front()); }

bool is_done(const std::string& outcome) { return code_of(outcome) == ExitCode::done; }

/// The outcome of `work`.
std::string attempt(const std::function<void()>& work) {
  try {
    work();
    return outcome(ExitCode::done, "");
  } catch (const Error& error) {
    if (error.code() == ExitCode::done) return outcome(ExitCode::run_failed, error.what());
    return outcome(error.code(), error.what());
  } catch (const std::exception& error) {
    return outcome(ExitCode::run_failed, error.what());
  } catch (...) {
    return outcome(ExitCode::run_failed, "an exception that carries no message");
  }
}

std::string rank_on_host(std::size_t rank, const std::vector<std::string>& hosts) {
  return fmt::format("rank {} ({})", rank, hosts[rank]);
}

/// Cuts the first line off `text`.
std::string_view take_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(text.size(), line.size() + 1));
  return line;
}

std::string quoted(std::string_view line) {
  if (line.empty()) return "nothing";
  return fmt::format("'{}'", line);
}

/// "rank 0 (a) has 'x', rank 2 (b) has 'y'" for the first line in which the texts differ.
std::string first_difference(std::string_view zero, std::string_view other,
                             const std::vector<std::string>& hosts, std::size_t rank) {
  std::string_view left, right;
  while (left == right && !(zero.empty() && other.empty())) {
    left = take_line(zero);
    right = take_line(other);
  }
  return fmt::format("{} has {}, {} has {}", rank_on_host(0, hosts), quoted(left),
                     rank_on_host(rank, hosts), quoted(right));
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
  const auto outcomes = all_gather_text(group, attempt(work));
  const auto first = std::ranges::find_if_not(outcomes, is_done);
  if (first == outcomes.end()) return;
  const auto hosts = all_gather_text(group, host_name());
  const std::string message = first->substr(1);
  if (std::ranges::count(outcomes, *first) == std::ssize(outcomes))
    throw_agreed(code_of(*first), message);
  const auto rank = std::size_t(first - outcomes.begin());
  throw_agreed(code_of(*first), rank_on_host(rank, hosts) + ": " + message);
}

std::vector<std::string> all_gather_text(RankGroup& group, const std::string& mine) {
  const auto gathered = group.all_gather(std::as_bytes(std::span(mine)));
  std::vector<std::string> texts;
  for (const auto& bytes : gathered)
    texts.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return texts;
}

void log_of_ranks(RankGroup& group, LogLevel level, const std::string& mine) {
  const auto texts = all_gather_text(group, mine);
  const bool speaks = group.rank() == 0;
  for (std::size_t rank = 0; rank < texts.size(); ++rank) {
    const bool repeated = rank > 0 && texts[rank] == texts[rank - 1];
    const bool others = rank != std::size_t(group.rank());
    if (texts[rank].empty() || (speaks && repeated) || (!speaks && others)) continue;
    log(level, fmt::format("rank {}: {}", rank, texts[rank]));
  }
}

std::string text_of_rank_0(RankGroup& group, const std::function<std::string()>& work) {
  std::string text;
  together(group, [&] {
    if (group.rank() == 0) text = work();
  });
  return all_gather_text(group, text).front();
}

std::vector<std::size_t> ranks_where(RankGroup& group, bool condition) {
  std::vector<std::size_t> ranks;
  const auto all = all_gather(group, condition);
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    if (all[rank]) ranks.push_back(rank);
  return ranks;
}

void require_same(RankGroup& group, const std::string& what, const std::string& text) {
  const auto texts = all_gather_text(group, text);
  const auto other = std::ranges::find_if(texts, [&](auto& t) { return t != texts[0]; });
  if (other == texts.end()) return;
  const auto hosts = all_gather_text(group, host_name());
  const auto rank = std::size_t(other - texts.begin());
  throw_agreed(ExitCode::bad_input,
               fmt::format("{} differs between ranks: {}; give every rank the same", what,
                           first_difference(texts[0], *other, hosts, rank)));
}

std::string rank_list(const std::vector<std::size_t>& ranks) {
  if (ranks.size() == 1) return fmt::format("rank {}", ranks[0]);
  return fmt::format("ranks {} and {}", fmt::join(ranks.begin(), ranks.end() - 1, ", "),
                     ranks.back());
}

std::string host_name() {
  std::array<char, 256> name{};  // POSIX allows 255; the last byte stays 0 when one is cut
  if (gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "unknown host";
  return name.data();
}

void end_process(const std::string& message, ExitCode code) noexcept {
  if (!message.empty()) std::fputs((one_line(message) + '\n').c_str(), stderr);
  std::fflush(nullptr);
  std::_Exit(int(code));
}

}  // namespace rueda
