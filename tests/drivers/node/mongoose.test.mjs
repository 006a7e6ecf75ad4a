// SPDX-License-Identifier: Apache-2.0
//
// The npm package mongoose.
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import mongoose from 'mongoose';

const authorSchema = new mongoose.Schema({name: {type: String, unique: true}, born: Date}, {timestamps: true});
const bookSchema = new mongoose.Schema({
  title: {type: String, required: true, index: true},
  author: {type: mongoose.Schema.Types.ObjectId, ref: 'Author'},
  tags: [String],
  price: mongoose.Schema.Types.Decimal128,
});
const Author = mongoose.model('Author', authorSchema);
const Book = mongoose.model('Book', bookSchema);

before(async () => {
  await mongoose.connect(process.env.QUIRE_URI, {dbName: 'node_mongoose', serverSelectionTimeoutMS: 5000});
  await mongoose.connection.dropDatabase();
  await Promise.all([Author.init(), Book.init()]);
});
after(async () => {
  await mongoose.connection.dropDatabase();
  await mongoose.disconnect();
});

test('models, validation and population', async () => {
  const author = await Author.create({name: 'Ada', born: new Date(0)});
  await Book.create([{title: 'One', author, tags: ['x'], price: '1.50'}, {title: 'Two', author, tags: ['x', 'y']}]);
  await assert.rejects(Book.create({}), mongoose.Error.ValidationError);
  const book = await Book.findOne({tags: 'y'}).populate('author');
  assert.equal(book.author.name, 'Ada');
  assert.ok(author.createdAt instanceof Date);
});

test('unique indexes are enforced', async () => {
  await Author.syncIndexes();
  await assert.rejects(Author.create({name: 'Ada'}), {code: 11000});
});

test('saving changes only what changed', async () => {
  const book = await Book.findOne({title: 'One'});
  book.tags.push('z');
  await book.save();
  assert.deepEqual([...(await Book.findById(book._id)).tags], ['x', 'z']);
  book.title = 'Other';
  await book.save();
  assert.equal(await Book.countDocuments({title: 'Other'}), 1);
});

test('queries, lean results and cursors', async () => {
  await Book.insertMany(Array.from({length: 250}, (_, i) => ({title: `b${i}`, tags: [`t${i % 5}`]})));
  const lean = await Book.find({tags: 't3'}).sort('-title').limit(3).select('title -_id').lean();
  assert.deepEqual(Object.keys(lean[0]), ['title']);
  let seen = 0;
  for await (const book of Book.find({title: /^b/}).cursor({batchSize: 20})) seen += book ? 1 : 0;
  assert.equal(seen, 250);
  const groups = await Book.aggregate([{$unwind: '$tags'}, {$group: {_id: '$tags', n: {$sum: 1}}}, {$sort: {n: -1}}]);
  assert.equal(groups[0].n, 50);
});

test('transactions', async () => {
  await mongoose.connection.transaction(async session => {
    await Author.create([{name: 'Bob'}], {session});
  });
  assert.equal(await Author.countDocuments({name: 'Bob'}), 1);
  await assert.rejects(mongoose.connection.transaction(async session => {
    await Author.create([{name: 'Eve'}], {session});
    throw new Error('no');
  }));
  assert.equal(await Author.countDocuments({name: 'Eve'}), 0);
});
