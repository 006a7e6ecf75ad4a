// SPDX-License-Identifier: Apache-2.0
#include "engine/schema/storage_options.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "base/error_codes.h"
#include "base/try.h"
#include "request/fields.h"

namespace quire::engine {

namespace {

// What WT_SESSION::create takes.
constexpr std::string_view kTableKeys[] = {
    "access_pattern_hint",
    "allocation_size",
    "app_metadata",
    "assert",
    "block_allocation",
    "block_compressor",
    "cache_resident",
    "checksum",
    "colgroups",
    "collator",
    "columns",
    "dictionary",
    "encryption",
    "exclusive",
    "extractor",
    "format",
    "huffman_key",
    "huffman_value",
    "ignore_in_memory_cache_size",
    "immutable",
    "import",
    "internal_item_max",
    "internal_key_max",
    "internal_key_truncate",
    "internal_page_max",
    "key_format",
    "key_gap",
    "leaf_item_max",
    "leaf_key_max",
    "leaf_page_max",
    "leaf_value_max",
    "log",
    "lsm",
    "memory_page_image_max",
    "memory_page_max",
    "os_cache_dirty_max",
    "os_cache_max",
    "prefix_compression",
    "prefix_compression_min",
    "source",
    "split_deepen_min_child",
    "split_deepen_per_child",
    "split_pct",
    "tiered_storage",
    "type",
    "value_format",
    "verbose",
    "write_timestamp_usage",
};

// Where the item that starts at `begin` ends: at a comma outside of brackets and quotes, or at the
// end. npos: brackets or quotes do not match.
size_t EndOfItem(std::string_view text, size_t begin) {
  std::string open;
  bool quoted = false;
  for (size_t i = begin; i < text.size(); ++i) {
    char c = text[i];
    if (quoted) {
      i += c == '\\' ? 1 : 0;
      quoted = c != '"';
    } else if (c == '"') {
      quoted = true;
    } else if (c == '(' || c == '[') {
      open.push_back(c == '(' ? ')' : ']');
    } else if (c == ')' || c == ']') {
      if (open.empty() || open.back() != c) {
        return std::string_view::npos;
      }
      open.pop_back();
    } else if (c == ',' && open.empty()) {
      return i;
    }
  }
  return quoted || !open.empty() ? std::string_view::npos : text.size();
}

std::string_view Trimmed(std::string_view text) {
  size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) {
    return {};
  }
  return text.substr(first, text.find_last_not_of(" \t\r\n") + 1 - first);
}

Status CheckConfigString(std::string_view text) {
  if (text.find('\0') != std::string_view::npos) {
    return {kFailedToParse, "malformed 'configString' value: it must not hold null bytes"};
  }
  for (size_t begin = 0; begin < text.size();) {
    size_t end = EndOfItem(text, begin);
    if (end == std::string_view::npos) {
      return {kBadValue, "unbalanced brackets or quotes in 'configString': " + std::string(text)};
    }
    std::string_view item = text.substr(begin, end - begin);
    std::string_view key = Trimmed(item.substr(0, item.find_first_of("=:")));
    bool known =
        std::find(std::begin(kTableKeys), std::end(kTableKeys), key) != std::end(kTableKeys);
    if (!key.empty() && !known) {
      return {kBadValue, "unknown configuration key in 'configString': " + std::string(key)};
    }
    begin = end + 1;
  }
  return Status::Ok();
}

Status CheckWiredTiger(bson::View options) {
  for (const bson::Element& e : options) {
    if (e.name() != "configString") {
      return {kInvalidOptions, "'" + std::string(e.name()) + "' is not a supported option."};
    }
    if (!e.value().is_string()) {
      return request::WrongType("storageEngine.wiredTiger", e, "string");
    }
    RETURN_IF_ERROR(CheckConfigString(e.value().AsString()));
  }
  return Status::Ok();
}

}  // namespace

Status CheckStorageEngine(bson::View options) {
  for (const bson::Element& e : options) {
    if (!e.value().is_document()) {
      return {kBadValue,
              "'storageEngine." + std::string(e.name()) + "' has to be an embedded document."};
    }
    if (e.name() != "wiredTiger") {
      return {kInvalidOptions,
              std::string(e.name()) + " is not a registered storage engine for this server"};
    }
    RETURN_IF_ERROR(CheckWiredTiger(e.value().AsDocument()));
  }
  return Status::Ok();
}

Status CheckIndexOptionDefaults(bson::View defaults) {
  for (const bson::Element& e : defaults) {
    if (e.name() != "storageEngine") {
      return request::UnknownField("create.indexOptionDefaults", e.name());
    }
    if (!e.value().is_document()) {
      return request::WrongType("create.indexOptionDefaults", e, "object");
    }
    RETURN_IF_ERROR(CheckStorageEngine(e.value().AsDocument()));
  }
  return Status::Ok();
}

}  // namespace quire::engine
