// SPDX-License-Identifier: Apache-2.0
#include "coord/etcd/messages.h"

#include <gtest/gtest.h>

#include "base/error_codes.h"

namespace quire::coord::etcd {
namespace {

TEST(EtcdMessages, Transaction) {
  const Transaction transaction{
      .compares = {{"a", 7}}, .writes = {Put("b", "v"), Delete("c")}, .reads = {"d", "a"}};
  EXPECT_EQ(TransactBody(transaction),
            R"({"compare":[{"target":"MOD","result":"EQUAL","key":"YQ==","mod_revision":"7"}],)"
            R"("success":[{"request_put":{"key":"Yg==","value":"dg=="}},)"
            R"({"request_delete_range":{"key":"Yw=="}},{"request_range":{"key":"YQ=="}},)"
            R"({"request_range":{"key":"ZA=="}}],)"
            R"("failure":[{"request_range":{"key":"YQ=="}},{"request_range":{"key":"ZA=="}}]})");
}

TEST(EtcdMessages, RangeOfAPrefix) {
  EXPECT_EQ(
      ListBody({.prefix = "a/", .most = 5}),
      R"({"key":"YS8=","range_end":"YTA=","limit":"5","revision":"0","min_mod_revision":"0"})");
  // Behind a key, at a revision; a prefix without an end above it goes to the end.
  EXPECT_EQ(
      ListBody({.prefix = "\xff",
                .after = "\xff"
                         "a",
                .at = 3,
                .modified_since = 2,
                .most = 5}),
      R"({"key":"/2EA","range_end":"AA==","limit":"5","revision":"3","min_mod_revision":"2"})");
}

TEST(EtcdMessages, MalformedAnswersAreErrors) {
  for (
      const char* body :
      {"", "{", "[]", "{}", R"({"header":1,"responses":[]})", R"({"header":{},"responses":[1]})",
       R"({"header":{"revision":7},"responses":[]})",
       R"({"header":{"revision":"7x"},"responses":[]})",
       R"({"header":{},"responses":[{"response_range":{"kvs":{}}}]})",
       R"({"header":{},"responses":[{"response_range":{"kvs":[{"key":"?"}]}}]})",
       R"({"header":{},"responses":[{"response_range":{"kvs":[{"key":"YQ==","mod_revision":1}]}}]})"}) {
    EXPECT_FALSE(ReadAnswer(body).ok()) << body;
  }
  for (const char* body : {"", "{}", R"({"header":{},"kvs":1})", R"({"header":{},"kvs":[2]})"}) {
    EXPECT_FALSE(ReadListing({}, body).ok()) << body;
  }
  EXPECT_FALSE(ReadToken("{}").ok());
}

TEST(EtcdMessages, Errors) {
  struct Row {
    const char* body;
    int code;
  };
  for (const Row& row : {
           Row{R"({"error":"etcdserver: request timed out","code":14})", kHostUnreachable},
           Row{R"({"error":"context deadline exceeded","code":4})", kNetworkTimeout},
           Row{R"({"error":"etcdserver: permission denied","code":7})", kUnauthorized},
           Row{R"({"error":"etcdserver: user name is empty","code":3})", kUnauthorized},
           Row{R"({"error":"etcdserver: invalid auth token","code":16})", kAuthenticationFailed},
           Row{R"({"error":"etcdserver: mvcc: compacted","code":11})", kSnapshotTooOld},
           Row{R"({"error":"etcdserver: request is too large","code":3})", kBadValue},
           Row{"Not Found", kOperationFailed},
       }) {
    EXPECT_EQ(ReadError(400, row.body).code(), row.code) << row.body;
  }
}

}  // namespace
}  // namespace quire::coord::etcd
