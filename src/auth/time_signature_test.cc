// SPDX-License-Identifier: Apache-2.0
#include "auth/time_signature.h"

#include <gtest/gtest.h>

#include "base/error_codes.h"

namespace quire::auth {
namespace {

bson::Document Signature(const TimeSigner::Hash& hash, int64_t key_id) {
  return bson::Builder()
      .Append("hash", bson::Value::Binary({hash.data(), hash.size()}, 0))
      .Append("keyId", key_id)
      .Finish();
}

TEST(TimeSigner, KnowsWhatItHasSigned) {
  const TimeSigner signer("shared");
  const TimeSigner same("shared");
  const bson::Timestamp time{1'700'000'000, 5};
  const auto hash = signer.Sign(time);
  EXPECT_EQ(same.Check(time, Signature(hash, signer.key_id())).code(), 0);
  EXPECT_NE(signer.key_id(), 0);
}

TEST(TimeSigner, RefusesWhatItHasNot) {
  const TimeSigner signer("shared");
  const TimeSigner other("another");
  const bson::Timestamp time{1'700'000'000, 5};
  const auto hash = signer.Sign(time);
  EXPECT_EQ(other.Check(time, Signature(hash, signer.key_id())).code(), kKeyNotFound);
  EXPECT_EQ(signer.Check(time, Signature(other.Sign(time), signer.key_id())).code(),
            kTimeProofMismatch);
  EXPECT_EQ(signer.Check({time.seconds + 1, 5}, Signature(hash, signer.key_id())).code(),
            kTimeProofMismatch);
  EXPECT_EQ(signer.Check(time, bson::View()).code(), kKeyNotFound);
  EXPECT_EQ(signer.Check(time, Signature({}, 0)).code(), kKeyNotFound);
}

}  // namespace
}  // namespace quire::auth
