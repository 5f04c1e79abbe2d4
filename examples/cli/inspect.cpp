// mixtura inspect MODEL: what it is, from its headers alone; with --errors also what a mix of weights loses.
#include <mixtura/checkpoint.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <tuple>

#include "cli/commands.hpp"
#include "cli/compute_flags.hpp"
#include "cli/forecast.hpp"
#include "cli/format.hpp"
#include "cli/generate_options.hpp"
#include "cli/output.hpp"
#include "cli/weight_report.hpp"

namespace mixtura::cli {
namespace {

struct Options {
    std::string model;
    std::int64_t context_tokens = 0;  // 0: the model's own
    std::string weights = "keep";
    CacheDTypes cache_dtype;
    bool as_json = false;
    bool with_tensors = false;
    bool with_errors = false;
};

// Tensors that differ only in the numbers of their name ("blk.7.ffn_up.weight"), alike in dtype and shape.
struct Group {
    std::string pattern;  // "blk.{0-29}.ffn_up.weight"
    DType dtype = DType::unknown;
    Shape shape;
    std::uint64_t tensor_count = 0;
    std::uint64_t parameter_count = 0;
    std::uint64_t size_bytes = 0;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;  // of the numbers, in order of their place in the name
};

// Stands for a number in a pattern.  No name holds it: the library lets only UTF-8 through.
constexpr char kNumberMark = '\xFF';

// "blk.7.ffn_up.weight" to "blk.#.ffn_up.weight" and {7}, with kNumberMark for #.
std::pair<std::string, std::vector<std::uint64_t>> without_numbers(const std::string& name) {
    std::string pattern;
    std::vector<std::uint64_t> numbers;
    std::size_t begin = 0;
    while (begin <= name.size()) {
        const std::size_t end = std::min(name.find('.', begin), name.size());
        const std::string word = name.substr(begin, end - begin);
        const bool is_number = !word.empty() && word.size() < 10 &&
                               std::all_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; });
        if (is_number) numbers.push_back(std::stoull(word));
        pattern += is_number ? std::string(1, kNumberMark) : word;
        if (end < name.size()) pattern += '.';
        begin = end + 1;
    }
    return {pattern, numbers};
}

std::vector<Group> grouped_tensors(std::span<const TensorInfo> tensors) {
    std::map<std::tuple<std::string, DType, std::string>, std::size_t> places;
    std::vector<Group> groups;
    for (const TensorInfo& tensor : tensors) {
        const auto [pattern, numbers] = without_numbers(tensor.name);
        const auto [place, is_new] =
            places.try_emplace({pattern, tensor.dtype, tensor.shape.to_string()}, groups.size());
        if (is_new) groups.push_back({pattern, tensor.dtype, tensor.shape, 0, 0, 0, {}});
        Group& group = groups[place->second];
        if (is_new) {
            for (const std::uint64_t number : numbers) group.ranges.emplace_back(number, number);
        }
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            group.ranges[i].first = std::min(group.ranges[i].first, numbers[i]);
            group.ranges[i].second = std::max(group.ranges[i].second, numbers[i]);
        }
        ++group.tensor_count;
        group.parameter_count += static_cast<std::uint64_t>(tensor.shape.element_count());
        group.size_bytes += tensor.size_bytes;
    }
    for (Group& group : groups) {
        for (const auto& [first, last] : group.ranges) {
            const std::string range =
                first == last ? std::to_string(first) : "{" + std::to_string(first) + "-" + std::to_string(last) + "}";
            group.pattern.replace(group.pattern.find(kNumberMark), 1, range);
        }
    }
    return groups;
}

// Bytes and parameters by dtype, the most bytes first.
std::vector<std::tuple<DType, std::uint64_t, std::uint64_t, std::uint64_t>> by_dtype(
    std::span<const TensorInfo> tensors) {
    std::map<DType, std::array<std::uint64_t, 3>> sums;
    for (const TensorInfo& tensor : tensors) {
        auto& [count, parameters, bytes] = sums[tensor.dtype];
        ++count;
        parameters += static_cast<std::uint64_t>(tensor.shape.element_count());
        bytes += tensor.size_bytes;
    }
    std::vector<std::tuple<DType, std::uint64_t, std::uint64_t, std::uint64_t>> rows;
    for (const auto& [dtype, sum] : sums) rows.emplace_back(dtype, sum[0], sum[1], sum[2]);
    std::stable_sort(rows.begin(), rows.end(),
                     [](const auto& a, const auto& b) { return std::get<3>(a) > std::get<3>(b); });
    return rows;
}

std::string joined(std::span<const TokenId> ids) {
    std::string out;
    for (const TokenId id : ids) out += (out.empty() ? "" : ", ") + std::to_string(id);
    return out;
}

