// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/cms.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/try.h"
#include "patterns/doc.h"
#include "patterns/keyset.h"
#include "quire/patterns/buckets.h"
#include "quire/patterns/lease.h"

namespace quire::patterns {

namespace {

using bson::Document;

constexpr char kNodes[] = "cms.nodes";
constexpr char kFiles[] = "cms.assets.files";
constexpr char kChunks[] = "cms.assets.chunks";
constexpr char kPhoto[] = "photo";
constexpr int64_t kBatch = 1000;

struct TypeRow {
  std::string_view type;
  std::string_view field;
  bson::Type is;
};
constexpr TypeRow kTypes[] = {{"basic-page", "text", bson::Type::kString},
                              {"blog-entry", "text", bson::Type::kString},
                              {"blog-entry", "publish_on", bson::Type::kDate}};

Status CheckDetail(const Node& node) {
  bool known = false;
  for (const TypeRow& row : kTypes) {
    if (row.type != node.type) {
      continue;
    }
    known = true;
    bson::Value value = node.detail[row.field];
    if (value.type() != row.is) {
      return MakeError(value.missing() ? Error::kMissingField : Error::kWrongType,
                       "detail." + std::string(row.field));
    }
  }
  return known ? Status::Ok() : MakeError(Error::kUnknownType, node.type);
}

Document ByKey(std::string_view section, std::string_view slug) {
  return Doc("metadata.section", section, "metadata.slug", slug);
}
Document ByVersion(std::string_view section, std::string_view slug, const bson::ObjectId& nonce) {
  return Doc("metadata.section", section, "metadata.slug", slug, "metadata.nonce", nonce);
}

Document PhotoDetail(const Photo& photo, const GridFsFile& file) {
  return Doc("file_id", file.id, "filename", photo.filename, "resolution",
             List(photo.width, photo.height), "content_type", photo.content_type, "length",
             file.length);
}

Status CheckPlace(const Node& node) {
  return node.section.empty() || node.slug.empty()
             ? MakeError(Error::kInvalidName, "a node has a section and a slug")
             : Status::Ok();
}

std::vector<std::string> Distinct(const std::vector<std::string>& tags) {
  std::vector<std::string> distinct;
  for (const std::string& tag : tags) {
    if (std::find(distinct.begin(), distinct.end(), tag) == distinct.end()) {
      distinct.push_back(tag);
    }
  }
  return distinct;
}

// What tells one call from another with its key.
Document NodeArguments(const Node& node) {
  return Doc("section", node.section, "slug", node.slug, "type", node.type, "title", node.title,
             "author", node.author.id, "tags", ListOf(node.tags), "published",
             node.published ? bson::Value(*node.published) : bson::Value(), "detail", node.detail);
}
Document PhotoArguments(const Photo& photo) {
  return Doc("filename", photo.filename, "type", photo.content_type, "width", photo.width, "height",
             photo.height, "by", photo.uploaded_by);
}

Node NodeOf(const Document& document) {
  const Document metadata(document["metadata"].AsDocument());
  Node node;
  node.section = TextAt(metadata, "section");
  node.slug = TextAt(metadata, "slug");
  node.type = TextAt(metadata, "type");
  node.title = TextAt(metadata, "title");
  node.author = {std::string(TextAt(metadata, "author.id")),
                 std::string(TextAt(metadata, "author.name"))};
  for (const bson::Element& tag : metadata["tags"].AsArray()) {
    node.tags.emplace_back(tag.value().AsString());
  }
  if (metadata["published"].type() == bson::Type::kDate) {
    node.published = metadata["published"].AsDate();
  }
  node.detail = Document(metadata["detail"].AsDocument());
  node.nonce = metadata["nonce"].AsObjectId();
  node.created = metadata["created"].AsDate();
  node.updated = metadata["updated"].AsDate();
  return node;
}

}  // namespace

Cms::Cms(const Client& client, std::string_view database, CmsOptions options)
    : options_(std::move(options)),
      store_(client, database, options_.seams),
      assets_(client, database,
              {.bucket = "cms.assets", .chunk_size = options_.chunk_size, .seams = options_.seams}),
      calls_(store_, "cms") {}

std::vector<IndexSpec> Cms::Indexes() {
  return {
      {kNodes, R"({"metadata.section": 1, "metadata.slug": 1})", true},
      {kNodes, R"({"metadata.tags": 1, "metadata.published": -1, "_id": 1})"},
      {kNodes, R"({"metadata.section": 1, "metadata.type": 1, "metadata.published": -1,
                   "_id": 1})"},
      {.collection = kNodes,
       .keys = R"({"metadata.detail.file_id": 1})",
       .options = R"({"sparse": true})"},
      {kFiles, R"({"filename": 1, "uploadDate": 1})"},
      {kFiles, R"({"metadata.state": 1, "metadata.at": 1, "_id": 1})"},
      {kChunks, R"({"files_id": 1, "n": 1})", true},
      Idempotency::Index(),
  };
}

