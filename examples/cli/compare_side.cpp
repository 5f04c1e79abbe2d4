#include "cli/compare_side.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "cli/format.hpp"

namespace mixtura::cli {
namespace {

Status refuse(std::string_view setting, std::string_view expected) {
    return Status(StatusCode::invalid_argument,
                  "'" + printable(setting) + "' is no setting of a side, expected " + std::string(expected));
}

// The whole of `text` as a number.
template <class Number>
bool parse(std::string_view text, Number& number) {
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
    return failure == std::errc() && end == text.data() + text.size();
}

template <class Number>
bool parse(std::string_view text, std::optional<Number>& number) {
    return parse(text, number.emplace());
}

// visit(part) for each part of `text` between separators, until one is refused.
template <class Visit>
Status for_each_part(std::string_view text, char separator, const Visit& visit) {
    while (true) {
        const std::size_t end = text.find(separator);
        if (Status status = visit(text.substr(0, end)); !status.is_ok()) return status;
        if (end == std::string_view::npos) return {};
        text.remove_prefix(end + 1);
    }
}

// "f32, f16, ... or f8"
std::string cache_names() {
    const auto choices = cache_choices();
    std::string names(choices.front().name);
    for (const CacheChoice& choice : choices.subspan(1))
        names.append(&choice == &choices.back() ? " or " : ", ").append(choice.name);
    return names;
}

Status parse_experts(std::string_view setting, std::string_view list, std::vector<std::int64_t>& experts) {
    return for_each_part(list, '+', [&](std::string_view number) -> Status {
        if (!parse(number, experts.emplace_back()) || experts.back() < 0 || experts.back() > 65535)
            return refuse(setting, "numbers of experts as in without=3+17");
        return {};
    });
}

Status parse_setting(std::string_view setting, CompareSide& side) {
    const std::size_t equals = setting.find('=');
    if (equals == std::string_view::npos)
        return refuse(setting,
                      "'default', a file or NAME=VALUE with file, cache, weights, top-k, temperature, clamp, share or "
                      "without");
    const std::string_view name = setting.substr(0, equals), value = setting.substr(equals + 1);
    if (name == "file") {
        side.path = value;
        return value.empty() ? refuse(setting, "a path") : Status();
    }
    if (name == "cache") {
        const auto dtypes = cache_dtypes_from_name(value);
        side.cache_dtype = dtypes.value_or(side.cache_dtype);
        return dtypes ? Status() : refuse(setting, cache_names());
    }
    if (name == "weights") {
        side.weights = value;
        std::replace(side.weights.begin(), side.weights.end(), '+', ',');
        return {};
    }
    if (name == "top-k") return parse(value, side.top_k) ? Status() : refuse(setting, "a whole number");
    if (name == "temperature") return parse(value, side.temperature) ? Status() : refuse(setting, "a number");
    if (name == "clamp") return parse(value, side.logit_clamp) ? Status() : refuse(setting, "a number");
    if (name == "share") return parse(value, side.cumulative_probability) ? Status() : refuse(setting, "a number");
    if (name == "without") return parse_experts(setting, value, side.masked_experts);
    return refuse(setting, "file, cache, weights, top-k, temperature, clamp, share or without");
}

}  // namespace

GenerationOptions CompareSide::generation_options() const {
    GenerationOptions options;
    options.cache_dtype = cache_dtype;
    if (!changes_router()) return options;
    options.change_router = [side = *this](std::int64_t, const RouterSpec& router, RouterPolicy& policy) {
        if (side.top_k) policy.top_k = *side.top_k;
        if (side.temperature) policy.temperature = *side.temperature;
        if (side.logit_clamp) policy.logit_clamp = side.logit_clamp;
        if (side.cumulative_probability) policy.cumulative_probability = side.cumulative_probability;
        if (!side.masked_experts.empty()) policy.is_masked.resize(static_cast<std::size_t>(router.expert_count));
        for (const std::int64_t expert : side.masked_experts) {
            const auto e = static_cast<std::size_t>(expert);
            if (e < policy.is_masked.size()) policy.is_masked[e] = true;  // others were refused: check_experts()
        }
        return Status();
    };
    return options;
}

Result<CompareSide> parse_side(std::string_view text, const std::string& model) {
    CompareSide side;
    side.path = model;
    std::error_code ignored;  // what cannot be looked at is no file
    if (text == "default") return side;
    if (std::filesystem::exists(std::filesystem::path(text), ignored)) {
        side.path = text;
        return side;
    }
    if (Status status = for_each_part(text, ',', [&](std::string_view part) { return parse_setting(part, side); });
        !status.is_ok())
        return status;
    return side;
}

}  // namespace mixtura::cli
