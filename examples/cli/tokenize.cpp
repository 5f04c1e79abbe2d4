// mixtura tokenize MODEL and mixtura detokenize MODEL: text to ids and back.
#include <mixtura/tokenizer.hpp>

#include <CLI/CLI.hpp>
#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/format.hpp"
#include "cli/output.hpp"

namespace mixtura::cli {
namespace {

using Json = nlohmann::ordered_json;

struct TokenizeOptions {
    std::string model, text, jsonl;
    std::string special = "all";
    bool with_bos = false;
    bool as_json = false;

    EncodeOptions encoding() const {
        EncodeOptions options;
        options.added_tokens = special == "none"   ? AddedTokens::none
                               : special == "only" ? AddedTokens::special_only
                                                   : AddedTokens::all;
        // Without --bos the ids are the text's alone; with it they begin as the model wants a text to begin.
        options.add_bos = with_bos ? AddBos::yes : AddBos::no;
        return options;
    }
};

std::string dumped(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

// {"text": …} a line in, {"ids": […], "decoded": …} a line out; a line that is broken ends the run with its number.
int tokenize_lines(const Tokenizer& tokenizer, const TokenizeOptions& options) {
    std::ifstream file;
    if (options.jsonl != "-") {
        file.open(options.jsonl, std::ios::binary);
        if (!file) return complain("cannot open '" + printable(options.jsonl) + "'");
    }
    std::istream& in = options.jsonl == "-" ? std::cin : file;
    std::string line;
    for (std::size_t number = 1; std::getline(in, line); ++number) {
        const auto parsed = nlohmann::json::parse(line, nullptr, false);
        if (!parsed.is_object() || !parsed.contains("text") || !parsed["text"].is_string()) {
            return complain("line " + std::to_string(number) + " of '" + printable(options.jsonl) +
                            "' is no JSON object with a string \"text\"");
        }
        const auto ids = tokenizer.encode(parsed["text"].get<std::string>(), options.encoding());
        if (!ids) return complain(ids.status());
        const auto decoded = tokenizer.decode(*ids);
        if (!decoded) return complain(decoded.status());
        print(dumped({{"ids", *ids}, {"decoded", *decoded}}) + "\n");
    }
    return kExitOk;
}

int tokenize(const TokenizeOptions& options) {
    const auto tokenizer = Tokenizer::open(options.model);
    if (!tokenizer) return complain(tokenizer.status());
    if (!options.jsonl.empty()) return tokenize_lines(*tokenizer, options);
    const auto ids = tokenizer->encode(options.text, options.encoding());
    if (!ids) return complain(ids.status());
    if (options.as_json) {
        Json tokens = Json::array();
        for (const TokenId id : *ids) tokens.push_back(tokenizer->token_text(id));
        print(dumped({{"ids", *ids}, {"tokens", tokens}}) + "\n");
        return kExitOk;
    }
    std::string line;
    for (const TokenId id : *ids) line += (line.empty() ? "" : " ") + std::to_string(id);
    print(line + "\n");
    return kExitOk;
}

int detokenize(const std::string& model, const std::vector<TokenId>& ids, bool with_special) {
    const auto tokenizer = Tokenizer::open(model);
    if (!tokenizer) return complain(tokenizer.status());
    const auto text = tokenizer->decode(ids, {.skip_special = !with_special});
    if (!text) return complain(text.status());
    print(*text + "\n");
    return kExitOk;
}

}  // namespace

void add_tokenize(CLI::App& app, int& exit_code) {
    auto* command = app.add_subcommand("tokenize", "Text to token ids");
    const auto options = std::make_shared<TokenizeOptions>();
    command->add_option("MODEL", options->model, "a .gguf file, a folder, a tokenizer.json or a tokenizer.model")
        ->required();
    auto* text = command->add_option("--text", options->text, "the text");
    auto* lines = command->add_option("--jsonl", options->jsonl, "a file of {\"text\": …} lines (-: standard input)")
                      ->excludes(text);
    command
        ->add_option("--special", options->special,
                     "added tokens that are recognised in the text: all, only (special ones) or none")
        ->check(CLI::IsMember({"all", "only", "none"}));
    command->add_flag("--bos", options->with_bos, "begin with the vocabulary's begin-of-text token");
    command->add_flag("--json", options->as_json, "one JSON object with ids and tokens");
    command->callback([options, text, lines, &exit_code] {
        if (text->count() + lines->count() == 0) throw CLI::RequiredError("--text or --jsonl");
        exit_code = tokenize(*options);
    });
}

void add_detokenize(CLI::App& app, int& exit_code) {
    struct Options {
        std::string model;
        std::vector<TokenId> ids;
        bool with_special = false;
    };
    auto* command = app.add_subcommand("detokenize", "Token ids to text");
    const auto options = std::make_shared<Options>();
    command->add_option("MODEL", options->model, "a .gguf file, a folder, a tokenizer.json or a tokenizer.model")
        ->required();
    command->add_option("--ids", options->ids, "1,2,3")->delimiter(',')->required();
    command->add_flag("--special", options->with_special, "show special tokens too");
    command->callback(
        [options, &exit_code] { exit_code = detokenize(options->model, options->ids, options->with_special); });
}

}  // namespace mixtura::cli
