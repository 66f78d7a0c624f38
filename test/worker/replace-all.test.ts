import { runInDurableObject } from 'cloudflare:test'
import { exports } from 'cloudflare:workers'
import { expect, test } from 'vitest'
import { replaceAll } from '../../durable-objects/shared/replace-all.ts'

const { McpSession } = exports as unknown as { McpSession: { getByName(name: string): DurableObjectStub } }

const statements = [
  'CREATE TABLE parents (id INTEGER PRIMARY KEY AUTOINCREMENT)',
  'CREATE TABLE children (parent INTEGER REFERENCES parents (id))',
  'CREATE TABLE one (other INTEGER REFERENCES two (id), id INTEGER PRIMARY KEY)',
  'CREATE TABLE two (other INTEGER REFERENCES one (id) DEFERRABLE, id INTEGER PRIMARY KEY)',
  'CREATE TABLE "a ""b""" (value TEXT) STRICT',
  'CREATE INDEX by_parent ON children (parent)',
  'CREATE VIRTUAL TABLE texts USING fts5 (text)',
  'CREATE VIEW families AS SELECT * FROM parents JOIN children ON parent = id',
  "CREATE TRIGGER kept BEFORE DELETE ON parents BEGIN SELECT RAISE(ABORT, 'kept'); END",
  'INSERT INTO parents VALUES (1)',
  'INSERT INTO children VALUES (1)',
  'INSERT INTO one VALUES (NULL, 1)',
  'INSERT INTO two VALUES (1, 1)',
  'UPDATE one SET other = 1',
  "INSERT INTO texts VALUES ('a text')",
]

/** Fills an object, and replaces what it stores. */
const replacing = (write: (storage: DurableObjectStorage) => void) =>
  runInDurableObject(McpSession.getByName(crypto.randomUUID()), (_, { storage }) => {
    const { kv, sql } = storage
    for (const statement of statements) sql.exec(statement)
    for (const key of ['one', 'two']) kv.put(key, key)
    let thrown: unknown
    try {
      replaceAll(storage, () => write(storage))
    } catch (problem) {
      thrown = problem
    }
    const own = "SELECT name FROM sqlite_master WHERE name NOT GLOB '_cf_*' AND name NOT GLOB 'sqlite_*' ORDER BY name"
    const names = sql
      .exec(own)
      .toArray()
      .map(({ name }) => name)
    return { thrown: String(thrown), keys: [...kv.list()].map(([key]) => key), names }
  })

test('what an object stores is replaced, whatever tables, views and triggers it has', async () => {
  const replaced = await replacing(({ kv }) => kv.put('ended', 1))
  expect(replaced).toEqual({ thrown: 'undefined', keys: ['ended'], names: [] })
})

test('a table that is being read remains, empty', () =>
  runInDurableObject(McpSession.getByName(crypto.randomUUID()), (_, { storage }) => {
    const { kv, sql } = storage
    sql.exec('CREATE TABLE numbers (value INTEGER)')
    for (const value of [1, 2, 3]) sql.exec('INSERT INTO numbers VALUES (?)', value)
    const cursor = sql.exec('SELECT value FROM numbers')
    cursor.next()
    replaceAll(storage, () => kv.put('ended', 1))
    expect(sql.exec('SELECT * FROM numbers').toArray()).toEqual([])
    expect([...kv.list()]).toEqual([['ended', 1]])
  }))

test('nothing is deleted if the new value is refused', async () => {
  const { thrown, keys, names } = await replacing(() => {
    throw new Error('full')
  })
  expect(thrown).toBe('Error: full')
  expect(keys).toEqual(['one', 'two'])
  expect(names).toEqual(expect.arrayContaining(['a "b"', 'by_parent', 'children', 'families', 'kept', 'texts']))
})
