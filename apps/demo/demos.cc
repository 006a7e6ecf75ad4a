// SPDX-License-Identifier: Apache-2.0
#include "demo/demos.h"

namespace quire::apps {

std::vector<Demo> AllDemos() {
  return {
      {"contacts", "a contact book: numbers embedded or referenced", 10'000, "contacts",
       DemoContacts},
      {"nodes", "documents of several types, and a migration in the background", 10'000, "nodes",
       DemoNodes},
      {"attributes", "searchable free-form attributes in three encodings", 5'000, "products",
       DemoAttributes},
      {"transfers", "money between accounts: compensation or transactions", 1'000, "accounts",
       DemoTransfers},
      {"orders", "orders whose total changes with their items", 1'000, "orders", DemoOrders},
      {"events", "an event log: five ways to keep a bounded history", 50'000, "events", DemoEvents},
      {"reports", "hit counts up to the minute in three layouts", 100, "pages", DemoReports},
      {"rollups", "events rolled up into hours, days, weeks, months, years", 2'000, "events",
       DemoRollups},
      {"catalog", "a product catalog: search, prices, full text, facets", 5'000, "products",
       DemoCatalog},
      {"categories", "a tree whose breadcrumbs are read in one go", 2'000, "categories",
       DemoCategories},
      {"inventory", "stock and carts: nothing is sold twice", 200, "articles", DemoInventory},
      {"cms", "pages, blog entries and photos of a site", 1'000, "entries", DemoCms},
      {"comments", "discussions as documents, in an array, as a tree, in pages", 50, "discussions",
       DemoComments},
      {"ads", "ad serving: by price, with frequency caps, by keywords", 50, "zones", DemoAds},
      {"social", "circles, posts and comments: feeds in pages by month", 100, "users", DemoSocial},
      {"inbox", "messages to many: fan out on read, on write, or in buckets", 200, "users",
       DemoInbox},
      {"game", "items and gold from hand to hand in a game's world", 100, "characters", DemoGame},
      {"perf", "samples of monitored machines, kept and summed by day", 20'000, "samples",
       DemoPerf},
  };
}

}  // namespace quire::apps
