// std.hpp and what formats text.
#include <fmt/format.h>

#include "pch/std.hpp"
