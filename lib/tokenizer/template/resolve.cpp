#include "tokenizer/template/resolve.hpp"

#include <map>
#include <set>

#include "tokenizer/template/builtin.hpp"

namespace mixtura {
namespace {

// What has slots of its own: the template, a macro, a recursive loop, a loop's test.
struct FunctionScope {
    std::uint32_t depth = 0;
    std::uint32_t slot_count = 0;
    // Scopes of one level that follow each other share the slot of a name, as they do in Jinja.
    std::map<std::pair<std::uint32_t, std::string_view>, std::uint32_t> slots;
};

struct Place {
    const FunctionScope* function = nullptr;
    std::uint32_t slot = 0;
};

struct Scope {
    Scope(Scope* outside, FunctionScope& owner)
        : parent(outside), function(owner), level(outside == nullptr ? 0 : outside->level + 1) {}

    const Place* find(std::string_view name) const {
        for (const Scope* scope = this; scope != nullptr; scope = scope->parent) {
            if (const auto found = scope->places.find(name); found != scope->places.end()) return &found->second;
        }
        return nullptr;
    }

    Scope* parent;
    FunctionScope& function;
    std::uint32_t level;
    std::map<std::string_view, Place> places;
    std::map<std::string_view, std::size_t> load_of;  // index into loads
    JinjaScopeLoads loads;
    std::set<std::string_view> stores;
    std::vector<std::string_view> stores_in_order;
};

class Resolver {
  public:
    explicit Resolver(JinjaProgram& program) : program_(program) {}

    Status run() {
        FunctionScope function;
        Scope scope(nullptr, function);
        analyze(scope, program_.body);
        bind(scope, program_.body, false);
        program_.loads = std::move(scope.loads);
        program_.slot_count = function.slot_count;
        return failure_;
    }

  private:
    template <class... Parts>
    void fail(JinjaPosition at, const Parts&... parts) {
        if (failure_.is_ok()) failure_ = Status(StatusCode::invalid_argument, jinja_message(at, parts...));
    }

    JinjaReference reference(const Scope& scope, const Place& place) const {
        return {scope.function.depth - place.function->depth, place.slot};
    }

    std::uint32_t global(std::string_view name) {
        const auto [found, is_new] =
            globals_.try_emplace(name, static_cast<std::uint32_t>(program_.global_names.size()));
        if (is_new) program_.global_names.emplace_back(name);
        return found->second;
    }

    void set_load(Scope& scope, std::string_view name, JinjaLoad load) {
        load.slot = scope.places.at(name).slot;
        const auto [found, is_new] = scope.load_of.try_emplace(name, scope.loads.size());
        if (is_new)
            scope.loads.push_back(load);
        else
            scope.loads[found->second] = load;
    }
    void define(Scope& scope, std::string_view name, JinjaLoad load) {
        const auto [slot, is_new] = scope.function.slots.try_emplace({scope.level, name}, scope.function.slot_count);
        if (is_new) ++scope.function.slot_count;
        scope.places[name] = {&scope.function, slot->second};
        set_load(scope, name, load);
    }
    JinjaLoad global_load(std::string_view name) {
        JinjaLoad load;
        load.kind = JinjaLoad::Kind::global;
        load.global = global(name);
        return load;
    }
    JinjaLoad alias_load(const Scope& scope, const Place& outer) const {
        JinjaLoad load;
        load.kind = JinjaLoad::Kind::alias;
        load.source = reference(scope, outer);
        return load;
    }

    void load(Scope& scope, std::string_view name) {
        if (scope.find(name) == nullptr) define(scope, name, global_load(name));
    }
    void store(Scope& scope, std::string_view name) {
        if (scope.stores.insert(name).second) scope.stores_in_order.push_back(name);
        if (scope.places.count(name) != 0) return;
        const Place* outer = scope.parent == nullptr ? nullptr : scope.parent->find(name);
        define(scope, name, outer == nullptr ? JinjaLoad{} : alias_load(scope, *outer));
    }
    void declare(Scope& scope, std::string_view name) {
        if (scope.stores.insert(name).second) scope.stores_in_order.push_back(name);
        JinjaLoad load;
        load.kind = JinjaLoad::Kind::parameter;
        define(scope, name, load);
    }

