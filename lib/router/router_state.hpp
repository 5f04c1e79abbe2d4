// How the library itself makes a Router: over gate weights that somebody else owns.
#pragma once

#include <mixtura/router.hpp>

#include <memory>

#include "router/route.hpp"

namespace mixtura {

struct Router::State {
    RouterSpec spec;
    GateView view;
    const KernelTable* kernels = nullptr;
    std::shared_ptr<const void> keep_alive;  // what owns the memory `view` points to
};

// A Router on weights that `keep_alive` owns (a Model's); nothing is copied.  Pre: `view` has the sizes of `spec`, and
// Router::check accepts the policy.  May throw std::bad_alloc.
Router make_router(RouterSpec spec, GateView view, const KernelTable* kernels, std::shared_ptr<const void> keep_alive);

}  // namespace mixtura
