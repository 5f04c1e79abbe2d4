#include "unit/tokenizer/refusals.hpp"

#include <mixtura/tokenizer.hpp>

#include <catch2/catch.hpp>

#include "base/text.hpp"
#include "support/files.hpp"

namespace mixtura::test {

void check_refusals(const std::vector<Refusal>& refusals) {
    for (const Refusal& refusal : refusals) {
        const TemporaryFolder folder;
        const std::string path = folder.write(refusal.file_name, refusal.content);
        const auto tokenizer = Tokenizer::open(path);
        INFO(refusal.name << ": " << quoted(refusal.content, 300));
        REQUIRE_FALSE(tokenizer.is_ok());
        std::string message(tokenizer.status().message());
        for (std::size_t at = message.find(quoted(path, 400)); at != std::string::npos;
             at = message.find(quoted(path, 400))) {
            message.replace(at, quoted(path, 400).size(), "<file>");
        }
        CHECK(message == refusal.message);
        CHECK(status_name(tokenizer.status().code()) == status_name(refusal.code));
    }
}

}  // namespace mixtura::test
