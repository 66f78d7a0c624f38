import { readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ownPackage, ownSpec, packageFolder } from '../own-package.ts'

/** The templates, with descriptions. */
export const templates = {
  hello: 'one tool',
  notes: 'tools, resources and change notifications, with a D1 database',
  team: 'tokens, data per team in a D1 database, confirmation by the user',
  'sign-in': 'users sign in with GitHub, and members of an organization share a list',
  gateway: 'tools of an OpenAPI document and of another MCP server',
  jobs: 'a tool that runs as a task and writes its result to R2',
  events: 'a tool that publishes an event, which agents receive by webhook',
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
  return [['package.json', packageJson(template, name)], ['AGENTS.md', agents()], ...(written as [string, string][])]
}

/** Instructions for coding agents in the project, without those for this package. */
const agents = () =>
  readFileSync(join(packageFolder(), 'AGENTS.md'), 'utf8').replace(/\n## If you change edgemcp itself\n.*/s, '')

const read = (folder: string): [path: string, text: string][] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => statSync(join(folder, path)).isFile())
    .map((path) => [path, readFileSync(join(folder, path), 'utf8')])

const withD1 = {
  dev: 'wrangler d1 migrations apply DB --local && wrangler dev',
  deploy: 'wrangler d1 migrations apply DB --remote && wrangler deploy',
}

/** Scripts and packages of one template, in addition to those of all templates. */
const additions: Readonly<
  Partial<Record<Template, { scripts: object; packages?: readonly string[]; tools?: readonly string[] }>>
> = {
  notes: { scripts: withD1 },
  'sign-in': { scripts: { provider: 'node scripts/provider.mjs' }, packages: ['@cloudflare/workers-oauth-provider'] },
  team: { scripts: { ...withD1, token: 'node scripts/token.mjs' }, tools: ['jose'] },
}

function packageJson(template: Template, name: string): string {
  const own = ownPackage()
  const pinned = (names: readonly string[]) =>
    Object.fromEntries(names.map((name) => [name, own.devDependencies[name] ?? own.dependencies[name]]))
  const { scripts, packages = [], tools = [] } = additions[template] ?? {}
  const contents = {
    name,
    version: '0.0.0',
    private: true,
    type: 'module',
    scripts: {
      dev: 'wrangler dev',
      // A busy machine is slower than the five seconds that vitest waits by default.
      test: 'vitest run --testTimeout=30000',
      check: 'wrangler types --include-runtime=false --strict-vars=false && tsc',
      deploy: 'wrangler deploy',
      ...scripts,
    },
    dependencies: { edgemcp: ownSpec(), ...pinned([...packages, 'zod']) },
    devDependencies: pinned(['@cloudflare/workers-types', '@types/node', ...tools, 'typescript', 'vitest', 'wrangler']),
    // npm would ask about these two otherwise.
    allowScripts: { esbuild: true, workerd: true },
  }
  return `${JSON.stringify(contents, null, 2)}\n`
}
