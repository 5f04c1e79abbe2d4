// Which tokens end a reply.  Files often name one of several (a text's end, not a turn's), so published spellings fill
// in.
#include <algorithm>
#include <array>

#include "tokenizer/read.hpp"

namespace mixtura {
namespace {

// End of a turn, in the order in which eot is chosen.
constexpr std::array<std::string_view, 8> kEndOfTurn = {
    "<|eot_id|>", "<|im_end|>", "<|end|>", "<end_of_turn>", "<turn|>", "<EOT>", "[EOT]", "<end_of_utterance>",
};
// End of a reply without being a turn's end: a text's end, a tool call's.
constexpr std::array<std::string_view, 15> kEndOfReply = {
    "<|eom_id|>", "<|return|>", "<|call|>", "<|calls|>", "<|flush|>",        "<|endoftext|>",         "<|end_of_text|>",
    "</s>",       "_<EOT>",     "[EOS]",    "<eos>",     "<|tool_response>", "<｜end▁of▁sentence｜>", "[e~[",
    "<|EOT|>",
};

}  // namespace

void find_end_tokens(Tokenizer::State& state) {
    const auto known = [&](std::string_view spelling) {
        const TokenId id = state.vocabulary.find(spelling);
        // Only tokens that are more than words of the vocabulary.
        const bool is_control =
            id >= 0 && (state.vocabulary.has(id, kTokenSpecial | kTokenUserDefined) || state.added_index.contains(id));
        return is_control ? id : kNoToken;
    };
    // Harmony and its kin end a channel with <|end|>, not the reply.
    const bool end_is_inner =
        (known("<|return|>") >= 0 && known("<|call|>") >= 0) || (known("<|calls|>") >= 0 && known("<|flush|>") >= 0);
    for (const std::string_view spelling : kEndOfTurn) {
        const TokenId id = known(spelling);
        if (id < 0 || (spelling == "<|end|>" && end_is_inner)) continue;
        if (state.special.eot < 0) state.special.eot = id;
        state.end_tokens.push_back(id);
    }
    for (const std::string_view spelling : kEndOfReply) {
        const TokenId id = known(spelling);
        // Gemma 4 keeps "</s>" as a tag of its own.
        if (id < 0 || (spelling == "</s>" && known("<|tool_response>") >= 0)) continue;
        state.end_tokens.push_back(id);
    }
    if (state.special.eom < 0) state.special.eom = known("<|eom_id|>");
}

}  // namespace mixtura
