// What the tests on real models share: the files build_models.py made, their reference answers, and one way to feed
// them.
#pragma once

#include <mixtura/generation.hpp>

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mixtura::test {

template <class T>
T must(Result<T> result) {
    if (!result) throw std::runtime_error(std::string(result.status().message()));
    return *std::move(result);
}
inline void must(const Status& status) {
    if (!status.is_ok()) throw std::runtime_error(std::string(status.message()));
}

// Opens one of build_models.py's files; throws what the library says.
Model open_real(std::string_view file);

// Golden data as JSON, "default-model/golden-f16.json".
nlohmann::json golden_json(std::string_view path);

// A sequence fed from empty: what every position gave.
struct Fed {
    std::vector<std::vector<float>> logits;                   // [T] of [V]
    std::vector<std::vector<std::vector<std::int32_t>>> ids;  // [L][T] of the experts chosen; empty for dense layers
    std::vector<std::vector<std::vector<float>>> weights;     // the same, of their weights
};
// Keys and values are kept as f32 where nothing is said, as the references do.
Fed feed(const Model& model, const std::vector<TokenId>& tokens, CacheDTypes cache_dtype = DType::f32);

TokenId best(std::span<const float> logits);
// max|a - b| / max|b|; infinite where a is not finite.
double relative_difference(std::span<const float> a, std::span<const float> b);
// exp of the mean of -ln p(next token) over a text.
double perplexity(const Fed& fed, const std::vector<TokenId>& tokens);
// KL(softmax(b) || softmax(a)) in nats.
double divergence(std::span<const float> a, std::span<const float> b);

}  // namespace mixtura::test
