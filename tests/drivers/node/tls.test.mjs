// SPDX-License-Identifier: Apache-2.0
//
// TLS with the Node.js driver and with mongosh: a server of its own, certificates made for it.
import assert from 'node:assert/strict';
import {execFile, execFileSync, spawn} from 'node:child_process';
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {dirname, join} from 'node:path';
import {after, before, test} from 'node:test';
import {fileURLToPath} from 'node:url';
import {promisify} from 'node:util';
import {MongoClient} from 'mongodb';

const here = dirname(fileURLToPath(import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'node-tls-'));
const pem = name => join(folder, `${name}.pem`);
const subject = 'CN=ann,OU=People,O=Acme';
const servers = [];
let main;

// A server with TLS required, once it listens; its port.
async function serve(certificate, ...extra) {
  const server = spawn(process.env.QUIRE, [
    'serve', '--ephemeral', '--port', '0', '--nounixsocket', '--tlsMode', 'requireTLS', '--tlsCertificateKeyFile',
    pem(certificate), '--tlsCAFile', pem('ca'), ...extra
  ]);
  servers.push(server);
  let output = '';
  return new Promise((resolve, reject) => {
    server.stdout.on('data', data => {
      output += data;
      const found = /Waiting for connections port=(\d+)/.exec(output);
      if (found) resolve(Number(found[1]));
    });
    server.on('exit', () => reject(new Error(`the server did not start:\n${output}`)));
  });
}

const connect = (port, certificate, options = {}) => MongoClient.connect(`mongodb://localhost:${port}`, {
  directConnection: true,
  tls: true,
  tlsCAFile: pem('ca'),
  serverSelectionTimeoutMS: 20_000,
  ...(certificate ? {tlsCertificateKeyFile: pem(certificate)} : {}),
  ...options
});

async function shutOut(port, certificate, options = {}) {
  await assert.rejects(connect(port, certificate, {serverSelectionTimeoutMS: 700, ...options}),
                       {name: 'MongoServerSelectionError'});
}

before(async () => {
  execFileSync('/usr/bin/python3', [join(here, '../python/certificates.py'), folder]);
  main = await serve('server');
});
after(() => {
  for (const server of servers) server.kill();
  rmSync(folder, {recursive: true, force: true});
});

test('reads and writes over TLS', async () => {
  const client = await connect(main, 'client');
  try {
    const things = client.db('tls').collection('things');
    await things.insertMany(Array.from({length: 100}, (_, i) => ({_id: i, text: 'x'.repeat(100_000)})));
    let size = 0;
    for await (const thing of things.find()) size += thing.text.length;
    assert.equal(size, 10_000_000);
    const status = await client.db('admin').command({serverStatus: 1});
    assert.ok(status.transportSecurity['1.3'] > 0);
    assert.equal(status.security.SSLServerSubjectName, 'CN=localhost,OU=Servers,O=Acme');
  } finally {
    await client.close();
  }
});

test('refuses clients without a certificate, with an expired and with a foreign one', async () => {
  await shutOut(main);
  await shutOut(main, 'expired');
  await shutOut(main, 'foreign');
  await shutOut(main, 'client', {tls: false, tlsCAFile: undefined, tlsCertificateKeyFile: undefined});
});

test('the driver refuses foreign authorities and wrong host names', async () => {
  await shutOut(main, 'client', {tlsCAFile: pem('foreign_ca')});
  const elsewhere = await serve('elsewhere');
  await shutOut(elsewhere, 'client');
  const client = await connect(elsewhere, 'client', {tlsAllowInvalidHostnames: true});
  await client.close();
});

test('logs in with a certificate', async () => {
  const options = {authMechanism: 'MONGODB-X509', authSource: '$external'};
  await assert.rejects(connect(main, 'client', options), {code: 18});
  const admin = await connect(main, 'client');
  await admin.db('$external').command({createUser: subject, roles: [{role: 'read', db: 'tls'}]});
  const client = await connect(main, 'client', options);
  try {
    const status = await client.db('admin').command({connectionStatus: 1});
    assert.deepEqual(status.authInfo.authenticatedUsers, [{user: subject, db: '$external'}]);
  } finally {
    await client.close();
    await admin.db('$external').command({dropUser: subject});
    await admin.close();
  }
});

async function mongosh(arguments_, script) {
  const home = mkdtempSync(join(tmpdir(), 'mongosh-'));
  try {
    const {stdout} = await promisify(execFile)(
        join(here, 'node_modules/.bin/mongosh'),
        [`mongodb://localhost:${main}/tls?serverSelectionTimeoutMS=5000`, '--quiet', '--json=relaxed', ...arguments_,
         '--eval', script],
        {env: {...process.env, HOME: home}, timeout: 300_000});
    return JSON.parse(stdout);
  } finally {
    rmSync(home, {recursive: true, force: true});
  }
}

test('mongosh with --tls', async () => {
  const files = ['--tls', '--tlsCAFile', pem('ca'), '--tlsCertificateKeyFile', pem('client')];
  const result = await mongosh(files, `
    db.c.deleteMany({});
    db.c.insertOne({_id: 1});
    EJSON.serialize({found: db.c.find().toArray(), rotated: db.adminCommand({rotateCertificates: 1}).ok})`);
  assert.deepEqual(result, {found: [{_id: 1}], rotated: 1});
});

test('mongosh is refused without a certificate or with a foreign authority', async () => {
  await assert.rejects(mongosh(['--tls', '--tlsCAFile', pem('ca')], '1'));
  await assert.rejects(
      mongosh(['--tls', '--tlsCAFile', pem('foreign_ca'), '--tlsCertificateKeyFile', pem('client')], '1'));
});
