#pragma once

#include <string>

#include "rueda/backend/backend.hpp"

namespace rueda {

/// A stretch of the host's time that profilers show under a name, as long as a scope.
class NamedRange {
 public:
  NamedRange(Backend& backend, const std::string& name) : backend_(backend) {
    backend_.begin_range(name.c_str());
  }
  ~NamedRange() { backend_.end_range(); }
  NamedRange(const NamedRange&) = delete;

 private:
  Backend& backend_;
};

}  // namespace rueda
