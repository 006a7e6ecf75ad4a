// SPDX-License-Identifier: Apache-2.0
//
// mongodb-memory-server launching this program as its mongod.
import assert from 'node:assert/strict';
import {mkdtempSync, rmSync, symlinkSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {after, test} from 'node:test';
import {MongoClient} from 'mongodb';
import {MongoMemoryReplSet, MongoMemoryServer} from 'mongodb-memory-server-core';

const folder = mkdtempSync(join(tmpdir(), 'mongod-'));
const systemBinary = join(folder, 'mongod');
symlinkSync(process.env.QUIRE, systemBinary);
after(() => rmSync(folder, {recursive: true, force: true}));

async function roundTrip(uri) {
  const client = await MongoClient.connect(uri);
  try {
    await client.db('t').collection('c').insertOne({_id: 1});
    assert.equal(await client.db('t').collection('c').countDocuments(), 1);
  } finally {
    await client.close();
  }
}

test('a single server', async () => {
  const server = await MongoMemoryServer.create({binary: {systemBinary}});
  try {
    await roundTrip(server.getUri());
  } finally {
    await server.stop();
  }
});

test('a replica set of one', async () => {
  const set = await MongoMemoryReplSet.create({binary: {systemBinary}, replSet: {count: 1, name: 'rs7'}});
  try {
    assert.match(set.getUri(), /replicaSet=rs7/);
    await roundTrip(set.getUri());
  } finally {
    await set.stop();
  }
});

test('a replica set of one with users', async () => {
  const auth = {enable: true, customRootName: 'ann', customRootPwd: 'pw'};
  const set = await MongoMemoryReplSet.create({binary: {systemBinary}, replSet: {count: 1, auth}});
  try {
    await roundTrip(set.getUri().replace('//', '//ann:pw@') + '&authSource=admin');
    const anonymous = await MongoClient.connect(set.getUri());
    try {
      await assert.rejects(anonymous.db('t').collection('c').findOne(), {code: 13});
      await assert.rejects(anonymous.db('admin').command({replSetInitiate: {}}), {code: 13});
    } finally {
      await anonymous.close();
    }
  } finally {
    await set.stop();
  }
});
