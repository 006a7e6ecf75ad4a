// SPDX-License-Identifier: Apache-2.0
//
// mongosh, run as a program.
import assert from 'node:assert/strict';
import {execFile} from 'node:child_process';
import {mkdtempSync, readFileSync, rmSync} from 'node:fs';
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

// The session of README.md, typed in: what it prints stands there, but for ids.
test('the session of README.md', async () => {
  const readme = readFileSync(new URL('../../../README.md', import.meta.url), 'utf8');
  const session = readme.match(/```\n(\$ \.\/run[^]*?)```/)[1].split('\n').filter(line => line && !line.startsWith('$ '));
  const prompt = session[0].match(/^.*?> /)[0];
  const typed = session.filter(line => line.startsWith(prompt)).map(line => line.slice(prompt.length));
  assert.ok(typed.length > 1);
  await evaluate('db.getSiblingDB("test").people.drop()');
  const home = mkdtempSync(join(tmpdir(), 'mongosh-'));
  try {
    const uri = process.env.QUIRE_URI + '/test?directConnection=true';
    const shell = promisify(execFile)(
        mongosh, [uri, '--quiet'], {env: {...process.env, HOME: home, NO_COLOR: '1'}, timeout: 300_000});
    shell.child.stdin.end(typed.join('\n') + '\n');
    const {stdout} = await shell;
    // How lines are broken depends on the width of the terminal.
    const told = text => text.split(prompt).join('').replace(/[0-9a-f]{24}/g, '...').replace(/\s+/g, ' ').trim();
    assert.equal(told(stdout), told(session.filter(line => !line.startsWith(prompt)).join('\n')));
  } finally {
    rmSync(home, {recursive: true, force: true});
    await evaluate('db.getSiblingDB("test").people.drop()');
  }
});

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