    // First pass over a scope: which variables it has and where each comes from when the scope is entered.  Stops at
    // scopes inside.
    void analyze(Scope& scope, const JinjaExpression* node) {
        if (node == nullptr) return;
        if (node->kind == JinjaExpressionKind::name) load(scope, node->text);
        for (const JinjaExpressionPtr& operand : node->operands) analyze(scope, operand.get());
        if (!node->arguments) return;
        for (const JinjaExpressionPtr& argument : node->arguments->positional) analyze(scope, argument.get());
        for (const JinjaKeyword& keyword : node->arguments->keywords) analyze(scope, keyword.value.get());
        analyze(scope, node->arguments->star.get());
        analyze(scope, node->arguments->double_star.get());
    }
    void analyze(Scope& scope, const JinjaTarget& target, bool is_declared) {
        if (target.kind == JinjaTarget::Kind::attribute)
            load(scope, target.name);
        else if (target.kind == JinjaTarget::Kind::name)
            is_declared ? declare(scope, target.name) : store(scope, target.name);
        for (const JinjaTarget& item : target.items) analyze(scope, item, is_declared);
    }
    void analyze(Scope& scope, const JinjaBody& body) {
        for (const auto& node : body) analyze(scope, *node);
    }
    void analyze(Scope& scope, const JinjaStatement& any) {
        switch (any.kind) {
            case JinjaStatementKind::output:
                analyze(scope, static_cast<const JinjaOutput&>(any).expression.get());
                break;
            case JinjaStatementKind::condition:
                analyze_condition(scope, static_cast<const JinjaCondition&>(any));
                break;
            case JinjaStatementKind::loop:
                analyze(scope, static_cast<const JinjaLoopStatement&>(any).iterable.get());
                break;
            case JinjaStatementKind::set:
                analyze(scope, static_cast<const JinjaSet&>(any).value.get());
                analyze(scope, static_cast<const JinjaSet&>(any).target, false);
                break;
            case JinjaStatementKind::set_block:
                analyze(scope, static_cast<const JinjaSetBlock&>(any).target, false);
                break;
            case JinjaStatementKind::with:
                for (const JinjaExpressionPtr& value : static_cast<const JinjaWith&>(any).values)
                    analyze(scope, value.get());
                break;
            case JinjaStatementKind::macro:
                store(scope, static_cast<const JinjaMacroStatement&>(any).macro.name);
                break;
            case JinjaStatementKind::call_block:
                analyze(scope, static_cast<const JinjaCallBlock&>(any).call.get());
                break;
            case JinjaStatementKind::filter_block:
                analyze(scope, static_cast<const JinjaFilterBlock&>(any).filter.get());
                break;
            case JinjaStatementKind::break_loop:
            case JinjaStatementKind::continue_loop: break;
        }
    }
    // A variable that only some branch sets starts as what it is outside.
    void analyze_condition(Scope& scope, const JinjaCondition& node) {
        analyze(scope, node.branches.front().test.get());
        const std::size_t known = scope.stores_in_order.size();
        for (std::size_t i = 0; i < node.branches.size(); ++i) {
            if (i > 0) analyze(scope, node.branches[i].test.get());
            analyze(scope, node.branches[i].body);
        }
        analyze(scope, node.otherwise);
        for (std::size_t i = known; i < scope.stores_in_order.size(); ++i) {
            const std::string_view name = scope.stores_in_order[i];
            const Place* outer = scope.parent == nullptr ? nullptr : scope.parent->find(name);
            set_load(scope, name, outer == nullptr ? global_load(name) : alias_load(scope, *outer));
        }
    }

