// SPDX-License-Identifier: Apache-2.0
//
// The npm package mongodb.
import assert from 'node:assert/strict';
import {after, before, beforeEach, test} from 'node:test';
import {MongoClient, ObjectId, Long, Decimal128, Double, Timestamp, MongoBulkWriteError, GridFSBucket} from 'mongodb';

const uri = process.env.QUIRE_URI;
const client = new MongoClient(uri, {serverSelectionTimeoutMS: 5000});
const db = client.db('node_driver');

before(() => client.connect());
beforeEach(() => db.dropDatabase());
after(async () => {
  await db.dropDatabase();
  await client.close();
});

test('crud', async () => {
  const things = db.collection('things');
  const {insertedId} = await things.insertOne({a: 1, nested: {b: [1, 2, 3]}});
  assert.deepEqual(await things.findOne({_id: insertedId}), {_id: insertedId, a: 1, nested: {b: [1, 2, 3]}});
  await things.insertMany(Array.from({length: 50}, (_, i) => ({i})));
  assert.equal(await things.countDocuments({i: {$gte: 25}}), 25);
  const updated = await things.updateMany({i: {$lt: 10}}, {$set: {low: true}, $push: {log: 'x'}});
  assert.equal(updated.modifiedCount, 10);
  const returned = await things.findOneAndUpdate({i: 0}, {$inc: {i: 100}}, {returnDocument: 'after'});
  assert.equal(returned.i, 100);
  assert.equal((await things.deleteMany({low: true})).deletedCount, 10);
  assert.equal(await things.estimatedDocumentCount(), 41);
  assert.equal((await things.distinct('i')).length, 40);
  const upsert = await things.replaceOne({_id: 'new'}, {x: 1}, {upsert: true});
  assert.equal(upsert.upsertedId, 'new');
});

test('types come back as they went', async () => {
  const document = {
    _id: new ObjectId(), long: Long.fromString('9007199254740993'), decimal: Decimal128.fromString('0.10'),
    double: new Double(2), date: new Date(1), regex: /a/i, ts: new Timestamp({t: 1, i: 2}), buffer: null};
  const types = db.collection('types');
  await types.insertOne(document);
  const found = await types.findOne({}, {promoteValues: false, promoteLongs: false});
  assert.equal(found.long.toString(), '9007199254740993');
  assert.equal(found.decimal.toString(), '0.10');
  assert.deepEqual(found.date, new Date(1));
});

test('a cursor over many batches', async () => {
  const numbers = db.collection('numbers');
  await numbers.insertMany(Array.from({length: 5000}, (_, i) => ({_id: i})));
  let expected = 0;
  for await (const document of numbers.find().batchSize(123)) assert.equal(document._id, expected++);
  assert.equal(expected, 5000);
  assert.equal((await numbers.find().sort({_id: -1}).skip(5).limit(3).toArray())[0]._id, 4994);
});

test('bulk writes', async () => {
  const things = db.collection('things');
  await assert.rejects(things.insertMany([{_id: 1}, {_id: 1}, {_id: 2}], {ordered: false}), error => {
    assert.ok(error instanceof MongoBulkWriteError);
    assert.equal(error.code, 11000);
    assert.equal(error.insertedCount, 2);
    return true;
  });
  const result = await things.bulkWrite([
    {insertOne: {document: {_id: 3}}}, {updateOne: {filter: {_id: 3}, update: {$set: {a: 1}}}},
    {replaceOne: {filter: {_id: 9}, replacement: {z: 1}, upsert: true}}, {deleteOne: {filter: {_id: 1}}}]);
  assert.deepEqual([result.insertedCount, result.modifiedCount, result.upsertedCount, result.deletedCount], [1, 1, 1, 1]);
});

test('indexes', async () => {
  const things = db.collection('things');
  assert.equal(await things.createIndex({a: 1, 'b.c': -1}, {unique: true}), 'a_1_b.c_-1');
  assert.equal((await things.indexes()).length, 2);
  await things.insertOne({a: 1});
  await assert.rejects(things.insertOne({a: 1}), {code: 11000});
  await things.dropIndex('a_1_b.c_-1');
  assert.equal((await things.indexes()).length, 1);
});

test('aggregation', async () => {
  const things = db.collection('things');
  await things.insertMany(Array.from({length: 100}, (_, i) => ({g: i % 4, v: i})));
  const result = await things.aggregate([
    {$match: {v: {$lt: 50}}}, {$group: {_id: '$g', n: {$sum: 1}, max: {$max: '$v'}}}, {$sort: {_id: 1}}]).toArray();
  assert.deepEqual(result.map(r => r.n), [13, 13, 12, 12]);
});

