import { readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ownPackage } from '../own-package.ts'

/** What a new project can be, in a few words. */
export const templates = {
  hello: 'one tool',
  notes: 'tools, resources and change notifications, with a SQLite Durable Object',
  protected: 'tools that take a token, and scopes',
} as const

export type Template = keyof typeof templates

export const isTemplate = (name: string): name is Template => Object.hasOwn(templates, name)

const folder = join(dirname(fileURLToPath(import.meta.url)), 'templates')

/** The files of a new project: path and text. */
export function filesOf(template: Template, name: string): [path: string, text: string][] {
  const written = [...read(join(folder, 'shared')), ...read(join(folder, template))].map(([path, text]) => [
    // npm publishes no file of that name.
    path.replace(/^gitignore$/, '.gitignore'),
    text.replaceAll('{{name}}', name),
  ])
  return [['package.json', packageJson(template, name)], ...(written as [string, string][])]
}

const read = (folder: string): [path: string, text: string][] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => statSync(join(folder, path)).isFile())
    .map((path) => [path, readFileSync(join(folder, path), 'utf8')])

function packageJson(template: Template, name: string): string {
  const own = ownPackage()
  const pinned = (names: readonly string[]) =>
    Object.fromEntries(names.map((name) => [name, own.devDependencies[name] ?? own.dependencies[name]]))
  const tools = ['@cloudflare/workers-types', 'typescript', 'vitest', 'wrangler']
  const contents = {
    name,
    version: '0.0.0',
    private: true,
    type: 'module',
    scripts: { dev: 'wrangler dev', test: 'vitest run', check: 'tsc', deploy: 'wrangler deploy' },
    dependencies: { edgemcp: own.version, ...pinned(['zod']) },
    devDependencies: pinned(template === 'protected' ? [...tools, 'jose'].sort() : tools),
    // npm would ask about these two otherwise.
    allowScripts: { esbuild: true, workerd: true },
  }
  return `${JSON.stringify(contents, null, 2)}\n`
}
