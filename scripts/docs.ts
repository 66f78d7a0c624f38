/** `npm run docs` writes the parts of the documentation that come from code: tables of the protocol, the API reference, diagrams. */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { diagrams } from './docs/diagrams.ts'
import { protocolTables } from './docs/protocol.ts'
import { reference } from './docs/reference.ts'

const root = resolve(import.meta.dirname, '..')

/** The text between the marks of a page. */
const parts = { 'docs/how-it-works/protocol.md': protocolTables }

const [begin, end] = ['<!-- npm run docs -->\n', '<!-- end -->']

/** A page with its current and its required text. `undefined`: the page does not exist, or must not exist. */
export type Document = { readonly path: string; readonly text: string | undefined; readonly should: string | undefined }

export function* documents(): Generator<Document> {
  for (const [path, write] of Object.entries(parts)) {
    const text = readFileSync(join(root, path), 'utf8')
    const [before, after] = [text.indexOf(begin) + begin.length, text.lastIndexOf(end)]
    if (before < begin.length || after < before) throw new Error(`${path} has no ${begin.trim()} and ${end}`)
    yield { path, text, should: `${text.slice(0, before)}\n${write()}\n\n${text.slice(after)}` }
  }
  const pages = reference()
  const folder = 'docs/reference/api'
  const existing = existsSync(join(root, folder))
    ? readdirSync(join(root, folder)).map((name) => `${folder}/${name}`)
    : []
  for (const path of new Set([...pages.keys(), ...existing])) {
    const text = existing.includes(path) ? readFileSync(join(root, path), 'utf8') : undefined
    yield { path, text, should: pages.get(path) }
  }
  for (const [name, should] of Object.entries(diagrams)) {
    const path = `docs/images/diagrams/${name}.svg`
    yield { path, text: existsSync(join(root, path)) ? readFileSync(join(root, path), 'utf8') : '', should }
  }
}

if (import.meta.main) {
  for (const { path, should } of documents()) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    if (should === undefined) rmSync(join(root, path))
    else writeFileSync(join(root, path), should)
  }
}
