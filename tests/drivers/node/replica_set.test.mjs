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

// Nothing is thrown where nobody waits for it: the writer's error is kept for the end. One writer, and a monitor that does not stream: this driver does not retry a write on a connection of which it has
// noticed by another one that its server is gone.
test('a killed primary costs no write and doubles none', async () => {
  const client = await MongoClient.connect(
      uri, {retryWrites: true, writeConcern: {w: 'majority'}, serverMonitoringMode: 'poll'});
  const counters = client.db('node_set').collection('counters');
  let running = true;
  const acknowledged = [];
  let failure;
  const writer = (async () => {
    for (let id = 0; running; ++id) {
      await counters.updateOne({_id: id}, {$inc: {n: 1}}, {upsert: true});
      acknowledged.push(id);
    }
  })().catch(error => failure = error);
  await sleep(1000);
  const primary = await nameOf('primary');
  await cluster('kill', primary);
  await sleep(5000);
  await cluster('start', primary);
  await settled();
  running = false;
  await writer;
  assert.equal(failure, undefined);
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
                               {env: {...process.env, HOME: home}, timeout: 300_000});
    return JSON.parse(stdout);
  } finally {
    rmSync(home, {recursive: true, force: true});
  }
}

// The fields of a value and of what is in it: `{a: {b: 1}}` has a and a.b.
function paths(value, prefix = '') {
  if (value === null || typeof value !== 'object' || Object.keys(value).every(key => key.startsWith('$'))) return [];
  return Object.entries(value).flatMap(([key, inner]) => {
    const path = Array.isArray(value) ? prefix + '#' : prefix + key;
    return [path, ...paths(inner, path + '.')];
  });
}

function hasPaths(value, wanted) {
  const found = new Set(paths(value));
  assert.deepEqual(wanted.split(/\s+/).filter(path => !found.has(path)), []);
}

test('rs.status, rs.conf and the printed reports', async () => {
  await settled();
  const result = await evaluate(`
    let twice;
    try { rs.initiate(); } catch (error) { twice = error.codeName; }
    EJSON.serialize({twice, status: rs.status(), conf: rs.conf(), hello: rs.hello(),
                     printed: rs.printReplicationInfo(), lags: rs.printSecondaryReplicationInfo()}, {relaxed: false})`);
  const {status, conf, hello} = result;
  hasPaths(status, `set date myState term syncSourceHost syncSourceId heartbeatIntervalMillis majorityVoteCount
    writeMajorityCount votingMembersCount writableVotingMembersCount optimes.lastCommittedOpTime.ts
    optimes.lastCommittedOpTime.t optimes.lastCommittedWallTime optimes.readConcernMajorityOpTime.ts
    optimes.appliedOpTime.ts optimes.durableOpTime.ts optimes.lastAppliedWallTime optimes.lastDurableWallTime
    members.# members.#._id members.#.name members.#.health members.#.state members.#.stateStr members.#.uptime
    members.#.optime.ts members.#.optime.t members.#.optimeDate members.#.optimeDurable.ts members.#.optimeDurableDate
    members.#.lastAppliedWallTime members.#.lastDurableWallTime members.#.lastHeartbeat members.#.lastHeartbeatRecv
    members.#.pingMs members.#.lastHeartbeatMessage members.#.syncSourceHost members.#.syncSourceId
    members.#.infoMessage members.#.electionTime members.#.electionDate members.#.configVersion
    members.#.configTerm members.#.self ok`);
  assert.deepEqual(status.members.map(m => m.stateStr).sort(), ['PRIMARY', 'SECONDARY', 'SECONDARY']);
  hasPaths(conf, `_id version term protocolVersion writeConcernMajorityJournalDefault members.# members.#._id
    members.#.host members.#.arbiterOnly members.#.buildIndexes members.#.hidden members.#.priority members.#.tags
    members.#.secondaryDelaySecs members.#.votes settings.chainingAllowed settings.heartbeatIntervalMillis
    settings.heartbeatTimeoutSecs settings.electionTimeoutMillis settings.catchUpTimeoutMillis
    settings.catchUpTakeoverDelayMillis settings.getLastErrorModes settings.getLastErrorDefaults.w
    settings.getLastErrorDefaults.wtimeout settings.replicaSetId`);
  hasPaths(hello, `topologyVersion.processId topologyVersion.counter hosts.# setName setVersion isWritablePrimary
    secondary primary me electionId lastWrite.opTime.ts lastWrite.opTime.t lastWrite.lastWriteDate
    lastWrite.majorityOpTime.ts lastWrite.majorityWriteDate maxBsonObjectSize maxMessageSizeBytes maxWriteBatchSize
    localTime logicalSessionTimeoutMinutes connectionId minWireVersion maxWireVersion readOnly ok`);
  assert.equal(result.twice, 'AlreadyInitialized');
  assert.deepEqual([status.set, conf.members.length, hello.hosts.length], ['s0', 3, 3]);
  assert.match(JSON.stringify(result.printed), /oplog first event time/);
  assert.match(JSON.stringify(result.lags), /behind the primary/);
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
  // For so long that it does not stand again when the others take an election timeout.
  await evaluate(`EJSON.serialize({ok: rs.stepDown(60).ok})`);
  for (let i = 0; i < 300 && [before, undefined].includes(await nameOf('primary')); ++i) await sleep(200);
  await settled();
  assert.notEqual(await nameOf('primary'), before);
});
