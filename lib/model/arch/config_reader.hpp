// Reads a configuration key by key and keeps account: a missing or malformed key is remembered (check status() at the
// end), a key that changes numbers but has a value the family does not implement is refused by name, and what was
// neither read nor ignored is listed.
#pragma once

#include <mixtura/status.hpp>

#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "formats/model_config.hpp"

namespace mixtura {

inline constexpr std::int64_t kIntegerMax = std::int64_t{1} << 30;

// One key in both dialects: config.json's name, and GGUF's below "<architecture>.".  Either may be empty: not stated
// there.
struct ConfigKey {
    std::string_view hub, gguf;
};

class ConfigReader {
  public:
    explicit ConfigReader(const ModelConfig& config);

    bool is_gguf() const noexcept { return config_.source == CheckpointFormat::gguf; }
    const ModelFacts& facts() const noexcept { return config_.facts; }
    bool has(ConfigKey key);

    // Within ± kIntegerMax: no size is larger, and sums of a few products of two are numbers yet.
    std::int64_t integer(ConfigKey key);  // required
    std::int64_t integer(ConfigKey key, std::int64_t otherwise);
    double real(ConfigKey key);
    double real(ConfigKey key, double otherwise);
    bool boolean(ConfigKey key, bool otherwise);
    std::string string(ConfigKey key, std::string_view otherwise);
    std::optional<JsonValue> value(ConfigKey key);  // nothing for null too

    // Refuses (UNSUPPORTED) when the key is there with a value that is not among `allowed` (canonical JSON text).
    void only(ConfigKey key, std::initializer_list<std::string_view> allowed);
    // Keys that change no number of inference.
    void ignore(std::initializer_list<std::string_view> hub_keys);

    void fail(Status status);
    const Status& status() const noexcept { return status_; }
    std::vector<std::string> unread_warnings() const;

  private:
    std::string name_of(ConfigKey key) const;
    std::optional<JsonValue> find(ConfigKey key);
    template <class T>
    T required(ConfigKey key, std::optional<T> found, std::string_view kind);

    const ModelConfig& config_;
    std::set<std::string, std::less<>> read_;
    Status status_;
};

}  // namespace mixtura
