// Bytes held through operator new, counted exactly.  Linking allocation_meter.cpp into a test binary replaces operator
// new and delete there; no other binary is touched.
#pragma once

#include <cstddef>

namespace mixtura::test {

class AllocationMeter {
  public:
    AllocationMeter() noexcept;  // starts from what is held now
    // The most that was held at once since then, beyond what was held at the start.
    std::size_t peak_bytes() const noexcept;
    // What is held now beyond the start: 0 when everything was given back.
    std::ptrdiff_t held_bytes() const noexcept;

  private:
    std::size_t start_bytes_;
};

}  // namespace mixtura::test
