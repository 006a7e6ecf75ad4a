// SPDX-License-Identifier: Apache-2.0
//
// Lines of log files as documents.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "quire/bson.h"
#include "quire/patterns/error.h"

namespace quire::patterns {

// A line of an Apache access log, combined format or common (without the last two fields): {host,
// logname, user, time, request, method, path, protocol, status, response_size, referrer,
// user_agent}. `-` is null; times become UTC; a request that is not three words keeps `request`
// and has null parts. Errors, with the column: BadTime, BadStatus, BadQuote, TooFewFields.
Result<bson::Document> ParseApacheLine(std::string_view line);

// The fields of a CSV record, with RFC 4180 quotes. Error, with the column: BadQuote.
Result<std::vector<std::string>> ParseCsvRecord(std::string_view line, char separator = ',');

// A line of monitoring data: node UUID, IP address, node name, parameter, milliseconds since 1970,
// value, with RFC 4180 quotes: {Host, Ip, Node, ParameterName, GeneratedOn, Value}.
// Errors: BadColumnCount, BadNumber, BadTimestamp, BadQuote.
Result<bson::Document> ParseMonitorCsvLine(std::string_view line);

}  // namespace quire::patterns
