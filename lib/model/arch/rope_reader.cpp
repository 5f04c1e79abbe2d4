// Rotary embeddings as configurations state them.  Frequencies are computed once, when a model is opened, with our own
// elementary functions: they are part of the path to the logits.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.hpp"
#include "kernels/math.hpp"
#include "model/arch/common.hpp"
#include "model/rope_of_sequence.hpp"

namespace mixtura {
namespace {

// Llama 3.1's scaling by wavelength: long waves are stretched by `factor`, short ones kept, between them a blend.
// Source: transformers, modeling_rope_utils, _compute_llama3_parameters; the same formula in Meta's reference.
void scale_llama3(ConfigReader& reader, std::vector<float>& frequencies) {
    const auto factor = static_cast<float>(reader.real({"rope_parameters.factor", ""}));
    const auto low = static_cast<float>(reader.real({"rope_parameters.low_freq_factor", ""}));
    const auto high = static_cast<float>(reader.real({"rope_parameters.high_freq_factor", ""}));
    const auto original = static_cast<float>(reader.real({"rope_parameters.original_max_position_embeddings", ""}));
    if (!(factor > 0 && low > 0 && high > low && original > 0)) {
        reader.fail(error(StatusCode::corrupt_file,
                          "the configuration's 'rope_parameters' of type llama3 need factor > 0 and 0 < "
                          "low_freq_factor < high_freq_factor"));
        return;
    }
    for (float& frequency : frequencies) {
        const float wavelength = 2.0F * std::numbers::pi_v<float> / frequency;
        if (wavelength > original / low) {
            frequency = frequency / factor;
        } else if (wavelength >= original / high) {
            const float smooth = (original / wavelength - low) / (high - low);
            frequency = (1.0F - smooth) * (frequency / factor) + smooth * frequency;
        }
    }
}

// YaRN's magnitude for a context stretched `factor` times.
double yarn_magnitude(double factor, double scale) { return factor <= 1.0 ? 1.0 : 0.1 * scale * log_f64(factor) + 1.0; }

// How much scores and rotations are magnified.  GGUF states a tenth of mscale_all_dim, and mscale is always the same.
struct YarnScales {
    double factor = 1.0, mscale = 0.0, mscale_all = 0.0;
};
YarnScales read_yarn_scales(ConfigReader& reader) {
    YarnScales scales;
    scales.factor = reader.real({"rope_parameters.factor", "rope.scaling.factor"}, 1.0);
    scales.mscale = reader.real({"rope_parameters.mscale", ""}, 0.0);
    scales.mscale_all = reader.real({"rope_parameters.mscale_all_dim", ""}, 0.0);
    if (reader.is_gguf())
        scales.mscale = scales.mscale_all = 10.0 * reader.real({"", "rope.scaling.yarn_log_multiplier"}, 0.0);
    return scales;
}

// YaRN: long waves are stretched, short ones kept, with a ramp between the dimensions that turn beta_slow and beta_fast
// times within the original context.  Source: Peng et al. 2023 (arXiv 2309.00071), 3.2; transformers,
// modeling_rope_utils.
void scale_yarn(ConfigReader& reader, double theta, const RopeOptions& options, RopeSpec& rope) {
    const YarnScales scales = read_yarn_scales(reader);
    const double fast = reader.real({"rope_parameters.beta_fast", "rope.scaling.yarn_beta_fast"}, 32.0);
    const double slow = reader.real({"rope_parameters.beta_slow", "rope.scaling.yarn_beta_slow"}, 1.0);
    const double original =
        reader.real({"rope_parameters.original_max_position_embeddings", "rope.scaling.original_context_length"});
    const bool is_truncated = reader.boolean({"rope_parameters.truncate", ""}, options.is_yarn_truncated);
    if (!(scales.factor > 0 && scales.factor < 1e6 && fast > 0 && slow > 0 && original >= 1 && theta > 1 &&
          fast < 1e6 && slow < 1e6 && original < 1e9)) {
        reader.fail(error(StatusCode::corrupt_file,
                          "the configuration's YaRN needs a factor, beta_fast and beta_slow above 0, an original "
                          "context of at least 1 and a theta above 1"));
        return;
    }
    const auto width = static_cast<double>(2 * rope.inverse_frequencies.size());
    const auto dimension = [&](double turns) {
        return width * log_f64(original / (turns * 2.0 * std::numbers::pi)) / (2.0 * log_f64(theta));
    };
    double low = dimension(fast), high = dimension(slow);
    if (is_truncated) {
        low = std::floor(low);
        high = std::ceil(high);
    }
    low = std::max(low, 0.0);
    high = std::min(high, width - 1.0);
    if (low == high) high += 0.001;
    for (std::size_t i = 0; i < rope.inverse_frequencies.size(); ++i) {
        const float ramp =
            std::clamp((static_cast<float>(i) - static_cast<float>(low)) / static_cast<float>(high - low), 0.0F, 1.0F);
        const float kept = 1.0F - ramp, plain = rope.inverse_frequencies[i];
        const float stretched = 1.0F / (static_cast<float>(scales.factor) * (1.0F / plain));
        rope.inverse_frequencies[i] = stretched * (1.0F - kept) + plain * kept;
    }
    double magnitude = yarn_magnitude(scales.factor, 1.0);
    if (scales.mscale != 0 && scales.mscale_all != 0)
        magnitude = yarn_magnitude(scales.factor, scales.mscale) / yarn_magnitude(scales.factor, scales.mscale_all);
    rope.magnitude = static_cast<float>(reader.real({"rope_parameters.attention_factor", ""}, magnitude));
}

std::string rope_type(ConfigReader& reader) {
    return reader.string({"rope_parameters.rope_type", "rope.scaling.type"}, "default");
}

// LongRoPE's frequencies: the plain ones, each divided by its own number.
std::vector<float> divided_by_list(ConfigReader& reader, std::string_view key, std::vector<float> frequencies) {
    const auto list = reader.value({key, ""});
    std::size_t count = 0;
    if (list && list->is_array()) {
        for (const JsonValue element : list->elements()) {
            const auto factor = static_cast<float>(element.as_real().value_or(0.0));
            if (!(factor > 0) || count == frequencies.size()) break;
            frequencies[count++] /= factor;
        }
    }
    if (count < frequencies.size() || list->size() != count) {
        reader.fail(error(StatusCode::corrupt_file, "the configuration's ", quoted(key), " is no list of ",
                          frequencies.size(), " positive numbers, one for each pair that is rotated"));
    }
    return frequencies;
}

// LongRoPE: a set of divisors for sequences within the original context and one for longer ones.  Sources: Ding et al.
// 2024 (arXiv 2402.13753); transformers, modeling_rope_utils, _compute_longrope_parameters; the magnitudes of
// Phi-3.5-MoE (short_mscale, long_mscale) from its owners' configuration.
void scale_longrope(ConfigReader& reader, RopeSpec& rope) {
    const std::int64_t context = reader.integer({"max_position_embeddings", ""});
    const std::int64_t original = reader.integer({"rope_parameters.original_max_position_embeddings", ""},
                                                 reader.integer({"original_max_position_embeddings", ""}, context));
    if (original < 2) {
        reader.fail(error(StatusCode::corrupt_file, "the configuration's 'original_max_position_embeddings' is ",
                          original, ", expected at least 2"));
        return;
    }
    rope.original_tokens = original;
    rope.long_frequencies = divided_by_list(reader, "rope_parameters.long_factor", rope.inverse_frequencies);
    rope.inverse_frequencies =
        divided_by_list(reader, "rope_parameters.short_factor", std::move(rope.inverse_frequencies));
    const double stretch =
        reader.real({"rope_parameters.factor", ""}, static_cast<double>(context) / static_cast<double>(original));
    const double computed =
        stretch > 1.0 ? std::sqrt(1.0 + log_f64(stretch) / log_f64(static_cast<double>(original))) : 1.0;
    const double magnitude = reader.real({"rope_parameters.attention_factor", ""}, computed);
    rope.magnitude = static_cast<float>(reader.real({"rope_parameters.short_mscale", ""}, magnitude));
    rope.long_magnitude = static_cast<float>(reader.real({"rope_parameters.long_mscale", ""}, magnitude));
}

void scale_dynamic(ConfigReader& reader, double theta, RopeSpec& rope) {
    rope.original_tokens = reader.integer({"max_position_embeddings", ""});
    rope.theta = static_cast<float>(theta);
    rope.ntk_factor = static_cast<float>(reader.real({"rope_parameters.factor", ""}));
    if (rope.original_tokens >= 1 && rope.ntk_factor >= 1.0F && rope.inverse_frequencies.size() >= 2) return;
    reader.fail(error(StatusCode::corrupt_file,
                      "the configuration's 'rope_parameters' of type dynamic need factor >= 1, "
                      "max_position_embeddings >= 1 and at least 4 rotated elements"));
}

}  // namespace

float yarn_score_factor(ConfigReader& reader) {
    if (rope_type(reader) != "yarn") return 1.0F;
    const YarnScales scales = read_yarn_scales(reader);
    if (scales.mscale_all == 0 || !(scales.factor > 0 && scales.factor < 1e6)) return 1.0F;
    const double mscale = yarn_magnitude(scales.factor, scales.mscale_all);
    return static_cast<float>(mscale * mscale);
}

std::vector<float> plain_frequencies(double theta, std::int64_t rotated_width) {
    constexpr std::int64_t kWidthMax = 65536;
    if (rotated_width < 2 || rotated_width % 2 != 0 || rotated_width > kWidthMax || !(theta > 0)) return {};
    std::vector<float> frequencies(static_cast<std::size_t>(rotated_width / 2));
    fill_plain_frequencies(static_cast<float>(theta), frequencies);
    return frequencies;
}

RopeSpec read_rope(ConfigReader& reader, std::int64_t rotated_width, const RopeOptions& options) {
    RopeSpec rope;
    rope.pairing = options.pairing;
    const double theta = reader.real({"rope_parameters.rope_theta", "rope.freq_base"}, 10000.0);
    rope.inverse_frequencies = plain_frequencies(theta, rotated_width);
    if (rope.inverse_frequencies.empty()) {
        reader.fail(error(StatusCode::corrupt_file, "the configuration rotates ", rotated_width,
                          " elements of a head with theta ", theta, ", expected an even number and a positive theta"));
        return rope;
    }
    const std::string type = rope_type(reader);
    if (type == "linear") {
        const auto factor = static_cast<float>(reader.real({"rope_parameters.factor", "rope.scaling.factor"}));
        for (float& frequency : rope.inverse_frequencies) frequency /= factor;
    } else if (type == "llama3") {
        scale_llama3(reader, rope.inverse_frequencies);
    } else if (type == "yarn") {
        scale_yarn(reader, theta, options, rope);
    } else if (type == "longrope" && !reader.is_gguf()) {
        scale_longrope(reader, rope);
    } else if (type == "dynamic" && !reader.is_gguf()) {
        scale_dynamic(reader, theta, rope);
    } else if (type != "default" && type != "none" && type != "longrope") {
        reader.fail(error(StatusCode::unsupported, "the rope scaling ", quoted(type), " is not known for ",
                          reader.facts().architecture,
                          ", expected default, linear, llama3, yarn, longrope or dynamic"));
    }
    return rope;
}

void read_gguf_rope_factors(ConfigReader& reader, const WeightIndex& index, RopeSpec& rope) {
    if (!reader.is_gguf()) return;
    rope.factors = TensorNames{index}.tensor("rope_freqs.weight");
    // Some files of LongRoPE state the type, others have the tensors alone.
    if (rope_type(reader) != "longrope" && index.find("rope_factors_long.weight") == nullptr) return;
    rope.factors.tensor = "rope_factors_short.weight";
    rope.long_factors.tensor = "rope_factors_long.weight";
    rope.long_frequencies = rope.inverse_frequencies;
    rope.original_tokens =
        reader.integer({"", "rope.scaling.original_context_length"}, reader.integer({"", "context_length"}));
    rope.magnitude = rope.long_magnitude = static_cast<float>(reader.real({"", "rope.scaling.attn_factor"}, 1.0));
}

}  // namespace mixtura
