// SPDX-License-Identifier: Apache-2.0
#include "request/request.h"

namespace quire::request {

std::atomic<int64_t> Client::next_id_{1};

}  // namespace quire::request
