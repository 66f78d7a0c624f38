/** `npm run docs` writes what the documentation has from the code: docs/how-it-works/protocol.md and docs/reference/api.md. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { protocolTables } from './docs/protocol.ts'
import { reference } from './docs/reference.ts'

const root = resolve(import.meta.dirname, '..')

/** What is to stand between the marks of each page. */
const parts = { 'docs/how-it-works/protocol.md': protocolTables, 'docs/reference/api.md': reference }

const [begin, end] = ['<!-- npm run docs -->\n', '<!-- end -->']

/** The pages as they are, and as they should be. */
export function* documents() {
  for (const [path, write] of Object.entries(parts)) {
    const text = readFileSync(join(root, path), 'utf8')
    const [before, after] = [text.indexOf(begin) + begin.length, text.lastIndexOf(end)]
    if (before < begin.length || after < before) throw new Error(`${path} has no ${begin.trim()} and ${end}`)
    yield { path, text, should: `${text.slice(0, before)}\n${write()}\n\n${text.slice(after)}` }
  }
}

if (import.meta.main) for (const { path, should } of documents()) writeFileSync(join(root, path), should)