std::vector<ShardKeySpec> Cms::ShardKeys() {
  return {{kNodes, R"({"metadata.section": 1, "metadata.slug": 1})"},
          {kChunks, R"({"files_id": 1, "n": 1})"},
          Idempotency::ShardKey()};
}

Result<bson::ObjectId> Cms::CreateNode(const Node& node, const CallKey& key) const {
  RETURN_IF_ERROR(CheckDetail(node));
  RETURN_IF_ERROR(CheckPlace(node));
  auto create = [&](const Claim& claim) -> Result<Document> {
    ASSIGN_OR_RETURN(bson::ObjectId nonce, Insert(node, claim));
    return Doc("nonce", nonce);
  };
  ASSIGN_OR_RETURN(Document made, calls_.Once("cms.create_node", key, NodeArguments(node), create));
  return made["nonce"].AsObjectId();
}

// The claim's id is both the node's and its first nonce.
Result<bson::ObjectId> Cms::Insert(const Node& node, const Claim& claim) const {
  const bson::Date now = store_.Now();
  const Document metadata =
      Doc("nonce", claim.id, "section", node.section, "slug", node.slug, "type", node.type, "title",
          node.title, "created", now, "updated", now, "published",
          node.published ? bson::Value(*node.published) : bson::Value::Null(), "author",
          Doc("id", node.author.id, "name", node.author.name), "tags", ListOf(Distinct(node.tags)),
          "detail", node.detail);
  Status inserted = store_.Insert(kNodes, Doc("_id", claim.id, "metadata", metadata));
  if (IsDuplicateKey(inserted)) {
    ASSIGN_OR_RETURN(auto mine, store_.FindOne(kNodes, Doc("_id", claim.id)));
    inserted = mine ? Status::Ok() : MakeError(Error::kSlugTaken, node.slug);
  }
  RETURN_IF_ERROR(inserted);
  const char* operation = node.type == kPhoto ? "cms.upload_photo.c3" : "cms.create_node.c1";
  RETURN_IF_ERROR(store_.seams().After(operation));
  return claim.id;
}

// Why no version of that nonce was found.
Status Cms::Refusal(std::string_view section, std::string_view slug) const {
  ASSIGN_OR_RETURN(auto found, store_.FindOne(kNodes, ByKey(section, slug)));
  if (!found) {
    return MakeError(Error::kNotFound, slug);
  }
  const Document stored =
      Doc("nonce", At(*found, "metadata.nonce"), "detail", At(*found, "metadata.detail"));
  return MakeError(Error::kEditConflict, slug).WithExtra(stored.bytes());
}

Result<bson::ObjectId> Cms::UpdateText(std::string_view section, std::string_view slug,
                                       const bson::ObjectId& nonce, std::string_view text,
                                       const CallKey& key) const {
  auto save = [&](const Claim& claim) -> Result<Document> {
    const Document set = Doc("metadata.detail.text", text, "metadata.nonce", claim.id,
                             "metadata.updated", store_.Now());
    ASSIGN_OR_RETURN(int64_t saved,
                     store_.UpdateOne(kNodes, Unmarked(ByVersion(section, slug, nonce), claim),
                                      Marking(Doc("$set", set), claim)));
    if (saved == 0) {
      ASSIGN_OR_RETURN(auto mine, store_.FindOne(kNodes, ByKey(section, slug)));
      if (!mine || !Marked(*mine, claim)) {
        return Refusal(section, slug);
      }
    }
    RETURN_IF_ERROR(store_.seams().After("cms.update_text.c1"));
    return Doc("nonce", claim.id);
  };
  ASSIGN_OR_RETURN(
      Document saved,
      calls_.Once("cms.update_text", key,
                  Doc("section", section, "slug", slug, "nonce", nonce, "text", text), save));
  return saved["nonce"].AsObjectId();
}

