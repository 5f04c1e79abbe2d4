// Where a configuration and its tensors disagree.  None of this is a reason to refuse a file: what a model needs, its
// family checks by name and shape when the weights are bound.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "base/text.hpp"
#include "formats/model_files.hpp"

namespace mixtura {
namespace {

// The number behind a layer word: 12 of "model.layers.12.mlp" or "blk.12.ffn_up".
std::optional<std::int64_t> layer_number(std::string_view name) {
    constexpr std::array<std::string_view, 5> kLayerWords{"layers", "blk", "h", "blocks", "block"};
    bool is_behind_word = false;
    while (!name.empty()) {
        const std::string_view part = name.substr(0, name.find('.'));
        const auto number = is_behind_word ? parse_integer<std::uint32_t>(part) : std::nullopt;
        if (number) return *number;
        is_behind_word = std::find(kLayerWords.begin(), kLayerWords.end(), part) != kLayerWords.end();
        name.remove_prefix(std::min(part.size() + 1, name.size()));
    }
    return std::nullopt;
}

bool ends_with(std::string_view name, std::string_view end) {
    return name.size() >= end.size() && name.substr(name.size() - end.size()) == end;
}

// What a size label allows: "135M" or "30B-A3B" is the whole model; in "8x7B" the converter means 8 experts of a model
// that would have 7B with one of them, so the whole lies between 7B and 8 times that.
struct LabelledSize {
    double parameters_min = 0, parameters_max = 0;
};
std::optional<LabelledSize> labelled_size(std::string_view label) {
    double experts = 1;
    const std::size_t times = label.find('x');
    if (times != std::string_view::npos) {
        experts = parse_double(label.substr(0, times)).value_or(0);
        label.remove_prefix(times + 1);
    }
    label = label.substr(0, label.find('-'));
    if (label.empty()) return std::nullopt;
    constexpr std::string_view kUnits = "KMBT";
    const std::size_t unit = kUnits.find(label.back());
    const auto number = parse_double(label.substr(0, label.size() - 1));
    if (unit == std::string_view::npos || !number || *number <= 0 || experts < 1) return std::nullopt;
    const double one = *number * std::pow(1000.0, static_cast<double>(unit + 1));
    return LabelledSize{one, one * experts};
}

void warn_of_layers(const ModelFacts& facts, const WeightIndex& index, std::vector<std::string>& warnings) {
    std::int64_t layers = 0;
    for (const TensorInfo& tensor : index.tensors) {
        // Prediction heads sit behind the last layer in some families, so more tensors than layers is ordinary.
        if (const auto number = layer_number(tensor.name)) layers = std::max(layers, *number + 1);
    }
    if (layers > 0 && facts.layer_count > layers) {
        warnings.push_back(text("the configuration states ", facts.layer_count, " layers, the tensors have ", layers));
    }
}

void warn_of_embedding(const ModelFacts& facts, const WeightIndex& index, std::vector<std::string>& warnings) {
    for (const TensorInfo& tensor : index.tensors) {
        const bool is_embedding = ends_with(tensor.name, "embed_tokens.weight") || tensor.name == "token_embd.weight" ||
                                  ends_with(tensor.name, "wte.weight") ||
                                  ends_with(tensor.name, "word_embeddings.weight");
        if (!is_embedding || tensor.shape.rank() != 2) continue;
        if (facts.hidden_size > 0 && tensor.shape[1] != facts.hidden_size) {
            warnings.push_back(text("the configuration states a hidden size of ", facts.hidden_size, ", ",
                                    quoted(tensor.name), " is ", tensor.shape.to_string()));
        }
        if (facts.vocabulary_size > 0 && tensor.shape[0] < facts.vocabulary_size) {
            warnings.push_back(text("the configuration states a vocabulary of ", facts.vocabulary_size, ", ",
                                    quoted(tensor.name), " is ", tensor.shape.to_string()));
        }
        return;
    }
}

void warn_of_experts(const ModelFacts& facts, const WeightIndex& index, std::vector<std::string>& warnings) {
    constexpr std::string_view kWord = "experts.";
    std::int64_t experts = 0;
    for (const TensorInfo& tensor : index.tensors) {
        if (tensor.name.find("_exps.weight") != std::string::npos && tensor.shape.rank() == 3) {
            experts = std::max(experts, tensor.shape[0]);
        }
        const std::size_t at = tensor.name.find(kWord);
        if (at == std::string::npos || (at >= 7 && tensor.name.substr(at - 7, 7) == "shared_")) continue;
        const std::string_view rest = std::string_view(tensor.name).substr(at + kWord.size());
        if (const auto number = parse_integer<std::uint32_t>(rest.substr(0, rest.find('.')))) {
            experts = std::max(experts, std::int64_t{*number} + 1);
        }
    }
    if (experts > 0 && facts.expert_count != experts) {
        warnings.push_back(
            text("the configuration states ", facts.expert_count, " experts, the tensors have ", experts));
    }
    if (facts.expert_count > 0 && facts.experts_per_token > facts.expert_count) {
        warnings.push_back(
            text("the configuration states ", facts.experts_per_token, " experts a token of ", facts.expert_count));
    }
}

void warn_of_size_label(const ModelFacts& facts, const WeightIndex& index, std::vector<std::string>& warnings) {
    const auto stated = labelled_size(facts.declared_size);
    if (!stated) return;
    const auto count = static_cast<double>(index.parameter_count());
    // Names round far (a "7B" has 6.5 to 7.8 B in practice): a third up or down is no contradiction.
    if (count == 0 || (count > stated->parameters_min / 1.4 && count < stated->parameters_max * 1.4)) return;
    warnings.push_back(text("the file calls its size ", quoted(facts.declared_size), ", its tensors have ",
                            index.parameter_count(), " parameters"));
}

}  // namespace

std::vector<std::string> weight_warnings(const ModelFacts& facts, const WeightIndex& index) {
    std::vector<std::string> warnings;
    warn_of_layers(facts, index, warnings);
    warn_of_embedding(facts, index, warnings);
    warn_of_experts(facts, index, warnings);
    warn_of_size_label(facts, index, warnings);
    return warnings;
}

}  // namespace mixtura
