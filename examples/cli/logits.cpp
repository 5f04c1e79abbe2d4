// mixtura logits MODEL --ids 1,2,3: what the model says of a sequence of tokens, for comparison with other code.
#include <mixtura/generation.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <memory>
#include <numeric>
#include <optional>

#include "cli/commands.hpp"
#include "cli/compute_flags.hpp"
#include "cli/format.hpp"
#include "cli/generate_options.hpp"
#include "cli/output.hpp"
#include "cli/safetensors_out.hpp"

namespace mixtura::cli {
namespace {

struct Options {
    ComputeFlags compute;
    std::vector<std::int64_t> ids;
    std::int64_t chunk_tokens = 0;  // 0: the library's own
    std::string out;
};

// The shortest decimal that reads back as the same float: rows that are equal in print are equal in every bit.
std::string shortest(float value) {
    char digits[32];
    const auto [end, failure] = std::to_chars(digits, digits + sizeof digits, value);
    return std::string(digits, end);
}

void print_top(const Model& model, std::span<const float> logits) {
    std::vector<TokenId> ids(logits.size());
    std::iota(ids.begin(), ids.end(), 0);
    const auto count = static_cast<std::ptrdiff_t>(std::min<std::size_t>(5, ids.size()));
    std::partial_sort(ids.begin(), ids.begin() + count, ids.end(), [&](TokenId a, TokenId b) {
        const float left = logits[static_cast<std::size_t>(a)], right = logits[static_cast<std::size_t>(b)];
        return left != right ? left > right : a < b;
    });
    const auto& tokenizer = model.tokenizer();
    std::vector<std::vector<std::string>> rows{{"id", "logit"}};
    if (tokenizer) rows[0].push_back("token");
    for (std::ptrdiff_t i = 0; i < count; ++i) {
        const TokenId id = ids[static_cast<std::size_t>(i)];
        rows.push_back({std::to_string(id), shortest(logits[static_cast<std::size_t>(id)])});
        if (!tokenizer) continue;
        const auto bytes = tokenizer->token_bytes(id);
        rows.back().push_back(bytes ? "'" + printable(*bytes) + "'" : "");
    }
    print(table(rows, "01"));
}

// The file's tensors: the logits first, then hidden.0 to hidden.<layer count>.
Result<SafetensorsOut> create_file(const std::string& path, std::int64_t tokens, std::int64_t vocabulary,
                                   std::int64_t layers, std::int64_t hidden) {
    std::vector<SafetensorsOut::Tensor> tensors{{"logits", {tokens, vocabulary}}};
    for (std::int64_t l = 0; l <= layers; ++l) tensors.push_back({"hidden." + std::to_string(l), {tokens, hidden}});
    return SafetensorsOut::create(path, tensors);
}

Status compute(Generation& generation, const std::vector<TokenId>& ids, const std::string& path) {
    if (path.empty()) return generation.feed(ids);
    // The sizes are asked of the first token alone, since what the headers state may be less than what is computed.
    std::int64_t layers = 0, hidden_size = 0;
    FeedOptions probe;
    probe.on_hidden = [&](std::int64_t, std::int64_t layer, std::span<const float> hidden) {
        layers = layer;
        hidden_size = static_cast<std::int64_t>(hidden.size());
        return Flow::go_on;
    };
    if (Status status = generation.feed(std::span(ids).first(1), probe); !status.is_ok()) return status;
    const auto vocabulary = static_cast<std::int64_t>(generation.logits().size());
    if (Status status = generation.truncate(0); !status.is_ok()) return status;
    auto file = create_file(path, static_cast<std::int64_t>(ids.size()), vocabulary, layers, hidden_size);
    if (!file) return file.status();

    Status written;
    const auto write = [&](std::int64_t tensor, std::int64_t position, std::int64_t width, std::span<const float> row) {
        written = file->write(static_cast<std::size_t>(tensor), static_cast<std::uint64_t>(position * width), row);
        return written.is_ok() ? Flow::go_on : Flow::stop;
    };
    FeedOptions watch;
    watch.on_logits = [&](std::int64_t position, std::span<const float> logits) {
        return write(0, position, vocabulary, logits);
    };
    watch.on_hidden = [&](std::int64_t position, std::int64_t layer, std::span<const float> hidden) {
        return write(1 + layer, position, hidden_size, hidden);
    };
    const Status fed = generation.feed(ids, watch);
    if (!written.is_ok()) return written;
    return fed.is_ok() ? file->finish() : fed;
}

int logits(const Options& options) {
    const auto ids = token_ids(options.ids);
    if (!ids) return complain(ids.status());
    const auto model = open_model(options.compute.model, options.compute.thread_count, options.compute.weights);
    if (!model) return complain(model.status());
    if (model->has_encoder() && !options.out.empty()) {
        return complain(Status(StatusCode::unsupported,
                               "--out has a row a token, but " + printable(model->facts().architecture) +
                                   " reads these as its source and gives the logits of what follows its start token"));
    }
    GenerationOptions how;
    how.thread_count = options.compute.thread_count;
    how.cache_dtype = options.compute.cache_dtype;
    how.context_tokens = static_cast<std::int64_t>(ids->size());
    if (options.chunk_tokens > 0) how.step_tokens = options.chunk_tokens;
    auto generation = Generation::create(*model, how);
    if (!generation) return complain(generation.status());
    if (const Status status = compute(*generation, *ids, options.out); !status.is_ok()) return complain(status);
    print_top(*model, generation->logits());
    return kExitOk;
}

}  // namespace

void add_logits(CLI::App& app, int& exit_code) {
    auto* command = app.add_subcommand("logits", "Logits and hidden states of a sequence of token ids");
    const auto options = std::make_shared<Options>();
    add_compute_flags(*command, options->compute);
    command->add_option("--ids", options->ids, "the tokens, as in 1,2,3")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->required();
    command->add_option("--chunk", options->chunk_tokens, "most tokens computed at once; changes no bit")
        ->check(CLI::Range(1, 65536));
    command->add_option("--out", options->out, "a safetensors file for logits [T, V] and hidden.<layer> [T, H]");
    command->callback([options, &exit_code] { exit_code = logits(*options); });
}

}  // namespace mixtura::cli
