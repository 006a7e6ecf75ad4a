// SPDX-License-Identifier: Apache-2.0
//
// writer.mjs URI COLLECTION RATE CLIENTS: raises numbered counters, so many a second in all, by retryable writes of so many
// clients, until its input ends. Then it prints {acknowledged: [[milliseconds, number]...], errors: [text...]}.
import {setTimeout as sleep} from 'node:timers/promises';
import {MongoClient} from 'mongodb';

const [uri, name, rate, count] = process.argv.slice(2);
const acknowledged = [];
const errors = [];
let ended = false;
process.stdin.on('end', () => ended = true).resume();

// The limits keep a client from waiting for the answer of a server that hangs until that wakes up. Each client has one
// write on its way, so that few are left without a retry when the server dies: docs/cluster.md has what this driver does.
const clients = await Promise.all(Array.from({length: Number(count)}, () => MongoClient.connect(uri, {
  retryWrites: true,
  writeConcern: {w: 'majority'},
  serverSelectionTimeoutMS: 60_000,
  connectTimeoutMS: 2000,
  socketTimeoutMS: 20_000,
})));

async function work(client, first) {
  const things = client.db('t').collection(name);
  for (let number = first; !ended; number += clients.length) {
    const began = Date.now();
    try {
      await things.updateOne({_id: number}, {$inc: {n: 1}}, {upsert: true});
      acknowledged.push([Date.now(), number]);
    } catch (error) {
      errors.push(String(error));
    }
    await sleep(Math.max(0, 1000 * clients.length / Number(rate) - (Date.now() - began)));
  }
}

console.log('begun');
await Promise.all(clients.map(work));
console.log(JSON.stringify({acknowledged, errors}));
await Promise.all(clients.map(client => client.close()));
