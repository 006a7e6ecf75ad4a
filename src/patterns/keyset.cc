// SPDX-License-Identifier: Apache-2.0
#include "patterns/keyset.h"

#include <iterator>
#include <utility>
#include <vector>

#include "base/try.h"
#include "patterns/doc.h"

namespace quire::patterns {

namespace {

using bson::Document;

std::vector<std::string_view> NamesOf(const Document& sort) {
  std::vector<std::string_view> names;
  for (const bson::Element& field : sort.view()) {
    names.push_back(field.name());
  }
  return names;
}

// What comes after the value in the direction of the sort, in intervals in order. $lt and $gt stay
// within one type, so that what is missing (null sorts before all) is an interval of its own.
std::vector<Document> Beyond(std::string_view field, const bson::Value& value, bool ascending) {
  if (ascending) {
    return {Doc(field, value.nullish() ? Doc("$ne", bson::Value::Null()) : Doc("$gt", value))};
  }
  if (value.nullish()) {
    return {};
  }
  if (field == "_id") {
    return {Doc(field, Doc("$lt", value))};
  }
  return {Doc(field, Doc("$lt", value)), Doc(field, bson::Value::Null())};
}

// The documents that have the first fields of the key and are beyond it in the next: the rest of
// its equals first, field by field from the last.
std::vector<Document> BeyondIntervals(const Document& sort, const Document& key) {
  std::vector<Document> intervals;
  const std::vector<std::string_view> names = NamesOf(sort);
  for (size_t equal = names.size(); equal-- > 0;) {
    const bool ascending = sort[names[equal]].AsInt64() > 0;
    for (const Document& beyond : Beyond(names[equal], key[names[equal]], ascending)) {
      bson::Builder out;
      for (size_t i = 0; i < equal; ++i) {
        out.Append(names[i], key[names[i]]);
      }
      intervals.push_back(out.AppendFields(beyond).Finish());
    }
  }
  return intervals;
}

Document KeyOf(const Document& sort, const Document& document) {
  bson::Builder out;
  for (const bson::Element& field : sort.view()) {
    bson::Value value = At(document, field.name());
    out.Append(field.name(), value.missing() ? bson::Value::Null() : value);
  }
  return out.Finish();
}

}  // namespace

Document BeyondKey(const Document& sort, const Document& key) {
  return Doc("$or", ListOf(BeyondIntervals(sort, key)));
}

Result<Page> FindPage(const Store& store, std::string_view collection, const Document& filter,
                      const Document& sort, const PageRequest& page, FindOptions options) {
  std::vector<Document> filters = {filter};
  if (!page.after.empty()) {
    ASSIGN_OR_RETURN(Document after, DecodePageEnd(page.after, NamesOf(sort)));
    filters.clear();
    for (const Document& beyond : BeyondIntervals(sort, after)) {
      filters.push_back(filter.empty() ? beyond : Doc("$and", List(filter, beyond)));
    }
  }
  Page result;
  options.sort = sort;
  for (const Document& one : filters) {
    options.limit = page.limit - static_cast<int64_t>(result.documents.size());
    if (options.limit <= 0) {
      break;
    }
    ASSIGN_OR_RETURN(auto found, store.Find(collection, one, options));
    std::move(found.begin(), found.end(), std::back_inserter(result.documents));
  }
  if (page.limit > 0 && static_cast<int64_t>(result.documents.size()) == page.limit) {
    result.next = EncodePageEnd(KeyOf(sort, result.documents.back()));
  }
  return result;
}

}  // namespace quire::patterns
