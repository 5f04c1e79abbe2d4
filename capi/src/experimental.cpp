#include "convert.hpp"

using namespace mixtura::capi;

namespace {

mixtura::Batch& of(mixtura_x_batch* batch) { return given(batch, "batch").batch; }

}  // namespace

extern "C" {

mixtura_status mixtura_x_batch_create(const mixtura_model* model, const mixtura_generation_options* options,
                                      int64_t sequence_count, mixtura_x_batch** batch) noexcept {
    return guard([&] {
        given(batch, "batch");
        give_handle(batch, take(mixtura::Batch::create(given(model, "model").model, generation_options_from(options),
                                                       sequence_count)));
    });
}

void mixtura_x_batch_destroy(mixtura_x_batch* batch) noexcept { delete batch; }

mixtura_status mixtura_x_batch_step(mixtura_x_batch* batch, const int32_t* tokens, size_t token_count, float* logits,
                                    size_t logit_count) noexcept {
    return guard(
        [&] { check(of(batch).step(array(tokens, token_count, "tokens"), array(logits, logit_count, "logits"))); });
}

mixtura_status mixtura_x_batch_reset(mixtura_x_batch* batch) noexcept {
    return guard([&] { check(of(batch).reset()); });
}

mixtura_status mixtura_x_measure_machine(int32_t thread_count, mixtura_x_machine_rates* rates) noexcept {
    return guard([&] {
        checked_size(given(rates, "rates"), "rates");
        const mixtura::MachineRates found = take(mixtura::measure_machine(thread_count));
        mixtura_x_machine_rates out = MIXTURA_X_MACHINE_RATES_INIT;
        out.read_bytes_per_s = found.read_bytes_per_s;
        out.integer_ops_per_s = found.integer_ops_per_s;
        out.float_ops_per_s = found.float_ops_per_s;
        out.thread_count = found.thread_count;
        give(rates, out, "rates");
    });
}

}  // extern "C"
