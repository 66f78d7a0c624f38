import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from '../docs/pages.ts'
import { expectedDifferences } from './differences.ts'

test('docs/migrating/reference-server.md lists every expected difference, and no other', () => {
  const page = readFileSync(join(root, 'docs/migrating/reference-server.md'), 'utf8')
  const listed = page.slice(page.indexOf('\n## Differences\n')).match(/(?<=^- ).*(?:\n {2}.*)*/gm) ?? []
  const reasons = new Set(expectedDifferences.map(({ reason }) => reason))
  expect(listed.map((item) => item.replace(/\n {2}/g, ' ')).sort()).toEqual([...reasons].sort())
})
