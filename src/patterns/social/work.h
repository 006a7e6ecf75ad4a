// SPDX-License-Identifier: Apache-2.0
//
// All of Social: the calls, and the steps they are made of.
#pragma once

#include "quire/patterns/social.h"

namespace quire::patterns {

class Social::Work {
 public:
  Work(const Client& client, std::string_view database, SocialOptions options = {});
  static const std::vector<IndexSpec>& Indexes();
  static const std::vector<ShardKeySpec>& ShardKeys();
  Status CreateIndexes() const { return store_.CreateIndexes(Indexes()); }
  Result<std::vector<std::string>> MissingIndexes() const {
    return store_.MissingIndexes(Indexes());
  }
  Result<std::string> AddUser(std::string_view name, const bson::Document& profile = {},
                              const CallKey& key = std::nullopt) const;
  Status Circle(std::string_view self, std::string_view other, std::string_view circle,
                const CallKey& key = std::nullopt) const;
  Status Uncircle(std::string_view self, std::string_view other, std::string_view circle,
                  const CallKey& key = std::nullopt) const;
  Status Block(std::string_view self, std::string_view other,
               const CallKey& key = std::nullopt) const;
  Status Unblock(std::string_view self, std::string_view other,
                 const CallKey& key = std::nullopt) const;
  Result<bson::ObjectId> Post(const NewPost& post, const CallKey& key = std::nullopt) const;
  Status DeletePost(std::string_view by, const bson::ObjectId& post,
                    const CallKey& key = std::nullopt) const;
  Status AddComment(std::string_view viewer, const bson::ObjectId& post, std::string_view text,
                    std::string_view id) const;
  Result<bool> Visible(std::string_view viewer, const bson::ObjectId& post) const;
  Result<bool> OnOwnWall(std::string_view user, const bson::ObjectId& post) const;
  Result<bool> Incoming(std::string_view user, const bson::ObjectId& post) const;
  Result<FeedPage> Read(Feed feed, std::string_view user, std::string_view viewer,
                        const PageRequest& page, std::string_view until = "") const;
  Result<CommentPage> AllComments(std::string_view viewer, const bson::ObjectId& post,
                                  const PageRequest& page) const;
  Result<SocialProfile> Profile(std::string_view user, std::string_view viewer) const;
  Result<JobReport> ResumeFanout(int64_t batch = 100) const;
  Result<JobReport> RefreshPreviews(int64_t batch = 100) const;
  Result<int64_t> ReconcileGraph(std::string_view user) const;
  Result<JobReport> ReconcileAll(int64_t batch = 100) const;
  Result<std::vector<std::string>> CheckInvariants() const;

 private:
  Result<bson::Document> User(std::string_view id) const;
  Result<bson::Document> LivePost(const bson::ObjectId& post) const;
  Status Relate(std::string_view self, std::string_view other) const;
  // The first write of a change between two users, to the record: whether the second should follow.
  Result<bool> ChangeSelf(const bson::Document& filter, const bson::Document& update,
                          const Claim& claim) const;
  Status CircleOnce(std::string_view self, std::string_view other, std::string_view circle,
                    const Claim& claim) const;
  Status UncircleOnce(std::string_view self, std::string_view other, std::string_view circle,
                      const Claim& claim) const;
  Status SetBlock(std::string_view operation, std::string_view change, std::string_view self,
                  std::string_view other, const CallKey& key) const;
  Result<bool> Sees(bson::View viewer, bson::View post) const;
  Status FanOut(const bson::Document& post) const;
  Status Append(const char* feed, std::string_view user, const bson::Document& post) const;
  Status Purge(const bson::Document& post, int64_t* changed) const;
  Result<int64_t> PurgeAgain(const bson::Document& post) const;
  Status Refresh(const bson::OwnedValue& post) const;
  Result<int64_t> ReconcileFollowers(const bson::Document& user) const;
  Result<int64_t> ReconcileFollowed(const bson::Document& user) const;
  Result<int64_t> ReconcileBlocks(const bson::Document& user) const;
  Result<std::optional<bson::Document>> NewestPage(const char* feed, std::string_view user,
                                                   std::string_view until) const;
  Result<std::optional<bson::Document>> OlderPage(const char* feed,
                                                  const bson::Document& page) const;

  SocialOptions options_;
  Store store_;
  Idempotency calls_;
};

}  // namespace quire::patterns
