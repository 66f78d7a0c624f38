/**
 * Walks the first five minutes, as whoever begins: from an empty folder to a tool of one's own that the official client calls.
 * Writes what was typed and printed, and how long it took, to docs/start/transcript.md. Fails where the walk does.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '../test/support/free-port.ts'

const root = resolve(import.meta.dirname, '..')
const start = mkdtempSync(join(tmpdir(), 'edgemcp-walk-'))
const project = join(start, 'my-server')
const port = await freePort()
const { devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const env = {
  ...process.env,
  // What npm told the script that runs this is none of the walk's business.
  ...Object.fromEntries(
    Object.keys(process.env)
      .filter((name) => name.startsWith('npm_'))
      .map((name) => [name, undefined]),
  ),
  // The Node.js that this runs in: the system's may be too old for wrangler.
  PATH: `${dirname(process.execPath)}:${process.env.PATH}`,
  FORCE_COLOR: '0',
  WRANGLER_SEND_METRICS: 'false',
  CLOUDFLARE_CF_FETCH_ENABLED: 'false',
  npm_config_audit: 'false',
  npm_config_fund: 'false',
  npm_config_prefer_offline: 'true',
  npm_config_update_notifier: 'false',
}

const tool = `server.tool('shout', { description: 'Says it louder', inputSchema: z.object({ text: z.string() }) }, ({ text }) => {
  return text.toUpperCase()
})
`
const client = `import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'

const client = new Client({ name: 'me', version: '1.0.0' })
await client.connect(new StreamableHTTPClientTransport(new URL('http://127.0.0.1:8787/mcp')))
console.log(await client.callTool({ name: 'shout', arguments: { text: 'hello' } }))
await client.close()
`

type Step = { heading: string; typed: string; printed: string; seconds: number }
const steps: Step[] = []
let server: ChildProcess | undefined

try {
  const packed = await install()
  await step('Make a project', 'npx edgemcp init my-server --template hello', start)
  // As long as nothing is released, npm finds edgemcp here only.
  const manifest = join(project, 'package.json')
  writeFileSync(manifest, readFileSync(manifest, 'utf8').replace(/"edgemcp": ".*?"/, `"edgemcp": "file:${packed}"`))
  await step('Install what it needs', 'npm install', project)
  await step('Test it', 'npm test', project)
  await develop()
  await addTool()
  await step(
    'Get a client',
    `npm install --save-dev @modelcontextprotocol/client@${devDependencies['@modelcontextprotocol/client']}`,
    project,
  )
  writeFileSync(join(project, 'client.mjs'), client.replace('8787', String(port)))
  const called = await step('Call the tool with it', 'node client.mjs', project)
  if (!called.includes('HELLO')) throw new Error(`The client heard ${called}`)
  await step('Ask whether anything is wrong', 'npx edgemcp doctor', project)
  await step('Build what would be deployed', 'npm run deploy -- --dry-run', project)
  writeFileSync(join(root, 'docs/start/transcript.md'), page())
  console.log(`${total().toFixed(0)} s in ${steps.length} steps: docs/start/transcript.md`)
} finally {
  if (server?.pid) process.kill(-server.pid, 'SIGTERM')
  rmSync(start, { recursive: true, force: true, maxRetries: 5 })
}
process.exit()

/** What will be on npm, where npx looks first. */
async function install(): Promise<string> {
  const run = promisify(execFile)
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', start], { cwd: root, env })
  const packed = join(start, JSON.parse(stdout.slice(stdout.indexOf('[')))[0].filename)
  await run('npm', ['install', '--no-save', packed], { cwd: start, env })
  return packed
}

async function step(heading: string, typed: string, cwd: string): Promise<string> {
  const began = performance.now()
  const { code, printed } = await new Promise<{ code: number | null; printed: string }>((resolve) => {
    const child = spawn(typed, { cwd, env, shell: true, stdio: ['ignore', 'pipe', 'pipe'] })
    let printed = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (part) => (printed += part))
    child.once('close', (code) => resolve({ code, printed }))
  })
  if (code !== 0) throw new Error(`${typed} ended with ${code}:\n${printed}`)
  return record(heading, typed, printed, began)
}

function record(heading: string, typed: string, text: string, began: number): string {
  const printed = neutral(text)
  steps.push({ heading, typed, printed, seconds: (performance.now() - began) / 1000 })
  return printed
}

/** Without what is this machine's. */
function neutral(text: string): string {
  return (
    text
      // biome-ignore lint/suspicious/noControlCharactersInRegex: terminals begin their codes with one
      .replace(/\u001b\[[\d;]*[a-zA-Z]/g, '')
      .replace(/ \(update available [^)]*\)/g, '')
      .replaceAll(project, '~/my-server')
      .replaceAll(start, '~')
      .replaceAll(String(port), '8787')
      .split('\n')
      .filter((line) => !/^npm (?:warn|notice)|^\s*[─╭╰│]|^\s*$/u.test(line))
      .map((line) => line.trimEnd())
      .join('\n')
  )
}

async function develop(): Promise<void> {
  const began = performance.now()
  const running = spawn('npm', ['run', 'dev', '--', '--port', String(port)], { cwd: project, env, detached: true })
  server = running
  let printed = ''
  await new Promise<void>((resolve, reject) => {
    const hear = (part: Buffer) => {
      printed += part
      if (printed.includes('Ready on')) resolve()
    }
    running.stdout.on('data', hear)
    running.stderr.on('data', hear)
    running.once('exit', () => reject(new Error(printed)))
  })
  record('Start it', 'npm run dev', printed.replaceAll(/ --port \d+/g, ''), began)
}

async function addTool(): Promise<void> {
  const began = performance.now()
  const file = join(project, 'src/index.ts')
  const text = readFileSync(file, 'utf8')
  writeFileSync(file, text.replace('const worker', `${tool}\nconst worker`))
  const { connect } = await import('../worker/testing/index.ts')
  const isListed = async () => {
    try {
      await using client = await connect(`http://127.0.0.1:${port}/mcp`, { revision: '2026-07-28' })
      return JSON.stringify(await client.request('tools/list')).includes('shout')
    } catch {
      return false
    }
  }
  while (!(await isListed())) {
    if (performance.now() - began > 60_000) throw new Error('The new tool is not listed')
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  record('Add a tool, in src/index.ts, and save', tool.trimEnd(), '', began)
}

function page(): string {
  const text = steps.map(({ heading, typed, printed, seconds }, index) => {
    const isCommand = printed !== '' || !typed.includes('\n')
    const block = isCommand ? `\`\`\`\n$ ${typed}\n${printed}\n\`\`\`` : `\`\`\`ts\n${typed}\n\`\`\``
    const before = typed === 'node client.mjs' ? `\`client.mjs\`:\n\n\`\`\`js\n${client.trimEnd()}\n\`\`\`\n\n` : ''
    return `## ${index + 1}. ${heading}\n\n${before}${block}\n\n${seconds.toFixed(1)} s`
  })
  return `# The first five minutes

From an empty folder to a tool of one's own, called by the official client. \`npm run walk\` typed this and wrote down what was printed; the seconds are those of the
commands, on a machine with two busy cores and packages that npm had fetched before: ${total().toFixed(0)} s in all. As long as nothing is released, edgemcp came from
\`npm pack\` in place of the registry.

${text.join('\n\n')}
`
}

function total(): number {
  return steps.reduce((sum, { seconds }) => sum + seconds, 0)
}
