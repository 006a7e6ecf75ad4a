// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "base/try.h"
#include "patterns/cms/documents.h"
#include "patterns/cms/work.h"
#include "patterns/keyset.h"

namespace quire::patterns {

namespace {

using bson::Document;

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

std::vector<std::string> Distinct(const std::vector<std::string>& tags) {
  std::vector<std::string> distinct;
  for (const std::string& tag : tags) {
    if (std::find(distinct.begin(), distinct.end(), tag) == distinct.end()) {
      distinct.push_back(tag);
    }
  }
  return distinct;
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

Document NodeAt(std::string_view section, std::string_view slug) {
  return Doc("metadata.section", section, "metadata.slug", slug);
}
Document NodeVersion(std::string_view section, std::string_view slug, const bson::ObjectId& nonce) {
  return Doc("metadata.section", section, "metadata.slug", slug, "metadata.nonce", nonce);
}

Document NodeArguments(const Node& node) {
  return Doc("section", node.section, "slug", node.slug, "type", node.type, "title", node.title,
             "author", Doc("id", node.author.id, "name", node.author.name), "tags",
             ListOf(node.tags), "published",
             node.published ? bson::Value(*node.published) : bson::Value(), "detail", node.detail);
}

Status CheckPlace(const Node& node) {
  return node.section.empty() || node.slug.empty()
             ? MakeError(Error::kInvalidName, "a node has a section and a slug")
             : Status::Ok();
}

bool IsOf(const std::optional<Document>& node, const Claim& claim) {
  return node && (*node)["_id"].BinaryEquals(bson::Value(claim.id));
}

Status EditRefusal(const std::optional<Document>& stored, std::string_view slug) {
  if (!stored) {
    return MakeError(Error::kNotFound, slug);
  }
  const Document current =
      Doc("nonce", At(*stored, "metadata.nonce"), "detail", At(*stored, "metadata.detail"));
  return MakeError(Error::kEditConflict, slug).WithExtra(current.bytes());
}

Cms::Work::Work(const Client& client, std::string_view database, CmsOptions options)
    : options_(std::move(options)),
      store_(client, database, options_.seams, options_.concerns),
      assets_(client, database,
              {.bucket = "cms.assets",
               .chunk_size = options_.chunk_size,
               .concerns = options_.concerns,
               .seams = options_.seams}),
      calls_(store_, "cms") {}

std::vector<IndexSpec> Cms::Work::Indexes() {
  return {
      {kCmsNodes, R"({"metadata.section": 1, "metadata.slug": 1})", true},
      {kCmsNodes, R"({"metadata.tags": 1, "metadata.published": -1, "_id": 1})"},
      {kCmsNodes, R"({"metadata.section": 1, "metadata.type": 1, "metadata.published": -1,
                   "_id": 1})"},
      {.collection = kCmsNodes,
       .keys = R"({"metadata.detail.file_id": 1})",
       .options = R"({"sparse": true})"},
      {kCmsFiles, R"({"filename": 1, "uploadDate": 1})"},
      {kCmsFiles, R"({"metadata.state": 1, "metadata.at": 1, "_id": 1})"},
      {kCmsChunks, R"({"files_id": 1, "n": 1})", true},
      Idempotency::Index(),
  };
}

std::vector<ShardKeySpec> Cms::Work::ShardKeys() {
  return {{kCmsNodes, R"({"metadata.section": 1, "metadata.slug": 1})"},
          {kCmsChunks, R"({"files_id": 1, "n": 1})"},
          Idempotency::ShardKey()};
}

Result<bson::ObjectId> Cms::Work::CreateNode(const Node& node, const CallKey& key) const {
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
Result<bson::ObjectId> Cms::Work::Insert(const Node& node, const Claim& claim) const {
  const bson::Date now = store_.Now();
  const Document metadata =
      Doc("nonce", claim.id, "section", node.section, "slug", node.slug, "type", node.type, "title",
          node.title, "created", now, "updated", now, "published",
          node.published ? bson::Value(*node.published) : bson::Value::Null(), "author",
          Doc("id", node.author.id, "name", node.author.name), "tags", ListOf(Distinct(node.tags)),
          "detail", node.detail);
  Status inserted = store_.Insert(kCmsNodes, Doc("_id", claim.id, "metadata", metadata));
  if (IsDuplicateKey(inserted)) {
    ASSIGN_OR_RETURN(auto there, store_.FindOne(kCmsNodes, NodeAt(node.section, node.slug)));
    inserted = IsOf(there, claim) ? Status::Ok() : MakeError(Error::kSlugTaken, node.slug);
  }
  RETURN_IF_ERROR(inserted);
  const char* operation = node.type == kPhotoType ? "cms.upload_photo.c3" : "cms.create_node.c1";
  RETURN_IF_ERROR(store_.seams().After(operation));
  return claim.id;
}

Result<bson::ObjectId> Cms::Work::UpdateText(std::string_view section, std::string_view slug,
                                             const bson::ObjectId& nonce, std::string_view text,
                                             const CallKey& key) const {
  auto save = [&](const Claim& claim) -> Result<Document> {
    const Document version = NodeVersion(section, slug, nonce);
    bson::Builder text_version;
    text_version.AppendFields(version).Append("metadata.type", Doc("$ne", kPhotoType));
    const Document set = Doc("metadata.detail.text", text, "metadata.nonce", claim.id,
                             "metadata.updated", store_.Now());
    ASSIGN_OR_RETURN(int64_t saved,
                     store_.UpdateOne(kCmsNodes, Unmarked(text_version.Finish(), claim),
                                      Marking(Doc("$set", set), claim)));
    if (saved == 0) {
      ASSIGN_OR_RETURN(auto stored, store_.FindOne(kCmsNodes, NodeAt(section, slug)));
      if (stored && TextAt(*stored, "metadata.type") == kPhotoType) {
        return MakeError(Error::kWrongType, slug);
      }
      if (!stored || !Marked(*stored, claim)) {
        return EditRefusal(stored, slug);
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
Status Cms::Work::Edit(std::string_view operation, std::string_view section, std::string_view slug,
                       const Document& update, const CallKey& key) const {
  const Document where = NodeAt(section, slug);
  auto edit = [&](const Claim& claim) -> Status {
    ASSIGN_OR_RETURN(int64_t matched,
                     store_.UpdateOne(kCmsNodes, Unmarked(where, claim), Marking(update, claim)));
    RETURN_IF_ERROR(store_.seams().After(operation, 1));
    if (matched == 0) {
      ASSIGN_OR_RETURN(auto found, store_.FindOne(kCmsNodes, where));
      return found && Marked(*found, claim) ? Status::Ok() : MakeError(Error::kNotFound, slug);
    }
    return Status::Ok();
  };
  return calls_.DoOnce(operation, key, Doc("node", where, "update", update), edit);
}

Status Cms::Work::AddTags(std::string_view section, std::string_view slug,
                          const std::vector<std::string>& tags, const CallKey& key) const {
  return Edit("cms.add_tags", section, slug,
              Doc("$addToSet", Doc("metadata.tags", Doc("$each", ListOf(tags)))), key);
}

Status Cms::Work::RemoveTags(std::string_view section, std::string_view slug,
                             const std::vector<std::string>& tags, const CallKey& key) const {
  return Edit("cms.remove_tags", section, slug,
              Doc("$pull", Doc("metadata.tags", Doc("$in", ListOf(tags)))), key);
}

Status Cms::Work::Publish(std::string_view section, std::string_view slug, bson::Date when,
                          const CallKey& key) const {
  return Edit("cms.publish", section, slug, Doc("$set", Doc("metadata.published", when)), key);
}

Status Cms::Work::Unpublish(std::string_view section, std::string_view slug,
                            const CallKey& key) const {
  return Edit("cms.unpublish", section, slug,
              Doc("$set", Doc("metadata.published", bson::Value::Null())), key);
}

Result<Node> Cms::Work::GetNode(std::string_view section, std::string_view slug) const {
  ASSIGN_OR_RETURN(auto found, store_.FindOne(kCmsNodes, NodeAt(section, slug)));
  return found ? Result<Node>(NodeOf(*found)) : MakeError(Error::kNotFound, slug);
}

Result<NodePage> Cms::Work::Published(const Document& filter, const PageRequest& page) const {
  bson::Builder published;
  published.AppendFields(filter).Append("metadata.published", Doc("$lte", store_.Now()));
  ASSIGN_OR_RETURN(Page found, FindPage(store_, kCmsNodes, published.Finish(),
                                        Doc("metadata.published", -1, "_id", 1), page));
  NodePage result;
  for (const Document& node : found.documents) {
    result.nodes.push_back(NodeOf(node));
  }
  result.next = found.next;
  return result;
}

Result<NodePage> Cms::Work::ByTag(std::string_view tag, const PageRequest& page) const {
  return Published(Doc("metadata.tags", tag), page);
}

Result<NodePage> Cms::Work::Feed(std::string_view section, const PageRequest& page) const {
  return Published(Doc("metadata.section", section, "metadata.type", "blog-entry"), page);
}

}  // namespace quire::patterns
