#include "tokenizer/template/run.hpp"

namespace mixtura {

bool JinjaRun::out_of_steps() {
    steps_left_ = 0;
    return fail_as(StatusCode::budget_exceeded, "rendering takes more than ", limits_.steps_max, " steps, the limit");
}

bool JinjaRun::out_of_memory() {
    return fail_as(StatusCode::budget_exceeded, "rendering needs more than ", arena_.bytes_max(),
                   " bytes of memory, the limit");
}

void JinjaRun::too_deep() {
    fail_as(StatusCode::budget_exceeded, "rendering nests deeper than ", limits_.depth_max, " levels, the limit");
}

}  // namespace mixtura
