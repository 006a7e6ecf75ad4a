// SPDX-License-Identifier: Apache-2.0
//
// watch() of the npm package mongodb: events, resuming, a restart of the server.
import assert from 'node:assert/strict';
import {spawn} from 'node:child_process';
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {after, before, beforeEach, test} from 'node:test';
import {MongoClient} from 'mongodb';

const client = new MongoClient(process.env.QUIRE_URI, {serverSelectionTimeoutMS: 5000});
const db = client.db('node_watch');

before(() => client.connect());
beforeEach(() => db.dropDatabase());
after(async () => {
  await db.dropDatabase();
  await client.close();
});

// Starts a server of its own on the folder; resolves to its process and address.
function start(folder) {
  const child = spawn(process.env.QUIRE, ['serve', '--port', '0', '--dbpath', folder, '--nounixsocket',
    '--logFormat', 'text'], {stdio: ['ignore', 'pipe', 'inherit']});
  return new Promise((resolve, reject) => {
    let output = '';
    child.on('exit', code => reject(new Error(`exit ${code}: ${output}`)));
    child.stdout.on('data', data => {
      output += data;
      const port = /Waiting for connections port=(\d+)/.exec(output);
      if (port) resolve({child, uri: `mongodb://127.0.0.1:${port[1]}`});
    });
  });
}

const stop = child => new Promise(resolve => {
  child.removeAllListeners('exit');
  child.once('exit', resolve);
  child.kill('SIGTERM');
});

test('events of a collection', async () => {
  const things = db.collection('things');
  const stream = things.watch([{$match: {operationType: {$ne: 'delete'}}}], {fullDocument: 'updateLookup'});
  const first = stream.next();
  await new Promise(resolve => stream.once('resumeTokenChanged', resolve));
  await things.insertOne({_id: 1});
  assert.equal((await first).operationType, 'insert');
  await things.updateOne({_id: 1}, {$push: {list: {$each: [1, 2]}}});
  await things.deleteOne({_id: 1});
  await things.insertOne({_id: 2});
  const update = await stream.next();
  assert.deepEqual(update.updateDescription.updatedFields, {list: [1, 2]});
  assert.deepEqual((await stream.next()).documentKey, {_id: 2});
  await stream.close();
});

test('dropping the collection ends its stream', async () => {
  const things = db.collection('things');
  await things.insertOne({_id: 0});
  const {operationTime} = await db.command({insert: 'things', documents: [{_id: 1}]});
  await things.insertOne({_id: 2});
  await things.drop();
  const kinds = [];
  const stream = things.watch([], {startAtOperationTime: operationTime});
  for (let i = 0; i < 4; ++i) kinds.push((await stream.next()).operationType);
  assert.deepEqual(kinds, ['insert', 'insert', 'drop', 'invalidate']);
  await assert.rejects(stream.next(), /closed/);
});

test('a stream goes on after a restart of the server', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'quire-watch-'));
  try {
    let server = await start(folder);
    let own = await new MongoClient(server.uri).connect();
    let stream = own.db('app').collection('things').watch();
    const opened = stream.tryNext();
    await opened;
    await own.db('app').collection('things').insertMany([{_id: 1}, {_id: 2}, {_id: 3}]);
    const event = await stream.next();
    assert.deepEqual(event.documentKey, {_id: 1});
    const resumeAfter = event._id;
    await stream.close();
    await own.close();
    await stop(server.child);
    server = await start(folder);
    own = await new MongoClient(server.uri).connect();
    await own.db('app').collection('things').insertOne({_id: 4});
    stream = own.db('app').watch([], {resumeAfter});
    for (const id of [2, 3, 4]) assert.deepEqual((await stream.next()).documentKey, {_id: id});
    await stream.close();
    await own.close();
    await stop(server.child);
  } finally {
    rmSync(folder, {recursive: true, force: true});
  }
});
