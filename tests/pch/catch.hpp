// std.hpp and what every test includes.
#include <catch2/catch.hpp>

#include "../../src/pch/std.hpp"
