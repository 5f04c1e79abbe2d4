// A generation's result as JSON, the same for complete and chat.
#pragma once

#include <mixtura/generation.hpp>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace mixtura::cli {

inline nlohmann::ordered_json result_json(const GenerationResult& result, const std::vector<Sampled>& chosen) {
    using Json = nlohmann::ordered_json;
    Json out;
    out["text"] = result.text;
    out["tokens"] = result.tokens;
    out["finish_reason"] = finish_reason_name(result.reason);
    out["prompt_tokens"] = result.prompt_tokens;
    out["reused_tokens"] = result.reused_tokens;
    out["prefill_seconds"] = result.prefill_seconds;
    out["decode_seconds"] = result.decode_seconds;
    for (const Sampled& sampled : chosen) {
        if (!sampled.logprob) continue;
        Json likeliest = Json::array();
        for (const TokenLogprob& other : sampled.likeliest)
            likeliest.push_back({{"token", other.token}, {"logprob", other.logprob}});
        out["logprobs"].push_back({{"token", sampled.token}, {"logprob", *sampled.logprob}, {"likeliest", likeliest}});
    }
    return out;
}

}  // namespace mixtura::cli
