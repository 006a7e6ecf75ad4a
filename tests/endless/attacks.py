# SPDX-License-Identifier: Apache-2.0
"""Operations that take long, by the part of the server that they keep busy. Each is a name and a command."""
import math

from bson import Regex

COLLECTION_SIZE = 3000
MANY = 150_000
WIDE = 80_000


def aggregate(collection, *stages):
    return {"aggregate": collection, "pipeline": list(stages), "cursor": {}}


def expression(value, collection="one"):
    return aggregate(collection, {"$set": {"x": value}})


def loops(depth):
    return 1 if depth == 0 else {"$sum": {"$map": {"input": {"$range": [0, 10000]}, "in": loops(depth - 1)}}}


CROSS = [{"$lookup": {"from": "c", "pipeline": [{"$match": {"$expr": {"$gt": [{"$add": ["$a", 1]}, 0]}}}], "as": "z"}},
         {"$unwind": "$z"}]
ROWS = CROSS * 3
HUGE = {"$map": {"input": {"$range": [0, 900_000]}, "in": {"$mod": [{"$multiply": ["$$this", 7919]}, 1_000_003]}}}


def ring(points, radius=10.0, x=0.0, y=0.0):
    circle = [[x + radius * math.cos(2 * math.pi * i / points), y + radius * math.sin(2 * math.pi * i / points)]
              for i in range(points)]
    return circle + [circle[0]]


def polygon(points, **place):
    return {"type": "Polygon", "coordinates": [ring(points, **place)]}


