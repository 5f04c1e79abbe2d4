// Broken safetensors headers: what each states, and the sentence a user reads.
#include <mixtura/checkpoint.hpp>

#include <catch2/catch.hpp>

#include "support/malformed.hpp"
#include "support/safetensors_writer.hpp"

using namespace mixtura;
using namespace mixtura::test;
using namespace std::string_literals;

namespace {

constexpr StatusCode kCorrupt = StatusCode::corrupt_file, kUnsupported = StatusCode::unsupported;

// A file of this header and 12 bytes of data.
Malformed header(std::string name, std::string_view text, std::string message, StatusCode code = kCorrupt) {
    return {std::move(name), only("model.safetensors", safetensors_bytes(text, std::string(12, 'd'))), code,
            std::move(message)};
}

// A file whose one tensor has this entry.
Malformed tensor(std::string_view entry, std::string message, StatusCode code = kCorrupt) {
    return header(std::string(entry), "{\"a\":" + std::string(entry) + "}", std::move(message), code);
}

Malformed raw(std::string name, std::string content, std::string message) {
    return {std::move(name), only("model.safetensors", std::move(content)), kCorrupt, std::move(message)};
}

SafetensorsFile good() {
    SafetensorsFile file;
    file.metadata = {{"format", "pt"}};
    file.tensor("a", "F32", {2, 3}, std::string(24, 'a')).tensor("b", "BF16", {4}, std::string(8, 'b'));
    return file;
}

}  // namespace

TEST_CASE("a broken safetensors preamble is refused with what it states", "[formats][short]") {
    const std::string brace = "{}";
    check_malformed({
        raw("three bytes", "\1\2\3",
            "<file> is cut short or lies about its sizes: the header's length needs 8 bytes at byte 0, the file has 3"),
        raw("the length alone", good().bytes().substr(0, 8), "<file> states a header of 144 bytes, but only 0 follow"),
        raw("a header of 2^63 bytes", safetensors_bytes(brace, "", std::uint64_t{1} << 63),
            "<file> states a header of 9223372036854775808 bytes, but only 2 follow"),
        raw("a header of 2^64 - 1 bytes", safetensors_bytes(brace, "", ~std::uint64_t{0}),
            "<file> states a header of 18446744073709551615 bytes, but only 2 follow"),
        raw("a header of 1 GiB", safetensors_bytes(brace, "", std::uint64_t{1} << 30),
            "<file> states a header of 1073741824 bytes, but only 2 follow"),
        raw("a header of 0 bytes", safetensors_bytes(brace, "", 0),
            "<file> states a header of 0 bytes, expected 2 to 100000000"),
        raw("a header of 1 byte", safetensors_bytes(brace, "", 1),
            "<file> states a header of 1 bytes, expected 2 to 100000000"),
        raw("a header of one byte more than there is", safetensors_bytes(brace, "", 3),
            "<file> states a header of 3 bytes, but only 2 follow"),
    });
}

