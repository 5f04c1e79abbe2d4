#include "model/arch/config_reader.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace mixtura {
namespace {

// Keys of every published config.json that change no number of inference: training, bookkeeping, output switches.
constexpr std::string_view kHubNoise[] = {"architectures",        "attention_dropout",
                                          "bos_token_id",         "dtype",
                                          "eos_token_id",         "initializer_range",
                                          "model_type",           "quantization_config",
                                          "output_attentions",    "output_hidden_states",
                                          "pad_token_id",         "pretraining_tp",
                                          "return_dict",          "tie_word_embeddings",
                                          "tokenizer_class",      "use_cache",
                                          "embd_pdrop",           "resid_pdrop",
                                          "attn_pdrop",           "hidden_dropout",
                                          "task_specific_params", "chunk_size_feed_forward",
                                          "is_encoder_decoder",   "name",
                                          "unk_token_id",         "sep_token_id",
                                          "cls_token_id"};

}  // namespace

ConfigReader::ConfigReader(const ModelConfig& config) : config_(config) {}

std::string ConfigReader::name_of(ConfigKey key) const {
    return is_gguf() ? text(config_.facts.architecture, ".", key.gguf) : std::string(key.hub);
}

std::optional<JsonValue> ConfigReader::find(ConfigKey key) {
    if ((is_gguf() ? key.gguf : key.hub).empty()) return std::nullopt;
    const std::string name = name_of(key);
    // "rope_parameters.factor" goes one level down in config.json; GGUF's own names hold dots.
    const std::size_t dot = is_gguf() ? std::string::npos : name.find('.');
    const std::string outer = name.substr(0, dot);
    read_.insert(outer);
    auto found = config_.values.root().find(outer);
    if (found && dot != std::string::npos) found = found->find(name.substr(dot + 1));
    return found && !found->is_null() ? found : std::nullopt;
}

std::optional<JsonValue> ConfigReader::value(ConfigKey key) { return find(key); }
bool ConfigReader::has(ConfigKey key) { return find(key).has_value(); }

void ConfigReader::fail(Status status) {
    if (status_.is_ok()) status_ = std::move(status);  // the first failure is the one to tell
}

template <class T>
T ConfigReader::required(ConfigKey key, std::optional<T> found, std::string_view kind) {
    if (found) return *found;
    fail(error(StatusCode::corrupt_file, "the configuration has no ", kind, " ", quoted(name_of(key)), ", which ",
               config_.facts.architecture, " needs"));
    return T{};
}

std::int64_t ConfigReader::integer(ConfigKey key) {
    const auto found = find(key);
    const std::int64_t number = required(key, found ? found->as_integer() : std::nullopt, "whole number");
    if (number >= -kIntegerMax && number <= kIntegerMax) return number;
    fail(error(StatusCode::corrupt_file, "the configuration's ", quoted(name_of(key)), " is ", number,
               ", expected at most 2^30"));
    return 0;
}
std::int64_t ConfigReader::integer(ConfigKey key, std::int64_t otherwise) {
    return has(key) ? integer(key) : otherwise;
}
double ConfigReader::real(ConfigKey key) {
    const auto found = find(key);
    return required(key, found ? found->as_real() : std::nullopt, "number");
}
double ConfigReader::real(ConfigKey key, double otherwise) { return has(key) ? real(key) : otherwise; }
bool ConfigReader::boolean(ConfigKey key, bool otherwise) {
    const auto found = find(key);
    return found ? required(key, found->as_boolean(), "boolean") : otherwise;
}
std::string ConfigReader::string(ConfigKey key, std::string_view otherwise) {
    const auto found = find(key);
    return std::string(found ? required(key, found->as_string(), "string") : otherwise);
}

void ConfigReader::only(ConfigKey key, std::initializer_list<std::string_view> allowed) {
    const auto found = find(key);
    if (!found) return;
    const std::string stated = canonical_json(*found);
    if (std::find(allowed.begin(), allowed.end(), stated) != allowed.end()) return;
    std::string list;
    for (const std::string_view value : allowed) list += text(list.empty() ? "" : " or ", value);
    fail(error(StatusCode::unsupported, "the configuration's ", quoted(name_of(key)), " is ", quoted(stated),
               ", expected ", list, " for ", config_.facts.architecture));
}

void ConfigReader::ignore(std::initializer_list<std::string_view> hub_keys) {
    for (const std::string_view key : hub_keys) read_.emplace(key);
}

std::vector<std::string> ConfigReader::unread_warnings() const {
    std::vector<std::string> warnings;
    if (is_gguf()) return warnings;  // converters write many keys for other programs; those that matter are read above
    for (const auto [key, value] : config_.values.root().members()) {
        const bool is_noise = std::find(std::begin(kHubNoise), std::end(kHubNoise), key) != std::end(kHubNoise);
        if (is_noise || read_.contains(key)) continue;
        warnings.push_back(text("the configuration's ", quoted(key), " is not known for ", config_.facts.architecture,
                                " and was not used"));
    }
    return warnings;
}

}  // namespace mixtura
