// How far two models' answers to the same tokens lie apart.  `mixtura compare` prints it; nothing here is on the path
// to any logit, so plain doubles and the C library do.
#pragma once

#include <mixtura/router.hpp>
#include <mixtura/tokenizer.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace mixtura::cli {

// Positions [first, last) of the tokens compared; the last is all of them.
struct PositionRange {
    std::int64_t first = 0, last = 0;
};
inline constexpr std::int64_t kPositionsEnd = INT64_MAX;
inline constexpr std::array<PositionRange, 6> kPositionRanges = {
    {{0, 32}, {32, 128}, {128, 512}, {512, 2048}, {2048, kPositionsEnd}, {0, kPositionsEnd}}};

struct LogitDistance {
    std::int64_t tokens = 0;
    double divergence_sum = 0;  // KL(A ‖ B) = Σ p_A (ln p_A - ln p_B), in nats
    double divergence_max = 0;
    std::int64_t same_top = 0;      // rows whose likeliest token is the same; the lower id where two are equal
    std::int64_t scored = 0;        // rows whose next token is known
    double loss_a = 0, loss_b = 0;  // Σ -ln p(next token)
};

class LogitComparison {
  public:
    // Logits [V] of both after the token at `position`, and the token that follows it in the text where one does.
    void add(std::int64_t position, std::span<const float> a, std::span<const float> b, std::optional<TokenId> next);

    std::span<const LogitDistance> ranges() const noexcept { return ranges_; }  // as kPositionRanges
    bool are_bits_equal() const noexcept { return are_bits_equal_; }
    // The first position after which the two would say different tokens, and these.
    struct Difference {
        std::int64_t position = 0;
        TokenId a = kNoToken, b = kNoToken;
    };
    const std::optional<Difference>& first_difference() const noexcept { return first_difference_; }

  private:
    std::array<LogitDistance, kPositionRanges.size()> ranges_ = {};
    std::optional<Difference> first_difference_ = {};
    bool are_bits_equal_ = true;
};

// Where a step's tokens went in one layer, kept until the other side has computed them too.
struct Routes {
    std::int64_t tokens = 0, choices = 0, experts = 0;
    std::vector<std::int32_t> expert_ids = {};  // [T, K], -1: unused
    std::vector<float> weights = {};            // [T, K]

    static Routes of(const RoutePlan& plan);
};

struct RouteDistance {
    std::int64_t tokens = 0;
    std::int64_t same_set = 0;  // tokens that both sent to the same experts
    double kept_sum = 0;        // per token: the share of A's weight on experts that B chose as well

    void add(const Routes& a, const Routes& b);
};

}  // namespace mixtura::cli
