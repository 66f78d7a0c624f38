/** What is written in Markdown here: pages, their code, links and headings. */
import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

export const root = resolve(import.meta.dirname, '../..')

export type Block = {
  /** `ts`, `sh` and so on; empty when nothing is said. */
  readonly language: string
  readonly code: string
  /** The line of the page on which the code begins, from 1 on. */
  readonly line: number
  /** What an HTML comment right above the block says, and the line on which it begins. */
  readonly comment?: { readonly text: string; readonly line: number }
}

export type Link = { readonly to: string; readonly line: number }

export type Span = {
  readonly code: string
  readonly line: number
  /** The row of a table begins with it. */
  readonly isFirst: boolean
}

export type Page = {
  /** From the root of the repository. */
  readonly path: string
  readonly blocks: readonly Block[]
  readonly links: readonly Link[]
  /** Pieces of code between the words. */
  readonly spans: readonly Span[]
  readonly anchors: ReadonlySet<string>
}

/** Every Markdown file of the repository. */
export const pages: readonly Page[] = globSync('**/*.md', {
  cwd: root,
  // Templates are pages of the projects that are made of them.
  exclude: (path) => /(^|\/)(node_modules|dist|templates|\.\w+)$/.test(path),
})
  .sort()
  .map((path) => read(path, readFileSync(join(root, path), 'utf8')))

/** The pages that people read who use the library. */
export const guides = pages.filter(({ path }) => /^(README|AGENTS|docs\/.+|examples\/[^/]+\/README)\.md$/.test(path))

export const pageAt = (path: string) => pages.find((page) => page.path === path)

/** @param path from the root of the repository */
export function read(path: string, markdown: string): Page {
  const blocks: Block[] = []
  const links: Link[] = []
  const spans: Span[] = []
  const anchors = new Set<string>()
  const lines = markdown.split('\n')
  let comment: Block['comment']
  for (let at = 0; at < lines.length; at += 1) {
    const text = lines[at] as string
    const line = at + 1
    const [, indent = '', fence, language = ''] = /^( *)(```+)([\w-]*)/.exec(text) ?? []
    if (fence) {
      const end = lines.findIndex((other, index) => index > at && other.trim() === fence)
      const code = lines.slice(at + 1, end).map((other) => other.slice(indent.length))
      blocks.push({ language, code: `${code.join('\n')}\n`, line: line + 1, comment })
      comment = undefined
      at = end
      continue
    }
    if (text.startsWith('<!--')) {
      const end = lines.findIndex((other, index) => index >= at && other.includes('-->'))
      const said = lines.slice(at, end + 1).join('\n')
      comment = { text: said.slice('<!--'.length, said.indexOf('-->')), line }
      at = end
      continue
    }
    if (text.trim() !== '') comment = undefined
    const heading = /^#+ +(.*?) *$/.exec(text)?.[1]
    if (heading !== undefined) anchors.add(anchorOf(heading, anchors))
    for (const [, name] of text.matchAll(/<a (?:id|name)="([^"]+)">/g)) if (name) anchors.add(name)
    for (const { 1: code = '', index } of text.matchAll(/`([^`]+)`/g)) {
      spans.push({ code, line, isFirst: text.slice(0, index) === '| ' })
    }
    const plain = text.replace(/`[^`]*`/g, '``')
    for (const [, to = ''] of plain.matchAll(/\]\(([^)\s]+)\)/g)) links.push({ to, line })
    for (const [, to = ''] of plain.matchAll(/(?:src|srcset|href)="([^"\s]+)"/g)) links.push({ to, line })
  }
  return { path, blocks, links, spans, anchors }
}

/** As GitHub does it: words in lower case with dashes between; a second heading of a name has a number behind. */
function anchorOf(heading: string, taken: ReadonlySet<string>): string {
  const words = heading
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}_ -]/gu, '')
    .replace(/ /g, '-')
  if (!taken.has(words)) return words
  let number = 1
  while (taken.has(`${words}-${number}`)) number += 1
  return `${words}-${number}`
}
