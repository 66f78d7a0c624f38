import { SymbolFlags } from 'typescript/unstable/sync'
import { expect, test } from 'vitest'
import { entryPoints, exportsOf, withProjects } from '../../scripts/docs/reference.ts'
import { errorsOf, type Module } from './compile.ts'

/** What examples take for granted, besides what test/docs/known.d.ts declares. */
const granted = `import * as zod from 'zod'
declare const auth: import('edgemcp').Auth
declare const html: string
declare const Sales: zod.ZodObject<{ months: zod.ZodArray<zod.ZodNumber> }>
declare const sales: () => { months: number[] }
declare const notes: import('edgemcp').ServedWorker
declare const weather: import('edgemcp').Server & import('edgemcp').ServedWorker
declare const app: { fetch(request: Request): Response }
declare const router: import('itty-router').IttyRouterType
declare const Topic: zod.ZodObject<{ topic: zod.ZodString }>
declare const collect: () => Promise<string[]>
declare const write: (pages: string[], answer?: unknown) => Promise<string>`

/** The examples in docstrings, each with the imports that it leaves out. Those for tests belong into files of tests. */
const examples = withProjects((projects) =>
  entryPoints().flatMap(({ name, source }) => {
    if (name.startsWith('edgemcp/testing')) return []
    const { exports, project } = exportsOf(source, projects)
    const importing = (text: string) => {
      const needed = exports.filter(({ name }) => new RegExp(`(?<!['"\\w]|[^.]\\.)${name}\\b(?!['"])`).test(text))
      const missing = needed.filter(
        ({ name }) => !new RegExp(`(?:import {[^}]*|const |interface )\\b${name}\\b`).test(text),
      )
      return missing.map(({ name, symbol }) => (symbol.flags & SymbolFlags.Value ? name : `type ${name}`))
    }
    return exports.flatMap(({ name: exported, symbol }) =>
      symbol
        .getJsDocTags(project.checker)
        .filter((tag) => tag.name === 'example')
        .map(({ text = '' }, index): Module => {
          const imported = importing(text)
          const besides = granted
            .split('\n')
            .filter((line) => !imported.includes(/^declare const (\w+)/.exec(line)?.[1] ?? ''))
          const imports = `import { ${imported.join(', ')} } from '${name}'`
          const code = [...besides, imports, text, 'export {}'].join('\n')
          const block = { language: 'ts', code: text, line: index + 1 }
          return { page: `${name} ${exported}`, block, code, lines: [], isWhole: false }
        }),
    )
  }),
)

test('the examples of docstrings compile', () => {
  expect(examples.length).toBeGreaterThan(10)
  expect(errorsOf(examples)).toEqual([])
})
