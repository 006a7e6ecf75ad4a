// SPDX-License-Identifier: Apache-2.0
#include <set>
#include <utility>

#include "base/try.h"
#include "patterns/catalog/product.h"
#include "patterns/catalog/work.h"
#include "patterns/doc.h"
#include "patterns/walk.h"
#include "quire/patterns/lease.h"

namespace quire::patterns {

namespace {

using bson::Document;

constexpr char kProducts[] = "products";
constexpr char kSkus[] = "sku_registry";
constexpr int64_t kSweepBatch = 500;

Document BySku(std::string_view sku) { return Doc("sku", sku); }

}  // namespace

Catalog::Work::Work(const Client& client, std::string_view database, CatalogOptions options)
    : options_(std::move(options)),
      store_(client, database, options_.seams, options_.concerns),
      calls_(store_, "catalog") {}

std::vector<IndexSpec> Catalog::Work::Indexes() const {
  std::vector<IndexSpec> indexes = {
      {kProducts, R"({"sku": 1})", !options_.sku_registry},
      {kProducts, R"({"pricing.pct_savings": -1, "_id": 1})"},
      {kProducts, R"({"type": 1, "details.genre": 1, "details.issue_date": -1, "_id": 1})"},
      {kProducts, R"({"type": 1, "details.actor": 1, "details.issue_date": -1, "_id": 1})"},
      {kProducts, R"({"type": 1, "details.artist": 1, "details.issue_date": -1, "_id": 1})"},
      {kProducts, R"({"type": 1, "details.director": 1, "details.issue_date": -1, "_id": 1})"},
      {kProducts, R"({"type": 1, "details.issue_date": -1, "title": 1, "_id": 1})"},
      {kProducts, R"({"type": 1, "title": 1, "_id": 1})"},
      {kProducts, R"({"type": 1, "title_lc": 1, "_id": 1})"},
      {kProducts, R"({"type": 1, "pricing.retail": 1, "_id": 1})"},
      {.collection = kProducts,
       .keys = R"({"title": "text", "details.artist": "text", "details.title": "text",
                   "details.actor": "text", "details.director": "text", "details.writer": "text",
                   "details.genre": "text", "details.tracks": "text", "description": "text"})",
       .options = R"({"weights": {"title": 10, "details.artist": 3, "details.title": 3,
                      "details.actor": 3, "details.director": 3, "details.writer": 3,
                      "details.genre": 3, "details.tracks": 3, "description": 1}})"},
      Idempotency::Index(),
  };
  if (options_.sku_registry) {
    indexes.push_back({kSkus, R"({"used": 1, "at": 1})"});
  }
  return indexes;
}

std::vector<ShardKeySpec> Catalog::Work::ShardKeys() const {
  if (!options_.sku_registry) {
    return {{kProducts, R"({"sku": "hashed"})"}, Idempotency::ShardKey()};
  }
  return {{kProducts, R"({"type": 1, "primary_genre": 1, "sku": 1})"},
          {kSkus, R"({"_id": "hashed"})"},
          Idempotency::ShardKey()};
}

Result<int64_t> Catalog::Work::Put(const Product& product, std::optional<int64_t> expected_rev,
                                   const CallKey& key) const {
  RETURN_IF_ERROR(CheckProduct(product));
  bson::Builder arguments;
  arguments.Append("product", ProductFields(product));
  if (expected_rev) {
    arguments.Append("rev", *expected_rev);
  }
  ASSIGN_OR_RETURN(
      Document done, calls_.Once("catalog.put", key, arguments.Finish(), [&](const Claim& claim) {
        return expected_rev ? Change(product, *expected_rev, claim) : Insert(product, claim);
      }));
  return IntegerAt(done, "rev");
}

// The claim's id is the product's: a repeat finds its own.
Result<Document> Catalog::Work::Insert(const Product& product, const Claim& claim) const {
  if (options_.sku_registry) {
    RETURN_IF_ERROR(Reserve(product.sku, claim));
    RETURN_IF_ERROR(store_.seams().After("catalog.put.c1"));
  }
  const Document fields = ProductFields(product);
  bson::Builder document;
  document.Append("_id", claim.id).AppendFields(fields);
  document.Append("rev", int64_t{1});
  Status inserted = store_.Insert(kProducts, document.Finish());
  if (IsDuplicateKey(inserted)) {
    ASSIGN_OR_RETURN(auto mine,
                     store_.FindOne(kProducts, Doc("_id", claim.id, "sku", product.sku)));
    inserted = mine ? Status::Ok() : MakeError(Error::kDuplicateSku, product.sku);
  }
  if (options_.sku_registry && IsFinal(inserted)) {
    RETURN_IF_ERROR(Release(product.sku, claim));
  }
  RETURN_IF_ERROR(inserted);
  RETURN_IF_ERROR(store_.seams().After("catalog.put.c2"));
  if (options_.sku_registry) {
    RETURN_IF_ERROR(Confirm(product.sku, claim));
  }
  return Doc("rev", int64_t{1});
}

Status Catalog::Work::Reserve(const std::string& sku, const Claim& claim) const {
  Status reserved =
      store_.Insert(kSkus, Doc("_id", sku, "product", claim.id, "at", store_.Now(), "used", false));
  if (!IsDuplicateKey(reserved)) {
    return reserved;
  }
  ASSIGN_OR_RETURN(auto mine, store_.FindOne(kSkus, Doc("_id", sku, "product", claim.id)));
  return mine ? Status::Ok() : MakeError(Error::kDuplicateSku, sku);
}

// A product that was refused leaves its sku to others.
Status Catalog::Work::Release(const std::string& sku, const Claim& claim) const {
  RETURN_IF_ERROR(
      store_.DeleteOne(kSkus, Doc("_id", sku, "product", claim.id, "used", false)).status());
  return store_.seams().After("catalog.put.c5");
}

