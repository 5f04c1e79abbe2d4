// Attributes as filters name them: "address.city", "items.0", or a number; and the key that sorting and grouping look
// at.
#pragma once

#include <vector>

#include "tokenizer/template/run.hpp"

namespace mixtura {

class JinjaAttributePath {
  public:
    // `attribute`: text, an integer, or missing or none for the element itself.
    bool parse(JinjaRun& run, const JinjaValue& attribute);
    // What the path finds; undefined where it ends.  `fallback`, unless missing or none, takes the place of undefined.
    bool find(JinjaRun& run, const JinjaValue& element, const JinjaValue& fallback, JinjaValue& out) const;

  private:
    std::vector<JinjaValue> parts_;
};

// The value at the path, text in lower case unless `is_case_sensitive`.
bool jinja_sort_key(JinjaRun& run, const JinjaAttributePath& path, const JinjaValue& element,
                    const JinjaValue& fallback, bool is_case_sensitive, JinjaValue& out);

}  // namespace mixtura