TEST_CASE("a safetensors header that is no object of tensors is refused with what it is", "[formats][short]") {
    std::string deep(10000, '[');
    check_malformed({
        header("an opening brace", "{ ",
               "<file>: the header cannot be read as JSON at byte 2: expected a key in double quotes or '}', found the "
               "end"),
        header("an array", "[\"a\"]", "<file>: the header is an array, expected an object"),
        header("null", "null", "<file>: the header is null, expected an object"),
        header("a number", "12", "<file>: the header is a number, expected an object"),
        header("a string", "\"a\"", "<file>: the header is a string, expected an object"),
        header("a boolean", "false", "<file>: the header is a boolean, expected an object"),
        header("no JSON", "hello", "<file>: the header cannot be read as JSON at byte 0: expected a value, found 'h'"),
        header("text behind the object", "{}{}",
               "<file>: the header cannot be read as JSON at byte 2: expected the end of the text, found '{'"),
        header("a NUL behind the object", "{}\0"s,
               "<file>: the header cannot be read as JSON at byte 2: expected the end of the text, found '\\x00'"),
        header("10,000 arrays", deep, "<file>: the header is an array, expected an object"),
        header("10,000 arrays for a tensor", "{\"a\":" + deep, "<file>: tensor 'a' is an array, expected an object"),
        header("10,000 objects for a tensor", "{\"a\":{\"dtype\":" + deep,
               "<file>: tensor 'a' has an array as its dtype, expected a string"),
        header("a name that is not UTF-8", "{\"a\xff\":1}",
               "<file>: the header cannot be read as JSON at byte 4: a string is not UTF-8"),
        header("a name with a line break", "{\"a\nb\":1}",
               "<file>: the header cannot be read as JSON at byte 3: a string holds the control byte '\\x0a'"),
        header("a name with half a surrogate pair", R"({"a\ud83d":1})",
               "<file>: the header cannot be read as JSON at byte 9: the first half of a surrogate pair without its "
               "second"),
        header("a name of 5,000 bytes", "{\"" + std::string(5000, 'n') + "\":1}",
               "<file>: a tensor's name takes more than 4096 bytes: "
               "'nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn…'"),
        header(
            "a name in single quotes", "{'a':1}",
            "<file>: the header cannot be read as JSON at byte 1: expected a key in double quotes or '}', found '''"),
        header(
            "a comment", "{/*a*/}",
            "<file>: the header cannot be read as JSON at byte 1: expected a key in double quotes or '}', found '/'"),
        header("a comma too many", R"({"__metadata__":{},})",
               "<file>: the header cannot be read as JSON at byte 19: expected a key in double quotes, found '}'"),
        header(
            "a tensor twice",
            R"({"a":{"dtype":"U8","shape":[6],"data_offsets":[0,6]},"a":{"dtype":"U8","shape":[6],"data_offsets":[6,12]}})",
            "<file>: tensor 'a' is there twice"),
        header(
            "a tensor twice, once escaped",
            R"({"a":{"dtype":"U8","shape":[6],"data_offsets":[0,6]},"\u0061":{"dtype":"U8","shape":[6],"data_offsets":[6,12]}})",
            "<file>: tensor 'a' is there twice"),
        header("__metadata__ twice", R"({"__metadata__":{},"__metadata__":{}})",
               "<file>: the header has __metadata__ twice"),
        header("__metadata__ that is a list", R"({"__metadata__":["pt"]})",
               "<file>: __metadata__ is an array, expected an object"),
        header("__metadata__ with a number", R"({"__metadata__":{"format":1}})",
               "<file>: __metadata__ has a number as its 'format', expected a string"),
        header("__metadata__ with an object", R"({"__metadata__":{"format":{}}})",
               "<file>: __metadata__ has an object as its 'format', expected a string"),
        header(
            "__metadata__ with a key twice",
            R"({"__metadata__":{"format":"pt","format":"tf"},"a":{"dtype":"U8","shape":[12],"data_offsets":[0,12]}})",
            "<file>: __metadata__ has the key 'format' twice"),
    });
}

