/**
 * Counts how often a request moves from one file of the server to another, and how often it returns to a file. Every
 * function of worker/ and durable-objects/ is traced, except those of worker/protocol, which call no other folder. An entry into a
 * function counts, its return does not. `files` is the number of different files: a walk cannot have fewer moves than that, less one.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { build, type Plugin } from 'esbuild'
import type { FunctionLikeDeclaration, Node } from 'typescript/unstable/ast'
import { SyntaxKind } from 'typescript/unstable/ast'
import { API } from 'typescript/unstable/sync'
import { connect } from '../worker/client/client.ts'
import { startServer } from '../worker/testing/node/index.ts'

const root = resolve(import.meta.dirname, '..')
const isTraced = (path: string) => /^(?:worker\/(?!protocol\/|client\/|testing\/)|durable-objects\/)/.test(path)

const functionKinds = new Set([
  SyntaxKind.ArrowFunction,
  SyntaxKind.FunctionExpression,
  SyntaxKind.FunctionDeclaration,
  SyntaxKind.MethodDeclaration,
  SyntaxKind.GetAccessor,
  SyntaxKind.SetAccessor,
])

/** Inserts code that records each function call of a file. */
function instrument(code: string, source: Node, path: string): string {
  const note = `globalThis.trace.push(${JSON.stringify(path)})`
  const inserts: [position: number, text: string][] = []
  const visit = (node: Node): void => {
    const { body } = node as FunctionLikeDeclaration
    if (functionKinds.has(node.kind) && body) {
      if (body.kind === SyntaxKind.Block) inserts.push([body.getStart() + 1, `${note};`])
      else inserts.push([body.getStart(), `(${note},`], [body.getEnd(), ')'])
    }
    node.forEachChild(visit)
  }
  visit(source)
  // From the end, so that positions stay valid. Of two inserts at one position, the first one encloses the other.
  return inserts
    .map((insert, index) => ({ insert, index }))
    .sort((a, b) => b.insert[0] - a.insert[0] || b.index - a.index)
    .reduce((text, { insert: [position, inserted] }) => text.slice(0, position) + inserted + text.slice(position), code)
}

async function bundle(): Promise<string> {
  const api = new API({ cwd: root })
  try {
    const project = api.updateSnapshot({ openProjects: [join(root, 'tsconfig.json')] }).getProjects()[0]
    const traced: Plugin = {
      name: 'trace',
      setup({ onLoad }) {
        onLoad({ filter: /\.ts$/ }, ({ path }) => {
          const name = relative(root, path)
          if (!isTraced(name)) return undefined
          const source = project?.program.getSourceFile(path)
          if (!source) throw new Error(`${name} is not compiled`)
          return { contents: instrument(readFileSync(path, 'utf8'), source, name), loader: 'ts' }
        })
      },
    }
    const { outputFiles } = await build({
      entryPoints: [join(root, 'scripts/hops/server.ts')],
      bundle: true,
      write: false,
      format: 'esm',
      target: 'es2024',
      define: { 'globalThis.process.env.NODE_ENV': '"production"' },
      banner: { js: 'globalThis.trace = [];' },
      conditions: ['workerd', 'worker', 'browser'],
      external: ['cloudflare:*', 'node:*'],
      plugins: [traced],
      tsconfig: join(root, 'tsconfig.json'),
      logLevel: 'error',
    })
    return outputFiles[0]?.text ?? ''
  } finally {
    api.close()
  }
}

/** The files in the order in which they are entered, without repetitions of the last. */
const routeOf = (trace: readonly string[]) => trace.filter((file, index) => file !== trace[index - 1])

function count(trace: readonly string[]): { moves: number; returns: number } {
  const route = routeOf(trace)
  const returns = route.filter((file, index) => route.indexOf(file) < index).length
  return { moves: Math.max(0, route.length - 1), returns }
}

const folder = mkdtempSync(join(tmpdir(), 'edgemcp-hops-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
writeFileSync(join(folder, 'index.js'), await bundle())
writeFileSync(
  join(folder, 'wrangler.toml'),
  [
    'name = "hops"',
    'main = "index.js"',
    'no_bundle = true',
    'compatibility_date = "2026-10-15"',
    'compatibility_flags = ["enable_request_signal"]',
    '[[migrations]]',
    'tag = "v1"',
    'new_sqlite_classes = ["McpSession", "McpSubscriptions", "McpTask"]',
  ].join('\n'),
)
const server = await startServer({ config: join(folder, 'wrangler.toml') })
const url = server.url
const mcp = new URL('/mcp', url)

const read = async () => (await (await fetch(new URL('/trace', url))).json()) as string[]

/** The trace of `act`, until nothing is added for half a second: an alarm may run after the response. */
async function traceOf(act: () => Promise<unknown>): Promise<string[]> {
  await (await fetch(new URL('/reset', url))).text()
  await act()
  let last = await read()
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, 500))
    const now = await read()
    if (now.length === last.length) return now
    last = now
  }
}

const elicit = () => ({ action: 'accept' as const, content: { word: 'blue' } })
const stateless = await connect(mcp, { revision: '2026-07-28', answers: { elicit } })
const session = await connect(mcp, { revision: '2025-11-25', answers: { elicit } })
const walks: readonly [name: string, goal: { moves: number; returns: number }, act: () => Promise<unknown>][] = [
  ['stateless tools/call', { moves: 20, returns: 4 }, () => stateless.callTool('echo', { text: 'x' })],
  ['session tools/call', { moves: 30, returns: 8 }, () => session.callTool('echo', { text: 'x' })],
  ['stateless elicitation', { moves: 50, returns: 15 }, () => stateless.callTool('ask')],
  ['session elicitation', { moves: 60, returns: 20 }, () => session.callTool('ask')],
  [
    'stateless task, with its alarm',
    { moves: 50, returns: 15 },
    () => stateless.request('tools/call', { name: 'work', arguments: {}, task: {} }),
  ],
]
const isVerbose = process.argv.includes('--verbose')
console.log('walk                             moves  goal  returns  goal    files')
for (const [name, goal, act] of walks) {
  // The first call of each kind fills caches that later calls use.
  await act()
  const trace = await traceOf(act)
  const { moves, returns } = count(trace)
  const files = new Set(trace).size
  const row = [moves, goal.moves, returns, goal.returns, files].map((number, index) =>
    String(number).padStart(index % 2 ? 6 : 9),
  )
  console.log(`${name.padEnd(30)}${row.join('')}`)
  if (isVerbose) for (const file of routeOf(trace)) console.log(`  ${file}`)
}
await stateless[Symbol.asyncDispose]()
await session[Symbol.asyncDispose]()
await server[Symbol.asyncDispose]()
