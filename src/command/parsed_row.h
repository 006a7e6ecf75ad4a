// SPDX-License-Identifier: Apache-2.0
//
// Rows whose request is parsed once, before anybody decides whether it may run: what it needs is
// stated by, and what it does is done with, the same parsed object.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#include "base/try.h"
#include "command/command.h"

namespace quire::command {

// A parsed request, whatever its type.
struct Parsed {
  virtual ~Parsed() = default;
};

template <typename R>
struct ParsedAs final : Parsed {
  explicit ParsedAs(R r) : request(std::move(r)) {}
  R request;
};

// Parse: Result<R>(Invocation&). State: Status(Invocation&, const R&, auth::Needs*).
// Run: Status(Invocation&, R&).
template <auto Parse, auto State, auto Run>
constexpr Row ParsedRow(request::CommandInfo info) {
  using R = std::remove_cvref_t<decltype(*Parse(std::declval<Invocation&>()))>;
  return {info, [](Invocation& i) { return Run(i, static_cast<ParsedAs<R>&>(*i.parsed).request); },
          Stated([](Invocation& i, auth::Needs* needs) {
            return State(i, static_cast<const ParsedAs<R>&>(*i.parsed).request, needs);
          }),
          [](Invocation& i) -> Result<std::unique_ptr<Parsed>> {
            ASSIGN_OR_RETURN(R request, Parse(i));
            return std::unique_ptr<Parsed>(std::make_unique<ParsedAs<R>>(std::move(request)));
          }};
}

}  // namespace quire::command
