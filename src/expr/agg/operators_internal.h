// SPDX-License-Identifier: Apache-2.0
//
// The functions behind the operator rows, each defined in the file of its family. Private to
// expr/agg.
#pragma once

#include <cstdint>
#include <string_view>

#include "expr/agg/node_internal.h"

namespace quire::expr::agg {

// The errors of a position operand.
struct IndexOfCodes {
  int not_integral;
  int negative;
};
inline constexpr IndexOfCodes kIndexOfArrayCodes = {.not_integral = 9711600, .negative = 9711601};
inline constexpr IndexOfCodes kIndexOfTextCodes = {.not_integral = 40096, .negative = 40097};

// A position operand of $indexOfArray, $indexOfBytes and $indexOfCP.
Result<int64_t> CheckIndexOfPosition(std::string_view op, const Value& value,
                                     std::string_view which, const IndexOfCodes& codes);

// The n of $firstN and its relatives: 5787902, 5787903, 5787908.
Result<int64_t> CheckArrayCount(const Value& value);

Result<Value> EvalSum(const Call& call, EvalContext& eval);
Result<Value> EvalAvg(const Call& call, EvalContext& eval);
Result<Value> EvalMin(const Call& call, EvalContext& eval);
Result<Value> EvalMax(const Call& call, EvalContext& eval);
Result<Value> EvalStdDevPop(const Call& call, EvalContext& eval);
Result<Value> EvalStdDevSamp(const Call& call, EvalContext& eval);
Result<Value> EvalFirstN(const Call& call, EvalContext& eval);
Result<Value> EvalAdd(const Call& call, EvalContext& eval);
Result<Value> EvalSubtract(const Call& call, EvalContext& eval);
Result<Value> EvalMultiply(const Call& call, EvalContext& eval);
Result<Value> EvalDivide(const Call& call, EvalContext& eval);
Result<Value> EvalMod(const Call& call, EvalContext& eval);
Result<Value> EvalBitAnd(const Call& call, EvalContext& eval);
Result<Value> EvalBitOr(const Call& call, EvalContext& eval);
Result<Value> EvalBitXor(const Call& call, EvalContext& eval);
Result<Value> EvalBitNot(const Call& call, EvalContext& eval);
Result<Value> EvalArrayElemAt(const Call& call, EvalContext& eval);
Result<Value> EvalFirst(const Call& call, EvalContext& eval);
Result<Value> EvalLast(const Call& call, EvalContext& eval);
Result<Value> EvalConcatArrays(const Call& call, EvalContext& eval);
Result<Value> EvalSize(const Call& call, EvalContext& eval);
Result<Value> EvalIsArray(const Call& call, EvalContext& eval);
Result<Value> EvalIn(const Call& call, EvalContext& eval);
Result<Value> EvalIndexOfArray(const Call& call, EvalContext& eval);
Result<Value> EvalReverseArray(const Call& call, EvalContext& eval);
Result<Value> EvalRange(const Call& call, EvalContext& eval);
Result<Value> EvalSlice(const Call& call, EvalContext& eval);
Result<Value> EvalArrayToObject(const Call& call, EvalContext& eval);
Result<Value> EvalObjectToArray(const Call& call, EvalContext& eval);
Result<Value> EvalMergeObjects(const Call& call, EvalContext& eval);
Result<Value> EvalGetField(const Call& call, EvalContext& eval);
Result<Value> EvalSetField(const Call& call, EvalContext& eval);
Result<Value> EvalAnd(const Call& call, EvalContext& eval);
Result<Value> EvalOr(const Call& call, EvalContext& eval);
Result<Value> EvalNot(const Call& call, EvalContext& eval);
Result<Value> EvalCmp(const Call& call, EvalContext& eval);
Result<Value> EvalEq(const Call& call, EvalContext& eval);
Result<Value> EvalNe(const Call& call, EvalContext& eval);
Result<Value> EvalGt(const Call& call, EvalContext& eval);
Result<Value> EvalGte(const Call& call, EvalContext& eval);
Result<Value> EvalLt(const Call& call, EvalContext& eval);
Result<Value> EvalLte(const Call& call, EvalContext& eval);
Result<Value> EvalCond(const Call& call, EvalContext& eval);
Result<Value> EvalIfNull(const Call& call, EvalContext& eval);
Result<Value> EvalToType(const Call& call, EvalContext& eval);
Result<Value> EvalType(const Call& call, EvalContext& eval);
Result<Value> EvalIsNumber(const Call& call, EvalContext& eval);
Result<Value> EvalConvert(const Call& call, EvalContext& eval);
Result<Value> EvalDateAdd(const Call& call, EvalContext& eval);
Result<Value> EvalDateDiff(const Call& call, EvalContext& eval);
Result<Value> EvalDateTrunc(const Call& call, EvalContext& eval);
Result<Value> EvalDatePart(const Call& call, EvalContext& eval);
Result<Value> EvalDateToParts(const Call& call, EvalContext& eval);
Result<Value> EvalDateFromParts(const Call& call, EvalContext& eval);
Result<Value> EvalDateToString(const Call& call, EvalContext& eval);
Result<Value> EvalDateFromString(const Call& call, EvalContext& eval);
Result<Value> EvalFunctionOfOne(const Call& call, EvalContext& eval);
Result<Value> EvalAtan2(const Call& call, EvalContext& eval);
Result<Value> EvalAbs(const Call& call, EvalContext& eval);
Result<Value> EvalCeil(const Call& call, EvalContext& eval);
Result<Value> EvalFloor(const Call& call, EvalContext& eval);
Result<Value> EvalRound(const Call& call, EvalContext& eval);
Result<Value> EvalTrunc(const Call& call, EvalContext& eval);
Result<Value> EvalSqrt(const Call& call, EvalContext& eval);
Result<Value> EvalLn(const Call& call, EvalContext& eval);
Result<Value> EvalLog10(const Call& call, EvalContext& eval);
Result<Value> EvalLog(const Call& call, EvalContext& eval);
Result<Value> EvalPow(const Call& call, EvalContext& eval);
Result<Value> EvalRand(const Call& call, EvalContext& eval);
Result<Value> EvalBinarySize(const Call& call, EvalContext& eval);
Result<Value> EvalToHashedIndexKey(const Call& call, EvalContext& eval);
Result<Value> EvalBsonSize(const Call& call, EvalContext& eval);
Result<Value> EvalTsSecond(const Call& call, EvalContext& eval);
Result<Value> EvalTsIncrement(const Call& call, EvalContext& eval);
Result<Value> EvalSetUnion(const Call& call, EvalContext& eval);
Result<Value> EvalSetIntersection(const Call& call, EvalContext& eval);
Result<Value> EvalSetDifference(const Call& call, EvalContext& eval);
Result<Value> EvalSetEquals(const Call& call, EvalContext& eval);
Result<Value> EvalSetIsSubset(const Call& call, EvalContext& eval);
Result<Value> EvalAllElementsTrue(const Call& call, EvalContext& eval);
Result<Value> EvalAnyElementTrue(const Call& call, EvalContext& eval);
Result<Value> EvalConcat(const Call& call, EvalContext& eval);
Result<Value> EvalToUpper(const Call& call, EvalContext& eval);
Result<Value> EvalToLower(const Call& call, EvalContext& eval);
Result<Value> EvalStrcasecmp(const Call& call, EvalContext& eval);
Result<Value> EvalStrLenBytes(const Call& call, EvalContext& eval);
Result<Value> EvalStrLenCp(const Call& call, EvalContext& eval);
Result<Value> EvalSubstrBytes(const Call& call, EvalContext& eval);
Result<Value> EvalSubstrCp(const Call& call, EvalContext& eval);
Result<Value> EvalIndexOfBytes(const Call& call, EvalContext& eval);
Result<Value> EvalIndexOfCp(const Call& call, EvalContext& eval);
Result<Value> EvalSplit(const Call& call, EvalContext& eval);
Result<Value> EvalReplaceOne(const Call& call, EvalContext& eval);
Result<Value> EvalReplaceAll(const Call& call, EvalContext& eval);
Result<Value> EvalTrim(const Call& call, EvalContext& eval);
Result<Value> EvalLtrim(const Call& call, EvalContext& eval);
Result<Value> EvalRtrim(const Call& call, EvalContext& eval);

Result<ExpressionPtr> ParseZip(const OperatorRow& row, const Value& spec, ParseScope& scope);
Result<ExpressionPtr> ParseGetField(const OperatorRow& row, const Value& spec, ParseScope& scope);
Result<ExpressionPtr> ParseSetField(const OperatorRow& row, const Value& spec, ParseScope& scope);
Result<ExpressionPtr> ParseAndOr(const OperatorRow& row, const Value& spec, ParseScope& scope);
Result<ExpressionPtr> ParseCond(const OperatorRow& row, const Value& spec, ParseScope& scope);
Result<ExpressionPtr> ParseIfNull(const OperatorRow& row, const Value& spec, ParseScope& scope);
Result<ExpressionPtr> ParseSwitch(const OperatorRow& row, const Value& spec, ParseScope& scope);
Result<ExpressionPtr> ParseToType(const OperatorRow& row, const Value& spec, ParseScope& scope);
Result<ExpressionPtr> ParseDatePart(const OperatorRow& row, const Value& spec, ParseScope& scope);
Result<ExpressionPtr> ParseDateFromParts(const OperatorRow& row, const Value& spec,
                                         ParseScope& scope);
Result<ExpressionPtr> ParseLiteral(const OperatorRow& row, const Value& spec, ParseScope& scope);
Result<ExpressionPtr> ParseMeta(const OperatorRow& row, const Value& spec, ParseScope& scope);
Result<ExpressionPtr> ParseRand(const OperatorRow& row, const Value& spec, ParseScope& scope);
Result<ExpressionPtr> ParseRegex(const OperatorRow& row, const Value& spec, ParseScope& scope);
Result<ExpressionPtr> ParseSetEquals(const OperatorRow& row, const Value& spec, ParseScope& scope);
Result<ExpressionPtr> ParseMap(const OperatorRow& row, const Value& spec, ParseScope& scope);
Result<ExpressionPtr> ParseFilter(const OperatorRow& row, const Value& spec, ParseScope& scope);
Result<ExpressionPtr> ParseReduce(const OperatorRow& row, const Value& spec, ParseScope& scope);
Result<ExpressionPtr> ParseLet(const OperatorRow& row, const Value& spec, ParseScope& scope);
Result<ExpressionPtr> ParsePercentileCall(const OperatorRow& row, const Value& spec,
                                          ParseScope& scope);
Result<ExpressionPtr> ParseFunction(const OperatorRow& row, const Value& spec, ParseScope& scope);
Result<ExpressionPtr> ParseSortArray(const OperatorRow& row, const Value& spec, ParseScope& scope);

}  // namespace quire::expr::agg