    // Second pass: every name gets its slot, every scope inside its two passes.  `is_soft`: under an `if`, where Jinja
    // reports an unknown filter only when it is reached.
    void bind(Scope& scope, JinjaExpression* node, bool is_soft) {
        if (node == nullptr || !failure_.is_ok()) return;
        if (node->kind == JinjaExpressionKind::name) node->reference = reference(scope, *scope.find(node->text));
        const bool is_filter = node->kind == JinjaExpressionKind::filter;
        if (is_filter || node->kind == JinjaExpressionKind::test) {
            node->builtin = is_filter ? find_jinja_filter(node->text) : find_jinja_test(node->text);
            if (node->builtin == nullptr && !is_soft) {
                return fail(node->at, "unknown ", is_filter ? "filter " : "test ", quoted(node->text));
            }
        }
        is_soft = is_soft || node->kind == JinjaExpressionKind::conditional;
        for (const JinjaExpressionPtr& operand : node->operands) bind(scope, operand.get(), is_soft);
        if (!node->arguments) return;
        for (const JinjaExpressionPtr& argument : node->arguments->positional) bind(scope, argument.get(), is_soft);
        for (const JinjaKeyword& keyword : node->arguments->keywords) bind(scope, keyword.value.get(), is_soft);
        bind(scope, node->arguments->star.get(), is_soft);
        bind(scope, node->arguments->double_star.get(), is_soft);
    }
    void bind(Scope& scope, JinjaTarget& target) {
        if (target.kind != JinjaTarget::Kind::tuple) target.reference = reference(scope, *scope.find(target.name));
        for (JinjaTarget& item : target.items) bind(scope, item);
    }
    void bind(Scope& scope, JinjaBody& body, bool is_soft) {
        for (const auto& node : body) bind(scope, *node, is_soft);
    }
    void bind(Scope& scope, JinjaStatement& any, bool is_soft) {
        if (!failure_.is_ok()) return;
        switch (any.kind) {
            case JinjaStatementKind::output:
                bind(scope, static_cast<JinjaOutput&>(any).expression.get(), is_soft);
                break;
            case JinjaStatementKind::condition: {
                auto& node = static_cast<JinjaCondition&>(any);
                for (JinjaBranch& branch : node.branches) {
                    bind(scope, branch.test.get(), true);
                    bind(scope, branch.body, true);
                }
                bind(scope, node.otherwise, true);
                break;
            }
            case JinjaStatementKind::loop: bind_loop(scope, static_cast<JinjaLoopStatement&>(any), is_soft); break;
            case JinjaStatementKind::set:
                bind(scope, static_cast<JinjaSet&>(any).value.get(), is_soft);
                bind(scope, static_cast<JinjaSet&>(any).target);
                break;
            case JinjaStatementKind::set_block: {
                auto& node = static_cast<JinjaSetBlock&>(any);
                Scope inner(&scope, scope.function);
                analyze(inner, node.body);
                analyze(inner, node.filter.get());
                bind(inner, node.body, false);
                bind(inner, node.filter.get(), false);
                bind(scope, node.target);
                node.loads = std::move(inner.loads);
                break;
            }
            case JinjaStatementKind::with: {
                auto& node = static_cast<JinjaWith&>(any);
                Scope inner(&scope, scope.function);
                for (const JinjaTarget& target : node.targets) analyze(inner, target, true);
                analyze(inner, node.body);
                for (const JinjaExpressionPtr& value : node.values) bind(scope, value.get(), is_soft);
                for (JinjaTarget& target : node.targets) bind(inner, target);
                bind(inner, node.body, false);
                node.loads = std::move(inner.loads);
                break;
            }
            case JinjaStatementKind::macro: {
                auto& node = static_cast<JinjaMacroStatement&>(any);
                bind_macro(scope, node.macro, node.at);
                bind(scope, node.target);
                break;
            }
            case JinjaStatementKind::call_block: {
                auto& node = static_cast<JinjaCallBlock&>(any);
                bind_macro(scope, node.caller, node.at);
                bind(scope, node.call.get(), is_soft);
                break;
            }
            case JinjaStatementKind::filter_block: {
                auto& node = static_cast<JinjaFilterBlock&>(any);
                Scope inner(&scope, scope.function);
                analyze(inner, node.body);
                analyze(inner, node.filter.get());
                bind(inner, node.body, false);
                bind(inner, node.filter.get(), false);
                node.loads = std::move(inner.loads);
                break;
            }
            case JinjaStatementKind::break_loop:
            case JinjaStatementKind::continue_loop: break;
        }
    }