test('transactions', async () => {
  const things = db.collection('things');
  await things.insertOne({_id: 1, n: 0});
  await client.withSession(session => session.withTransaction(async () => {
    await things.updateOne({_id: 1}, {$inc: {n: 1}}, {session});
    await things.insertOne({_id: 2}, {session});
    assert.equal(await things.countDocuments({}, {session}), 2);
    assert.equal(await things.countDocuments({}), 1);
  }));
  assert.equal(await things.countDocuments({}), 2);
  const session = client.startSession();
  session.startTransaction();
  await things.deleteMany({}, {session});
  await session.abortTransaction();
  await session.endSession();
  assert.equal(await things.countDocuments({}), 2);
});

test('transactions that meet are run again', async () => {
  const counters = db.collection('counters');
  await counters.insertOne({_id: 1, n: 0});
  await Promise.all([...Array(8).keys()].map(() => client.withSession(session =>
    session.withTransaction(async () => {
      const {n} = await counters.findOne({_id: 1}, {session});
      await counters.updateOne({_id: 1}, {$set: {n: n + 1}}, {session});
      await db.collection('made').insertOne({n}, {session});
    }))));
  assert.equal((await counters.findOne({_id: 1})).n, 8);
  assert.equal(await db.collection('made').countDocuments(), 8);
});

test('bulk writes across collections', {skip: !client.bulkWrite}, async () => {
  const name = db.databaseName;
  const result = await client.bulkWrite([
    {name: 'insertOne', namespace: `${name}.left`, document: {_id: 1}},
    {name: 'insertOne', namespace: `${name}.right`, document: {_id: 1}},
    {name: 'updateOne', namespace: `${name}.left`, filter: {_id: 1}, update: {$set: {a: 1}}},
    {name: 'deleteMany', namespace: `${name}.right`, filter: {}},
  ], {verboseResults: true});
  assert.equal(result.insertedCount, 2);
  assert.equal(result.modifiedCount, 1);
  assert.equal(result.deletedCount, 1);
  await assert.rejects(
    client.bulkWrite([{name: 'insertOne', namespace: `${name}.left`, document: {_id: 1}}]),
    error => [...error.writeErrors.values()][0].code === 11000);
});

test('errors carry code and name', async () => {
  await assert.rejects(db.command({nosuch: 1}), {code: 59, codeName: 'CommandNotFound'});
  await assert.rejects(client.db('admin').command({atlasVersion: 1}), {code: 59});
  await assert.rejects(db.collection('c').find({$nope: 1}).toArray(), {code: 2});
});

for (const compressor of ['zlib', 'snappy', 'zstd']) {
  test(`compression ${compressor}`, async t => {
    let compressed;
    try {
      compressed = await MongoClient.connect(uri, {compressors: [compressor]});
      const c = compressed.db(db.databaseName).collection('c');
      await c.insertOne({_id: compressor, text: 'abc'.repeat(100_000)});
      assert.equal((await c.findOne({_id: compressor})).text.length, 300_000);
    } catch (error) {
      if (!/Optional module|not found|Cannot find/i.test(String(error))) throw error;
      t.skip('the codec is not installed');
    } finally {
      await compressed?.close();
    }
  });
}

test('unacknowledged writes', async () => {
  const quick = db.collection('quick', {writeConcern: {w: 0}});
  for (let i = 0; i < 50; ++i) await quick.insertOne({_id: i});
  const deadline = Date.now() + 10_000;
  while (await db.collection('quick').countDocuments() < 50 && Date.now() < deadline) {
    await new Promise(resolve => setTimeout(resolve, 10));
  }
  assert.equal(await db.collection('quick').countDocuments(), 50);
});

test('the monitor streams hello', async () => {
  const monitored = new MongoClient(uri, {serverMonitoringMode: 'stream', heartbeatFrequencyMS: 500});
  const beats = [];
  monitored.on('serverHeartbeatSucceeded', event => beats.push(event.awaited));
  await monitored.connect();
  const deadline = Date.now() + 15_000;
  while (beats.filter(Boolean).length < 2 && Date.now() < deadline) {
    await new Promise(resolve => setTimeout(resolve, 50));
  }
  await monitored.close();
  assert.ok(beats.filter(Boolean).length >= 2, `heartbeats: ${beats}`);
});

test('a hundred operations at once', async () => {
  const things = db.collection('things');
  await Promise.all(Array.from({length: 100}, (_, i) => things.insertOne({_id: i})));
  const found = await Promise.all(Array.from({length: 100}, (_, i) => things.findOne({_id: i})));
  assert.deepEqual(found.map(d => d._id), Array.from({length: 100}, (_, i) => i));
});

test('GridFS', async () => {
  const bucket = new GridFSBucket(db);
  const content = Buffer.alloc(600_000, 'q');
  const upload = bucket.openUploadStream('file');
  await new Promise((resolve, reject) => upload.on('finish', resolve).on('error', reject).end(content));
  const chunks = [];
  for await (const chunk of bucket.openDownloadStream(upload.id)) chunks.push(chunk);
  assert.deepEqual(Buffer.concat(chunks), content);
});
