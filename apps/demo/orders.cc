// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/orders.h"

#include "base/try.h"
#include "demo/demos.h"
#include "quire/doc.h"

namespace quire::apps {
namespace {

using patterns::Orders;

constexpr int64_t kArticles = 20;

Status RunOrders(DesignRun* run) {
  Orders orders(run->client(), run->database());
  RETURN_IF_ERROR(orders.CreateIndexes());
  RETURN_IF_ERROR(
      run->Load("orders", run->size(), [&](int64_t i) { return orders.Create(Numbered("o", i)); }));
  RETURN_IF_ERROR(
      run->Work({{"add item", 70,
                  [&](Worker& w) {
                    const int64_t article = w.chance.Below(kArticles);
                    // One call in 50 names another price than the order has, and is refused.
                    const int64_t price = 100 + article + (w.chance.Below(50) == 0 ? 1 : 0);
                    return orders.Add(Numbered("o", w.chance.Skewed(run->size())),
                                      Numbered("sku", article), price, 1 + w.chance.Below(3));
                  }},
                 {"get", 30, [&](Worker& w) {
                    return orders.Get(Numbered("o", w.chance.Skewed(run->size()))).status();
                  }}}));
  RETURN_IF_ERROR(run->Explain("get", "orders", Doc("_id", Numbered("o", 0))));
  return run->CheckInvariants(orders);
}

}  // namespace

Status DemoOrders(DemoRun* run) { return run->Design("one document", RunOrders); }

}  // namespace quire::apps
