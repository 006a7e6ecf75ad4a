// SPDX-License-Identifier: Apache-2.0
//
// Words too common to search for. Private to expr/text.
#pragma once

#include <string_view>

namespace quire::expr::text {

// `language` is a full name ("english").
bool InStopWords(std::string_view language, std::string_view word);

}  // namespace quire::expr::text
