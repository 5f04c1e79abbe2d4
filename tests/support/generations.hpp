// Models and generations for tests that are about what comes after them: a failure to make one fails the test with its
// sentence.
#pragma once

#include <mixtura/generation.hpp>

#include <catch2/catch.hpp>
#include <string>

namespace mixtura::test {

inline Model open_model(const std::string& path, const ModelOptions& options = {}) {
    auto model = Model::open(path, options);
    INFO(model.status().message());
    REQUIRE(model);
    return *std::move(model);
}

inline Generation make_generation(const Model& model, const GenerationOptions& options) {
    auto generation = Generation::create(model, options);
    INFO(generation.status().message());
    REQUIRE(generation);
    return *std::move(generation);
}

}  // namespace mixtura::test
