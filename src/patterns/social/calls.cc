// SPDX-License-Identifier: Apache-2.0
//
// The calls of Social, each in its Work.
#include <utility>

#include "patterns/social/work.h"

namespace quire::patterns {

Social::Social(const Client& client, std::string_view database, SocialOptions options)
    : work_(std::make_shared<const Work>(client, database, std::move(options))) {}

const std::vector<IndexSpec>& Social::Indexes() { return Work::Indexes(); }
const std::vector<ShardKeySpec>& Social::ShardKeys() { return Work::ShardKeys(); }
Status Social::CreateIndexes() const { return work_->CreateIndexes(); }
Result<std::vector<std::string>> Social::MissingIndexes() const { return work_->MissingIndexes(); }
Result<std::string> Social::AddUser(std::string_view name, const bson::Document& profile,
                                    const CallKey& key) const {
  return work_->AddUser(name, profile, key);
}
Status Social::Circle(std::string_view self, std::string_view other, std::string_view circle,
                      const CallKey& key) const {
  return work_->Circle(self, other, circle, key);
}
Status Social::Uncircle(std::string_view self, std::string_view other, std::string_view circle,
                        const CallKey& key) const {
  return work_->Uncircle(self, other, circle, key);
}
Status Social::Block(std::string_view self, std::string_view other, const CallKey& key) const {
  return work_->Block(self, other, key);
}
Status Social::Unblock(std::string_view self, std::string_view other, const CallKey& key) const {
  return work_->Unblock(self, other, key);
}
Result<bson::ObjectId> Social::Post(const NewPost& post, const CallKey& key) const {
  return work_->Post(post, key);
}
Status Social::DeletePost(std::string_view by, const bson::ObjectId& post,
                          const CallKey& key) const {
  return work_->DeletePost(by, post, key);
}
Status Social::AddComment(std::string_view viewer, const bson::ObjectId& post,
                          std::string_view text, std::string_view id) const {
  return work_->AddComment(viewer, post, text, id);
}
Result<bool> Social::Visible(std::string_view viewer, const bson::ObjectId& post) const {
  return work_->Visible(viewer, post);
}
Result<bool> Social::OnOwnWall(std::string_view user, const bson::ObjectId& post) const {
  return work_->OnOwnWall(user, post);
}
Result<bool> Social::Incoming(std::string_view user, const bson::ObjectId& post) const {
  return work_->Incoming(user, post);
}
Result<FeedPage> Social::Read(Feed feed, std::string_view user, std::string_view viewer,
                              const PageRequest& page, std::string_view until) const {
  return work_->Read(feed, user, viewer, page, until);
}
Result<CommentPage> Social::AllComments(std::string_view viewer, const bson::ObjectId& post,
                                        const PageRequest& page) const {
  return work_->AllComments(viewer, post, page);
}
Result<SocialProfile> Social::Profile(std::string_view user, std::string_view viewer) const {
  return work_->Profile(user, viewer);
}
Result<JobReport> Social::ResumeFanout(int64_t batch) const { return work_->ResumeFanout(batch); }
Result<JobReport> Social::RefreshPreviews(int64_t batch) const {
  return work_->RefreshPreviews(batch);
}
Result<int64_t> Social::ReconcileGraph(std::string_view user) const {
  return work_->ReconcileGraph(user);
}
Result<JobReport> Social::ReconcileAll(int64_t batch) const { return work_->ReconcileAll(batch); }
Result<std::vector<std::string>> Social::CheckInvariants() const {
  return work_->CheckInvariants();
}

}  // namespace quire::patterns
