// write_header_bombs FOLDER: every header bomb as a file, to be opened under a clock or a debugger.
#include <cstdio>

#include "support/header_bombs.hpp"

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    for (const mixtura::test::HeaderBomb& bomb : mixtura::test::header_bombs()) {
        bomb.write(std::string(argv[1]) + "/" + bomb.name);
        std::printf("%s %llu\n", bomb.name.c_str(), static_cast<unsigned long long>(bomb.honest_bytes));
    }
    return 0;
}
