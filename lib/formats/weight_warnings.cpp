// Where a configuration and its tensors disagree.  None of this is a reason to refuse a file: what a model needs, its
// family checks by name and shape when the weights are bound.
#include <algorithm>
#include <cmath>
#include <optional>

#include "base/text.hpp"
#include "formats/model_files.hpp"

namespace mixtura {
namespace {

// The number behind a layer word: 12 of "model.layers.12.mlp" or "blk.12.ffn_up".
std::optional<std::int64_t> layer_number(std::string_view name) {
    for (const std::string_view word : {"layers.", "blk.", "h.", "blocks.", "block."}) {
        const std::size_t at = name.find(word);
        if (at == std::string_view::npos || (at > 0 && name[at - 1] != '.')) continue;
        const std::string_view rest = name.substr(at + word.size());
        return parse_integer<std::int64_t>(rest.substr(0, rest.find('.')));
    }
    return std::nullopt;
}

bool ends_with(std::string_view name, std::string_view end) {
    return name.size() >= end.size() && name.substr(name.size() - end.size()) == end;
}

// "8x7B", "135M", "30B-A3B", "1.5B": the parameters a size label stands for; for NxS the product, as converters mean it.
std::optional<double> label_parameters(std::string_view label) {
    double count = 1;
    const std::size_t times = label.find('x');
    if (times != std::string_view::npos) {
        const auto experts = parse_double(label.substr(0, times));
        if (!experts) return std::nullopt;
        count = *experts;
        label.remove_prefix(times + 1);
    }
    label = label.substr(0, label.find('-'));
    if (label.empty()) return std::nullopt;
    constexpr std::string_view kUnits = "KMBT";
    const std::size_t unit = kUnits.find(label.back());
    const auto number = parse_double(label.substr(0, label.size() - 1));
    if (unit == std::string_view::npos || !number || *number <= 0) return std::nullopt;
    return count * *number * std::pow(1000.0, static_cast<double>(unit + 1));
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
                                  ends_with(tensor.name, "wte.weight") || ends_with(tensor.name, "word_embeddings.weight");
        if (!is_embedding || tensor.shape.rank() != 2) continue;
        if (facts.hidden_size > 0 && tensor.shape[1] != facts.hidden_size) {
            warnings.push_back(text("the configuration states a hidden size of ", facts.hidden_size, ", ", quoted(tensor.name),
                                    " is ", tensor.shape.to_string()));
        }
        if (facts.vocabulary_size > 0 && tensor.shape[0] < facts.vocabulary_size) {
            warnings.push_back(text("the configuration states a vocabulary of ", facts.vocabulary_size, ", ", quoted(tensor.name),
                                    " is ", tensor.shape.to_string()));
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
        if (const auto number = parse_integer<std::int64_t>(rest.substr(0, rest.find('.')))) {
            experts = std::max(experts, *number + 1);
        }
    }
    if (experts > 0 && facts.expert_count != experts) {
        warnings.push_back(text("the configuration states ", facts.expert_count, " experts, the tensors have ", experts));
    }
    if (facts.expert_count > 0 && facts.experts_per_token > facts.expert_count) {
        warnings.push_back(text("the configuration states ", facts.experts_per_token, " experts a token of ", facts.expert_count));
    }
}

void warn_of_size_label(const ModelFacts& facts, const WeightIndex& index, std::vector<std::string>& warnings) {
    const auto stated = label_parameters(facts.declared_size);
    if (!stated) return;
    std::uint64_t count = 0;
    for (const TensorInfo& tensor : index.tensors) count += static_cast<std::uint64_t>(tensor.shape.element_count());
    // Labels round, and NxS counts shared weights N times (Mixtral's 8x7B has 46.7 B): a factor of two is no contradiction.
    const double ratio = static_cast<double>(count) / *stated;
    if (count > 0 && (ratio < 0.5 || ratio > 2)) {
        warnings.push_back(text("the file calls its size ", quoted(facts.declared_size), ", its tensors have ", human_count(count),
                                " parameters"));
    }
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
