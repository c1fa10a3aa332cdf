#include "rank_errors.hpp"

#include "print_error.hpp"
#include "rueda/core/error.hpp"
#include "rueda/reduce/rank_group.hpp"

namespace rueda {

void speak_for_ranks(Session& session, const std::function<void()>& work) {
  try {
    work();
  } catch (const std::exception& error) {
    const auto* known = dynamic_cast<const Error*>(&error);
    if (known != nullptr && is_agreed(error)) throw tell(*known);
    complain(error.what());
    session.abort(known == nullptr ? ExitCode::run_failed : known->code());
  }
}

}  // namespace rueda
