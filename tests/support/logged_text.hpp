#pragma once

#include <iostream>
#include <sstream>
#include <string>

#include "base/log.hpp"

namespace rueda::test {

/// What rank 0 logs while this exists; the log shows nothing of it elsewhere.
class LoggedText {
 public:
  explicit LoggedText(int rank = 0) {
    open_log(LogLevel::info, "", rank);
    before_ = std::cerr.rdbuf(text_.rdbuf());
  }
  ~LoggedText() {
    std::cerr.rdbuf(before_);
    open_log(LogLevel::off, "", 0);
  }
  LoggedText(const LoggedText&) = delete;

  /// What was logged since the last call.
  std::string take() {
    std::string all = text_.str();
    text_.str("");
    return all;
  }

 private:
  std::ostringstream text_;
  std::streambuf* before_;
};

}  // namespace rueda::test
