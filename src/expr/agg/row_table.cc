// SPDX-License-Identifier: Apache-2.0
//
// Every aggregation operator: its name, how it is parsed and evaluated, how many operands it takes.
#include <unordered_map>

#include "base/error_codes.h"
#include "expr/agg/operators_internal.h"

namespace quire::expr::agg {

namespace {

const NamedForm kConvertForm{kFailedToParse,
                             kFailedToParse,
                             {{"input", kFailedToParse},
                              {"to", kFailedToParse},
                              {"onError"},
                              {"onNull"},
                              {"format"},
                              {"byteOrder"}}};
const NamedForm kReplaceForm{
    51751, 51750, {{"input", 51749}, {"find", 51748}, {"replacement", 51747}}};
const NamedForm kTrimForm{50696, 50694, {{"input", 50695}, {"chars"}}};
const NamedForm kDateToPartsForm{40524, 40520, {{"date", 40522}, {"timezone"}, {"iso8601"}}};
const NamedForm kDateFromPartsForm{40519,
                                   40518,
                                   {{"year"},
                                    {"month"},
                                    {"day"},
                                    {"hour"},
                                    {"minute"},
                                    {"second"},
                                    {"millisecond"},
                                    {"isoWeekYear"},
                                    {"isoWeek"},
                                    {"isoDayOfWeek"},
                                    {"timezone"}}};
const NamedForm kDateToStringForm{
    18629, 18534, {{"date", 18628}, {"format"}, {"timezone"}, {"onNull"}}};
const NamedForm kDateFromStringForm{
    40540, 40541, {{"dateString", 40542}, {"format"}, {"timezone"}, {"onNull"}, {"onError"}}};
const NamedForm kDateAddForm{
    5166400,
    5166401,
    {{"startDate", 5166402}, {"unit", 5166402}, {"amount", 5166402}, {"timezone"}}};
const NamedForm kDateDiffForm{5166301,
                              5166302,
                              {{"startDate", 5166303},
                               {"endDate", 5166304},
                               {"unit", 5166305},
                               {"timezone"},
                               {"startOfWeek"}}};
const NamedForm kDateTruncForm{
    5439007,
    5439008,
    {{"date", 5439009}, {"unit", 5439010}, {"binSize"}, {"timezone"}, {"startOfWeek"}}};
const NamedForm kFirstNForm{5787801, 5787901, {{"n", 5787906}, {"input", 5787907}}};
const NamedForm kFieldForm{4161100, 4161101, {{"field"}, {"input"}, {"value"}}};

// A positional operator with `min` to `max` operands.
constexpr OperatorRow Op(std::string_view name, EvaluateFn evaluate, int min, int max) {
  return {name, ParsePositional, evaluate, min, max, 0, nullptr};
}
constexpr OperatorRow Op(std::string_view name, EvaluateFn evaluate, int count) {
  return Op(name, evaluate, count, count);
}
constexpr OperatorRow Variadic(std::string_view name, EvaluateFn evaluate) {
  return Op(name, evaluate, 0, kAnyCount);
}
// An operator of named arguments.
constexpr OperatorRow Named(std::string_view name, EvaluateFn evaluate, const NamedForm& form) {
  return {name, ParseNamed, evaluate, 0, kAnyCount, 0, &form};
}
// An operator with a parser of its own.
constexpr OperatorRow Own(std::string_view name, ParseFn parse, EvaluateFn evaluate = nullptr,
                          int min = 0, int max = kAnyCount, const NamedForm* form = nullptr,
                          unsigned flags = 0) {
  return {name, parse, evaluate, min, max, flags, form};
}

const OperatorRow kRows[] = {
    // Arithmetic.
    Op("$abs", EvalAbs, 1),
    Variadic("$add", EvalAdd),
    Op("$ceil", EvalCeil, 1),
    Op("$divide", EvalDivide, 2),
    Op("$exp", EvalFunctionOfOne, 1),
    Op("$floor", EvalFloor, 1),
    Op("$ln", EvalLn, 1),
    Op("$log", EvalLog, 2),
    Op("$log10", EvalLog10, 1),
    Op("$mod", EvalMod, 2),
    Variadic("$multiply", EvalMultiply),
    Op("$pow", EvalPow, 2),
    Op("$round", EvalRound, 1, 2),
    Own("$sigmoid", ParseSingle, EvalFunctionOfOne, 1, 1),
    Op("$sqrt", EvalSqrt, 1),
    Op("$subtract", EvalSubtract, 2),
    Op("$trunc", EvalTrunc, 1, 2),
    // Bits.
    Variadic("$bitAnd", EvalBitAnd),
    Op("$bitNot", EvalBitNot, 1),
    Variadic("$bitOr", EvalBitOr),
    Variadic("$bitXor", EvalBitXor),
    // Trigonometry.
    Op("$acos", EvalFunctionOfOne, 1),
    Op("$acosh", EvalFunctionOfOne, 1),
    Op("$asin", EvalFunctionOfOne, 1),
    Op("$asinh", EvalFunctionOfOne, 1),
    Op("$atan", EvalFunctionOfOne, 1),
    Op("$atan2", EvalAtan2, 2),
    Op("$atanh", EvalFunctionOfOne, 1),
    Op("$cos", EvalFunctionOfOne, 1),
    Op("$cosh", EvalFunctionOfOne, 1),
    Op("$degreesToRadians", EvalFunctionOfOne, 1),
    Op("$radiansToDegrees", EvalFunctionOfOne, 1),
    Op("$sin", EvalFunctionOfOne, 1),
    Op("$sinh", EvalFunctionOfOne, 1),
    Op("$tan", EvalFunctionOfOne, 1),
    Op("$tanh", EvalFunctionOfOne, 1),
    // Comparison and logic.
    Own("$and", ParseAndOr, EvalAnd),
    Op("$cmp", EvalCmp, 2),
    Op("$eq", EvalEq, 2),
    Op("$gt", EvalGt, 2),
    Op("$gte", EvalGte, 2),
    Op("$lt", EvalLt, 2),
    Op("$lte", EvalLte, 2),
    Op("$ne", EvalNe, 2),
    Op("$not", EvalNot, 1),
    Own("$or", ParseAndOr, EvalOr),
    // Conditions.
    Own("$cond", ParseCond, EvalCond, 3, 3),
    Own("$ifNull", ParseIfNull, EvalIfNull),
    Own("$switch", ParseSwitch),
    // Variables and literals.
    Own("$const", ParseLiteral),
    Own("$filter", ParseFilter),
    Own("$let", ParseLet),
    Own("$literal", ParseLiteral),
    Own("$map", ParseMap),
    Own("$reduce", ParseReduce),
    // Strings.
    Variadic("$concat", EvalConcat),
    Op("$indexOfBytes", EvalIndexOfBytes, 2, 4),
    Op("$indexOfCP", EvalIndexOfCp, 2, 4),
    Named("$ltrim", EvalLtrim, kTrimForm),
    Own("$regexFind", ParseRegex),
    Own("$regexFindAll", ParseRegex),
    Own("$regexMatch", ParseRegex),
    Named("$replaceAll", EvalReplaceAll, kReplaceForm),
    Named("$replaceOne", EvalReplaceOne, kReplaceForm),
    Named("$rtrim", EvalRtrim, kTrimForm),
    Op("$split", EvalSplit, 2),
    Op("$strLenBytes", EvalStrLenBytes, 1),
    Op("$strLenCP", EvalStrLenCp, 1),
    Op("$strcasecmp", EvalStrcasecmp, 2),
    Op("$substr", EvalSubstrBytes, 3),
    Op("$substrBytes", EvalSubstrBytes, 3),
    Op("$substrCP", EvalSubstrCp, 3),
    Op("$toLower", EvalToLower, 1),
    Op("$toUpper", EvalToUpper, 1),
    Named("$trim", EvalTrim, kTrimForm),
    // Arrays.
    Op("$arrayElemAt", EvalArrayElemAt, 2),
    Op("$arrayToObject", EvalArrayToObject, 1),
    Variadic("$concatArrays", EvalConcatArrays),
    Op("$first", EvalFirst, 1),
    Op("$in", EvalIn, 2),
    Op("$indexOfArray", EvalIndexOfArray, 2, 4),
    Op("$isArray", EvalIsArray, 1),
    Op("$last", EvalLast, 1),
    Op("$range", EvalRange, 2, 3),
    Op("$reverseArray", EvalReverseArray, 1),
    Op("$size", EvalSize, 1),
    Op("$slice", EvalSlice, 2, 3),
    Own("$zip", ParseZip),
    Named("$firstN", EvalFirstN, kFirstNForm),
    Named("$lastN", EvalFirstN, kFirstNForm),
    Named("$maxN", EvalFirstN, kFirstNForm),
    Named("$minN", EvalFirstN, kFirstNForm),
    Own("$sortArray", ParseSortArray),
    // Accumulators over operands.
    Variadic("$avg", EvalAvg),
    Variadic("$max", EvalMax),
    Own("$median", ParsePercentileCall),
    Variadic("$min", EvalMin),
    Own("$percentile", ParsePercentileCall),
    Variadic("$stdDevPop", EvalStdDevPop),
    Variadic("$stdDevSamp", EvalStdDevSamp),
    Variadic("$sum", EvalSum),
    // Sets.
    Op("$allElementsTrue", EvalAllElementsTrue, 1),
    Op("$anyElementTrue", EvalAnyElementTrue, 1),
    Op("$setDifference", EvalSetDifference, 2),
    Own("$setEquals", ParseSetEquals, EvalSetEquals),
    Variadic("$setIntersection", EvalSetIntersection),
    Op("$setIsSubset", EvalSetIsSubset, 2),
    Variadic("$setUnion", EvalSetUnion),
    // Documents.
    Own("$getField", ParseGetField, EvalGetField, 0, kAnyCount, &kFieldForm),
    Variadic("$mergeObjects", EvalMergeObjects),
    Op("$objectToArray", EvalObjectToArray, 1),
    Own("$setField", ParseSetField, EvalSetField, 0, kAnyCount, &kFieldForm),
    Own("$unsetField", ParseSetField, EvalSetField, 0, kAnyCount, &kFieldForm),
    // Types.
    Named("$convert", EvalConvert, kConvertForm),
    Op("$isNumber", EvalIsNumber, 1),
    Own("$toBool", ParseToType, EvalToType),
    Own("$toDate", ParseToType, EvalToType),
    Own("$toDecimal", ParseToType, EvalToType),
    Own("$toDouble", ParseToType, EvalToType),
    Own("$toInt", ParseToType, EvalToType),
    Own("$toLong", ParseToType, EvalToType),
    Own("$toObjectId", ParseToType, EvalToType),
    Own("$toString", ParseToType, EvalToType),
    Own("$toUUID", ParseToType, EvalToType),
    Op("$type", EvalType, 1),
    // Dates.
    Named("$dateAdd", EvalDateAdd, kDateAddForm),
    Named("$dateDiff", EvalDateDiff, kDateDiffForm),
    Own("$dateFromParts", ParseDateFromParts, EvalDateFromParts, 0, kAnyCount, &kDateFromPartsForm),
    Named("$dateFromString", EvalDateFromString, kDateFromStringForm),
    Named("$dateSubtract", EvalDateAdd, kDateAddForm),
    Named("$dateToParts", EvalDateToParts, kDateToPartsForm),
    Named("$dateToString", EvalDateToString, kDateToStringForm),
    Named("$dateTrunc", EvalDateTrunc, kDateTruncForm),
    Own("$dayOfMonth", ParseDatePart, EvalDatePart),
    Own("$dayOfWeek", ParseDatePart, EvalDatePart),
    Own("$dayOfYear", ParseDatePart, EvalDatePart),
    Own("$hour", ParseDatePart, EvalDatePart),
    Own("$isoDayOfWeek", ParseDatePart, EvalDatePart),
    Own("$isoWeek", ParseDatePart, EvalDatePart),
    Own("$isoWeekYear", ParseDatePart, EvalDatePart),
    Own("$millisecond", ParseDatePart, EvalDatePart),
    Own("$minute", ParseDatePart, EvalDatePart),
    Own("$month", ParseDatePart, EvalDatePart),
    Own("$second", ParseDatePart, EvalDatePart),
    Op("$tsIncrement", EvalTsIncrement, 1),
    Op("$tsSecond", EvalTsSecond, 1),
    Own("$week", ParseDatePart, EvalDatePart),
    Own("$year", ParseDatePart, EvalDatePart),
    // The rest.
    Op("$binarySize", EvalBinarySize, 1),
    Op("$bsonSize", EvalBsonSize, 1),
    Own("$meta", ParseMeta),
    Own("$function", ParseFunction),
    Own("$rand", ParseRand, EvalRand, 0, 0, nullptr, kVolatile),
    Op("$toHashedIndexKey", EvalToHashedIndexKey, 1),
};

}  // namespace

const OperatorRow* FindRow(std::string_view name) {
  static const std::unordered_map<std::string_view, const OperatorRow*> index = [] {
    std::unordered_map<std::string_view, const OperatorRow*> rows;
    for (const OperatorRow& row : kRows) {
      rows.emplace(row.name, &row);
    }
    return rows;
  }();
  auto it = index.find(name);
  return it == index.end() ? nullptr : it->second;
}

}  // namespace quire::expr::agg
