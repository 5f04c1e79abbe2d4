// A golden checkpoint folder taken apart, to be changed and written again: other tensors, other keys.
//   HubCheckpoint model(golden("models/gpt-oss"));
//   model.config["sliding_window"] = 16;
//   const std::string path = model.write(folder);
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "support/arrays.hpp"
#include "support/files.hpp"

namespace mixtura::test {

struct HubCheckpoint {
    nlohmann::json config;
    std::map<std::string, Array> tensors;

    // `config_name`: config.json, or config_hub.json for the form that the hub has.
    explicit HubCheckpoint(const std::string& folder, const std::string& config_name = "config.json");
    // As config.json and one model.safetensors in the folder, whose path it returns.
    std::string write(const TemporaryFolder& folder) const;
};

}  // namespace mixtura::test