// A call that was repeated, and whose first try comes late, changes nothing the second time.
Status Cms::Edit(std::string_view operation, std::string_view section, std::string_view slug,
                 const Document& update, const CallKey& key) const {
  const Document where = ByKey(section, slug);
  auto edit = [&](const Claim& claim) -> Status {
    ASSIGN_OR_RETURN(int64_t matched,
                     store_.UpdateOne(kNodes, Unmarked(where, claim), Marking(update, claim)));
    RETURN_IF_ERROR(store_.seams().After(operation, 1));
    if (matched == 0) {
      ASSIGN_OR_RETURN(auto found, store_.FindOne(kNodes, where));
      return found && Marked(*found, claim) ? Status::Ok() : MakeError(Error::kNotFound, slug);
    }
    return Status::Ok();
  };
  return calls_.DoOnce(operation, key, Doc("node", where, "update", update), edit);
}

Status Cms::AddTags(std::string_view section, std::string_view slug,
                    const std::vector<std::string>& tags, const CallKey& key) const {
  return Edit("cms.add_tags", section, slug,
              Doc("$addToSet", Doc("metadata.tags", Doc("$each", ListOf(tags)))), key);
}

Status Cms::RemoveTags(std::string_view section, std::string_view slug,
                       const std::vector<std::string>& tags, const CallKey& key) const {
  return Edit("cms.remove_tags", section, slug,
              Doc("$pull", Doc("metadata.tags", Doc("$in", ListOf(tags)))), key);
}

Status Cms::Publish(std::string_view section, std::string_view slug, bson::Date when,
                    const CallKey& key) const {
  return Edit("cms.publish", section, slug, Doc("$set", Doc("metadata.published", when)), key);
}

Status Cms::Unpublish(std::string_view section, std::string_view slug, const CallKey& key) const {
  return Edit("cms.unpublish", section, slug,
              Doc("$set", Doc("metadata.published", bson::Value::Null())), key);
}

Result<GridFsFile> Cms::Stage(std::string_view operation, std::string_view section,
                              std::string_view slug, const Photo& photo) const {
  const Document metadata = Doc("node_key", Doc("section", section, "slug", slug), "state",
                                "staged", "at", store_.Now(), "uploaded_by", photo.uploaded_by);
  ASSIGN_OR_RETURN(GridFsUpload upload, assets_.OpenUpload(photo.filename, {.metadata = metadata}));
  for (bool more = true; more;) {
    Result<std::string> bytes = photo.read();
    if (!bytes.ok()) {
      RETURN_IF_ERROR(upload.Abort());
      return bytes.status();
    }
    more = !bytes->empty();
    RETURN_IF_ERROR(upload.Write(*bytes));
  }
  ASSIGN_OR_RETURN(GridFsFile file, upload.Finish());
  RETURN_IF_ERROR(store_.seams().After(operation, 1));
  RETURN_IF_ERROR(SetState(file.id.value(), "staged", "live"));
  RETURN_IF_ERROR(store_.seams().After(operation, 2));
  return file;
}

Status Cms::SetState(const bson::Value& file, std::string_view from, std::string_view to) const {
  return store_
      .UpdateOne(kFiles, Doc("_id", file, "metadata.state", from),
                 Doc("$set", Doc("metadata.state", to, "metadata.at", store_.Now())))
      .status();
}

Result<bson::ObjectId> Cms::UploadPhoto(const Node& node, const Photo& photo,
                                        const CallKey& key) const {
  const Document arguments = Doc("node", NodeArguments(node), "photo", PhotoArguments(photo));
  ASSIGN_OR_RETURN(Document shown,
                   calls_.Once("cms.upload_photo", key, arguments,
                               [&](const Claim& claim) { return UploadOnce(node, photo, claim); }));
  return shown["nonce"].AsObjectId();
}

// Every try uploads a file of its own; the node, whose _id is the claim's, shows one of them.
Result<Document> Cms::UploadOnce(const Node& node, const Photo& photo, const Claim& claim) const {
  if (claim.repeated) {
    ASSIGN_OR_RETURN(auto made, store_.FindOne(kNodes, Doc("_id", claim.id)));
    if (made) {
      return Doc("nonce", claim.id);
    }
  }
  RETURN_IF_ERROR(CheckPlace(node));
  ASSIGN_OR_RETURN(GridFsFile file, Stage("cms.upload_photo", node.section, node.slug, photo));
  Node shown = node;
  shown.type = kPhoto;
  shown.detail = PhotoDetail(photo, file);
  auto nonce = Insert(shown, claim);
  if (!nonce.ok() && !IsFinal(nonce.status())) {
    return nonce.status();
  }
  ASSIGN_OR_RETURN(bool mine, Shown(file.id.value()));
  if (!mine) {
    RETURN_IF_ERROR(SetState(file.id.value(), "live", "dead"));
    RETURN_IF_ERROR(store_.seams().After("cms.upload_photo", 4));
  }
  RETURN_IF_ERROR(nonce.status());
  return Doc("nonce", claim.id);
}

