import { expect, test } from 'vitest'
import { entryPoints, exportsOf, withProjects } from '../../scripts/docs/reference.ts'
import { documents } from '../../scripts/docs.ts'
import { guides } from './pages.ts'

test('the generated parts of the pages are up to date: npm run docs', () => {
  const stale = [...documents()].filter(({ text, should }) => text !== should).map(({ path }) => path)
  expect(stale).toEqual([])
})

/** Pages that somebody wrote, as texts of their code: what is named there is explained there. */
const written = guides.filter(
  ({ path }) => !/^docs\/(?:reference\/api\/|how-it-works\/protocol\.md|reference\/errors\.md)/.test(path),
)
const named = written
  .flatMap(({ spans, blocks }) => [...spans, ...blocks])
  .map(({ code }) => code)
  .join('\n')

/** What is chosen, declared, or given to handlers. The client for tests has a page of its own. */
const isChosen = (name: string) => /(Options|Definition|Policy|Limits?|Extension)$/.test(name) || name === 'Context'

test('every option and every member of a context is named on some page', () => {
  const unnamed = withProjects((projects) =>
    entryPoints()
      .filter(({ name }) => !name.startsWith('edgemcp/testing'))
      .flatMap(({ name, source }) => {
        const { exports, project } = exportsOf(source, projects)
        return exports
          .filter(({ name: exported }) => isChosen(exported))
          .flatMap(({ symbol }) =>
            project.checker
              .getPropertiesOfType(project.checker.getDeclaredTypeOfSymbol(symbol))
              .filter((member) => !new RegExp(`(?<![\\w$])${member.name}(?![\\w$])`).test(named))
              .map((member) => `${name}: ${symbol.name}.${member.name}`),
          )
      }),
  )
  expect(unnamed).toEqual([])
})
