// Walks a program and writes the prompt.  One interpreter renders once.  Its functions return false once they failed.
#pragma once

#include <span>

#include "tokenizer/template/builtin.hpp"
#include "tokenizer/template/loop.hpp"
#include "tokenizer/template/macro.hpp"
#include "tokenizer/template/text.hpp"

namespace mixtura {

class JinjaInterpreter {
  public:
    // `variables`: an earlier one hides a later one of the same name.
    JinjaInterpreter(JinjaRun& run, const JinjaProgram& program, std::span<const JinjaNamedValue> variables)
        : run_(run), program_(program), variables_(variables) {}

    bool render(JinjaTextBuilder& out);

    bool test_loop_element(JinjaLoop& loop, const JinjaValue& element, bool& is_taken);

  private:
    enum class Flow : std::uint8_t { next, break_loop, continue_loop };

    // setup and variables (interpreter.cpp)
    bool make_constants();
    bool make_globals();
    JinjaActivation* activate(JinjaActivation* outside, std::uint32_t slot_count);
    static JinjaValue& slot(JinjaActivation& activation, JinjaReference where);
    bool read(const JinjaExpression& name, JinjaActivation& activation, JinjaValue& out);
    void enter(const JinjaScopeLoads& loads, JinjaActivation& activation);
    static void leave(const JinjaScopeLoads& loads, JinjaActivation& activation);
    bool assign(const JinjaTarget& target, JinjaActivation& activation, const JinjaValue& value);
    bool assign_attribute(const JinjaTarget& target, JinjaActivation& activation, const JinjaValue& value);
    bool check_namespaces(const JinjaTarget& target, JinjaActivation& activation);

    // expressions (evaluate.cpp)
    bool evaluate(const JinjaExpression& node, JinjaActivation& activation, JinjaValue& out);
    bool evaluate_list(const JinjaExpression& node, JinjaActivation& activation, JinjaValue& out);
    bool evaluate_dict(const JinjaExpression& node, JinjaActivation& activation, JinjaValue& out);
    bool evaluate_slice(const JinjaExpression& node, JinjaActivation& activation, JinjaValue& out);
    bool evaluate_item(const JinjaExpression& node, JinjaActivation& activation, JinjaValue& out);
    bool evaluate_arithmetic(const JinjaExpression& node, JinjaActivation& activation, JinjaValue& out);
    bool evaluate_compare(const JinjaExpression& node, JinjaActivation& activation, JinjaValue& out);
    bool evaluate_concat(const JinjaExpression& node, JinjaActivation& activation, JinjaValue& out);
    bool evaluate_logic(const JinjaExpression& node, JinjaActivation& activation, JinjaValue& out);
    bool evaluate_conditional(const JinjaExpression& node, JinjaActivation& activation, JinjaValue& out);

    // calls (call.cpp)
    struct CallArguments {
        explicit CallArguments(JinjaRun& run) : positional(run), named_builder(run) {}
        JinjaListBuilder positional;
        JinjaListBuilder named_builder;  // name, value, name, value …
    };
    bool collect_arguments(const JinjaArgumentList& list, JinjaActivation& activation, const JinjaValue* caller,
                           JinjaArguments& arguments);
    bool evaluate_call(const JinjaExpression& node, JinjaActivation& activation, const JinjaValue* caller,
                       JinjaValue& out);
    bool evaluate_filter(const JinjaExpression& node, JinjaActivation& activation, const JinjaValue* body,
                         JinjaValue& out);
    bool evaluate_test(const JinjaExpression& node, JinjaActivation& activation, JinjaValue& out);
    bool call(const JinjaValue& callee, const JinjaArguments& arguments, JinjaValue& out);
    bool call_macro(const JinjaMacro& macro, const JinjaArguments& arguments, JinjaValue& out);
    bool bind_macro(const JinjaMacro& macro, const JinjaArguments& arguments, JinjaActivation& activation);

    // statements (execute.cpp)
    bool execute(const JinjaBody& body, JinjaActivation& activation, JinjaTextBuilder& out, Flow& flow);
    bool execute(const JinjaStatement& node, JinjaActivation& activation, JinjaTextBuilder& out, Flow& flow);
    bool execute_output(const JinjaOutput& node, JinjaActivation& activation, JinjaTextBuilder& out);
    bool execute_condition(const JinjaCondition& node, JinjaActivation& activation, JinjaTextBuilder& out, Flow& flow);
    bool execute_set(const JinjaSet& node, JinjaActivation& activation);
    bool execute_set_block(const JinjaSetBlock& node, JinjaActivation& activation, Flow& flow);
    bool execute_with(const JinjaWith& node, JinjaActivation& activation, JinjaTextBuilder& out, Flow& flow);
    bool execute_call_block(const JinjaCallBlock& node, JinjaActivation& activation, JinjaTextBuilder& out);
    bool execute_filter_block(const JinjaFilterBlock& node, JinjaActivation& activation, JinjaTextBuilder& out,
                              Flow& flow);
    bool make_macro(const JinjaMacroDefinition& definition, JinjaActivation& activation, JinjaValue& out);

    // loops (loop.cpp)
    bool execute_loop(const JinjaLoopStatement& node, JinjaActivation& activation, JinjaTextBuilder& out, Flow& flow);
    bool run_loop(JinjaLoop& loop, JinjaActivation& activation, JinjaTextBuilder& out, Flow& flow);
    bool run_recursive_loop(const JinjaLoopStatement& node, JinjaActivation& outside, const JinjaValue& iterable,
                            std::int64_t depth0, JinjaValue& out);
    bool start_loop(JinjaLoop& loop, const JinjaLoopStatement& node, JinjaActivation& outside,
                    const JinjaValue& iterable);

    JinjaRun& run_;
    const JinjaProgram& program_;
    std::span<const JinjaNamedValue> variables_;
    JinjaValue* constants_ = nullptr;
    JinjaValue* globals_ = nullptr;  // by index of program_.global_names; missing where there is none
};

}  // namespace mixtura