Result<bson::ObjectId> Cms::ReplacePhoto(std::string_view section, std::string_view slug,
                                         const bson::ObjectId& nonce, const Photo& photo,
                                         const CallKey& key) const {
  const Document arguments =
      Doc("section", section, "slug", slug, "nonce", nonce, "photo", PhotoArguments(photo));
  ASSIGN_OR_RETURN(Document shown,
                   calls_.Once("cms.replace_photo", key, arguments, [&](const Claim& claim) {
                     return ReplaceOnce(section, slug, nonce, photo, claim);
                   }));
  return shown["nonce"].AsObjectId();
}

Result<Document> Cms::ReplaceOnce(std::string_view section, std::string_view slug,
                                  const bson::ObjectId& nonce, const Photo& photo,
                                  const Claim& claim) const {
  ASSIGN_OR_RETURN(auto before, store_.FindOne(kNodes, ByKey(section, slug)));
  if (before && Marked(*before, claim)) {
    return Doc("nonce", claim.id);
  }
  if (!before || !(At(*before, "metadata.nonce").AsObjectId() == nonce)) {
    return Refusal(section, slug);
  }
  if (TextAt(*before, "metadata.type") != kPhoto) {
    return MakeError(Error::kWrongType, slug);
  }
  ASSIGN_OR_RETURN(GridFsFile file, Stage("cms.replace_photo", section, slug, photo));
  const Document set = Doc("metadata.detail", PhotoDetail(photo, file), "metadata.nonce", claim.id,
                           "metadata.updated", store_.Now());
  ASSIGN_OR_RETURN(int64_t swapped,
                   store_.UpdateOne(kNodes, Unmarked(ByVersion(section, slug, nonce), claim),
                                    Marking(Doc("$set", set), claim)));
  RETURN_IF_ERROR(store_.seams().After("cms.replace_photo.c3"));
  const bson::OwnedValue unused(swapped == 1 ? At(*before, "metadata.detail.file_id")
                                             : file.id.value());
  RETURN_IF_ERROR(SetState(unused.value(), "live", "dead"));
  RETURN_IF_ERROR(store_.seams().After("cms.replace_photo.c4"));
  if (swapped == 0) {
    ASSIGN_OR_RETURN(auto now, store_.FindOne(kNodes, ByKey(section, slug)));
    if (!now || !Marked(*now, claim)) {
      return Refusal(section, slug);
    }
  }
  return Doc("nonce", claim.id);
}

Result<Node> Cms::GetNode(std::string_view section, std::string_view slug) const {
  ASSIGN_OR_RETURN(auto found, store_.FindOne(kNodes, ByKey(section, slug)));
  return found ? Result<Node>(NodeOf(*found)) : MakeError(Error::kNotFound, slug);
}

Result<GridFsDownload> Cms::OpenPhoto(std::string_view section, std::string_view slug,
                                      const ByteRange& range) const {
  ASSIGN_OR_RETURN(Node node, GetNode(section, slug));
  if (node.type != kPhoto) {
    return MakeError(Error::kWrongType, slug);
  }
  return assets_.OpenDownload(node.detail["file_id"], range);
}

Result<NodePage> Cms::Published(const Document& filter, const PageRequest& page) const {
  bson::Builder published;
  published.AppendFields(filter).Append("metadata.published", Doc("$lte", store_.Now()));
  ASSIGN_OR_RETURN(Page found, FindPage(store_, kNodes, published.Finish(),
                                        Doc("metadata.published", -1, "_id", 1), page));
  NodePage result;
  for (const Document& node : found.documents) {
    result.nodes.push_back(NodeOf(node));
  }
  result.next = found.next;
  return result;
}

Result<NodePage> Cms::ByTag(std::string_view tag, const PageRequest& page) const {
  return Published(Doc("metadata.tags", tag), page);
}

