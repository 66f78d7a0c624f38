/**
 * Prints fifty random sentences of the documentation, for review by readers who did not write them.
 *
 *     npm run sentences -- --seed 7 --count 50
 */
import { globSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { chance } from '../test/support/random.ts'

const root = resolve(import.meta.dirname, '..')
const { values } = parseArgs({ options: { seed: { type: 'string' }, count: { type: 'string', default: '50' } } })
const seed = Number(values.seed ?? Math.floor(Math.random() * 1e6))

/** Paragraphs, list items and table cells. Excludes code, headings and comments. */
function sentencesOf(path: string): string[] {
  const text = readFileSync(resolve(root, path), 'utf8')
    .replace(/^---\n[\s\S]*?\n---\n/, '')
    .replace(/^ *```[\s\S]*?^ *```/gm, '')
    .replace(/<!--[\s\S]*?-->/g, '')
    .replace(/^#.*$/gm, '')
    .replace(/^\|[-:| ]+\|$/gm, '')
  return text
    .split(/\n\s*\n|\n(?=[-*|]|\d+\. )|\s\|\s/)
    .flatMap((part) => part.replace(/\s+/g, ' ').split(/(?<=[.:?]) (?=[A-Z`[])/))
    .map((sentence) => sentence.replace(/^[-*|\s]+|[|\s]+$/g, ''))
    .filter((sentence) => sentence.split(' ').length >= 5)
    .map((sentence) => `${sentence}  (${path})`)
}

const pages = ['README.md', 'AGENTS.md', ...globSync('docs/**/*.md', { cwd: root })].filter(
  (path) => !path.includes('reference/api/'),
)
const all = pages.flatMap(sentencesOf)
const { below } = chance(seed)
console.log(`seed ${seed}: ${values.count} of ${all.length} sentences`)
for (let index = 1; index <= Number(values.count); index++) {
  const [sentence] = all.splice(below(all.length), 1)
  console.log(`${String(index).padStart(3)}. ${sentence}`)
}
