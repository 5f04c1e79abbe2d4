// What a JSON document costs, in bytes, exactly: reading it never holds more than 4 × its text and 2 KiB.
#include <catch2/catch.hpp>

#include "formats/json.hpp"
#include "support/allocation_meter.hpp"
#include "support/files.hpp"

using namespace mixtura;
using namespace mixtura::test;

namespace {

std::string repeated(std::string_view open, std::string_view part, std::size_t bytes, std::string_view close) {
    std::string out(open);
    while (out.size() < bytes) out += part;
    return out += close;
}

// An object of as many keys of this length as there are, up to `count`.
std::string object_of_keys(std::size_t key_bytes, std::size_t count) {
    std::string out = "{";
    for (std::size_t i = 0; i < count; ++i) {
        std::string key(key_bytes, 'a');
        std::size_t rest = i;
        for (std::size_t at = 0; at < key_bytes; ++at, rest /= 64)
            key[at] = static_cast<char>('0' + rest % 64 + (rest % 64 >= 44));
        out += (i == 0 ? "\"" : ",\"") + key + "\":1";
    }
    return out + "}";
}

}  // namespace

TEST_CASE("json: reading a document holds at most four times its text", "[formats][short]") {
    constexpr std::size_t kBytes = 1 << 20;
    const std::vector<std::pair<std::string, std::string>> texts{
        {"ones", repeated("[1", ",1", kBytes, "]")},
        {"empty strings", repeated("[\"\"", ",\"\"", kBytes, "]")},
        {"empty arrays", repeated("[[]", ",[]", kBytes, "]")},
        {"objects of an empty key", repeated("[{\"\":1}", ",{\"\":1}", kBytes, "]")},
        {"objects of an empty key and string", repeated("[{\"\":\"\"}", ",{\"\":\"\"}", kBytes, "]")},
        {"nested objects", repeated("[0", "," + repeated("", "{\"\":", 200, "1") + std::string(50, '}'), kBytes, "]")},
        {"reals", repeated("[1.5", ",1.5", kBytes, "]")},
        {"reals with exponents", repeated("[1e1", ",1e1", kBytes, "]")},
        {"wide integers", repeated("[1", ",72057594037927936", kBytes, "]")},
        {"integers above 64 bits", repeated("[1", ",18446744073709551616", kBytes, "]")},
        {"words", repeated("[true", ",true", kBytes, "]")},
        {"one long string", repeated("\"", "x", kBytes, "\"")},
        {"one long string of escapes", repeated("\"", "\\n", kBytes, "\"")},
        {"one long key", repeated("{\"", "x", kBytes, "\":1}")},
        {"half strings, half numbers", repeated("[\"" + std::string(kBytes, 'x') + "\"", ",1", 2 * kBytes, "]")},
        {"keys of one byte", object_of_keys(1, 60)},
        {"keys of two bytes", object_of_keys(2, 4000)},
        {"keys of three bytes", object_of_keys(3, 200000)},
        {"blanks", repeated("[", " ", kBytes, "]")},
        {"broken: dots", repeated("", ".", kBytes, "")},
        {"broken: brackets", repeated("", "[", kBytes, "")},
        {"broken: a lone quote behind commas", repeated("[1", ",1", kBytes, ",\"")},
        {"broken: the same key", repeated("{\"a\":1", ",\"a\":1", kBytes, "}")},
        {"a tokenizer", read_file(golden("tokenizers/bpe-llama3/tokenizer.json"))},
    };
    for (const auto& [name, text] : texts) {
        INFO(name << ", " << text.size() << " bytes");
        const bool is_good = name.substr(0, 6) != "broken";
        bool is_as_expected = false;
        std::size_t document_bytes = 0;
        const AllocationMeter meter;
        {
            const auto document = JsonDocument::parse(text, "test.json");
            is_as_expected = document.is_ok() == is_good;
            document_bytes = document ? document->memory_bytes() : 0;
        }
        const std::size_t peak_bytes = meter.peak_bytes();
        const std::ptrdiff_t held_bytes = meter.held_bytes();
        CHECK(is_as_expected);
        CHECK(document_bytes <= 4 * text.size() + 64);
        CHECK(peak_bytes <= 4 * text.size() + 2048);
        CHECK(held_bytes == 0);
    }
}
