/** A project in which nothing is wrong, with a bit of everything, outside the repository. */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'

const root = resolve(import.meta.dirname, '../..')

export type Files = Record<string, string>

const code = `import { env } from 'cloudflare:workers'
import { createServer, serve } from 'edgemcp'
import { bearer } from 'edgemcp/auth'
import { rateLimit } from 'edgemcp/rate-limit'
import { sessions } from 'edgemcp/sessions'
import { state } from 'edgemcp/state'
import { tasks } from 'edgemcp/tasks'
import { subscriptions } from 'edgemcp/subscriptions'
import * as z from 'zod'

const { ISSUER } = env as { ISSUER: string }

const server = createServer({ name: 'good', version: '1.0.0' })

const basket = state('basket', { per: 'handle', ttl: 60_000 }, (store) => ({ add: () => store.put('bread', 1) }))

const note = server.resource('note://{id}', { description: 'A note', scopes: ['notes:read'] }, ({ id }) => id)

server.tool(
  'write_note',
  { description: 'Writes a note', inputSchema: z.object({ id: z.string() }), scopes: ['notes:write'], rateLimit: { concurrent: 2 } },
  async ({ id }) => {
    await note.updated({ id })
    return 'written'
  },
)
server.tool('long', { description: 'Takes its time', scopes: [], task: true }, () => 'done')
server.tool('new_basket', { description: 'Makes a basket', scopes: [] }, (_, ctx) => ctx.createHandle(basket))

const worker = serve(server, {
  plugins: [sessions(), subscriptions(), rateLimit(), tasks()],
  origins: ['https://app.example.com'],
  hosts: ['good.example.workers.dev'],
  auth: bearer({ issuer: ISSUER }),
})
export default worker
export const { McpSession, McpSubscriptions, McpTask } = worker
export { McpState } from 'edgemcp/state'
`

const toml = `name = "good"
main = "src/index.ts"
compatibility_date = "2026-10-15"
compatibility_flags = ["enable_request_signal"]

[[migrations]]
tag = "v1"
new_sqlite_classes = ["McpSession", "McpSubscriptions", "McpTask", "McpState"]

[vars]
ISSUER = "https://auth.example.com"
`

const jsonc = `{
  // The same, as wrangler writes it.
  "name": "good",
  "main": "src/index.ts",
  "compatibility_date": "2026-10-15",
  "compatibility_flags": ["enable_request_signal"],
  "vars": { "ISSUER": "https://auth.example.com" },
  "migrations": [{ "tag": "v1", "new_sqlite_classes": ["McpSession", "McpSubscriptions", "McpTask", "McpState"] }],
}
`

export const inToml: Files = { 'src/index.ts': code, 'wrangler.toml': toml }
export const inJson: Files = { 'src/index.ts': code, 'wrangler.jsonc': jsonc }

/** What TypeScript and npm would have put there. */
const paths = Object.fromEntries(
  [
    'api-keys',
    'apps',
    'auth',
    'compose',
    'discovery',
    'events',
    'page',
    'rate-limit',
    'sessions',
    'skills',
    'state',
    'subscriptions',
    'tasks',
  ].map((entry) => [`edgemcp/${entry}`, [join(root, `worker/plugins/${entry}/index.ts`)]]),
)
const jsonSchema = { 'edgemcp/json-schema': [join(root, 'worker/declarations/json-schema/index.ts')] }
const settings = { compilerOptions: { paths: { edgemcp: [join(root, 'worker/index.ts')], ...jsonSchema, ...paths } } }

/** @returns the folder, which goes when it is disposed of */
export function write(files: Files): { folder: string } & Disposable {
  const folder = mkdtempSync(join(tmpdir(), 'edgemcp-doctor-'))
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  for (const [path, text] of Object.entries({
    ...files,
    'tsconfig.json': JSON.stringify(settings),
    'package.json': '{}',
  })) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  return { folder, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) }
}