// A put that was paused until its sku was freed takes its product back.
Status Catalog::Work::Confirm(const std::string& sku, const Claim& claim) const {
  ASSIGN_OR_RETURN(int64_t kept, store_.UpdateOne(kSkus, Doc("_id", sku, "product", claim.id),
                                                  Doc("$set", Doc("used", true))));
  if (kept == 1) {
    return store_.seams().After("catalog.put.c3");
  }
  RETURN_IF_ERROR(store_.DeleteOne(kProducts, Doc("_id", claim.id, "sku", sku)).status());
  RETURN_IF_ERROR(store_.seams().After("catalog.put.c4"));
  return MakeError(Error::kContention, sku + " was freed meanwhile");
}

Result<Document> Catalog::Work::Change(const Product& product, int64_t expected,
                                       const Claim& claim) const {
  Document seen = Doc("sku", product.sku, "rev", expected);
  if (options_.sku_registry) {  // an update of one document names the whole shard key
    ASSIGN_OR_RETURN(auto now, store_.FindOne(kProducts, BySku(product.sku)));
    if (!now) {
      return MakeError(Error::kNotFound, product.sku);
    }
    seen = Doc("_id", (*now)["_id"], "type", (*now)["type"], "primary_genre",
               (*now)["primary_genre"], "sku", product.sku, "rev", expected);
  }
  const Document update = Doc("$set", ProductFields(product), "$inc", Doc("rev", int64_t{1}));
  ASSIGN_OR_RETURN(int64_t matched,
                   store_.UpdateOne(kProducts, Unmarked(seen, claim), Marking(update, claim)));
  if (matched == 0) {
    ASSIGN_OR_RETURN(auto found, store_.FindOne(kProducts, BySku(product.sku)));
    if (!found) {
      return MakeError(Error::kNotFound, product.sku);
    }
    if (!Marked(*found, claim)) {
      return MakeError(Error::kConflict,
                       product.sku + " is at " + std::to_string(IntegerAt(*found, "rev")));
    }
  }
  RETURN_IF_ERROR(store_.seams().After("catalog.change.c1"));
  return Doc("rev", expected + 1);
}

Result<Product> Catalog::Work::Get(std::string_view sku) const {
  ASSIGN_OR_RETURN(auto found, store_.FindOne(kProducts, BySku(sku)));
  return found ? Result<Product>(ProductOf(*found)) : MakeError(Error::kNotFound, sku);
}

Result<JobReport> Catalog::Work::SweepSkus() const {
  if (!options_.sku_registry) {
    return JobReport{};
  }
  const Document old =
      Doc("used", false, "at", Doc("$lt", store_.Ago(options_.tombstone_retention)));
  OldestFirst unused(store_, kSkus, old, "at");
  auto sweep_batch = [&](JobReport* report) -> Result<bool> {
    ASSIGN_OR_RETURN(auto rows, unused.Next(kSweepBatch));
    for (const Document& row : rows) {
      RETURN_IF_ERROR(report->Count(SweepSku(row)));
    }
    return unused.more();
  };
  return RepeatLeased(Lease(store_, "catalog.sweep_skus", options_.worker, options_.lease),
                      sweep_batch);
}

// Between the look and the deletion the product may have come: then the sku is kept for it again.
Result<int64_t> Catalog::Work::SweepSku(const Document& row) const {
  const Document same = Doc("_id", row["_id"], "product", row["product"], "used", false);
  const Document product = Doc("_id", row["product"]);
  ASSIGN_OR_RETURN(auto carried, store_.FindOne(kProducts, product));
  if (carried) {
    ASSIGN_OR_RETURN(int64_t used, store_.UpdateOne(kSkus, same, Doc("$set", Doc("used", true))));
    RETURN_IF_ERROR(store_.seams().After("catalog.sweep_skus.c1"));
    return used;
  }
  ASSIGN_OR_RETURN(int64_t freed, store_.DeleteOne(kSkus, same));
  RETURN_IF_ERROR(store_.seams().After("catalog.sweep_skus.c2"));
  ASSIGN_OR_RETURN(auto late, store_.FindOne(kProducts, product));
  if (late) {
    Status kept = store_.Insert(kSkus, row);
    if (!IsDuplicateKey(kept)) {
      RETURN_IF_ERROR(kept);
    }
    RETURN_IF_ERROR(store_.seams().After("catalog.sweep_skus.c3"));
  }
  return freed;
}

Result<std::vector<std::string>> Catalog::Work::CheckInvariants() const {
  std::vector<std::string> wrong;
  std::set<std::string> skus;
  auto check = [&](const Document& stored) -> Status {
    const Product product = ProductOf(stored);
    if (!skus.insert(product.sku).second) {
      wrong.push_back("a sku twice: " + product.sku);
    }
    Status allowed = CheckProduct(product);
    if (!allowed.ok()) {
      wrong.push_back(product.sku + ": " + allowed.message());
      return Status::Ok();
    }
    const Document computed = ProductFields(product);
    for (const char* field : {"title_lc", "pricing", "primary_genre"}) {
      if (!stored[field].BinaryEquals(computed[field])) {
        wrong.push_back(std::string(field) + " of " + product.sku);
      }
    }
    if (options_.sku_registry) {
      ASSIGN_OR_RETURN(auto row, store_.FindOne(kSkus, Doc("_id", product.sku)));
      if (!row) {
        wrong.push_back("not registered: " + product.sku);
      }
    }
    return Status::Ok();
  };
  RETURN_IF_ERROR(Walk(store_, kProducts, check));
  return wrong;
}

}  // namespace quire::patterns