TEST_CASE("a broken safetensors entry is refused with the tensor's name", "[formats][short]") {
    check_malformed({
        tensor("null", "<file>: tensor 'a' is null, expected an object"),
        tensor("true", "<file>: tensor 'a' is a boolean, expected an object"),
        tensor("[]", "<file>: tensor 'a' is an array, expected an object"),
        tensor("\"F32\"", "<file>: tensor 'a' is a string, expected an object"),
        tensor("7", "<file>: tensor 'a' is a number, expected an object"),
        tensor("{}", "<file>: tensor 'a' has no dtype"),
        tensor(R"({"dtype":"F32","data_offsets":[0,12]})", "<file>: tensor 'a' has no shape"),
        tensor(R"({"dtype":"F32","shape":[3]})", "<file>: tensor 'a' has no data_offsets"),
        tensor(R"({"dtype":"F32","dtype":"F32","shape":[3],"data_offsets":[0,12]})",
               "<file>: tensor 'a' states its dtype twice"),
        tensor(R"({"dtype":"F32","shape":[3],"data_offsets":[0,12],"stride":[1]})",
               "<file>: tensor 'a' has the unknown field 'stride'"),
        tensor(R"({"dtype":32,"shape":[3],"data_offsets":[0,12]})",
               "<file>: tensor 'a' has a number as its dtype, expected a string"),
        tensor(R"({"dtype":null,"shape":[3],"data_offsets":[0,12]})",
               "<file>: tensor 'a' has null as its dtype, expected a string"),
        tensor(R"({"dtype":["F32"],"shape":[3],"data_offsets":[0,12]})",
               "<file>: tensor 'a' has an array as its dtype, expected a string"),
        tensor(R"({"dtype":"F128","shape":[3],"data_offsets":[0,12]})",
               "<file>: tensor 'a' has dtype 'F128', which this version does not know", kUnsupported),
        tensor(R"({"dtype":"f32","shape":[3],"data_offsets":[0,12]})",
               "<file>: tensor 'a' has dtype 'f32', which this version does not know", kUnsupported),
        tensor(R"({"dtype":"Q4_K\u001b[2J","shape":[3],"data_offsets":[0,12]})",
               "<file>: tensor 'a' has dtype 'Q4_K\\x1b[2J', which this version does not know", kUnsupported),
        tensor("{\"dtype\":\"" + std::string(65, 'F') + "\"}",
               "<file>: tensor 'a' has a field or dtype of more than 64 bytes: "
               "'FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF'"),
        tensor(R"({"dtype":"F32","shape":3,"data_offsets":[0,12]})",
               "<file>: tensor 'a' has a number as its shape, expected an array"),
        tensor(R"({"dtype":"F32","shape":null,"data_offsets":[0,12]})",
               "<file>: tensor 'a' has null as its shape, expected an array"),
        tensor(R"({"dtype":"F32","shape":{"0":3},"data_offsets":[0,12]})",
               "<file>: tensor 'a' has an object as its shape, expected an array"),
        tensor(R"({"dtype":"F32","shape":[-3],"data_offsets":[0,12]})",
               "<file>: tensor 'a' has '-3' in its shape, expected a whole number from 0 to 2^63 - 1"),
        tensor(R"({"dtype":"F32","shape":[3.0],"data_offsets":[0,12]})",
               "<file>: tensor 'a' has '3.0' in its shape, expected a whole number from 0 to 2^63 - 1"),
        tensor(R"({"dtype":"F32","shape":[3e0],"data_offsets":[0,12]})",
               "<file>: tensor 'a' has '3e0' in its shape, expected a whole number from 0 to 2^63 - 1"),
        tensor(R"({"dtype":"F32","shape":["3"],"data_offsets":[0,12]})",
               "<file>: tensor 'a' has a string in its shape, expected whole numbers"),
        tensor(R"({"dtype":"F32","shape":[[3]],"data_offsets":[0,12]})",
               "<file>: tensor 'a' has an array in its shape, expected whole numbers"),
        tensor(R"({"dtype":"F32","shape":[9223372036854775808],"data_offsets":[0,12]})",
               "<file>: tensor 'a' has '9223372036854775808' in its shape, expected a whole number from 0 to 2^63 - 1"),
        tensor(
            R"({"dtype":"F32","shape":[18446744073709551616],"data_offsets":[0,12]})",
            "<file>: tensor 'a' has '18446744073709551616' in its shape, expected a whole number from 0 to 2^63 - 1"),
        tensor(R"({"dtype":"F32","shape":[1e999],"data_offsets":[0,12]})",
               "<file>: the header cannot be read as JSON at byte 34: the number '1e999' is larger than a double can "
               "hold"),
        tensor(R"({"dtype":"F32","shape":[03],"data_offsets":[0,12]})",
               "<file>: the header cannot be read as JSON at byte 30: expected ',' or ']', found '3'"),
        tensor(R"({"dtype":"F32","shape":[1,1,1,1,1,1,1,1,3],"data_offsets":[0,12]})",
               "<file>: tensor 'a' has more than 8 dimensions"),
        tensor(R"({"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,12]})",
               "<file>: tensor 'a' has more elements than 64 bits can count"),
        tensor(R"({"dtype":"F32","shape":[0,4294967296,4294967296],"data_offsets":[0,0]})",
               "<file>: tensor 'a' has more elements than 64 bits can count"),
        tensor(
            R"({"dtype":"F64","shape":[4611686018427387904],"data_offsets":[0,12]})",
            "<file>: tensor 'a' of shape [4611686018427387904] and dtype f64 takes more bytes than 64 bits can count"),
        tensor(R"({"dtype":"F4","shape":[3],"data_offsets":[0,2]})",
               "<file>: tensor 'a' of shape [3] and dtype f4_e2m1 takes no whole number of bytes"),
        tensor(R"({"dtype":"F32","shape":[3],"data_offsets":12})",
               "<file>: tensor 'a' has a number as its data_offsets, expected an array"),
        tensor(R"({"dtype":"F32","shape":[3],"data_offsets":[12]})",
               "<file>: tensor 'a' has 1 data_offsets, expected 2"),
        tensor(R"({"dtype":"F32","shape":[3],"data_offsets":[0,12,24]})",
               "<file>: tensor 'a' has more than two data_offsets"),
        tensor(R"({"dtype":"F32","shape":[3],"data_offsets":[-12,0]})",
               "<file>: tensor 'a' has '-12' in its data_offsets, expected a whole number from 0 to 2^63 - 1"),
        tensor(R"({"dtype":"F32","shape":[3],"data_offsets":[0,12.5]})",
               "<file>: tensor 'a' has '12.5' in its data_offsets, expected a whole number from 0 to 2^63 - 1"),
        tensor(R"({"dtype":"F32","shape":[3],"data_offsets":[0,18446744073709551628]})",
               "<file>: tensor 'a' has '18446744073709551628' in its data_offsets, expected a whole number from 0 to "
               "2^63 - 1"),
        tensor(R"({"dtype":"F32","shape":[3],"data_offsets":[12,0]})",
               "<file>: tensor 'a' ends at byte 0 of the data, before it begins at byte 12"),
        tensor(R"({"dtype":"F32","shape":[4],"data_offsets":[0,12]})",
               "<file>: tensor 'a' of shape [4] and dtype f32 needs 16 bytes, its data_offsets give it 12"),
        tensor(R"({"dtype":"BOOL","shape":[],"data_offsets":[0,12]})",
               "<file>: tensor 'a' of shape [] and dtype bool needs 1 bytes, its data_offsets give it 12"),
    });
}

