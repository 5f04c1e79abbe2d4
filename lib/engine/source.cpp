// What a Generation does first where the model has an encoder: the source at once, then the decoder's start token.
#include "base/error.hpp"
#include "engine/generation_state.hpp"

namespace mixtura {

Status Generation::State::encode(std::span<const TokenId> given, const FeedOptions& feed) {
    if (is_cancelled->load(std::memory_order_relaxed)) return error(StatusCode::cancelled, "the request was cancelled");
    const auto count = static_cast<std::int64_t>(given.size());
    MIXTURA_RETURN_IF_ERROR(cache.append_source(sequence, count));
    const StepSequence rows{sequence, 0, count, 0, options.context_tokens};
    Step step{given, {&rows, 1}, {}, {}};
    bool is_stopped = false;
    watch(step, feed, 0, is_stopped);
    std::vector<NonFinite> failed;
    MIXTURA_RETURN_IF_ERROR(pass.encode(step, cache, *threads, failed));
    if (!failed.empty()) return not_finite(failed[0], model.layer_count());
    if (is_stopped) return error(StatusCode::callback_stopped, "a callback stopped the feed");
    source.assign(given.begin(), given.end());
    return {};
}

Status Generation::State::feed_start(const FeedOptions& feed) {
    const TokenId start = model.state()->core->spec.start_token;
    Status status = feed_step({&start, 1}, true, feed);
    if (!status.is_ok()) MIXTURA_RETURN_IF_ERROR(restart());
    return status;
}

Status Generation::State::read_source(std::span<const TokenId> given, const FeedOptions& feed) {
    const auto count = static_cast<std::int64_t>(given.size());
    if (count == 0) return {};
    if (count > options.context_tokens) {
        return error(StatusCode::out_of_range, "a source of ", count, " tokens is more than the context of ",
                     options.context_tokens, " holds");
    }
    Status status = encode(given, feed);
    if (status.is_ok()) return feed_start(feed);
    MIXTURA_RETURN_IF_ERROR(restart());
    return status;
}

}  // namespace mixtura