void print_text(const Checkpoint& checkpoint, const Options& options) {
    const ModelFacts& facts = checkpoint.facts();
    std::uint64_t file_bytes = 0;
    for (const CheckpointFile& file : checkpoint.files()) file_bytes += file.size_bytes;
    print(bold(printable(options.model)) + "\n");
    const auto line = [](std::string_view name, const std::string& value) {
        if (value.empty()) return;
        print("  " + std::string(name) + std::string(20 - name.size(), ' ') + value + "\n");
    };
    const auto number = [&](std::string_view name, std::int64_t value) {
        if (value > 0) line(name, grouped(static_cast<std::uint64_t>(value)));
    };
    line("format", std::string(checkpoint.format_name()) + ", " + human_bytes(file_bytes));
    line("architecture", printable(facts.architecture));
    line("name", printable(facts.name));
    line("declared size", printable(facts.declared_size));
    number("layers", facts.layer_count);
    number("hidden size", facts.hidden_size);
    if (facts.head_count > 0) {
        line("attention heads", grouped(static_cast<std::uint64_t>(facts.head_count)) + " query, " +
                                    grouped(static_cast<std::uint64_t>(facts.kv_head_count)) + " key/value, width " +
                                    grouped(static_cast<std::uint64_t>(facts.head_size)));
    }
    number("feed-forward width", facts.ffn_size);
    if (facts.expert_count > 0) {
        std::string experts = grouped(static_cast<std::uint64_t>(facts.expert_count)) + " routed";
        if (facts.experts_per_token > 0)  // else the family's own number: Switch Transformer's 1
            experts += ", " + grouped(static_cast<std::uint64_t>(facts.experts_per_token)) + " a token";
        if (facts.shared_expert_count > 0)
            experts += ", " + grouped(static_cast<std::uint64_t>(facts.shared_expert_count)) + " shared";
        line("experts", experts + ", width " + grouped(static_cast<std::uint64_t>(facts.expert_ffn_size)));
    }
    number("vocabulary", facts.vocabulary_size);
    number("context", facts.context_tokens);
    line("end tokens", joined(facts.end_tokens));
    line("tokenizer", facts.tokenizer.empty() ? "none found" : printable(facts.tokenizer));
    line("chat template", facts.has_chat_template ? "yes" : "none found");
    line("parameters", human_count(checkpoint.parameter_count()) + " (" + grouped(checkpoint.parameter_count()) + ")");
    line("weights",
         human_bytes(checkpoint.weight_bytes()) + " in " + grouped(checkpoint.tensors().size()) + " tensors");

    std::vector<std::vector<std::string>> rows{{"dtype", "tensors", "parameters", "bytes"}};
    for (const auto& [dtype, count, parameters, bytes] : by_dtype(checkpoint.tensors())) {
        rows.push_back({std::string(dtype_name(dtype)), grouped(count), human_count(parameters), human_bytes(bytes)});
    }
    print("\n" + table(rows, "123"));

    rows = {{"tensors", "dtype", "shape", "bytes", "name"}};
    if (options.with_tensors) {
        rows[0] = {"dtype", "shape", "bytes", "name"};
        for (const TensorInfo& tensor : checkpoint.tensors()) {
            rows.push_back({std::string(dtype_name(tensor.dtype)), tensor.shape.to_string(),
                            human_bytes(tensor.size_bytes), printable(tensor.name)});
        }
        print("\n" + table(rows, "2"));
        return;
    }
    for (const Group& group : grouped_tensors(checkpoint.tensors())) {
        rows.push_back({grouped(group.tensor_count), std::string(dtype_name(group.dtype)), group.shape.to_string(),
                        human_bytes(group.size_bytes), printable(group.pattern)});
    }
    print("\n" + table(rows, "03"));
}

nlohmann::ordered_json shape_json(const Shape& shape) {
    nlohmann::ordered_json extents = nlohmann::ordered_json::array();
    for (const std::int64_t extent : shape.extents()) extents.push_back(extent);
    return extents;
}