TEST_CASE("safetensors data with holes, overlaps or bytes of nobody is refused", "[formats][short]") {
    const auto two = [](std::string_view a, std::string_view b) {
        return "{\"a\":{\"dtype\":\"U8\",\"shape\":[6],\"data_offsets\":" + std::string(a) +
               "},\"b\":{\"dtype\":\"U8\",\"shape\":[6],\"data_offsets\":" + std::string(b) + "}}";
    };
    check_malformed({
        tensor(R"({"dtype":"U8","shape":[8],"data_offsets":[4,12]})",
               "<file>: tensor 'a' begins at byte 4 of the data, expected 0, where the data begins"),
        tensor(R"({"dtype":"U8","shape":[8],"data_offsets":[0,8]})",
               "<file>: 4 bytes behind the last tensor belong to none"),
        tensor(R"({"dtype":"U8","shape":[9223372036854775807],"data_offsets":[0,9223372036854775807]})",
               "<file> is cut short: tensor 'a' needs bytes 0 to 9223372036854775807 of the data, the file has 12 of "
               "them; 9223372036854775795 bytes are missing"),
        tensor(R"({"dtype":"U8","shape":[12],"data_offsets":[9223372036854775795,9223372036854775807]})",
               "<file>: tensor 'a' begins at byte 9223372036854775795 of the data, expected 0, where the data begins"),
        header("a hole between two", two("[0,6]", "[7,13]"),
               "<file>: tensor 'b' begins at byte 7 of the data, expected 6, where the one before it ends"),
        header("one on the other", two("[0,6]", "[0,6]"),
               "<file>: tensor 'b' begins at byte 0 of the data, expected 6, where the one before it ends"),
        header("one begins in the other", two("[0,6]", "[5,11]"),
               "<file>: tensor 'b' begins at byte 5 of the data, expected 6, where the one before it ends"),
        header("bytes and no tensor", "{}", "<file>: 12 bytes behind the last tensor belong to none"),
    });
}

TEST_CASE("a truncated safetensors file names the first tensor that is cut and the bytes that are missing",
          "[formats][short]") {
    const std::string whole = good().bytes();
    const std::size_t data_begin = 8 + good().header().size();
    std::vector<Malformed> cases;
    for (std::size_t size = data_begin; size < whole.size(); ++size) {
        const std::size_t held = size - data_begin;
        const std::string cut = held < 24 ? "tensor 'a' needs bytes 0 to 24" : "tensor 'b' needs bytes 24 to 32";
        cases.push_back(raw("cut to " + std::to_string(size), whole.substr(0, size),
                            "<file> is cut short: " + cut + " of the data, the file has " + std::to_string(held) +
                                " of them; " + std::to_string(32 - held) + " bytes are missing"));
    }
    for (std::size_t size = 9; size < data_begin; ++size) {
        cases.push_back(raw("cut to " + std::to_string(size), whole.substr(0, size),
                            "<file> states a header of " + std::to_string(data_begin - 8) + " bytes, but only " +
                                std::to_string(size - 8) + " follow"));
    }
    check_malformed(cases);
}
