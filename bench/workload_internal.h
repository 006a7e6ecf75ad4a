// SPDX-License-Identifier: Apache-2.0
//
// What the families of workloads share.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "workload.h"

namespace quire::bench {

std::span<const Workload> ReadWorkloads();
std::span<const Workload> WriteWorkloads();
std::span<const Workload> ScanWorkloads();
std::span<const Workload> YcsbWorkloads();
std::span<const Workload> InboxWorkloads();

inline constexpr const char* kNoIndexes = "[]";
inline constexpr const char* kTwoIndexes =
    R"([{"key":{"host":1,"time":1},"name":"host_time"},{"key":{"path":1},"name":"path"}])";

int64_t RandomBelow(Connection& c, int64_t end);
// Reads all of a cursor; 1, or -1 when it failed.
int64_t Drain(Connection& c, mongoc_cursor_t* cursor);
int64_t Find(Connection& c, const bson_t* filter, const bson_t* options);
// Reads a YCSB record.
int64_t FindRecord(Connection& c, int64_t record);
// Inserts documents into a collection; false and *error when one was refused.
bool InsertAll(mongoc_collection_t* collection, const std::vector<Bson>& documents,
               bson_error_t* error);

}  // namespace quire::bench
