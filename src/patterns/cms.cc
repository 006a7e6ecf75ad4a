// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/cms.h"

#include <utility>

#include "base/try.h"
#include "patterns/doc.h"
#include "patterns/keyset.h"
#include "quire/patterns/buckets.h"

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
      {kFiles, R"({"metadata.state": 1, "metadata.at": 1})"},
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
  const Document arguments =
      Doc("section", node.section, "slug", node.slug, "type", node.type, "title", node.title,
          "author", node.author.id, "tags", ListOf(node.tags), "published",
          node.published ? bson::Value(*node.published) : bson::Value(), "detail", node.detail);
  auto create = [&](const Claim& claim) -> Result<Document> {
    ASSIGN_OR_RETURN(bson::ObjectId nonce, Insert(node, claim));
    return Doc("nonce", nonce);
  };
  ASSIGN_OR_RETURN(Document made, calls_.Once("cms.create_node", key, arguments, create));
  return made["nonce"].AsObjectId();
}

// The claim's id is both the node's and its first nonce.
Result<bson::ObjectId> Cms::Insert(const Node& node, const Claim& claim) const {
  if (node.section.empty() || node.slug.empty()) {
    return MakeError(Error::kInvalidName, "a node has a section and a slug");
  }
  const bson::Date now = store_.Now();
  const Document metadata =
      Doc("nonce", claim.id, "section", node.section, "slug", node.slug, "type", node.type, "title",
          node.title, "created", now, "updated", now, "published",
          node.published ? bson::Value(*node.published) : bson::Value::Null(), "author",
          Doc("id", node.author.id, "name", node.author.name), "tags", ListOf(node.tags), "detail",
          node.detail);
  Status inserted = store_.Insert(kNodes, Doc("_id", claim.id, "metadata", metadata));
  if (IsDuplicateKey(inserted)) {
    ASSIGN_OR_RETURN(auto mine, store_.FindOne(kNodes, Doc("_id", claim.id)));
    inserted = mine ? Status::Ok() : MakeError(Error::kSlugTaken, node.slug);
  }
  RETURN_IF_ERROR(inserted);
  RETURN_IF_ERROR(store_.seams().After("cms.create_node.c1"));
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

Status Cms::Edit(std::string_view section, std::string_view slug, const Document& update) const {
  ASSIGN_OR_RETURN(int64_t matched, store_.UpdateOne(kNodes, ByKey(section, slug), update));
  RETURN_IF_ERROR(store_.seams().After("cms.edit.c1"));
  return matched == 1 ? Status::Ok() : MakeError(Error::kNotFound, slug);
}

Status Cms::AddTags(std::string_view section, std::string_view slug,
                    const std::vector<std::string>& tags) const {
  return Edit(section, slug, Doc("$addToSet", Doc("metadata.tags", Doc("$each", ListOf(tags)))));
}

Status Cms::RemoveTags(std::string_view section, std::string_view slug,
                       const std::vector<std::string>& tags) const {
  return Edit(section, slug, Doc("$pull", Doc("metadata.tags", Doc("$in", ListOf(tags)))));
}

Status Cms::Publish(std::string_view section, std::string_view slug, bson::Date when) const {
  return Edit(section, slug, Doc("$set", Doc("metadata.published", when)));
}

Status Cms::Unpublish(std::string_view section, std::string_view slug) const {
  return Edit(section, slug, Doc("$set", Doc("metadata.published", bson::Value::Null())));
}

// 1 the bytes, as a file nothing shows.
Result<GridFsFile> Cms::Stage(std::string_view section, std::string_view slug,
                              const Photo& photo) const {
  const Document metadata = Doc("node_key", Doc("section", section, "slug", slug), "state",
                                "staged", "at", store_.Now(), "uploaded_by", photo.uploaded_by);
  ASSIGN_OR_RETURN(GridFsUpload upload, assets_.OpenUpload(photo.filename, {.metadata = metadata}));
  for (;;) {
    Result<std::string> bytes = photo.read();
    if (!bytes.ok()) {
      RETURN_IF_ERROR(upload.Abort());
      return bytes.status();
    }
    if (bytes->empty()) {
      return upload.Finish();
    }
    RETURN_IF_ERROR(upload.Write(*bytes));
  }
}

Status Cms::SetState(const bson::Value& file, std::string_view from, std::string_view to) const {
  return store_
      .UpdateOne(kFiles, Doc("_id", file, "metadata.state", from),
                 Doc("$set", Doc("metadata.state", to, "metadata.at", store_.Now())))
      .status();
}

Result<bson::ObjectId> Cms::UploadPhoto(const Node& node, const Photo& photo) const {
  ASSIGN_OR_RETURN(GridFsFile file, Stage(node.section, node.slug, photo));
  RETURN_IF_ERROR(store_.seams().After("cms.upload_photo.c1"));
  RETURN_IF_ERROR(SetState(file.id.value(), "staged", "live"));
  RETURN_IF_ERROR(store_.seams().After("cms.upload_photo.c2"));
  Node shown = node;
  shown.type = kPhoto;
  shown.detail = PhotoDetail(photo, file);
  auto nonce = Insert(shown, Claim{store_.seams().ids->Next()});
  if (IsFinal(nonce.status())) {
    RETURN_IF_ERROR(SetState(file.id.value(), "live", "dead"));
  }
  return nonce;
}

Result<bson::ObjectId> Cms::ReplacePhoto(std::string_view section, std::string_view slug,
                                         const bson::ObjectId& nonce, const Photo& photo) const {
  ASSIGN_OR_RETURN(auto before, store_.FindOne(kNodes, ByVersion(section, slug, nonce)));
  if (!before) {
    return Refusal(section, slug);
  }
  ASSIGN_OR_RETURN(GridFsFile file, Stage(section, slug, photo));
  RETURN_IF_ERROR(store_.seams().After("cms.replace_photo.c1"));
  RETURN_IF_ERROR(SetState(file.id.value(), "staged", "live"));
  RETURN_IF_ERROR(store_.seams().After("cms.replace_photo.c2"));
  const bson::ObjectId next = store_.seams().ids->Next();
  const Document set = Doc("metadata.detail", PhotoDetail(photo, file), "metadata.nonce", next,
                           "metadata.updated", store_.Now());
  ASSIGN_OR_RETURN(int64_t swapped,
                   store_.UpdateOne(kNodes, ByVersion(section, slug, nonce), Doc("$set", set)));
  if (swapped == 0) {
    RETURN_IF_ERROR(SetState(file.id.value(), "live", "dead"));
    return Refusal(section, slug);
  }
  RETURN_IF_ERROR(store_.seams().After("cms.replace_photo.c3"));
  RETURN_IF_ERROR(SetState(At(*before, "metadata.detail.file_id"), "live", "dead"));
  RETURN_IF_ERROR(store_.seams().After("cms.replace_photo.c4"));
  return next;
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
          RETURN_IF_ERROR(assets_.Delete(file["_id"]));
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
  return assets_.SweepChunks(store_.Ago(options_.tombstone_retention));
}

}  // namespace quire::patterns
