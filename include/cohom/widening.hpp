#pragma once
// The old name of <cohom/promotion.hpp>.

#include <cohom/cxx20.hpp>

#include <cohom/promotion.hpp>
