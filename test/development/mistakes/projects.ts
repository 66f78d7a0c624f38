/** Whole projects with one mistake: what `wrangler dev` prints, and what `npx edgemcp doctor` finds. */
import type { Files } from '../../cli/good-project.ts'
import type { Mistake } from './mistakes.ts'

type ProjectMistake = Mistake & { readonly files: Files }

const code = `import { createServer, serve } from 'edgemcp'
import { sessions } from 'edgemcp/sessions'
const server = createServer({ name: 'weather', version: '1.0.0' })
server.tool('weather', { description: 'Gives the weather' }, () => 'sunny')
const worker = serve(server, { origins: [], plugins: [sessions()] })
export default worker
export const { McpSession } = worker
`
const config = `name = "weather"
main = "src/index.ts"
compatibility_date = "2026-10-15"
compatibility_flags = ["enable_request_signal"]

[[migrations]]
tag = "v1"
new_sqlite_classes = ["McpSession"]
`

const inCode = (from: string, to: string): Files => ({
  'src/index.ts': code.replace(from, () => to),
  'wrangler.toml': config,
})
const inConfig = (from: string, to: string): Files => ({
  'src/index.ts': code,
  'wrangler.toml': config.replace(from, to),
})

/** Mistakes in declarations. A production bundle refuses some of them, and some with a shorter message. */
export const undeployed: readonly (readonly [mistake: string, files: Files, message: string])[] = [
  [
    'a member of another library',
    inCode("{ description: 'Gives the weather' }", "{ description: 'Gives the weather', parameters: {} }"),
    'tool "weather" does not take "parameters": write "inputSchema"',
  ],
  [
    'a misspelled hint',
    inCode("'Gives the weather' }", "'Gives the weather', annotations: { readOnly: true } }"),
    'tool "weather" does not take "annotations.readOnly" (did you mean "readOnlyHint"?)',
  ],
  [
    'icons without src',
    inCode("'Gives the weather' }", "'Gives the weather', icons: [{ url: 'a.png' }] }"),
    'tool "weather" does not take "icons.url": "icons" takes src, mimeType, sizes and theme',
  ],
  [
    'a completion of no variable',
    inCode('const worker', "server.resource('a:{b}', { complete: { c: () => [] } }, () => '')\nconst worker"),
    'The resource "a:{b}" completes "c", which is not one of its variables',
  ],
]

const exportLine = 'export const { McpSession } = worker\n'
const migration = '\n[[migrations]]\ntag = "v1"\nnew_sqlite_classes = ["McpSession"]\n'

/** Printed at the start, or at the first request. */
export const printed: readonly ProjectMistake[] = [
  {
    mistake: '`export default server`',
    files: inCode('export default worker', 'export default server'),
    message: 'edgemcp has no server.fetch(): write export default serve(server)',
    fix: '',
  },
  {
    mistake: 'A class is declared in wrangler.toml, and not exported',
    files: inCode(exportLine, ''),
    message:
      'A DurableObjectNamespace in the config referenced the class "McpSession", but no such Durable Object class is exported from the worker.',
    fix: '`export const { McpSession } = worker`. The error beside it, `Class extends value undefined`, comes from wrangler.',
  },
  {
    mistake: 'A class is exported, and wrangler.toml has no migration for it',
    files: inConfig(migration, ''),
    message:
      'edgemcp cannot run sessions and streams: this Worker has no Durable Object class McpSession. Add a migration of its own to the end of its wrangler.toml',
    fix: 'Add the lines that follow.',
  },
  {
    mistake: 'No `export default`',
    files: inCode('export default worker', ''),
    message: 'Cannot initialize N7workerd3api15ExportedHandlerE with required members from an undefined or null value.',
    fix: '`export default serve(server)`; `npx edgemcp doctor` says so.',
  },
  {
    mistake: 'A compatibility date of 2023',
    files: inConfig('2026-10-15', '2023-10-15'),
    message:
      'edgemcp needs compatibility_date = "2026-02-24" or newer in wrangler.toml: with the date of this Worker, there is no RPC to Durable Objects, so input requests, sessions and limits fail',
    fix: '',
  },
  {
    mistake: 'A compatibility date in the future',
    files: inConfig('2026-10-15', '2039-10-15'),
    message: 'Compatibility date "2039-10-15" is in the future and unsupported',
    fix: 'The date of [a new project](../guides/deploying.md).',
  },
  {
    mistake: 'No `enable_request_signal`',
    files: inConfig('compatibility_flags = ["enable_request_signal"]\n', ''),
    message:
      'edgemcp needs compatibility_flags = ["enable_request_signal"] in wrangler.toml: without it, calls of clients that disconnect run on',
    fix: '',
  },
]

/** Found by `npx edgemcp doctor`: the problem, and the fix. */
export const diagnosed: readonly ProjectMistake[] = [
  {
    mistake: '`export default server`',
    files: inCode('export default worker', 'export default server'),
    message:
      'The default export, server, has no fetch handler: every request fails with status 500. Write export default worker: serve() returns the handler.',
    fix: '',
  },
  {
    mistake: 'A class is declared in wrangler.toml, and not exported',
    files: inCode(exportLine, ''),
    message:
      'A Durable Object stores each session and its streams, and the Worker exports no McpSession. Add: export const { McpSession } = worker. Or remove sessions() from the plugins of serve().',
    fix: '',
  },
  {
    mistake: 'No `export default`',
    files: inCode('export default worker', ''),
    message:
      'src/index.ts has no default export, so the Worker does not start. Write export default worker: serve() returns the handler.',
    fix: '',
  },
  {
    mistake: 'A compatibility date in the future',
    files: inConfig('2026-10-15', '2039-10-15'),
    message:
      'The Worker does not start: the compatibility date 2039-10-15 is later than the wrangler of this project knows. Set the compatibility date to 2026-10-15, or update wrangler.',
    fix: '',
  },
  {
    mistake: 'A state, and no class for it',
    files: inCode(
      'const server',
      `import { state } from 'edgemcp/state'\nexport const basket = () => state('basket', { per: 'handle', ttl: 60_000 })\nconst server`,
    ),
    message:
      "State is kept by an object, and the Worker exports no McpState. Add: export { McpState } from 'edgemcp/state'",
    fix: '',
  },
  {
    mistake: 'A binding that wrangler.toml does not declare',
    files: {
      'src/index.ts': `import { env } from 'cloudflare:workers'\n${code.replace("'sunny'", "env.DB.prepare('SELECT 1').first()")}`,
      'wrangler.toml': config,
    },
    message:
      'The code uses the binding DB of env, and wrangler.toml does not declare it: it is undefined. Declare it in wrangler.toml with the binding "DB".',
    fix: '',
  },
]
