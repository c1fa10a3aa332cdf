#include "record/first_wait.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace rueda {
namespace {

/// What fills so much of a wait is its cause.
constexpr double kLargePart = 0.5;
constexpr double kSmallPart = 0.1;

/// A rank's first long message, on rank 0's clock.
struct LongWait {
  int rank = 0;
  TimedMessage message;
  std::uint32_t step = 0;
  std::uint32_t bucket = 0;
  double error = 0;  ///< of the clock, seconds
};

/// By rank; none: it did not wait long.
using Waits = std::vector<std::optional<LongWait>>;

std::optional<LongWait> wait_in(std::span<const BucketRecord> of_step, double least) {
  LongWait wait;
  double seconds = 0;
  for (const BucketRecord& record : of_step) {
    seconds += record.transfer;
    const double before = wait.message.seconds;
    wait.message.keep_longer(record.long_message);
    if (wait.message.seconds == before) continue;
    wait.step = record.step;
    wait.bucket = record.bucket;
  }
  if (seconds < least || wait.step == 0) return std::nullopt;
  return wait;
}

std::span<const BucketRecord> records_of(const std::vector<BucketRecord>& records,
                                         std::size_t step) {
  return std::ranges::equal_range(records, step, {}, &BucketRecord::step);
}

Waits waits_around(const EpochRecord& epoch, std::size_t step, double least) {
  Waits waits(epoch.bucket_records.size());
  for (std::size_t rank = 0; rank < waits.size(); ++rank) {
    for (std::size_t s = step - 1; s <= step + 1 && !waits[rank]; ++s)
      waits[rank] = wait_in(records_of(epoch.bucket_records[rank], s), least);
    if (!waits[rank]) continue;
    waits[rank]->rank = int(rank);
    const ClockFit& clock = epoch.clocks.at(rank);
    waits[rank]->message.begin = clock.to_rank0(waits[rank]->message.begin);
    waits[rank]->error = clock.error();
  }
  return waits;
}

const LongWait* wait_of(const Waits& waits, int rank) {
  if (rank < 0 || std::size_t(rank) >= waits.size() || !waits[std::size_t(rank)]) return nullptr;
  return &*waits[std::size_t(rank)];
}

bool goes_to(const LongWait& sent, const LongWait& received) {
  return sent.message.to == received.rank && received.message.from == sent.rank;
}

/// Whether the message that one sent in its wait is that which the other received.
bool is_same(const LongWait& sent, const LongWait& received) {
  return goes_to(sent, received) && sent.message.sent == received.message.received;
}

/// Where the peer's wait is in an earlier message between the two, no clock has to be asked.
bool explains(const LongWait& peer, const LongWait& wait) {
  const double end = peer.message.end();
  const bool sends = goes_to(peer, wait), receives = goes_to(wait, peer);
  if (sends || receives) {
    const bool earlier = (sends && peer.message.sent < wait.message.received) ||
                         (receives && peer.message.received < wait.message.sent);
    return earlier && end > wait.message.begin;
  }
  return end + peer.error + wait.error < wait.message.end() &&
         end - wait.message.begin >= kLargePart * wait.message.seconds;
}

bool is_explained(const Waits& waits, const LongWait& wait) {
  for (const int rank : {wait.message.from, wait.message.to}) {
    const LongWait* peer = wait_of(waits, rank);
    if (peer != nullptr && explains(*peer, wait)) return true;
  }
  return false;
}

/// Whether a peer that waits in the same message is one of the `explained` ranks.
bool shares_explanation(const Waits& waits, const LongWait& wait,
                        const std::vector<bool>& explained) {
  const LongWait* from = wait_of(waits, wait.message.from);
  const LongWait* to = wait_of(waits, wait.message.to);
  if (from != nullptr && is_same(*from, wait) && explained[std::size_t(from->rank)]) return true;
  return to != nullptr && is_same(wait, *to) && explained[std::size_t(to->rank)];
}

/// The ranks whose waits no other explains, nor that of those who wait in the same messages.
std::vector<int> unexplained(const Waits& waits) {
  std::vector<bool> explained(waits.size());
  for (std::size_t rank = 0; rank < waits.size(); ++rank)
    explained[rank] = !waits[rank] || is_explained(waits, *waits[rank]);
  for (bool spreads = true; spreads;) {
    spreads = false;
    for (std::size_t rank = 0; rank < waits.size(); ++rank) {
      if (explained[rank] || !shares_explanation(waits, *waits[rank], explained)) continue;
      explained[rank] = true;
      spreads = true;
    }
  }
  std::vector<int> ranks;
  for (std::size_t rank = 0; rank < waits.size(); ++rank)
    if (!explained[rank]) ranks.push_back(int(rank));
  return ranks;
}

/// Whether what rank `from` sent in its wait is what rank `to` received in its own.
bool is_sent(const Waits& waits, int from, int to) {
  const LongWait* sent = wait_of(waits, from);
  const LongWait* received = wait_of(waits, to);
  return sent != nullptr && received != nullptr && is_same(*sent, *received);
}

/// All `ranks` are in the same messages, round a ring. Where one waited on for long after the rank
/// that it sends to had gone on, its message was not held up: the last one is there. -1: nowhere.
int last_of_ring(const Waits& waits, const std::vector<int>& ranks) {
  int last = -1;
  double longest = 0;
  for (const int rank : ranks) {
    const TimedMessage& message = wait_of(waits, rank)->message;
    const double on = message.end() - wait_of(waits, message.to)->message.end();
    if (on < kSmallPart * message.seconds || on < longest) continue;
    longest = on;
    last = rank;
  }
  return last;
}

/// Each of `ranks` sends to the next one what both are waiting in: the last one,
/// if they are one such row; -1: they are not.
int last_of_row(const Waits& waits, const std::vector<int>& ranks) {
  const auto sends_on = [&](int rank) {
    return is_sent(waits, rank, wait_of(waits, rank)->message.to);
  };
  const auto end = std::ranges::find_if_not(ranks, sends_on);
  const int last = end == ranks.end() ? last_of_ring(waits, ranks) : *end;
  if (last < 0) return -1;
  std::size_t length = 1;
  for (int rank = last; length < ranks.size(); ++length) {
    const int before = wait_of(waits, rank)->message.from;
    if (!is_sent(waits, before, rank) || std::ranges::count(ranks, before) == 0) return -1;
    rank = before;
  }
  return last;
}

/// Whether the peer held the message up by itself: it came late, or added meanwhile.
bool was_busy(const EpochRecord& epoch, int peer, const LongWait& wait) {
  if (peer < 0) return false;
  const auto records = records_of(epoch.bucket_records.at(std::size_t(peer)), wait.step);
  const auto record = std::ranges::find(records, wait.bucket, &BucketRecord::bucket);
  if (record == records.end()) return true;
  const double begin = epoch.clocks[std::size_t(peer)].to_rank0(record->begin);
  const double busy = std::max(begin - wait.message.begin, record->add);
  return busy >= kLargePart * wait.message.seconds;
}

bool waits_for_a_busy_rank(const EpochRecord& epoch, const LongWait& wait) {
  return was_busy(epoch, wait.message.from, wait) || was_busy(epoch, wait.message.to, wait);
}

}  // namespace

std::optional<FirstWait> first_wait(const EpochRecord& epoch, std::size_t step, double least) {
  const Waits waits = waits_around(epoch, step, least);
  const std::vector<int> first = unexplained(waits);
  for (const int rank : first)
    if (waits_for_a_busy_rank(epoch, *wait_of(waits, rank))) return std::nullopt;
  const bool mutual =
      first.size() == 2 && is_sent(waits, first[0], first[1]) && is_sent(waits, first[1], first[0]);
  const int rank = mutual ? first[0] : last_of_row(waits, first);
  if (rank < 0) return std::nullopt;
  const LongWait& wait = *wait_of(waits, rank);
  int peer = wait.message.from;
  if (peer < 0) peer = wait.message.to;
  if (peer < 0) return std::nullopt;
  return FirstWait{.rank = std::size_t(rank),
                   .peer = std::size_t(peer),
                   .seconds = wait.message.seconds,
                   .mutual = mutual};
}

}  // namespace rueda
