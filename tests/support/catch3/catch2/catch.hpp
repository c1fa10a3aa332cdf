#pragma once

// The tests are written for Catch2 2. Under its header's name and its names they get Catch2 3.
#include <string>

#include <catch2/catch_all.hpp>

using Catch::Approx;

namespace Catch {
using Matchers::EndsWith;
using Matchers::StartsWith;
using TestEventListenerBase = EventListenerBase;

inline auto Contains(const std::string& part) { return Matchers::ContainsSubstring(part); }
}  // namespace Catch
