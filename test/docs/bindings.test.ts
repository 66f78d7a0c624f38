/** The code of docs/guides/bindings.md: the example is in test/docs/bindings, and all of it compiles with the types that wrangler generates. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { errorsOf, type Module } from './compile.ts'
import { type Block, pageAt } from './pages.ts'

/** What `wrangler types` generates for the bindings of the page. */
const bindings = `declare global {
  namespace Cloudflare {
    interface Env {
      DB: D1Database
      CACHE: KVNamespace
      FILES: R2Bucket
      MAIL: Queue
      API_KEY: string
      API_URL: string
    }
  }
}`

describe('docs/guides/bindings.md', () => {
  const path = 'docs/guides/bindings.md'
  const blocks = pageAt(path)?.blocks ?? []
  const file = (name: string) => readFileSync(join(import.meta.dirname, 'bindings', name), 'utf8')
  const blockOf = (language: string) => blocks.find((block) => block.language === language)?.code

  test('has the configuration and the SQL of the example', () => {
    expect(blockOf('toml')).toBe(file('wrangler.toml'))
    expect(blockOf('sql')).toBe(file('migrations/0001_bookmarks.sql'))
  })

  test('compiles with generated types', () => {
    const typed = blocks.filter(({ language }) => language === 'typescript')
    const example: Block = { language: 'typescript', code: file('index.ts'), line: 1 }
    expect(typed.length).toBeGreaterThan(2)
    expect(errorsOf([example, ...typed].map(moduleOf))).toEqual([])
  })

  function moduleOf(block: Block, index: number): Module {
    const augmentation = index === 0 ? bindings : ''
    return { page: path, block, code: `${block.code}\n${augmentation}\nexport {}\n`, lines: [], isWhole: false }
  }
})
