// What is behind a public Model.
#pragma once

#include <mixtura/model.hpp>

#include "model/core.hpp"

namespace mixtura {

struct Model::State {
    std::shared_ptr<const ModelCore> core;
    Result<Tokenizer> tokenizer;
    Result<ChatTemplate> chat_template;
    SamplingOptions sampling_defaults;
};

}  // namespace mixtura
