// The commands of the program.  Each adds its flags to `app` and, when it was the one called, leaves its exit code.
#pragma once

namespace CLI {
class App;
}

namespace mixtura::cli {

void add_bench(CLI::App& app, int& exit_code);
void add_chat(CLI::App& app, int& exit_code);
void add_compare(CLI::App& app, int& exit_code);
void add_complete(CLI::App& app, int& exit_code);
void add_doctor(CLI::App& app, int& exit_code);
void add_inspect(CLI::App& app, int& exit_code);
void add_logits(CLI::App& app, int& exit_code);
void add_detokenize(CLI::App& app, int& exit_code);
void add_template(CLI::App& app, int& exit_code);
void add_tokenize(CLI::App& app, int& exit_code);

}  // namespace mixtura::cli