void print_json(const Checkpoint& checkpoint, const Result<MemoryForecast>& forecast, const Options& options,
                std::span<const WeightError> errors) {
    using Json = nlohmann::ordered_json;
    const ModelFacts& facts = checkpoint.facts();
    Json out;
    out["format"] = checkpoint.format_name();
    out["architecture"] = facts.architecture;
    out["name"] = facts.name;
    out["declared_size"] = facts.declared_size;
    out["layer_count"] = facts.layer_count;
    out["hidden_size"] = facts.hidden_size;
    out["head_count"] = facts.head_count;
    out["kv_head_count"] = facts.kv_head_count;
    out["head_size"] = facts.head_size;
    out["ffn_size"] = facts.ffn_size;
    out["expert_count"] = facts.expert_count;
    out["experts_per_token"] = facts.experts_per_token;
    out["shared_expert_count"] = facts.shared_expert_count;
    out["expert_ffn_size"] = facts.expert_ffn_size;
    out["vocabulary_size"] = facts.vocabulary_size;
    out["context_tokens"] = facts.context_tokens;
    out["end_tokens"] = facts.end_tokens;
    out["tokenizer"] = facts.tokenizer;
    out["tokenizer_token_count"] = facts.tokenizer_token_count;
    out["has_chat_template"] = facts.has_chat_template;
    out["parameter_count"] = checkpoint.parameter_count();
    out["weight_bytes"] = checkpoint.weight_bytes();
    for (const CheckpointFile& file : checkpoint.files())
        out["files"].push_back({{"path", file.path}, {"size_bytes", file.size_bytes}});
    out["dtypes"] = Json::object();
    for (const auto& [dtype, count, parameters, bytes] : by_dtype(checkpoint.tensors())) {
        out["dtypes"][std::string(dtype_name(dtype))] = {
            {"tensor_count", count}, {"parameter_count", parameters}, {"size_bytes", bytes}};
    }
    out["patterns"] = Json::array();
    for (const Group& group : grouped_tensors(checkpoint.tensors())) {
        out["patterns"].push_back({{"name", group.pattern},
                                   {"tensor_count", group.tensor_count},
                                   {"dtype", dtype_name(group.dtype)},
                                   {"shape", shape_json(group.shape)},
                                   {"parameter_count", group.parameter_count},
                                   {"size_bytes", group.size_bytes}});
    }
    if (options.with_tensors) {
        out["tensors"] = Json::array();
        for (const TensorInfo& tensor : checkpoint.tensors()) {
            out["tensors"].push_back({{"name", tensor.name},
                                      {"dtype", dtype_name(tensor.dtype)},
                                      {"shape", shape_json(tensor.shape)},
                                      {"file", tensor.file},
                                      {"offset_bytes", tensor.offset_bytes},
                                      {"size_bytes", tensor.size_bytes}});
        }
    }
    add_forecast(forecast, out);
    add_weight_errors(errors, out);
    out["warnings"] = std::vector<std::string>(checkpoint.warnings().begin(), checkpoint.warnings().end());
    // ASCII only, so that no control character of a name reaches a terminal as it is.  Values from a GGUF file may be
    // no UTF-8 (strings are bytes there); they are shown with U+FFFD instead of refused.
    print(out.dump(2, ' ', true, Json::error_handler_t::replace) + "\n");
}

int inspect(const Options& options) {
    const auto checkpoint = Checkpoint::open(options.model);
    if (!checkpoint) return complain(checkpoint.status());
    const auto mix = parse_weight_mix(options.weights);
    if (!mix) return complain(mix.status());
    const auto forecast = Model::forecast(options.model, options.context_tokens, options.cache_dtype, *mix);
    std::vector<WeightError> errors;
    if (options.with_errors) {
        const auto model = open_model(options.model, 0, options.weights);
        if (!model) return complain(model.status());
        errors.assign(model->weight_errors().begin(), model->weight_errors().end());
    }
    if (options.as_json) {
        print_json(*checkpoint, forecast, options, errors);
        return kExitOk;
    }
    print_text(*checkpoint, options);
    print(forecast_text(forecast));
    if (options.with_errors) {
        print("\n" + (errors.empty() ? std::string("no weight becomes another type\n")
                                     : table(weight_error_rows(errors), "345")));
        return kExitOk;  // opening the model has warned
    }
    for (const std::string& warning : checkpoint->warnings()) warn(warning);
    return kExitOk;
}

}  // namespace

void add_inspect(CLI::App& app, int& exit_code) {
    auto* command =
        app.add_subcommand("inspect", "What a model is, from its headers alone; no weight is read but for --errors");
    const auto options = std::make_shared<Options>();
    command->add_option("MODEL", options->model, "a .gguf or .safetensors file, or a checkpoint's folder")->required();
    command->add_flag("--json", options->as_json, "one JSON object");
    command->add_flag("--tensors", options->with_tensors, "every tensor, not only the patterns of their names");
    command
        ->add_option("--context", options->context_tokens,
                     "tokens of the context whose memory is told; the model's own where it is not said")
        ->check(CLI::Range(1, 2'147'483'647));
    command->add_option("--weights", options->weights, kWeightsHelp)->capture_default_str();
    command->add_flag("--errors", options->with_errors,
                      "load the weights and tell what --weights loses, by role and with the worst matrix of each");
    add_cache_dtype(*command, options->cache_dtype);
    command->callback([options, &exit_code] { exit_code = inspect(*options); });
}

}  // namespace mixtura::cli
