/**
 * The official test suite of JSON Schema 2020-12, where there is a copy of it: JSON_SCHEMA_TEST_SUITE is the path of a clone
 * of https://github.com/json-schema-org/JSON-Schema-Test-Suite. Numbers are of its commit 44401e0. No package of npm carries
 * its tests of this dialect.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { compile } from '../../worker/declarations/json-schema/compile.ts'
import type { JsonSchema } from '../../worker/protocol/types.ts'

type Group = { description: string; schema: JsonSchema; tests: Case[] }
type Case = { description: string; data: unknown; valid: boolean }

const suite = process.env.JSON_SCHEMA_TEST_SUITE
const dialect = join(suite ?? '', 'tests/draft2020-12')
const namesIn = (folder: string) =>
  readdirSync(join(dialect, folder))
    .filter((name) => name.endsWith('.json'))
    .map((name) => join(folder, name))
const files = suite ? ['.', 'optional', 'optional/format'].flatMap(namesIn) : []

/** Files with cases whose answer is another one here: how many, and why. */
const differences: Readonly<Record<string, readonly [cases: number, reason: string]>> = {
  'format.json': [19, 'A format is checked, whatever the metaschema says about formats'],
  'vocabulary.json': [1, 'Metaschemas are not read: jsonSchema() refuses the dialect'],
  'optional/float-overflow.json': [1, 'The quotient is beyond the numbers of JavaScript'],
  'optional/format/hostname.json': [23, 'What an A-label stands for is not checked'],
  'optional/format/idn-hostname.json': [20, 'Rules of IDNA 2008 that UTS 46, the algorithm of URLs, does not have'],
}

/** Files with schemas that refer to other documents. A Worker fetches no schemas: the server refuses them at startup. */
const refersElsewhere = [
  'defs.json',
  'dynamicRef.json',
  'ref.json',
  'refRemote.json',
  'optional/cross-draft.json',
  'optional/format-assertion.json',
]

/** Cases with another answer than the suite has. */
function wrongCases(file: string): string[] {
  const groups: Group[] = JSON.parse(readFileSync(join(dialect, file), 'utf8'))
  return groups.flatMap(({ description, schema, tests }) => {
    let check: ReturnType<typeof compile>
    try {
      check = compile(schema, 'schema')
    } catch (error) {
      if (refersElsewhere.includes(file) && /refers to .*, which is not in it/.test(String(error))) return []
      throw error
    }
    return tests
      .filter(({ data, valid }) => (check(data).length === 0) !== valid)
      .map((each) => `${description}: ${each.description}`)
  })
}

const skipped = suite ? '' : ', skipped: set JSON_SCHEMA_TEST_SUITE to the path of a clone of it'

describe.skipIf(!suite)(`the official test suite of 2020-12${skipped}`, () => {
  test('has required tests, optional tests and tests of formats', () => {
    expect(files.length).toBeGreaterThanOrEqual(80)
    expect(Object.keys(differences).filter((file) => !files.includes(file))).toEqual([])
  })

  test.each(files)('%s', (file) => {
    const [cases, reason] = differences[file] ?? [0, '']
    const wrong = wrongCases(file)
    expect(wrong, reason || wrong.join('\n')).toHaveLength(cases)
  })
})
