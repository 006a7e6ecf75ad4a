// SPDX-License-Identifier: Apache-2.0
//
// Collections, views and indexes: creating, changing and removing them, with MongoDB's checks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.h"
#include "request/fields.h"

namespace quire::engine {

// Makes a plain collection for a first write, unless another write just did.
Status CreateImplicitly(const Operation& operation, const std::string& ns);

// create: `options` are the command's own fields, already known ones only.
Status CreateCollection(const Operation& operation, const std::string& ns, bson::View options);
// A view on `source` may have this pipeline. OptionNotSupportedOnView for stages that write,
// GraphContainsCycle when it would read itself; else the errors of parsing.
Status CheckViewPipeline(const Operation& operation, const std::string& ns,
                         const std::string& source, bson::View pipeline);
// Whether the collection may have a validator: none of the server's own may.
Status CheckValidatable(std::string_view ns);
// Whether a collection may be created with that name. InvalidNamespace.
Status CheckNewName(std::string_view ns);
// Whether a view of the database may be on that. Errors: BadValue, InvalidNamespace.
Status CheckViewOn(std::string_view database, std::string_view view_on);
// The stages of a view without nulls. TypeMismatch for what is no stage.
Result<bson::Document> ViewPipeline(bson::View stages);
// What a collMod says about a view.
struct ViewChange {
  std::optional<std::string_view> view_on;
  request::ArrayArgument pipeline;
};
Result<ViewChange> ReadViewChange(bson::View command);
// {enabled: bool} of changeStreamPreAndPostImages.
Status CheckChangeImages(bson::View images);
Status DropCollection(const Operation& operation, const std::string& ns, int64_t* indexes);
Status DropDatabase(const Operation& operation, std::string_view database);
Status RenameCollection(const Operation& operation, const std::string& from, const std::string& to,
                        bool drop_target);

// Rebuilds the collection as a capped one of at most `bytes`, keeping its newest documents; only
// the _id index stays.
Status ConvertToCapped(const Operation& operation, const std::string& ns, int64_t bytes);
// Makes a capped collection with the newest documents of another.
Status CloneAsCapped(const Operation& operation, const std::string& from, const std::string& to,
                     int64_t bytes);
// BadValue, with the name of the field, unless a capped collection may have that size.
Status CheckCappedSize(std::string_view field, int64_t bytes);
// InvalidOptions unless documents may live that long.
Status CheckExpireAfterSeconds(int64_t seconds);

struct CreatedIndexes {
  int32_t before = 0;
  int32_t after = 0;
  bool created_collection = false;
  std::string note;  // "all indexes already exist", when nothing was done
};
// `specs` as the command gives them; they are checked, completed and compared with what is there.
Result<CreatedIndexes> CreateIndexes(const Operation& operation, const std::string& ns,
                                     const std::vector<bson::View>& specs);
// The spec without the fields that no index has (ignoreUnknownIndexOptions).
bson::Document KnownIndexOptions(bson::View spec);
// The indexes that dropIndexes means by `index`: a name, "*", a key pattern, or an array of names.
// Errors: IndexNotFound, AmbiguousIndexKeyPattern, InvalidOptions, TypeMismatch.
Result<std::vector<std::string>> IndexesToDrop(const store::CollectionInfo& collection,
                                               const bson::Value& index);
// Gives the number there were before.
Result<int32_t> DropIndexes(const Operation& operation, const std::string& ns,
                            const bson::Value& index);

// Appends the command's reply fields (what was changed, old and new).
Status CollMod(const Operation& operation, const std::string& ns, bson::View command,
               bson::Builder* reply);
// Whether CollMod would take the command, whatever the collection's documents are.
Status CheckCollMod(const Operation& operation, const std::string& ns, bson::View command);

// The complete spec of one index: v, key, name and the options it was given, in MongoDB's order.
// Errors: CannotCreateIndex, InvalidIndexSpecificationOption, BadValue, TypeMismatch...
Result<bson::Document> NormaliseIndexSpec(bson::View spec, const expr::Collator* default_collator);

// The description of the index on _id. `clustered`: the collection's option clusteredIndex, missing
// when it is not clustered.
bson::Document IdIndexSpec(const expr::Collator* collator, const bson::Value& clustered);

}  // namespace quire::engine
