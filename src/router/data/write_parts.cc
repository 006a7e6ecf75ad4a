// SPDX-License-Identifier: Apache-2.0
#include "router/data/write_parts.h"

#include <algorithm>

#include "bson/number.h"

namespace quire::router {

namespace {

// What a shard gets at once.
constexpr size_t kMostBytes = size_t{12} << 20;

bool IsAlone(const WriteStatement& statement) {
  return statement.way != placement::WriteWay::kDirect || statement.shards.size() != 1;
}

// The write concern, w: 0 replaced by w: 1.
void AppendAcknowledged(const bson::Element& concern, bson::Builder* out) {
  const bson::Value value = concern.value();
  if (!value.is_document() || !value.AsDocument()["w"].is_number() ||
      bson::ClampedInt64(value.AsDocument()["w"]) != 0) {
    out->Append(concern);
    return;
  }
  out->BeginDocument("writeConcern").Append("w", 1);
  for (const bson::Element& field : value.AsDocument()) {
    if (field.name() != "w") {
      out->Append(field);
    }
  }
  out->End();
}

}  // namespace

std::vector<WritePart> NextParts(const std::vector<WriteStatement>& statements,
                                 const std::vector<size_t>& open, bool ordered) {
  std::vector<WritePart> parts;
  std::vector<size_t> bytes;
  for (const size_t place : open) {
    const WriteStatement& statement = statements[place];
    if (IsAlone(statement)) {
      if (!parts.empty()) {
        if (ordered) {
          break;
        }
        continue;
      }
      for (const placement::ShardName& shard : statement.shards) {
        parts.push_back({shard, {place}});
      }
      return parts;
    }
    const placement::ShardName& shard = statement.shards.front();
    if (ordered && !parts.empty() && parts.front().shard != shard) {
      break;
    }
    auto part = std::find_if(parts.begin(), parts.end(),
                             [&](const WritePart& one) { return one.shard == shard; });
    const size_t size = statement.document.view().size();
    if (part == parts.end()) {
      parts.push_back({shard, {place}});
      bytes.push_back(size);
      continue;
    }
    size_t& sum = bytes[static_cast<size_t>(part - parts.begin())];
    if (sum + size > kMostBytes) {
      if (ordered) {
        break;
      }
      continue;
    }
    sum += size;
    part->statements.push_back(place);
  }
  return parts;
}

bson::Document PartCommand(bson::View command, std::string_view array,
                           const std::vector<WriteStatement>& statements, const WritePart& part,
                           bool with_ids) {
  bson::Builder out;
  for (const bson::Element& field : command) {
    if (field.name() == "writeConcern") {
      AppendAcknowledged(field, &out);
    } else if (field.name() != array && field.name() != "stmtId" && field.name() != "stmtIds") {
      out.Append(field);
    }
  }
  out.BeginArray(array);
  for (const size_t place : part.statements) {
    out.Push(statements[place].document);
  }
  out.End();
  if (with_ids) {
    out.BeginArray("stmtIds");
    for (const size_t place : part.statements) {
      out.Push(statements[place].number);
    }
    out.End();
  }
  return out.Finish();
}

}  // namespace quire::router
