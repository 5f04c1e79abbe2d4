#include "convert.hpp"

using namespace mixtura::capi;
using mixtura::StatusCode;

namespace mixtura::capi {

mixtura_model_facts facts_to(const ModelFacts& facts) {
    mixtura_model_facts out = MIXTURA_MODEL_FACTS_INIT;
    out.layer_count = facts.layer_count;
    out.hidden_size = facts.hidden_size;
    out.head_count = facts.head_count;
    out.kv_head_count = facts.kv_head_count;
    out.head_size = facts.head_size;
    out.ffn_size = facts.ffn_size;
    out.expert_count = facts.expert_count;
    out.experts_per_token = facts.experts_per_token;
    out.shared_expert_count = facts.shared_expert_count;
    out.expert_ffn_size = facts.expert_ffn_size;
    out.vocabulary_size = facts.vocabulary_size;
    out.context_tokens = facts.context_tokens;
    out.has_tokenizer = !facts.tokenizer.empty();
    out.has_chat_template = facts.has_chat_template;
    return out;
}

std::string lines_of(std::span<const std::string> texts) {
    std::string lines;
    for (const std::string& text : texts) lines += (lines.empty() ? "" : "\n") + text;
    return lines;
}

}  // namespace mixtura::capi

namespace {

const mixtura::Checkpoint& of(const mixtura_checkpoint* checkpoint) {
    return given(checkpoint, "checkpoint").checkpoint;
}

const mixtura::TensorInfo& tensor_at(const mixtura_checkpoint* checkpoint, std::size_t index) {
    const auto tensors = of(checkpoint).tensors();
    check_index(index, tensors.size(), "index", "tensors");
    return tensors[index];
}

}  // namespace

extern "C" {

mixtura_status mixtura_checkpoint_open(const char* path, mixtura_checkpoint** checkpoint) noexcept {
    return guard([&] {
        given(checkpoint, "checkpoint");
        give_handle(checkpoint, take(mixtura::Checkpoint::open(&given(path, "path"))));
    });
}

void mixtura_checkpoint_destroy(mixtura_checkpoint* checkpoint) noexcept { delete checkpoint; }

mixtura_status mixtura_checkpoint_get_facts(const mixtura_checkpoint* checkpoint, mixtura_model_facts* facts) noexcept {
    return guard([&] {
        mixtura_model_facts out = facts_to(of(checkpoint).facts());
        out.parameter_count = of(checkpoint).parameter_count();
        out.weight_bytes = of(checkpoint).weight_bytes();
        give(facts, out, "facts");
    });
}

mixtura_status mixtura_checkpoint_text(const mixtura_checkpoint* checkpoint, int32_t about, char* text, size_t capacity,
                                       size_t* needed) noexcept {
    return guard([&] {
        const mixtura::Checkpoint& c = of(checkpoint);
        const auto out = [&](std::string_view found) { give_text(found, text, capacity, needed); };
        switch (about) {
            case MIXTURA_ABOUT_PATH: return out(c.files().empty() ? std::string_view() : c.files()[0].path);
            case MIXTURA_ABOUT_ARCHITECTURE: return out(c.facts().architecture);
            case MIXTURA_ABOUT_NAME: return out(c.facts().name);
            case MIXTURA_ABOUT_DECLARED_SIZE: return out(c.facts().declared_size);
            case MIXTURA_ABOUT_FORMAT: return out(c.format_name());
            case MIXTURA_ABOUT_TOKENIZER: return out(c.facts().tokenizer);
            default: fail(StatusCode::invalid_argument, "a checkpoint has no text " + std::to_string(about));
        }
    });
}

mixtura_status mixtura_checkpoint_warnings(const mixtura_checkpoint* checkpoint, char* text, size_t capacity,
                                           size_t* needed) noexcept {
    return guard([&] { give_text(lines_of(of(checkpoint).warnings()), text, capacity, needed); });
}

size_t mixtura_checkpoint_tensor_count(const mixtura_checkpoint* checkpoint) noexcept {
    return checkpoint == nullptr ? 0 : checkpoint->checkpoint.tensors().size();
}

mixtura_status mixtura_checkpoint_find(const mixtura_checkpoint* checkpoint, const char* name, size_t* index) noexcept {
    return guard([&] {
        const mixtura::TensorInfo* found = of(checkpoint).find(&given(name, "name"));
        if (found == nullptr) fail(StatusCode::not_found, std::string("the checkpoint has no tensor \"") + name + "\"");
        given(index, "index") = static_cast<std::size_t>(found - of(checkpoint).tensors().data());
    });
}

mixtura_status mixtura_checkpoint_tensor(const mixtura_checkpoint* checkpoint, size_t index,
                                         mixtura_tensor_info* info) noexcept {
    return guard([&] {
        const mixtura::TensorInfo& tensor = tensor_at(checkpoint, index);
        mixtura_tensor_info out = MIXTURA_TENSOR_INFO_INIT;
        out.dtype = static_cast<std::int32_t>(tensor.dtype);
        out.rank = static_cast<std::int32_t>(tensor.shape.rank());
        for (std::size_t axis = 0; axis < tensor.shape.rank(); ++axis) out.shape[axis] = tensor.shape[axis];
        out.file_index = tensor.file;
        out.offset_bytes = tensor.offset_bytes;
        out.size_bytes = tensor.size_bytes;
        give(info, out, "info");
    });
}

mixtura_status mixtura_checkpoint_tensor_name(const mixtura_checkpoint* checkpoint, size_t index, char* text,
                                              size_t capacity, size_t* needed) noexcept {
    return guard([&] { give_text(tensor_at(checkpoint, index).name, text, capacity, needed); });
}

mixtura_status mixtura_checkpoint_read(const mixtura_checkpoint* checkpoint, size_t index, void* bytes,
                                       size_t capacity) noexcept {
    return guard([&] {
        const mixtura::TensorInfo& tensor = tensor_at(checkpoint, index);
        if (capacity < tensor.size_bytes) {
            fail(StatusCode::buffer_too_small, "bytes has room for " + std::to_string(capacity) + ", expected " +
                                                   std::to_string(tensor.size_bytes) + " or more");
        }
        const auto out = array(static_cast<std::byte*>(bytes), static_cast<std::size_t>(tensor.size_bytes), "bytes");
        check(of(checkpoint).read(tensor, out));
    });
}

}  // extern "C"
