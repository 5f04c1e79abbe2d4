// A parsed template.  The parser makes it, the resolver (resolve.hpp) ties its names to slots, the interpreter walks
// it. Chains of one precedence (a + b + c, x and y) are one node, so depth is what the author nested, and bounded.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tokenizer/template/run.hpp"

namespace mixtura {

struct JinjaExpression;
using JinjaExpressionPtr = std::unique_ptr<JinjaExpression>;

// Where a variable lives: a slot of the function `hops` levels outside the current one.
struct JinjaReference {
    std::uint32_t hops = 0;
    std::uint32_t slot = 0;
};

enum class JinjaOperator : std::uint8_t {
    add,
    subtract,
    multiply,
    divide,
    floor_divide,
    modulo,
    power,
    equal,
    not_equal,
    less,
    less_equal,
    greater,
    greater_equal,
    in,
    not_in,
};

struct JinjaOperatorAt {
    JinjaOperator op;
    JinjaPosition at;
};

enum class JinjaExpressionKind : std::uint8_t {
    constant,  // constant: index into the program's constants
    name,      // text, reference
    list,
    tuple,      // operands
    dict,       // operands: key, value, key, value …
    attribute,  // operands[0] . text
    item,       // operands[0] [ operands[1] ]
    slice,      // operands[0] [ operands[1] : operands[2] : operands[3] ], null where left out
    call,       // operands[0] ( arguments )
    filter,     // operands[0] | text ( arguments ); operands[0] null in filter blocks and block sets
    test,       // operands[0] is text ( arguments )
    negative,
    positive,
    logical_not,  // operands[0]
    arithmetic,   // operands[0] operators[0] operands[1] operators[1] …, left to right
    compare,      // likewise, as Python chains comparisons
    concat,       // operands joined by ~
    logical_and,
    logical_or,
    conditional,  // operands[0] if operands[1] else operands[2]; operands[2] may be null
};

struct JinjaKeyword {
    std::string name;
    JinjaExpressionPtr value;
};

struct JinjaArgumentList {
    std::vector<JinjaExpressionPtr> positional;
    std::vector<JinjaKeyword> keywords;
    JinjaExpressionPtr star;         // *expression
    JinjaExpressionPtr double_star;  // **expression
};

struct JinjaExpression {
    JinjaExpressionKind kind = JinjaExpressionKind::constant;
    JinjaPosition at;
    std::uint32_t depth = 1;  // levels of expressions from here down
    std::uint32_t constant = 0;
    JinjaReference reference;
    std::string text;
    std::vector<JinjaExpressionPtr> operands;
    std::vector<JinjaOperatorAt> operators;
    std::unique_ptr<JinjaArgumentList> arguments;
    const JinjaBuiltin* builtin = nullptr;  // of filter and test; null: fails when reached, as Jinja has it inside if
};

// What a name, an attribute of a namespace or a tuple of them is assigned to.
struct JinjaTarget {
    enum class Kind : std::uint8_t { name, attribute, tuple };
    Kind kind = Kind::name;
    JinjaPosition at;
    std::string name;
    std::string attribute;
    JinjaReference reference;
    std::vector<JinjaTarget> items;
};

// What happens to the slots of a scope when it is entered; left, they are all missing again.
struct JinjaLoad {
    enum class Kind : std::uint8_t { parameter, global, alias, missing };
    Kind kind = Kind::missing;
    std::uint32_t slot = 0;
    std::uint32_t global = 0;  // index into the program's global names
    JinjaReference source;     // of an alias
};
using JinjaScopeLoads = std::vector<JinjaLoad>;

enum class JinjaStatementKind : std::uint8_t {
    output,
    condition,
    loop,
    set,
    set_block,
    with,
    macro,
    call_block,
    filter_block,
    break_loop,
    continue_loop,
};

struct JinjaStatement {
    JinjaStatement(JinjaStatementKind k, JinjaPosition where) : kind(k), at(where) {}
    JinjaStatement(const JinjaStatement&) = delete;
    JinjaStatement& operator=(const JinjaStatement&) = delete;
    virtual ~JinjaStatement() = default;
    const JinjaStatementKind kind;
    const JinjaPosition at;
};
using JinjaBody = std::vector<std::unique_ptr<JinjaStatement>>;

// Template text (expression null) or {{ expression }}.
struct JinjaOutput final : JinjaStatement {
    explicit JinjaOutput(JinjaPosition where) : JinjaStatement(JinjaStatementKind::output, where) {}
    std::string data;
    JinjaExpressionPtr expression;
};

struct JinjaBranch {
    JinjaExpressionPtr test;
    JinjaBody body;
};
struct JinjaCondition final : JinjaStatement {
    explicit JinjaCondition(JinjaPosition where) : JinjaStatement(JinjaStatementKind::condition, where) {}
    std::vector<JinjaBranch> branches;  // if, elif …
    JinjaBody otherwise;
};

struct JinjaLoopStatement final : JinjaStatement {
    explicit JinjaLoopStatement(JinjaPosition where) : JinjaStatement(JinjaStatementKind::loop, where) {}
    JinjaTarget target;
    JinjaExpressionPtr iterable;
    JinjaExpressionPtr test;  // for … if test; null
    bool is_recursive = false;
    JinjaBody body;
    JinjaBody otherwise;
    bool has_loop_variable = false;  // the body mentions `loop`
    JinjaReference loop_variable;
    JinjaScopeLoads loads;  // of the body, at each round
    JinjaScopeLoads otherwise_loads;
    JinjaTarget test_target;  // the target once more, in the slots of the test
    JinjaScopeLoads test_loads;
    std::uint32_t test_slot_count = 0;  // the test is a function of its own
    std::uint32_t slot_count = 0;       // where is_recursive: so is the loop
};

struct JinjaSet final : JinjaStatement {
    explicit JinjaSet(JinjaPosition where) : JinjaStatement(JinjaStatementKind::set, where) {}
    JinjaTarget target;
    JinjaExpressionPtr value;
};

struct JinjaSetBlock final : JinjaStatement {
    explicit JinjaSetBlock(JinjaPosition where) : JinjaStatement(JinjaStatementKind::set_block, where) {}
    JinjaTarget target;
    JinjaExpressionPtr filter;  // null: none
    JinjaBody body;
    JinjaScopeLoads loads;
};

struct JinjaWith final : JinjaStatement {
    explicit JinjaWith(JinjaPosition where) : JinjaStatement(JinjaStatementKind::with, where) {}
    std::vector<JinjaTarget> targets;
    std::vector<JinjaExpressionPtr> values;
    JinjaBody body;
    JinjaScopeLoads loads;
};

struct JinjaParameter {
    std::string name;
    JinjaReference reference;
    JinjaExpressionPtr standard;  // its default; null: none
};

// A macro, or what a call block hands to the macro it calls.
struct JinjaMacroDefinition {
    std::string name;  // empty for a call block
    std::vector<JinjaParameter> parameters;
    JinjaBody body;
    JinjaScopeLoads loads;
    std::uint32_t slot_count = 0;
    // The body mentions caller, kwargs, varargs without declaring them.
    bool takes_caller = false, takes_keywords = false, takes_rest = false;
    JinjaReference caller, keywords, rest;
};

struct JinjaMacroStatement final : JinjaStatement {
    explicit JinjaMacroStatement(JinjaPosition where) : JinjaStatement(JinjaStatementKind::macro, where) {}
    JinjaMacroDefinition macro;
    JinjaTarget target;  // the macro's name
};

struct JinjaCallBlock final : JinjaStatement {
    explicit JinjaCallBlock(JinjaPosition where) : JinjaStatement(JinjaStatementKind::call_block, where) {}
    JinjaMacroDefinition caller;
    JinjaExpressionPtr call;  // null for {% generation %}, which prints the caller as it is
};

struct JinjaFilterBlock final : JinjaStatement {
    explicit JinjaFilterBlock(JinjaPosition where) : JinjaStatement(JinjaStatementKind::filter_block, where) {}
    JinjaExpressionPtr filter;
    JinjaBody body;
    JinjaScopeLoads loads;
};

struct JinjaFlowStatement final : JinjaStatement {
    using JinjaStatement::JinjaStatement;
};

struct JinjaConstant {
    JinjaKind kind = JinjaKind::none;
    std::int64_t integer = 0;  // and boolean
    double real = 0;
    std::string text;
};

struct JinjaProgram {
    JinjaBody body;
    JinjaScopeLoads loads;
    std::uint32_t slot_count = 0;
    std::vector<JinjaConstant> constants;
    std::vector<std::string> global_names;  // variables the template expects from outside
};

}  // namespace mixtura
