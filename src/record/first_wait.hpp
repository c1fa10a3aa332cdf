#pragma once

#include <cstddef>
#include <optional>

#include "rueda/train/run_record.hpp"

namespace rueda {

/// Between which ranks the messages of a long step were held up first. A rank
/// takes part if it spent `least` seconds in messages, in this step or in one
/// next to it: behind the last message of a step others wait in the next one.
/// Each rank's wait is the first of its long messages (TimedMessage). The wait
/// of a peer explains it if it is in an earlier message between the two; or, if
/// they exchanged none in their waits, if it ended earlier and covers half of
/// it. It also explains the waits of others in the same message. The waits that
/// none explains are those around the link that was held up.
///
/// None: not determined. The ranks' waits have several causes, or all links
/// were held up; ends had to be compared and differ by no more than the error
/// of the clocks; a peer itself came late to the sum or added meanwhile; or the
/// epoch has no records.
std::optional<FirstWait> first_wait(const EpochRecord& epoch, std::size_t step, double least);

}  // namespace rueda