def with_holes(points):
    """Its outer ring begins at the same point, whatever its size, and has 20 holes."""
    holes = [ring(points // 40, radius=0.125, x=1 + 0.375 * i) for i in range(20)]
    return {"type": "Polygon", "coordinates": [ring(points // 2, radius=points / 50_000, x=10 - points / 50_000), *holes]}


def multipoint(points, step):
    return {"type": "MultiPoint", "coordinates": [[i * step % 170, i * step / 170 % 80] for i in range(points)]}


def line(points, y=0.0):
    return {"type": "LineString", "coordinates": [[-80 + 160 * i / points, y + (i % 2) * 0.5] for i in range(points)]}


def parsing():
    double = {"$replaceRoot": {"newRoot": {"a": "$$ROOT", "b": "$$ROOT"}}}
    deeper = {"$replaceRoot": {"newRoot": {"a": "$$ROOT"}}}
    yield "nested $replaceRoot", aggregate("c", *[double] * 15, *[deeper] * 80)
    yield "$in of 700,000 strings", {"find": "many", "filter": {"s": {"$in": [f"x{i:07}" for i in range(700_000)]}}}
    yield "50,000 ranges of _id", {"find": "many", "filter": {"$or": [{"_id": {"$gt": i * 3, "$lt": i * 3 + 2}}
                                                                      for i in range(50_000)]}}
    yield "50,000 ranges of an index", {"find": "many", "filter": {"$or": [{"n": {"$gt": i * 3, "$lt": i * 3 + 2}}
                                                                           for i in range(50_000)]}}
    yield "50,000 projected fields", {"find": "many", "projection": {f"f{i}": 1 for i in range(50_000)}}
    yield "50,000 computed fields", aggregate("many", {"$set": {f"f{i}": {"$add": ["$n", i]} for i in range(50_000)}})
    yield "$switch of 50,000", expression({"$switch": {"branches": [
        {"case": {"$eq": ["$n", i + 10_000_000]}, "then": i} for i in range(50_000)], "default": 0}}, "many")
    yield "$expr of 300,000", {"count": "many", "query": {"$expr": {"$gt": [{"$add": ["$n"] * 300_000}, -1]}}}
    yield "$jsonSchema of 50,000", {"count": "many", "query": {"$jsonSchema": {"properties": {
        f"f{i}": {"bsonType": "int", "minimum": i} for i in range(50_000)}}}}
    yield "20,000 accumulators", aggregate("many", {"$group": {
        "_id": None, **{f"f{i}": {"$sum": "$n"} for i in range(20_000)}}})
    yield "900 sub-pipelines", aggregate("c", *[
        {"$lookup": {"from": "c", "let": {"n": "$a"}, "pipeline": [{"$match": {"$expr": {"$eq": ["$a", "$$n"]}}}] * 20,
                     "as": f"z{i}"}} for i in range(900)])
    yield "nested $facet rows", aggregate("many", {"$facet": {
        f"f{i}": [{"$sort": {"s": 1, "n": -1}}, {"$group": {"_id": "$n"}}] for i in range(100)}})
    yield "$set of deep paths", {"update": "many", "updates": [
        {"q": {}, "u": {"$set": {f"a{i}" + ".b" * 170: i for i in range(20_000)}}, "multi": True}]}
    yield "$set of 100,000 paths", {"update": "many", "updates": [
        {"q": {}, "u": {"$set": {f"f{i}.x": i for i in range(100_000)}}, "multi": True}]}


def many_names():
    yield "$let", expression({"$let": {"vars": {f"v{i}": i for i in range(80_000)},
                                       "in": {"$add": [f"$$v{i}" for i in range(80_000)]}}})
    yield "let", {**expression({"$add": [f"$$v{i}" for i in range(80_000)]}),
                  "let": {f"v{i}": i for i in range(80_000)}}
    yield "output of a window", aggregate("one", {"$setWindowFields": {"sortBy": {"a": 1}, "output": {
        f"f{i}": {"$sum": "$a"} for i in range(40_000)}}})
    yield "$rename", {"update": "wide", "updates": [
        {"q": {"_id": 1}, "u": {"$rename": {f"g{i}": f"h{i}" for i in range(80_000)}}}]}


def lists():
    names = [f"f{i}" for i in range(400_000)]
    backwards = {f"f{i}": i for i in reversed(range(WIDE))}

    def schema(collection, **rules):
        return {"find": collection, "filter": {"$jsonSchema": rules}}
    yield "required names", schema("many", required=names)
    yield "dependencies", schema("many", dependencies={"n": names})
    yield "dependencies of many", schema("wide", dependencies={f"f{i}": [f"f{i + 1}"] for i in range(WIDE - 1)})
    yield "named properties", schema("wide", properties={f"f{i}": {} for i in reversed(range(WIDE))},
                                     additionalProperties=False)
    yield "patterns of properties", schema("wide", patternProperties={f"^x{i}$": {} for i in range(3000)},
                                           additionalProperties=False)
    yield "enum of wide documents", schema("wide", enum=[{"_id": 1, **backwards}])
    yield "unique wide documents", schema("pairs", properties={"d": {"uniqueItems": True}})
    yield "many array filters", {"update": "many", "updates": [
        {"q": {}, "u": {"$set": {f"t.$[i{i}]": 1 for i in range(60_000)}}, "multi": True,
         "arrayFilters": [{f"i{i}": {"$lt": 0}} for i in range(60_000)]}]}
    yield "many matching array filters", {"update": "pairs", "updates": [
        {"q": {}, "u": {"$set": {f"d.$[i{i}].n{i}": 1 for i in range(40_000)}},
         "arrayFilters": [{f"i{i}.n": None} for i in range(40_000)]}]}
    yield "update of a wide document", {"update": "wide", "updates": [
        {"q": {}, "u": [{"$set": {"changed": "$f1"}}]}] * 400}
    yield "$all of an index", {"find": "many", "filter": {"n": {"$all": list(range(300_000))}}}
    yield "$all of an array's index", {"find": "arrays", "filter": {"t": {"$all": list(range(100_000))}}}
    yield "$and of $ne", {"find": "many", "filter": {"$and": [{"n": {"$ne": i}} for i in range(100_000)]}}
    yield "words of a search", {"find": "words", "filter": {"$text": {
        "$search": " ".join(f"running{i}" for i in range(700_000))}}}
    yield "phrases of a search", {"find": "words", "filter": {"$text": {
        "$search": " ".join(f'"w{i} w{i + 1}"' for i in range(200_000))}}}
    yield "indexes", {"createIndexes": "many", "indexes": [{"key": {f"a{i}": 1}, "name": f"x{i}"} for i in range(200_000)]}
    yield "roles", {"rolesInfo": [{"role": name, "db": "shop"} for name in names[:300_000]]}


def planning():
    either = [{"$or": [{"a": i}, {"b": i}, {"n": i}]} for i in range(12)]
    yield "$and of $or", {"find": "many", "filter": {"$and": either, "s": {"$gt": ""}}}
    yield "$and of $or, explained", {"explain": {"find": "many", "filter": {"$and": either, "s": {"$gt": ""}}},
                                     "verbosity": "allPlansExecution"}
    yield "products of $in", {"find": "many", "filter": {"n": {"$in": list(range(200_000))},
                                                         "s": {"$in": [str(i) for i in range(200_000)]}},
                              "sort": {"a": 1, "b": 1}}
    yield "$nin of 400,000", {"count": "many", "query": {"n": {"$nin": [i * 2 + 10_000_000 for i in range(400_000)]},
                                                         "$expr": {"$eq": [-1, loops(3)]}}}
    yield "$elemMatch of many", {"count": "many", "query": {"$and": [
        {"t": {"$elemMatch": {"$gte": i, "$lt": i + 1000}}} for i in range(3000)]}}


def sorting():
    yield "$sort of joins", aggregate("c", *ROWS, {"$sort": {"z._id": 1}}, {"$count": "n"})
    yield "$sort with a collation", {**aggregate("many", *CROSS[:1], {"$unwind": "$z"}, {"$sort": {"s": 1, "z.a": 1}}),
                                     "collation": {"locale": "de", "strength": 1}}
    yield "sort of a find", {"find": "many", "filter": {"$expr": {"$gt": [loops(2), 0]}}, "sort": {"s": -1, "a": 1}}
    yield "$sortArray", expression({"$size": {"$sortArray": {"input": HUGE, "sortBy": 1}}}, "c")
    yield "$group of joins", aggregate("c", *ROWS, {"$group": {"_id": "$z.a", "n": {"$push": "$a"}}})
    yield "$bucketAuto", aggregate("c", *ROWS, {"$bucketAuto": {"groupBy": "$z", "buckets": 3}})
    yield "$sample", aggregate("c", *ROWS, {"$sample": {"size": 1000}})
    yield "$facet", aggregate("c", *ROWS, {"$facet": {"x": [{"$count": "n"}]}})
    yield "distinct", {"distinct": "many", "key": "s", "query": {"$expr": {"$gt": [loops(2), 0]}}}
    yield "$graphLookup", aggregate("c", *ROWS, {"$graphLookup": {
        "from": "c", "startWith": "$a", "connectFromField": "a", "connectToField": "a", "as": "g"}}, {"$count": "n"})
    yield "$unionWith", aggregate("c", {"$unionWith": {"coll": "c", "pipeline": ROWS}}, {"$count": "n"})
    yield "$densify", aggregate("one", {"$densify": {"field": "a", "range": {"step": 0.00001, "bounds": [0, 4]}}},
                                *CROSS, {"$count": "n"})
    yield "$out", aggregate("c", *ROWS, {"$project": {"_id": 0}}, {"$out": "out"})
    yield "$merge", aggregate("c", *ROWS, {"$project": {"_id": "$z._id"}}, {"$merge": "merged"})


def windows():
    def window(function, frame, sort=None):
        return aggregate("many", {"$setWindowFields": {"sortBy": sort or {"n": 1}, "output": {
            "x": {**function, "window": frame}}}}, {"$count": "n"})
    wide = {"documents": [-20_000, 20_000]}
    yield "$minN", window({"$minN": {"input": "$n", "n": 2}}, wide)
    yield "$topN", window({"$topN": {"n": 3, "sortBy": {"s": 1}, "output": "$n"}}, wide)
    yield "$addToSet", window({"$addToSet": "$s"}, wide)
    yield "$push", window({"$push": "$s"}, wide)
    yield "$median", window({"$median": {"input": "$n", "method": "approximate"}}, wide)
    yield "$percentile", window({"$percentile": {"input": "$n", "p": [0.5, 0.9], "method": "approximate"}}, wide)
    yield "range", window({"$addToSet": "$s"}, {"range": [-50_000, 50_000]})
    yield "$lastN", window({"$lastN": {"input": "$s", "n": 5000}}, wide)


def expressions():
    text = {"$reduce": {"input": {"$range": [0, 20]}, "initialValue": "ab", "in": {"$concat": ["$$value", "$$value"]}}}
    yield "loops", expression(loops(6))
    yield "$reduce of arrays", expression({"$size": {"$reduce": {
        "input": {"$range": [0, 900_000]}, "initialValue": [], "in": {"$concatArrays": ["$$value", ["$$this"]]}}}})
    yield "$reduce of texts", expression({"$strLenCP": {"$reduce": {
        "input": {"$range": [0, 900_000]}, "initialValue": "", "in": {"$concat": ["$$value", "x"]}}}})
    yield "$setUnion", expression({"$size": {"$setUnion": [HUGE, "$t"]}}, "c")
    yield "$setIsSubset", expression({"$setIsSubset": [HUGE, {"$reverseArray": HUGE}]}, "c")
    yield "$indexOfArray", expression({"$map": {"input": {"$range": [0, 100_000]}, "in": {
        "$indexOfArray": [{"$range": [0, 100_000]}, {"$add": ["$$this", 0.5]}]}}})
    yield "$split", expression({"$map": {"input": {"$range": [0, 1000]}, "in": {"$size": {"$split": [text, "b"]}}}})
    yield "$replaceAll", expression({"$map": {"input": {"$range": [0, 1000]}, "in": {"$strLenCP": {
        "$replaceAll": {"input": text, "find": "a", "replacement": "xy"}}}}})
    yield "$indexOfCP", expression({"$indexOfCP": ["$s", "a" * 50_000 + "b"]}, "texts")
    yield "$regexFindAll", expression({"$regexFindAll": {"input": "$s", "regex": "a*a*[bc]"}}, "texts")
    yield "$regex", {"find": "texts", "filter": {"s": Regex("a*a*[bc]")}}
    yield "$regex of the schema", {"find": "texts", "filter": {"$jsonSchema": {"properties": {
        "s": {"pattern": "a*a*[bc]"}}}}}
    yield "$dateFromString", expression({"$map": {"input": {"$range": [0, 1_000_000]}, "in": {"$dateFromString": {
        "dateString": {"$concat": ["2017-07-04T11:56:02.", {"$toString": {"$mod": ["$$this", 1000]}}]}}}}})
    yield "$filter of $filter", expression({"$size": {"$filter": {"input": {"$range": [0, 100_000]}, "cond": {
        "$gt": [{"$size": {"$filter": {"input": {"$range": [0, 100_000]}, "cond": {"$gt": ["$$this", 0]}}}}, 0]}}}})
    yield "rows of an update", {"update": "many", "updates": [
        {"q": {"$expr": {"$eq": [-1, loops(3)]}}, "u": {"$set": {"x": 1}}, "multi": True}]}
    yield "pipeline of an update", {"update": "one", "updates": [{"q": {}, "u": [{"$set": {"x": loops(6)}}]}]}
    yield "rows of a delete", {"delete": "many", "deletes": [{"q": {"$expr": {"$eq": [-1, loops(3)]}}, "limit": 0}]}
    yield "findAndModify", {"findAndModify": "many", "query": {"$expr": {"$eq": [-1, loops(3)]}}, "remove": True}
    yield "words", {"count": "words", "query": {"$text": {"$search": " ".join(f"w{i}" for i in range(20_000))},
                                                "$expr": {"$eq": [-1, loops(3)]}}}


def scripts():
    def function(body):
        return expression({"$function": {"body": f"function () {{ {body} }}", "args": [], "lang": "js"}}, "c")
    yield "$where", {"find": "c", "filter": {"$where": "for (;;) {}"}}
    yield "loop", function("for (;;) {}")
    yield "pattern", function("return /^(a+)+$/.test('a'.repeat(40) + 'b');")
    yield "search", function("return 'a'.repeat(4e6).indexOf('a'.repeat(2e6) + 'b');")
    yield "sort", function("for (;;) { let x = []; for (let i = 0; i < 1e6; i++) x.push((i * 7919) % 1000003); "
                           "x.sort(); }")
    yield "JSON", function("let x = []; for (let i = 0; i < 1e6; i++) x.push({a: i}); for (;;) JSON.stringify(x);")
    yield "numbers", function("let x = 3n; for (;;) { x = x * x; if (x > 2n ** 1000000n) x = 3n; }")
    yield "texts", function("for (;;) { 'ab'.repeat(1e6).split('').reverse().join(''); }")
    yield "mapReduce", {"mapReduce": "c", "map": "function () { for (;;) {} }",
                        "reduce": "function (k, v) { return 1; }", "out": {"inline": 1}}


def geometry():
    def intersects(shape, collection="shapes"):
        return {"count": collection, "query": {"g": {"$geoIntersects": {"$geometry": shape}}}}
    yield "points and points", intersects(multipoint(100_000, 0.00171), "points")
    yield "points and a polygon", intersects(polygon(450_000), "points")
    yield "polygon of 450,000", intersects(polygon(450_000))
    yield "polygon with a hole", intersects({"type": "Polygon", "coordinates": [
        ring(200_000), ring(200_000, radius=9.9)]})
    yield "polygons with holes that have a corner in common", intersects(with_holes(300_000), "punched")
    yield "line of 400,000", intersects(line(400_000, 0.3))
    yield "20 polygons", intersects({"type": "MultiPolygon", "coordinates": [
        [ring(20_000, radius=1.0, x=3.0 * i - 30)] for i in range(20)]})
    yield "all kinds", intersects({"type": "GeometryCollection", "geometries": [
        polygon(100_000), multipoint(100_000, 0.00133), line(100_000)]})
    yield "within", {"count": "points", "query": {"g": {"$geoWithin": {"$geometry": polygon(400_000, radius=60.0)}}}}
    yield "near", aggregate("spots", {"$geoNear": {"near": {"type": "Point", "coordinates": [0.0, 0.0]},
                                                   "distanceField": "d", "spherical": True}},
                            {"$match": {"$expr": {"$eq": [-1, loops(3)]}}})
    yield "flat polygon", {"count": "spots", "query": {"p": {"$geoWithin": {"$polygon": ring(400_000)[:-1]}}}}


def building():
    def index(key, collection="many", **options):
        return {"createIndexes": collection, "indexes": [{"key": key, "name": "built", **options}]}
    yield "multikey", index({"t": 1, "s": 1})
    yield "wildcard", index({"$**": 1})
    yield "collation", index({"s": 1, "n": -1}, collation={"locale": "de"})
    yield "filter", index({"s": 1}, partialFilterExpression={"n": {"$gte": 0}}, expireAfterSeconds=10 ** 6)
    yield "hashed", index({"s": "hashed"})
    yield "words", index({"s": "text", "u": "text"}, "phrases")
    yield "polygons", index({"g": "2dsphere"}, "shapes")
    yield "points", index({"g": "2dsphere"}, "points")
    yield "validate", {"validate": "many", "full": True}
    yield "hash", {"dbHash": 1}


def long_values():
    many = {"$range": [0, 1_000_000]}
    yield "compared texts", {**expression({"$map": {"input": many, "in": {"$eq": ["$s", "$longer"]}}}, "texts"),
                             "collation": {"locale": "de", "strength": 1}}
    yield "$toUpper", expression({"$map": {"input": many, "in": {"$strLenCP": {"$toUpper": "$s"}}}}, "texts")
    yield "$strcasecmp", expression({"$map": {"input": many, "in": {"$strcasecmp": ["$s", "$s"]}}}, "texts")
    yield "$substrCP", expression({"$map": {"input": many, "in": {"$substrCP": ["$s", 399_990, 5]}}}, "texts")
    yield "$trim", expression({"$map": {"input": many, "in": {"$strLenCP": {"$trim": {
        "input": "$s", "chars": "".join(chr(200 + i) for i in range(2000)) + "a"}}}}}, "texts")
    yield "decimals", expression({"$map": {"input": many, "in": {"$exp": {"$divide": [
        {"$toDecimal": "$$this"}, 1_000_000]}}}}, "c")
    yield "$zip", expression({"$size": {"$zip": {"inputs": [HUGE, HUGE, HUGE]}}}, "c")
    yield "$mergeObjects", expression({"$map": {"input": many, "in": {"$size": {"$objectToArray": {
        "$mergeObjects": ["$$ROOT", {"x": 1}]}}}}}, "wide")
    yield "$setField", expression({"$map": {"input": many, "in": {"$type": {"$setField": {
        "field": "f1", "input": "$$ROOT", "value": 1}}}}}, "wide")
    yield "$arrayToObject", expression({"$map": {"input": many, "in": {"$type": {"$arrayToObject": {
        "$objectToArray": "$$ROOT"}}}}}, "wide")


def commands():
    slow = {"$expr": {"$eq": [-1, loops(3)]}}
    yield "$lookup without an index", aggregate("many", {"$lookup": {
        "from": "many", "localField": "s", "foreignField": "u", "as": "z"}}, {"$count": "n"})
    yield "bulkWrite", {"bulkWrite": 1, "ops": [{"update": 0, "filter": slow, "updateMods": {"$set": {"x": 1}},
                                                 "multi": True}], "nsInfo": [{"ns": "shop.many"}], "$db": "admin"}
    yield "explain", {"explain": {"count": "many", "query": slow}, "verbosity": "executionStats"}
    yield "$accumulator", aggregate("c", {"$group": {"_id": None, "x": {"$accumulator": {
        "init": "function () { return 0; }", "accumulate": "function (s) { for (;;) {} }", "accumulateArgs": [],
        "merge": "function (a, b) { return a; }", "lang": "js"}}}})
    yield "finalize", {"mapReduce": "c", "map": "function () { emit(1, 1); }",
                       "reduce": "function (k, v) { return 1; }", "finalize": "function (k, v) { for (;;) {} }",
                       "out": {"inline": 1}}
    yield "insert into a text index", {"insert": "words", "documents": [
        {"s": " ".join(f"running{i * j % 9973}" for j in range(1, 60))} for i in range(20_000)]}
    yield "copy", {"cloneCollectionAsCapped": "many", "toCollection": "copy", "size": 10 ** 9}
    yield "array filters", {"update": "many", "updates": [
        {"q": {}, "u": {"$set": {"t.$[e]": 1}}, "multi": True, "arrayFilters": [
            {"$and": [{"e": {"$ne": i}} for i in range(2000)]}]}]}
    yield "validator", {"collMod": "c", "validator": {"$and": [
        {f"f{i}": {"$not": {"$regex": f"^(a|b|{i})+$"}}} for i in range(20_000)]}}


# Those that are quick enough to end by themselves on a fast machine: with success, or because it is too much.
SHORT = {"$in of 700,000 strings", "50,000 ranges of _id", "50,000 ranges of an index", "$and of $or",
         "$and of $or, explained", "products of $in", "points and points", "points and a polygon", "$expr of 300,000",
         "hashed", "filter", "copy", "validator", "points", "50,000 projected fields", "$switch of 50,000",
         "$elemMatch of many", "$lookup without an index", "within", "required names", "dependencies",
         "dependencies of many", "named properties", "enum of wide documents", "unique wide documents", "$all of an index",
         "$all of an array's index", "words of a search", "roles", "patterns of properties"}
PARTS = (parsing, many_names, lists, planning, sorting, windows, expressions, scripts, geometry, building, long_values,
         commands)


def fill(database):
    """The data of all attacks."""
    database.c.insert_many([{"a": i % 10, "t": [1, 2, 3]} for i in range(COLLECTION_SIZE)])
    database.one.insert_one({"_id": 1, "a": 1})
    wide = {f"f{i}": i for i in range(WIDE)}
    database.wide.insert_one({"_id": 1, **wide})
    database.pairs.insert_one({"_id": 1, "d": [wide, {f"f{i}": i for i in reversed(range(WIDE))}]})
    database.arrays.create_index("t")
    database.arrays.insert_one({"_id": 1, "t": [1, 2, 3]})
    database.texts.insert_one({"_id": 1, "s": "a" * 400_000, "longer": "a" * 400_000 + "b"})
    database.many.create_index([("n", 1), ("s", 1)])
    database.many.create_index("a")
    database.many.create_index("b")
    for start in range(0, MANY, 10_000):
        database.many.insert_many([{"_id": i, "n": i, "a": i % 100, "b": i % 77, "s": f"text {i * 7919 % 1000003}",
                                    "t": [i, i + 1, i + 2, i % 5, i % 7]} for i in range(start, start + 10_000)])
    database.words.create_index([("s", "text")])
    database.words.insert_many([{"s": " ".join(f"w{(i * j) % 20_000}" for j in range(1, 200))} for i in range(2000)])
    phrases = " ".join(f"running{i} walked{i} happily{i}" for i in range(20_000))
    database.phrases.insert_many([{"s": phrases, "u": phrases} for _ in range(8)])
    database.shapes.insert_many([{"g": polygon(60_000, radius=10.0 + i, x=0.01)} for i in range(4)])
    database.shapes.insert_one({"g": polygon(300_000)})
    database.shapes.insert_one({"g": line(300_000)})
    database.punched.insert_many([{"g": with_holes(points)} for points in (275_000, 287_500)])
    database.points.insert_many([{"g": multipoint(100_000, 0.0017)}, {"g": multipoint(200_000, 0.0013)}])
    database.spots.create_index([("g", "2dsphere")])
    database.spots.insert_many([{"g": {"type": "Point", "coordinates": [i % 360 / 2.1, i % 170 / 2.1]},
                                 "p": [i % 19 - 9.0, i % 17 - 8.0]} for i in range(20_000)])