    void bind_loop(Scope& scope, JinjaLoopStatement& node, bool is_soft) {
        JinjaPosition where;
        if (assigns_jinja_name(node, "loop", where)) return fail(where, "cannot assign to 'loop' inside of a loop");
        FunctionScope own;
        own.depth = scope.function.depth + 1;
        Scope inner(&scope, node.is_recursive ? own : scope.function);
        node.has_loop_variable = node.is_recursive || mentions_jinja_name(node.body, "loop");
        if (node.has_loop_variable) declare(inner, "loop");
        analyze(inner, node.target, true);
        analyze(inner, node.body);
        Scope otherwise(&scope, inner.function);
        analyze(otherwise, node.otherwise);

        bind(scope, node.iterable.get(), is_soft);
        if (node.has_loop_variable) node.loop_variable = reference(inner, *inner.find("loop"));
        bind(inner, node.target);
        bind(inner, node.body, false);
        bind(otherwise, node.otherwise, false);
        node.loads = std::move(inner.loads);
        node.otherwise_loads = std::move(otherwise.loads);
        node.slot_count = own.slot_count;
        if (node.test) bind_loop_test(scope, node);
    }
    void bind_loop_test(Scope& scope, JinjaLoopStatement& node) {
        FunctionScope own;
        own.depth = scope.function.depth + 1;
        Scope inner(&scope, own);
        node.test_target = node.target;
        analyze(inner, node.test_target, true);
        analyze(inner, node.test.get());
        bind(inner, node.test_target);
        bind(inner, node.test.get(), false);
        node.test_loads = std::move(inner.loads);
        node.test_slot_count = own.slot_count;
    }

    void bind_macro(Scope& scope, JinjaMacroDefinition& macro, JinjaPosition at) {
        FunctionScope own;
        own.depth = scope.function.depth + 1;
        Scope inner(&scope, own);
        for (const JinjaParameter& parameter : macro.parameters) declare(inner, parameter.name);
        for (const JinjaParameter& parameter : macro.parameters) analyze(inner, parameter.standard.get());
        analyze(inner, macro.body);
        declare_special(inner, macro, "caller", macro.takes_caller, macro.caller, at);
        declare_special(inner, macro, "kwargs", macro.takes_keywords, macro.keywords, at);
        declare_special(inner, macro, "varargs", macro.takes_rest, macro.rest, at);
        for (JinjaParameter& parameter : macro.parameters) {
            parameter.reference = reference(inner, *inner.find(parameter.name));
            bind(inner, parameter.standard.get(), false);
        }
        bind(inner, macro.body, false);
        macro.loads = std::move(inner.loads);
        macro.slot_count = own.slot_count;
    }
    void declare_special(Scope& inner, const JinjaMacroDefinition& macro, std::string_view name, bool& is_taken,
                         JinjaReference& where, JinjaPosition at) {
        if (!mentions_jinja_name(macro.body, name)) return;
        for (const JinjaParameter& parameter : macro.parameters) {
            if (parameter.name != name) continue;
            if (name == "caller" && !parameter.standard) fail(at, "the parameter 'caller' needs a default");
            return;
        }
        is_taken = true;
        declare(inner, name);
        where = reference(inner, *inner.find(name));
    }

    JinjaProgram& program_;
    std::map<std::string_view, std::uint32_t> globals_;
    Status failure_;
};

}  // namespace

Status resolve_jinja_names(JinjaProgram& program) { return Resolver(program).run(); }

}  // namespace mixtura
