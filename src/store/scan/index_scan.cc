// SPDX-License-Identifier: Apache-2.0
#include "store/scan/index_scan.h"

#include <algorithm>

#include "base/try.h"
#include "bson/number.h"
#include "bson/ordered.h"
#include "expr/match/leaf.h"

namespace quire::store {

using exec::Step;

namespace {

using expr::match::Kind;
using expr::match::Node;

// Asks a filter of the values of a key, each on its own: they never stand for a whole array.
bool KeyMatches(const Node& node, bson::View key, expr::match::MatchState& state) {
  auto matches = [&](const auto& child) { return KeyMatches(*child, key, state); };
  auto children = node.children();
  switch (node.kind()) {
    case Kind::kAnd:
      return std::all_of(children.begin(), children.end(), matches);
    case Kind::kOr:
      return std::any_of(children.begin(), children.end(), matches);
    case Kind::kNor:
      return std::none_of(children.begin(), children.end(), matches);
    case Kind::kNot:
      return !matches(children[0]);
    default:
      return node.MatchesValue(key[node.path()], state);
  }
}

struct Field {
  std::string_view path;
  bson::Value value;
};

void AppendNested(std::vector<Field> fields, bson::Builder* out) {
  while (!fields.empty()) {
    size_t dot = fields[0].path.find('.');
    if (dot == std::string_view::npos) {
      out->Append(fields[0].path, fields[0].value);
      fields.erase(fields.begin());
      continue;
    }
    std::string_view name = fields[0].path.substr(0, dot);
    std::vector<Field> below;
    std::erase_if(fields, [&](const Field& field) {
      if (!field.path.starts_with(name) || field.path.size() <= dot || field.path[dot] != '.') {
        return false;
      }
      below.push_back({field.path.substr(dot + 1), field.value});
      return true;
    });
    out->BeginDocument(name);
    AppendNested(std::move(below), out);
    out->End();
  }
}

bson::Direction DirectionOf(const IndexKeySpec::Part& part) {
  return part.descending ? bson::Direction::kDescending : bson::Direction::kAscending;
}

}  // namespace

void ExpandKey(bson::View key, std::string* out) {
  std::vector<Field> fields;
  for (const bson::Element& element : key) {
    fields.push_back({element.name(), element.value()});
  }
  bson::Builder builder(out);
  AppendNested(std::move(fields), &builder);
  builder.Close();
}

IndexScan::IndexScan(Transaction* txn, IndexScanOptions options)
    : txn_(txn),
      options_(std::move(options)),
      checker_(&options_.index->keys, &options_.bounds, options_.backward) {}

Result<bool> IndexScan::Open() {
  ++counters_.seeks;
  std::string prefix = TablePrefix(options_.index->table->id);
  kv::Range range = TableRange(options_.index->table->id);
  auto direction = options_.backward ? kv::Direction::kBackward : kv::Direction::kForward;
  bool empty = std::any_of(options_.bounds.parts.begin(), options_.bounds.parts.end(),
                           [](const auto& list) { return list.empty(); });
  if (empty) {
    return false;
  }
  bool one_range = options_.range || options_.bounds.IsRange(&options_.begin, &options_.end);
  checked_ = !one_range || options_.distinct_part.has_value();
  if (one_range) {
    range.begin += options_.begin;
    if (!options_.end.empty()) {
      range.end = prefix + options_.end;
    }
    if (range.begin >= range.end) {
      return false;
    }
  }
  ASSIGN_OR_RETURN(cursor_, txn_->kv().Scan(std::move(range), direction));
  if (one_range) {
    return cursor_->Next();
  }
  target_ = prefix + checker_.Start();
  return SeekTarget();
}

Result<bool> IndexScan::SeekTarget() {
  ASSIGN_OR_RETURN(bool found, cursor_->Seek(target_));
  if (found && options_.backward && cursor_->key() == target_) {
    return cursor_->Next();
  }
  return found;
}

Result<bool> IndexScan::Advance() {
  switch (state_) {
    case State::kStart:
      return Open();
    case State::kNext:
      return cursor_->Next();
    case State::kSeek:
      ++counters_.seeks;
      return SeekTarget();
    case State::kEnd:
      break;
  }
  return false;
}

Step IndexScan::End() {
  state_ = State::kEnd;
  cursor_.reset();
  return Step::kEnd;
}

Result<Step> IndexScan::DoWork(OpContext& op, exec::Row* row) {
  RETURN_IF_ERROR(op.CheckInterrupt());
  if (state_ == State::kEnd) {
    return Step::kEnd;
  }
  ASSIGN_OR_RETURN(bool found, Advance());
  if (found || options_.count) {
    ++counters_.keys_examined;
  }
  if (!found) {
    return End();
  }
  state_ = State::kNext;
  std::string_view key = cursor_->key().substr(4);
  if (checked_) {
    if (!options_.range) {
      std::string target;
      switch (checker_.Check(key, &target)) {
        case KeyPlace::kInside:
          break;
        case KeyPlace::kPast:
          return End();
        case KeyPlace::kSkip:
          target_ = cursor_->key().substr(0, 4);
          target_ += target;
          state_ = State::kSeek;
          return Step::kAgain;
      }
    }
    if (options_.distinct_part.has_value()) {
      // From here to behind all keys with the same values.
      bson::OrderedReader reader(key, "");
      for (size_t part = 0; part <= *options_.distinct_part; ++part) {
        reader.Skip(DirectionOf(options_.index->keys.parts[part]));
      }
      target_.assign(cursor_->key().substr(0, cursor_->key().size() - reader.rest().size()));
      if (!options_.backward) {
        target_.push_back('\xff');
      }
      state_ = State::kSeek;
    }
  }
  return Wanted(row) ? Step::kRow : Step::kAgain;
}

bool IndexScan::Wanted(exec::Row* row) {
  std::string_view key = cursor_->key().substr(4);
  std::string_view type_bits = cursor_->value();
  RecordId id;
  if (!options_.index->keys_have_ids) {
    id = ReadRecordId(type_bits);
    type_bits.remove_prefix(8);
  } else {
    id = ReadRecordId(key.substr(key.size() - 8));
    key.remove_suffix(8);
  }
  if (options_.dedup) {
    ++counters_.dups_tested;
    if (!seen_.insert(id).second) {
      ++counters_.dups_dropped;
      return false;
    }
  }
  row->document = bson::View();
  row->fetched = false;
  row->meta = expr::Metadata();
  row->meta.record_id = id;
  row->meta.has_record_id = true;
  bool read = options_.filter != nullptr || options_.show_key || options_.return_key ||
              options_.score_part.has_value();
  if (!read) {
    return true;
  }
  key_ = DecodeKey(options_.index->keys, key, type_bits);
  if (options_.filter != nullptr) {
    expr::match::MatchState state;
    if (!KeyMatches(*options_.filter, key_, state)) {
      return false;
    }
  }
  if (options_.score_part.has_value()) {
    bson::Value score = key_[options_.index->keys.parts[*options_.score_part].path];
    row->meta.text_score = score.is_number() ? bson::ToDouble(score) : 0;
    row->meta.has_text_score = true;
  }
  if (options_.show_key) {
    shown_.clear();
    ExpandKey(key_, &shown_);
    row->document = bson::View(shown_.data());
  }
  if (options_.return_key) {
    row->meta.index_key = bson::Value(key_.view());
  }
  return true;
}

}  // namespace quire::store
