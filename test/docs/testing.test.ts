import { readdirSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { unwrapped } from './compile.ts'
import { pageAt } from './pages.ts'

const root = resolve(import.meta.dirname, '../..')
const read = (path: string) => readFileSync(resolve(root, path), 'utf8')

test('every code block of docs/guides/testing.md is part of a test that runs', () => {
  const blocks = pageAt('docs/guides/testing.md')?.blocks ?? []
  const shown = blocks.filter(({ language }) => language === '' || language === 'ts').map(({ code }) => code)
  const run = ['test/testing/outside', 'test/testing/workers'].flatMap((folder) =>
    readdirSync(resolve(root, folder))
      .filter((name) => /\.(?:ts|txt)$/.test(name))
      .map((name) => unwrapped(read(`${folder}/${name}`))),
  )
  expect(shown).toHaveLength(11)
  for (const code of shown)
    expect(
      run.filter((source) => source.includes(unwrapped(code))),
      code,
    ).toHaveLength(1)
})
