// SPDX-License-Identifier: Apache-2.0
//
// Logins with the Node.js driver: both mechanisms, the default database, and a refused password.
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {MongoClient} from 'mongodb';

const base = process.env.QUIRE_URI;
const withUser = (user, password, options = '') =>
    base.replace('mongodb://', `mongodb://${user}:${password}@`) + '/auth_node' + options;
let admin;

before(async () => {
  admin = await MongoClient.connect(base);
  await admin.db('auth_node').command({createUser: 'ann', pwd: 'p@ss', roles: ['readWrite']});
});
after(async () => {
  await admin.db('auth_node').command({dropAllUsersFromDatabase: 1});
  await admin.close();
});

for (const mechanism of ['SCRAM-SHA-1', 'SCRAM-SHA-256', 'DEFAULT']) {
  test(`logs in with ${mechanism}`, async () => {
    const client = await MongoClient.connect(withUser('ann', 'p%40ss', `?authMechanism=${mechanism}`));
    try {
      const status = await client.db('auth_node').command({connectionStatus: 1});
      assert.deepEqual(status.authInfo.authenticatedUsers, [{user: 'ann', db: 'auth_node'}]);
    } finally {
      await client.close();
    }
  });
}

test('refuses a wrong password', async () => {
  await assert.rejects(MongoClient.connect(withUser('ann', 'wrong')), {code: 18});
});
