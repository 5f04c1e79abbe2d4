// mixtura compare MODEL A B: what a change of numbers, router or file does to the answers, to speed and to memory.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <memory>

#include "cli/commands.hpp"
#include "cli/compare_report.hpp"
#include "cli/compare_side.hpp"
#include "cli/compute_flags.hpp"
#include "cli/format.hpp"
#include "cli/generate_options.hpp"
#include "cli/output.hpp"
#include "cli/progress.hpp"

namespace mixtura::cli {
namespace {

struct Options {
    std::string model, a, b;
    std::string text;               // a file
    std::vector<std::int64_t> ids;  // empty: of the text, or what A writes
    std::int64_t tokens = 512;
    std::uint64_t seed = 0;
    int threads = 0;
    int rounds = 3;
    bool as_json = false;
};

struct Side {
    CompareSide settings;
    Model model;
    GenerationOptions how = {};

    // A sequence of at most `tokens` tokens, computed at most `step` at once.
    Result<Generation> start(std::int64_t tokens, std::int64_t step) const {
        GenerationOptions options = how;
        options.context_tokens = tokens;
        options.step_tokens = step;
        return Generation::create(model, options);
    }
};

// Numbers of experts that some mixture layer does not have.
Status check_experts(const CompareSide& settings, const Model& model) {
    for (std::int64_t l = 0; l < model.layer_count(); ++l) {
        const Router* router = model.router(l);
        for (const std::int64_t expert : settings.masked_experts) {
            if (router == nullptr || expert < router->spec().expert_count) continue;
            return Status(StatusCode::out_of_range, "without=" + std::to_string(expert) + " names no expert of layer " +
                                                        std::to_string(l) + ", expected 0 to " +
                                                        std::to_string(router->spec().expert_count - 1));
        }
    }
    return {};
}

Result<Side> open_side(CompareSide settings, const Options& options, const Side* other) {
    const bool is_shared =
        other != nullptr && other->settings.path == settings.path && other->settings.weights == settings.weights;
    auto model = is_shared ? Result<Model>(other->model) : open_model(settings.path, options.threads, settings.weights);
    if (!model) return model.status();
    if (model->has_encoder())
        return Status(StatusCode::unsupported, "answers are compared token by token of one text, but " +
                                                   printable(model->facts().architecture) +
                                                   " writes about a source, expected a model without an encoder");
    if (Status status = check_experts(settings, *model); !status.is_ok()) return status;
    GenerationOptions how = settings.generation_options();
    how.thread_count = options.threads;
    return Side{std::move(settings), *std::move(model), std::move(how)};
}

// The beginning of a file's text.
Result<std::vector<TokenId>> ids_of_text(const Options& options, const Model& model) {
    if (!model.tokenizer()) return model.tokenizer().status();
    std::ifstream file(options.text, std::ios::binary);
    if (!file) return Status(StatusCode::io, "cannot read '" + printable(options.text) + "'");
    // No vocabulary has a token of more than 256 bytes in usual text, and a whole book need not be tokenized for 512.
    std::string text(static_cast<std::size_t>(options.tokens) * 256, '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(file.gcount()));
    return model.tokenizer()->encode(text);
}

// What `side` writes after its beginning-of-text token; after token 0 where it has no such.
Result<std::vector<TokenId>> written_ids(const Options& options, const Side& side) {
    TokenId first = 0;
    if (side.model.tokenizer()) {
        const SpecialTokens& special = side.model.tokenizer()->special_tokens();
        first = special.bos != kNoToken ? special.bos : special.eos != kNoToken ? special.eos : 0;
    }
    auto generation = side.start(options.tokens, 1);
    if (!generation) return generation.status();
    GenerationRequest request;
    request.prompt = {first};
    request.sampling.temperature = 1.0F;
    request.sampling.top_k = 0;
    request.sampling.top_p = 1.0F;
    request.sampling.seed = options.seed;
    request.stop.tokens = std::vector<TokenId>{};
    request.stop.max_tokens = options.tokens - 1;
    const Progress progress("Writing", options.tokens - 1);
    std::int64_t done = 0;
    request.on_piece = [&](const Piece&) {
        progress.show(++done);
        return Flow::go_on;
    };
    auto result = generation->generate(request);
    if (!result) return result.status();
    std::vector<TokenId> ids{first};
    ids.insert(ids.end(), result->tokens.begin(), result->tokens.end());
    return ids;
}

Status check_vocabularies(const Model& a, const Model& b) {
    const std::int64_t left = a.facts().vocabulary_size, right = b.facts().vocabulary_size;
    if (left == right) return {};
    return Status(StatusCode::invalid_argument,
                  "the vocabularies of A and B have " + grouped(static_cast<std::uint64_t>(left)) + " and " +
                      grouped(static_cast<std::uint64_t>(right)) + " tokens, expected the same");
}

Result<std::vector<TokenId>> ids_to_compare(const Options& options, const Side& a) {
    auto ids = !options.ids.empty()    ? token_ids(options.ids)
               : !options.text.empty() ? ids_of_text(options, a.model)
                                       : written_ids(options, a);
    if (!ids) return ids;
    if (static_cast<std::int64_t>(ids->size()) > options.tokens) ids->resize(static_cast<std::size_t>(options.tokens));
    if (ids->size() < 2)
        return Status(StatusCode::invalid_argument,
                      "there are " + std::to_string(ids->size()) + " tokens to compare, expected at least 2");
    return ids;
}

// One side's answers to a step's tokens, until the other side has them too.
struct StepAnswers {
    std::vector<float> logits;   // [T, V]
    std::vector<Routes> routes;  // [L]
};

FeedOptions keep_in(StepAnswers& answers) {
    FeedOptions feed;
    feed.on_logits = [&answers](std::int64_t, std::span<const float> logits) {
        answers.logits.insert(answers.logits.end(), logits.begin(), logits.end());
        return Flow::go_on;
    };
    feed.on_route = [&answers](std::int64_t, std::int64_t layer, const RoutePlan& plan) {
        const auto l = static_cast<std::size_t>(layer);
        if (answers.routes.size() <= l) answers.routes.resize(l + 1);
        answers.routes[l] = Routes::of(plan);
        return Flow::go_on;
    };
    return feed;
}

// Both through the same tokens, step by step, so that only a step's logits are held.
Status compare_answers(const Side& a, const Side& b, const std::vector<TokenId>& ids, Comparison& found) {
    constexpr std::int64_t kStepTokens = 64;
    const auto count = static_cast<std::int64_t>(ids.size());
    auto first = a.start(count, kStepTokens), second = b.start(count, kStepTokens);
    if (!first) return first.status();
    if (!second) return second.status();
    const Progress progress("Comparing", count);
    for (std::int64_t begin = 0; begin < count; begin += kStepTokens) {
        const std::span step = std::span(ids).subspan(static_cast<std::size_t>(begin),
                                                      static_cast<std::size_t>(std::min(kStepTokens, count - begin)));
        StepAnswers left, right;
        if (Status status = first->feed(step, keep_in(left)); !status.is_ok()) return status;
        if (Status status = second->feed(step, keep_in(right)); !status.is_ok()) return status;
        const std::size_t width = left.logits.size() / step.size();
        for (std::size_t i = 0; i < step.size(); ++i) {
            const auto position = begin + static_cast<std::int64_t>(i);
            const auto next =
                position + 1 < count ? std::optional(ids[static_cast<std::size_t>(position + 1)]) : std::nullopt;
            found.logits.add(position, std::span(left.logits).subspan(i * width, width),
                             std::span(right.logits).subspan(i * width, width), next);
        }
        const std::size_t layers = std::min(left.routes.size(), right.routes.size());
        found.routes.resize(std::max(found.routes.size(), layers));
        for (std::size_t l = 0; l < layers; ++l) {
            if (left.routes[l].experts == right.routes[l].experts) found.routes[l].add(left.routes[l], right.routes[l]);
        }
        progress.show(begin + static_cast<std::int64_t>(step.size()));
    }
    found.a.cache_bytes = first->cache_bytes();
    found.b.cache_bytes = second->cache_bytes();
    return {};
}

// The text but its end at once, and its end token by token.
Status time_once(const Side& side, const std::vector<TokenId>& ids, SideCost& cost) {
    using Clock = std::chrono::steady_clock;
    const auto seconds = [](Clock::time_point begin) {
        return std::chrono::duration<double>(Clock::now() - begin).count();
    };
    const std::size_t decoded = std::min<std::size_t>(32, ids.size() / 2), prompt = ids.size() - decoded;
    auto generation = side.start(static_cast<std::int64_t>(ids.size()), GenerationOptions().step_tokens);
    if (!generation) return generation.status();
    const auto begin = Clock::now();
    if (Status status = generation->feed(std::span(ids).first(prompt)); !status.is_ok()) return status;
    cost.prefill_rates.push_back(static_cast<double>(prompt) / seconds(begin));
    const auto middle = Clock::now();
    for (std::size_t i = prompt; i < ids.size(); ++i) {
        if (Status status = generation->feed(std::span(ids).subspan(i, 1)); !status.is_ok()) return status;
    }
    cost.decode_rates.push_back(static_cast<double>(decoded) / seconds(middle));
    return {};
}

int compare(const Options& options) {
    auto settings_a = parse_side(options.a, options.model), settings_b = parse_side(options.b, options.model);
    if (!settings_a) return complain(settings_a.status());
    if (!settings_b) return complain(settings_b.status());
    const auto a = open_side(*std::move(settings_a), options, nullptr);
    if (!a) return complain(a.status());
    const auto b = open_side(*std::move(settings_b), options, &*a);
    if (!b) return complain(b.status());
    if (const Status status = check_vocabularies(a->model, b->model); !status.is_ok()) return complain(status);
    const auto ids = ids_to_compare(options, *a);
    if (!ids) return complain(ids.status());

    Comparison found;
    found.a.name = options.a;
    found.b.name = options.b;
    found.token_source = !options.ids.empty()    ? "of --ids"
                         : !options.text.empty() ? "of '" + printable(options.text) + "'"
                                                 : "that A wrote, with seed " + std::to_string(options.seed);
    if (const Status status = compare_answers(*a, *b, *ids, found); !status.is_ok()) return complain(status);
    found.a.weight_bytes = a->model.weight_bytes();
    found.b.weight_bytes = b->model.weight_bytes();
    found.a.weight_errors = {a->model.weight_errors().begin(), a->model.weight_errors().end()};
    found.b.weight_errors = {b->model.weight_errors().begin(), b->model.weight_errors().end()};
    for (int round = 0; round < options.rounds; ++round) {
        if (const Status status = time_once(*a, *ids, found.a); !status.is_ok()) return complain(status);
        if (const Status status = time_once(*b, *ids, found.b); !status.is_ok()) return complain(status);
    }
    print(options.as_json ? comparison_json(found) : comparison_text(found, a->model));
    return kExitOk;
}

}  // namespace

void add_compare(CLI::App& app, int& exit_code) {
    auto* command = app.add_subcommand("compare", "What a change of numbers, router or file does to the answers");
    const auto options = std::make_shared<Options>();
    command->add_option("MODEL", options->model, "a .gguf or .safetensors file, or a checkpoint's folder")->required();
    command->add_option("A", options->a, "the reference, as in cache=f32 (see below)")->required();
    command->add_option("B", options->b, "what is held against it, as in cache=f16,top-k=1")->required();
    auto* text = command->add_option("--text", options->text, "a file whose beginning both read; else A writes a text");
    command->add_option("--ids", options->ids, "the tokens, as in 1,2,3")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->excludes(text);
    command->add_option("--tokens", options->tokens, "most tokens compared")
        ->check(CLI::Range(2, 1 << 20))
        ->capture_default_str();
    command->add_option("--seed", options->seed, "of the text that A writes")->capture_default_str();
    command->add_option("--threads", options->threads, "threads that compute; 0: as many as there are cores to use")
        ->check(CLI::Range(0, 4096))
        ->capture_default_str();
    command->add_option("--rounds", options->rounds, "times both are timed, in turn; their medians are told; 0: none")
        ->check(CLI::Range(0, 100))
        ->capture_default_str();
    command->add_flag("--json", options->as_json, "one JSON object");
    command->footer(kSideSettings);
    command->callback([options, &exit_code] { exit_code = compare(*options); });
}

}  // namespace mixtura::cli
