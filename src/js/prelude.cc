// SPDX-License-Identifier: Apache-2.0
//
// The helpers scripts expect that need nothing native. Their bodies are compiled when first called.
#include "js/runtime_internal.h"

namespace quire::js {

const std::string_view kPrelude = R"js((function(global, bsonsize, print) {
function hidden(object, members) {
  for (var name of Object.keys(members)) {
    Object.defineProperty(object, name, {value: members[name], writable: true, configurable: true});
  }
}
function quote(text) { return JSON.stringify(text); }
function doassert(message) {
  throw message instanceof Error ? message
                                 : new Error(typeof message === 'string' ? message : tojson(message));
}
function assert(condition, message) {
  if (arguments.length > 2) doassert('assert called with more than two arguments');
  if (condition) return;
  if (typeof message === 'function') message = message();
  doassert(message === undefined ? 'assert failed'
                                 : 'assert failed : ' + (typeof message === 'object' ? tojson(message) : message));
}
function isNumber(x) { return typeof x === 'number' || x instanceof NumberInt || x instanceof NumberLong || x instanceof NumberDecimal; }
function isString(x) { return typeof x === 'string'; }
function isObject(x) { return typeof x === 'object'; }
function pad(number, width) { return String(number).padStart(width, '0'); }
function dateText(date) {
  if (isNaN(date.getTime())) return 'ISODate("NaN")';
  var millis = date.getUTCMilliseconds();
  return 'ISODate("' + pad(date.getUTCFullYear(), 4) + '-' + pad(date.getUTCMonth() + 1, 2) + '-' +
      pad(date.getUTCDate(), 2) + 'T' + pad(date.getUTCHours(), 2) + ':' + pad(date.getUTCMinutes(), 2) + ':' +
      pad(date.getUTCSeconds(), 2) + (millis ? '.' + pad(millis, 3) : '') + 'Z")';
}
var typed = [ObjectId, NumberLong, NumberInt, NumberDecimal, Timestamp, BinData, MinKey, MaxKey, DBPointer];
function listText(open, items, close, indent, oneLine) {
  if (items.length === 0) return open + ' ' + close;
  if (oneLine) return open + ' ' + items.join(', ') + ' ' + close;
  var inner = indent + '\t';
  return open + '\n' + inner + items.join(',\n' + inner) + '\n' + indent + close;
}
function tojson(x, indent, oneLine, depth) {
  indent = indent || '';
  depth = depth || 0;
  if (depth > 150) doassert('tojson: too deep');
  switch (typeof x) {
    case 'string': return quote(x);
    case 'number': case 'boolean': case 'undefined': case 'bigint': case 'symbol': return String(x);
    case 'function': return x === MinKey || x === MaxKey ? x().toString() : x.toString();
  }
  return tojsonObject(x, indent, oneLine, depth);
}
function tojsonObject(x, indent, oneLine, depth) {
  if (x === null) return 'null';
  indent = indent || '';
  depth = depth || 0;
  for (var type of typed) if (x instanceof type) return x.toString();
  if (x instanceof Date) return dateText(x);
  if (x instanceof RegExp) return x.toString();
  if (x instanceof Code) return '{ "code" : ' + quote(x.code) + ' }';
  if (typeof x.tojson === 'function' && x.tojson !== tojson) return x.tojson(indent, oneLine, depth);
  var inner = indent + '\t';
  if (Array.isArray(x)) {
    return listText('[', Array.from(x, v => tojson(v, inner, oneLine, depth + 1)), ']', indent, oneLine);
  }
  return listText('{', Object.keys(x).map(k => quote(k) + ' : ' + tojson(x[k], inner, oneLine, depth + 1)),
                  '}', indent, oneLine);
}
function tojsononeline(x) { return tojson(x, ' ', true); }
function printjson(x) { print(tojson(x)); }
function printjsononeline(x) { print(tojsononeline(x)); }
function ISODate(text) {
  if (text === undefined || text === null || text === '') return new Date();
  var m = /^(\d{4})-?(\d\d)-?(\d\d)([T ](\d\d)(:?(\d\d)(:?(\d\d)(\.\d+)?)?)?(Z|([+-])(\d\d):?(\d\d)?)?)?$/.exec(text);
  if (!m) doassert('invalid ISO date: ' + text);
  var millis = m[10] ? Math.floor(parseFloat('0' + m[10]) * 1000 + 1e-6) : 0;
  var time = Date.UTC(+m[1], m[2] - 1, +m[3], +m[5] || 0, +m[7] || 0, +m[9] || 0, millis);
  if (+m[1] < 100) { var d = new Date(time); d.setUTCFullYear(+m[1]); time = d.getTime(); }
  if (+m[2] < 1 || +m[2] > 12 || +m[3] < 1 || +m[3] > 31 || +m[5] > 24 || +m[7] > 59 || +m[9] > 60) {
    doassert('invalid ISO date: ' + text);
  }
  if (m[12]) time -= (m[12] === '-' ? -1 : 1) * (+m[13] * 60 + (+m[14] || 0)) * 60000;
  return new Date(time);
}
function DBRef(ref, id, db) {
  if (!(this instanceof DBRef)) return new DBRef(ref, id, db);
  this.$ref = ref;
  this.$id = id;
  if (db !== undefined) this.$db = db;
}
hidden(DBRef.prototype, {
  getRef() { return this.$ref; }, getCollection() { return this.$ref; },
  getId() { return this.$id; }, getDb() { return this.$db; },
  toString() { return 'DBRef(' + quote(this.$ref) + ', ' + tojson(this.$id) + ')'; },
  tojson() { return this.toString(); },
});
hidden(global, {doassert, assert, isNumber, isString, isObject, tojson, tojsonObject, tojsononeline,
                printjson, printjsononeline, ISODate, DBRef, args: undefined});
hidden(Object, {
  bsonsize,
  extend(to, from, deep) {
    for (var k of Object.keys(from)) {
      to[k] = deep && typeof from[k] === 'object' && from[k] !== null ? Object.extend(Array.isArray(from[k]) ? [] : {}, from[k], true)
                                                                     : from[k];
    }
    return to;
  },
  merge(a, b, deep) { return Object.extend(Object.extend({}, a, deep), b, deep); },
  keySet(object) { var keys = []; for (var k in object) keys.push(k); return keys; },
});
hidden(Array, {
  contains(array, x) { return array.indexOf(x) >= 0; },
  unique(array) {
    var seen = new Set();
    return array.filter(x => { var text = tojson(x); return seen.has(text) ? false : seen.add(text); });
  },
  shuffle(array) {
    for (var i = array.length - 1; i > 0; --i) {
      var j = Math.floor(Math.random() * (i + 1)), x = array[i];
      array[i] = array[j];
      array[j] = x;
    }
    return array;
  },
  tojson(array, indent, oneLine) { return tojson(array, indent, oneLine); },
  sum(array) {
    if (array.length === 0) return null;
    var total = array[0];
    for (var i = 1; i < array.length; ++i) total += array[i];
    return total;
  },
  avg(array) { return array.length === 0 ? null : Array.sum(array) / array.length; },
  stdDev(array) {
    var mean = Array.avg(array), total = 0;
    for (var x of array) total += Math.pow(x - mean, 2);
    return Math.sqrt(total / array.length);
  },
});
hidden(String.prototype, {
  ltrim() { return this.trimStart(); }, rtrim() { return this.trimEnd(); },
  pad(width, right, fill) { return right ? this.padEnd(width, fill) : this.padStart(width, fill); },
});
hidden(Number.prototype, {
  toPercentStr() { return (this * 100).toFixed(2) + '%'; }, zeroPad(width) { return pad(this, width); },
});
hidden(Date, {timeFunc(f, times) { var t = new Date(); for (var i = 0; i < (times || 1); ++i) f(); return new Date() - t; }});
hidden(Date.prototype, {tojson() { return dateText(this); }});
delete global.bsonsize;
})(this, bsonsize, print);)js";

}  // namespace quire::js
