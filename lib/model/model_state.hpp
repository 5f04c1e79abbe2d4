// What is behind a public Model.
#pragma once

#include <mixtura/model.hpp>

#include <optional>
#include <vector>

#include "model/core.hpp"

namespace mixtura {

struct Model::State {
    std::shared_ptr<const ModelCore> core;
    Result<Tokenizer> tokenizer;
    Result<ChatTemplate> chat_template;
    SamplingOptions sampling_defaults;
    // Per layer; nothing for a dense one.
    std::vector<std::optional<Router>> routers = {};
    std::vector<std::optional<ExpertPool>> experts = {};
};

}  // namespace mixtura
