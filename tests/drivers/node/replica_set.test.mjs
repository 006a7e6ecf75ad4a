// SPDX-License-Identifier: Apache-2.0
//
// A replica set of three: the Node.js driver over a failover, and mongosh's rs helpers.
import assert from 'node:assert/strict';
import {execFile} from 'node:child_process';
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {dirname, join} from 'node:path';
import {after, before, test} from 'node:test';
import {setTimeout as sleep} from 'node:timers/promises';
import {fileURLToPath} from 'node:url';
import {promisify} from 'node:util';
import {MongoClient} from 'mongodb';

const run = promisify(execFile);
const mongosh = join(dirname(fileURLToPath(import.meta.url)), 'node_modules/.bin/mongosh');
const folder = mkdtempSync(join(tmpdir(), 'quire-set-'));
let uri;

async function cluster(...job) {
  const {stdout} = await run(process.env.QUIRE, ['cluster', ...job, '--dir', folder], {timeout: 180_000});
  return stdout;
}

async function nameOf(role) {
  const {processes} = JSON.parse(await cluster('status', '--json'));
  return processes.find(process => process.role === role)?.name;
}

async function settled() {
  for (let i = 0; i < 300; ++i) {
    const {processes} = JSON.parse(await cluster('status', '--json'));
    const roles = processes.map(process => process.role).sort().join();
    if (roles === 'etcd,primary,secondary,secondary') return;
    await sleep(200);
  }
  assert.fail(await cluster('status'));
}

before(async () => {
  uri = (await cluster('up', '--port', '0')).trim().split('\n').at(-1);
});
after(async () => {
  await cluster('down');
  rmSync(folder, {recursive: true, force: true});
});

// One writer, and a monitor that does not stream: this driver does not retry a write on a connection of which it has
// noticed by another one that its server is gone.
test('a killed primary costs no write and doubles none', async () => {
  const client = await MongoClient.connect(
      uri, {retryWrites: true, writeConcern: {w: 'majority'}, serverMonitoringMode: 'poll'});
  const counters = client.db('node_set').collection('counters');
  let running = true;
  const acknowledged = [];
  const writer = (async () => {
    for (let id = 0; running; ++id) {
      await counters.updateOne({_id: id}, {$inc: {n: 1}}, {upsert: true});
      acknowledged.push(id);
    }
  })();
  await sleep(1000);
  const primary = await nameOf('primary');
  await cluster('kill', primary);
  await sleep(5000);
  await cluster('start', primary);
  await settled();
  running = false;
  await writer;
  const counts = new Map((await counters.find().toArray()).map(({_id, n}) => [_id, n]));
  assert.deepEqual(acknowledged.filter(id => counts.get(id) !== 1), []);
  assert.deepEqual([...counts].filter(([, n]) => n !== 1), []);
  await client.close();
});

test('a change stream goes on at the next primary', async () => {
  const client = await MongoClient.connect(uri);
  const watched = client.db('node_set').collection('watched');
  await client.db('node_set').createCollection('watched');
  const stream = watched.watch();
  const seen = [];
  const reading = (async () => {
    for await (const change of stream) {
      seen.push(change.documentKey._id);
      if (seen.length === 20) return;
    }
  })();
  await sleep(500);
  for (let i = 0; i < 20; ++i) {
    await watched.insertOne({_id: i}, {writeConcern: {w: 'majority'}});
    if (i === 9) await client.db('admin').command({replSetStepDown: 5});
  }
  await reading;
  assert.deepEqual(seen, Array.from({length: 20}, (_, i) => i));
  await stream.close();
  await client.close();
  await settled();
});

test('reads go where the read preference says', async () => {
  const client = await MongoClient.connect(uri);
  const things = client.db('node_set').collection('things');
  // Acknowledged is what is in the members' logs: the session waits until it is applied.
  const session = client.startSession({causalConsistency: true});
  await things.insertOne({_id: 1}, {writeConcern: {w: 3}, session});
  const found = await things.findOne({_id: 1}, {readPreference: 'secondary', session});
  assert.deepEqual(found, {_id: 1});
  await session.endSession();
  await client.close();
});

async function evaluate(script) {
  const home = mkdtempSync(join(tmpdir(), 'mongosh-'));
  try {
    const {stdout} = await run(mongosh, [uri, '--quiet', '--json=relaxed', '--eval', script],
                               {env: {...process.env, HOME: home}, timeout: 90_000});
    return JSON.parse(stdout);
  } finally {
    rmSync(home, {recursive: true, force: true});
  }
}

test('rs.status, rs.conf and the printed reports', async () => {
  const result = await evaluate(`EJSON.serialize({
    states: rs.status().members.map(m => m.stateStr).sort(), set: rs.status().set,
    hosts: rs.conf().members.length, version: rs.conf().version, hello: rs.hello().hosts.length,
    oplog: Object.keys(rs.printReplicationInfo()).length > 0,
    lags: rs.printSecondaryReplicationInfo() !== null})`);
  assert.deepEqual(result.states, ['PRIMARY', 'SECONDARY', 'SECONDARY']);
  assert.deepEqual([result.set, result.hosts, result.hello], ['s0', 3, 3]);
});

test('rs.remove, rs.add and rs.stepDown', async () => {
  const result = await evaluate(`
    const secondary = rs.status().members.find(m => m.stateStr === 'SECONDARY').name;
    const removed = rs.remove(secondary);
    const two = rs.conf().members.length;
    const added = rs.add(secondary);
    EJSON.serialize({removed: removed.ok, two, added: added.ok, three: rs.conf().members.length})`);
  assert.deepEqual(result, {removed: 1, two: 2, added: 1, three: 3});
  await settled();
  const before = await nameOf('primary');
  await evaluate(`EJSON.serialize({ok: rs.stepDown(10).ok})`);
  for (let i = 0; i < 300 && await nameOf('primary') === before; ++i) await sleep(200);
  await settled();
  assert.notEqual(await nameOf('primary'), before);
});
