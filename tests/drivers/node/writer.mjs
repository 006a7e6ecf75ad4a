// SPDX-License-Identifier: Apache-2.0
//
// writer.mjs URI COLLECTION RATE: raises numbered counters, so many a second, by retryable writes, until its input ends.
// Then it prints {acknowledged: [[milliseconds, number]...], errors: [text...]}.
import {setTimeout as sleep} from 'node:timers/promises';
import {MongoClient} from 'mongodb';

const [uri, name, rate] = process.argv.slice(2);
// The limits keep a client from waiting for the answer of a server that hangs until that wakes up. One write at a
// time, and a monitor that does not stream: this driver does not retry a write on a connection of which it has noticed
// by another one that its server is gone.
const client = await MongoClient.connect(uri, {
  retryWrites: true,
  serverMonitoringMode: 'poll',
  writeConcern: {w: 'majority'},
  serverSelectionTimeoutMS: 60_000,
  connectTimeoutMS: 2000,
  socketTimeoutMS: 20_000,
});
const things = client.db('t').collection(name);
const acknowledged = [];
const errors = [];
let ended = false;
process.stdin.on('end', () => ended = true).resume();

async function work() {
  for (let number = 0; !ended; ++number) {
    const began = Date.now();
    try {
      await things.updateOne({_id: number}, {$inc: {n: 1}}, {upsert: true});
      acknowledged.push([Date.now(), number]);
    } catch (error) {
      errors.push(String(error));
    }
    await sleep(Math.max(0, 1000 / Number(rate) - (Date.now() - began)));
  }
}

console.log('begun');
await work();
console.log(JSON.stringify({acknowledged, errors}));
await client.close();
