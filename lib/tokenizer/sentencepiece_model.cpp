// A SentencePiece model file: the message ModelProto of sentencepiece_model.proto.  Field numbers are that file's.
#include <cmath>

#include "base/error.hpp"
#include "tokenizer/protobuf.hpp"
#include "tokenizer/read.hpp"
#include "tokenizer/sentencepiece_build.hpp"

namespace mixtura {
namespace {

enum ModelField : std::uint32_t { kPieces = 1, kTrainerSpec = 2, kNormalizerSpec = 3, kDenormalizerSpec = 5 };
enum PieceField : std::uint32_t { kPiece = 1, kScore = 2, kType = 3 };
enum TrainerField : std::uint32_t {
    kModelType = 3,
    kTreatSpaceAsSuffix = 24,
    kByteFallback = 35,
    kBosId = 41,
    kEosId = 42,
    kPadId = 43,
    kUnkSurface = 44,
};
enum NormalizerField : std::uint32_t {
    kCharsmap = 2,
    kAddDummyPrefix = 3,
    kRemoveExtraSpaces = 4,
    kEscapeSpaces = 5,
};

class SentencePieceReader {
  public:
    SentencePieceReader(std::string_view bytes, std::string_view name)
        : bytes_(bytes), where_(quoted(name, 400)), state_(std::make_shared<Tokenizer::State>()) {}

    Result<StatePointer> read() {
        MIXTURA_RETURN_IF_ERROR(each_field(bytes_, "the model", [&](const ProtobufField& field) -> Status {
            switch (field.number) {
                case kPieces: return read_piece(field.bytes);
                case kTrainerSpec: return read_trainer(field.bytes);
                case kNormalizerSpec: return read_normalizer(field.bytes);
                case kDenormalizerSpec: return read_denormalizer(field.bytes);
                default: return {};  // self-test data and extensions
            }
        }));
        if (state_->vocabulary.size() == 0) {
            return error(StatusCode::unknown_format, where_, ": not a SentencePiece model, it has no pieces");
        }
        if (model_type_ == 3 || model_type_ == 4) {
            return error(StatusCode::unsupported, where_, ": a SentencePiece model of type ",
                         model_type_ == 3 ? "WORD" : "CHAR", " is not supported");
        }
        if (model_type_ != 1 && model_type_ != 2) {
            return error(StatusCode::corrupt_file, where_, ": the model type is ", model_type_, ", expected 1 to 4");
        }
        facts_.is_unigram = model_type_ == 1;
        MIXTURA_RETURN_IF_ERROR(build_sentencepiece(*state_, facts_, where_));
        SpecialTokens& special = state_->special;
        special.bos = control(bos_);
        special.eos = control(eos_);
        special.pad = control(pad_);
        // What the checkpoints' own code does: Llama's puts BOS in front, T5's EOS behind.
        if (special.bos >= 0) {
            state_->front = {special.bos};
        } else if (special.eos >= 0) {
            state_->back = {special.eos};
        }
        state_->source = "tokenizer.model";
        return std::move(state_);
    }

  private:
    template <class Each>
    Status each_field(std::string_view message, std::string_view what, Each&& each) {
        ProtobufReader reader(message);
        for (ProtobufField field; reader.next(field);) MIXTURA_RETURN_IF_ERROR(each(field));
        if (!reader.is_malformed()) return {};
        // The first field of anything else is malformed already: then it is another kind of file.
        const bool is_other = state_->vocabulary.size() == 0;
        return error(is_other ? StatusCode::unknown_format : StatusCode::corrupt_file, where_, ": ",
                     is_other ? "not a SentencePiece model" : text(what, " is cut short or malformed"));
    }

    Status read_piece(std::string_view message) {
        std::string_view spelling;
        float score = 0;
        std::uint64_t type = 1;
        MIXTURA_RETURN_IF_ERROR(each_field(message, "a piece", [&](const ProtobufField& field) -> Status {
            if (field.number == kPiece) spelling = field.bytes;
            if (field.number == kScore) score = field.as_float();
            if (field.number == kType) type = field.value;
            return {};
        }));
        const auto id = static_cast<TokenId>(state_->vocabulary.size());
        const std::optional<std::uint16_t> flags =
            type <= 6 ? piece_flags(static_cast<std::int64_t>(type)) : std::nullopt;
        if (!flags || spelling.empty()) {
            return error(StatusCode::corrupt_file, where_, ": the piece ", id,
                         spelling.empty() ? " is empty" : text(" has the type ", type, ", expected 1 to 6"));
        }
        if ((*flags & kTokenUnknown) != 0) {
            if (facts_.unk >= 0)
                return error(StatusCode::corrupt_file, where_, ": two unknown pieces, ", facts_.unk, " and ", id);
            facts_.unk = id;
        }
        facts_.scores.push_back(score);
        return state_->vocabulary.add(id, spelling, *flags, where_);
    }

    Status read_trainer(std::string_view message) {
        return each_field(message, "the trainer specification", [&](const ProtobufField& field) -> Status {
            switch (field.number) {
                case kModelType: model_type_ = field.value; break;
                case kTreatSpaceAsSuffix: facts_.puts_space_behind = field.value != 0; break;
                case kByteFallback: facts_.byte_fallback = field.value != 0; break;
                case kBosId: bos_ = static_cast<std::int32_t>(field.value); break;
                case kEosId: eos_ = static_cast<std::int32_t>(field.value); break;
                case kPadId: pad_ = static_cast<std::int32_t>(field.value); break;
                case kUnkSurface:
                    if (!is_utf8(field.bytes)) {
                        return error(StatusCode::corrupt_file, where_, ": the unknown piece's surface is not UTF-8");
                    }
                    facts_.unknown_surface = field.bytes;
                    break;
                default: break;
            }
            return {};
        });
    }

    Status read_normalizer(std::string_view message) {
        return each_field(message, "the normalizer specification", [&](const ProtobufField& field) -> Status {
            switch (field.number) {
                case kCharsmap: facts_.charsmap = field.bytes; break;
                case kAddDummyPrefix: facts_.adds_dummy_prefix = field.value != 0; break;
                case kRemoveExtraSpaces: facts_.removes_extra_spaces = field.value != 0; break;
                case kEscapeSpaces: facts_.escapes_spaces = field.value != 0; break;
                default: break;
            }
            return {};
        });
    }

    Status read_denormalizer(std::string_view message) {
        return each_field(message, "the denormalizer specification", [&](const ProtobufField& field) -> Status {
            if (field.number != kCharsmap || field.bytes.empty()) return {};
            return error(StatusCode::unsupported, where_, ": a denormalizer is not supported");
        });
    }

    TokenId control(std::int32_t id) const {
        return state_->vocabulary.contains(id) && state_->vocabulary.has(id, kTokenSpecial) ? id : kNoToken;
    }

    std::string_view bytes_;
    std::string where_;
    StatePointer state_;
    SentencePieceFacts facts_;
    std::uint64_t model_type_ = 1;  // the defaults are the .proto file's
    std::int32_t bos_ = 1, eos_ = 2, pad_ = -1;
};

}  // namespace

Result<StatePointer> read_sentencepiece_model(std::string_view bytes, std::string_view name) {
    return SentencePieceReader(bytes, name).read();
}

}  // namespace mixtura