Result<NodePage> Cms::Feed(std::string_view section, const PageRequest& page) const {
  return Published(Doc("metadata.section", section, "metadata.type", "blog-entry"), page);
}

Result<bool> Cms::Shown(const bson::Value& file) const {
  ASSIGN_OR_RETURN(auto node, store_.FindOne(kNodes, Doc("metadata.detail.file_id", file),
                                             {.projection = Doc("_id", 1)}));
  return node.has_value();
}

// A file is dead for the whole retention before it goes: a node that a late upload makes it part
// of brings it back.
Result<JobReport> Cms::GcFiles() const {
  return RunLeased(Lease(store_, "cms.gc_files", options_.worker, options_.lease),
                   [&] { return CollectFiles(); });
}

Result<JobReport> Cms::CollectFiles() const {
  JobReport report;
  const bson::Date before = store_.Ago(options_.tombstone_retention);
  for (const char* state : {"staged", "live", "dead"}) {
    PageRequest page{.limit = kBatch};
    do {
      ASSIGN_OR_RETURN(
          Page files,
          FindPage(store_, kFiles, Doc("metadata.state", state, "metadata.at", Doc("$lt", before)),
                   Doc("metadata.at", 1, "_id", 1), page));
      for (const Document& file : files.documents) {
        report.examined += 1;
        ASSIGN_OR_RETURN(bool shown, Shown(file["_id"]));
        const std::string_view is = state;
        if (shown && is == "live") {
          report.skipped += 1;
          continue;
        }
        if (!shown && is == "dead") {
          Status deleted = assets_.Delete(file["_id"]);
          if (!Is(deleted, Error::kFileNotFound)) {  // by another worker
            RETURN_IF_ERROR(deleted);
          }
        } else {
          RETURN_IF_ERROR(SetState(file["_id"], state, shown ? "live" : "dead"));
        }
        report.changed += 1;
        RETURN_IF_ERROR(store_.seams().After("cms.gc_files", static_cast<int>(report.examined)));
      }
      page.after = files.next;
    } while (!page.after.empty());
  }
  return report;
}

Result<JobReport> Cms::GcChunks() const {
  return RunLeased(Lease(store_, "cms.gc_chunks", options_.worker, options_.lease),
                   [&] { return assets_.SweepChunks(store_.Ago(options_.tombstone_retention)); });
}

// Nodes are read before files and files before chunks: what comes meanwhile comes the other way.
Result<std::vector<std::string>> Cms::CheckInvariants() const {
  std::vector<std::string> wrong;
  ASSIGN_OR_RETURN(auto nodes, store_.Find(kNodes, Doc()));
  ASSIGN_OR_RETURN(auto files, store_.Find(kFiles, Doc()));
  const Document sizes = Doc("_id", "$files_id", "chunks", Doc("$sum", 1), "bytes",
                             Doc("$sum", Doc("$binarySize", "$data")));
  ASSIGN_OR_RETURN(auto stored, store_.Aggregate(kChunks, {Doc("$group", sizes)}));
  std::map<std::string, const Document*> chunks;
  for (const Document& one : stored) {
    chunks.emplace(bson::ToJson(one["_id"]), &one);
  }
  std::set<std::string> whole;
  for (const Document& file : files) {
    const std::string id = bson::ToJson(file["_id"]);
    if (TextAt(file, "metadata.state") == "staged") {
      continue;  // its upload may have come too late, and is about to take it away
    }
    const int64_t length = IntegerAt(file, "length");
    const int64_t size = IntegerAt(file, "chunkSize");
    auto of_file = chunks.find(id);
    const int64_t bytes = of_file == chunks.end() ? 0 : IntegerAt(*of_file->second, "bytes");
    const int64_t count = of_file == chunks.end() ? 0 : IntegerAt(*of_file->second, "chunks");
    if (size <= 0 || bytes != length || count != (length + size - 1) / size) {
      wrong.push_back("the chunks of file " + id);
    } else {
      whole.insert(id);
    }
  }
  for (const Document& document : nodes) {
    const Node node = NodeOf(document);
    const std::string name = node.section + "/" + node.slug;
    if (node.type == kPhoto && !whole.contains(bson::ToJson(node.detail["file_id"]))) {
      wrong.push_back("no whole file of photo " + name);
    }
    if (std::set<std::string>(node.tags.begin(), node.tags.end()).size() != node.tags.size()) {
      wrong.push_back("a tag twice on " + name);
    }
  }
  return wrong;
}

}  // namespace quire::patterns
