// SPDX-License-Identifier: Apache-2.0
//
// mongosh, run as a program.
import assert from 'node:assert/strict';
import {execFile} from 'node:child_process';
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {dirname, join} from 'node:path';
import {test} from 'node:test';
import {fileURLToPath} from 'node:url';
import {promisify} from 'node:util';

const mongosh = join(dirname(fileURLToPath(import.meta.url)), 'node_modules/.bin/mongosh');

async function evaluate(script) {
  const home = mkdtempSync(join(tmpdir(), 'mongosh-'));
  try {
    const {stdout} = await promisify(execFile)(
        mongosh, [process.env.QUIRE_URI + '/node_mongosh', '--quiet', '--json=relaxed', '--eval', script],
        {env: {...process.env, HOME: home}, timeout: 300_000});
    return JSON.parse(stdout);
  } finally {
    rmSync(home, {recursive: true, force: true});
  }
}

test('crud and helpers', async () => {
  const result = await evaluate(`
    db.dropDatabase();
    db.c.insertMany([{_id: 1, a: 1}, {_id: 2, a: 2}]);
    db.c.createIndex({a: 1});
    db.c.updateOne({_id: 1}, {$set: {b: 'x'}});
    EJSON.serialize({
      find: db.c.find({a: {$gte: 1}}).sort({_id: 1}).toArray(),
      count: db.c.countDocuments(),
      indexes: db.c.getIndexes().map(i => i.name),
      names: db.getCollectionNames(),
      dbs: db.adminCommand({listDatabases: 1}).databases.map(d => d.name),
      stats: db.stats().ok, collStats: db.c.stats().count, version: db.version(),
      explain: db.c.find({a: 1}).explain().queryPlanner.winningPlan.inputStage.stage,
      rs: rs.status().members[0].stateStr, hello: db.hello().isWritablePrimary,
      status: db.serverStatus().ok, op: db.currentOp().ok, build: db.serverBuildInfo().ok,
      log: db.adminCommand({getLog: 'startupWarnings'}).ok, dropped: db.dropDatabase().ok
    })`);
  assert.deepEqual(result.find, [{_id: 1, a: 1, b: 'x'}, {_id: 2, a: 2}]);
  assert.equal(result.count, 2);
  assert.deepEqual(result.indexes, ['_id_', 'a_1']);
  assert.deepEqual(result.names, ['c']);
  assert.ok(result.dbs.includes('node_mongosh'));
  assert.match(result.version, /^8\.0\./);
  assert.equal(result.explain, 'IXSCAN');
  assert.equal(result.rs, 'PRIMARY');
  assert.equal(result.collStats, 2);
  for (const key of ['stats', 'status', 'op', 'build', 'log', 'dropped']) assert.equal(result[key], 1, key);
  assert.equal(result.hello, true);
});
