// json/repeated_keys.h: for parse alone.
#pragma once

#include "json/value.h"

namespace d3::json {

/// Leaves each key once: at its first place, with its last value, as Python's json.loads does. Costs no more
/// than sorting the members by key, whatever the keys are.
void merge_repeated_keys(Object& object);

}  // namespace d3::json
