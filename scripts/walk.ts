/**
 * Runs the commands for a first server: from an empty folder to a new tool that the official client calls.
 * Writes each command, its output and its duration to docs/start/transcript.md. Exits with 1 if a command fails.
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
  // Variables that npm sets for this script must not reach the commands.
  ...Object.fromEntries(
    Object.keys(process.env)
      .filter((name) => name.startsWith('npm_'))
      .map((name) => [name, undefined]),
  ),
  // The Node.js that runs this script: that of the system may be too old for wrangler.
  PATH: `${dirname(process.execPath)}:${process.env.PATH}`,
  FORCE_COLOR: '0',
  WRANGLER_SEND_METRICS: 'false',
  CLOUDFLARE_CF_FETCH_ENABLED: 'false',
  npm_config_audit: 'false',
  npm_config_fund: 'false',
  npm_config_prefer_offline: 'true',
  npm_config_update_notifier: 'false',
}

const tool = `server.tool('shout', { description: 'Returns a text in upper case', inputSchema: z.object({ text: z.string() }) }, ({ text }) => {
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
  await step('Create a project', 'npx edgemcp init my-server --template hello', start)
  // edgemcp is not on npm yet.
  const manifest = join(project, 'package.json')
  writeFileSync(manifest, readFileSync(manifest, 'utf8').replace(/"edgemcp": ".*?"/, `"edgemcp": "file:${packed}"`))
  await step('Install the dependencies', 'npm install', project)
  await step('Run the tests', 'npm test', project)
  await develop()
  await addTool()
  await step(
    'Install a client',
    `npm install --save-dev @modelcontextprotocol/client@${devDependencies['@modelcontextprotocol/client']}`,
    project,
  )
  writeFileSync(join(project, 'client.mjs'), client.replace('8787', String(port)))
  const called = await step('Call the tool', 'node client.mjs', project)
  if (!called.includes('HELLO')) throw new Error(`The client printed ${called}`)
  await step('Check the project', 'npx edgemcp doctor', project)
  await step('Build the bundle', 'npm run deploy -- --dry-run', project)
  writeFileSync(join(root, 'docs/start/transcript.md'), page())
  console.log(`${total().toFixed(0)} s in ${steps.length} steps: docs/start/transcript.md`)
} finally {
  if (server?.pid) process.kill(-server.pid, 'SIGTERM')
  rmSync(start, { recursive: true, force: true, maxRetries: 5 })
}
process.exit()

/** Installs the package as published, where npx finds it. */
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

/** Removes paths, ports and terminal codes of this machine. */
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
    const onOutput = (part: Buffer) => {
      printed += part
      if (printed.includes('Ready on')) resolve()
    }
    running.stdout.on('data', onOutput)
    running.stderr.on('data', onOutput)
    running.once('exit', () => reject(new Error(printed)))
  })
  record('Start the server', 'npm run dev', printed.replaceAll(/ --port \d+/g, ''), began)
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
  record('Add a tool in src/index.ts', tool.trimEnd(), '', began)
}

function page(): string {
  const text = steps.map(({ heading, typed, printed, seconds }, index) => {
    const isCommand = printed !== '' || !typed.includes('\n')
    const block = isCommand ? `\`\`\`\n$ ${typed}\n${printed}\n\`\`\`` : `\`\`\`ts\n${typed}\n\`\`\``
    const before = typed === 'node client.mjs' ? `\`client.mjs\`:\n\n\`\`\`js\n${client.trimEnd()}\n\`\`\`\n\n` : ''
    return `## ${index + 1}. ${heading}\n\n${before}${block}\n\n${seconds.toFixed(1)} s`
  })
  return `# First server: every command

Every command from an empty folder to a tool of your own that the official client calls, with its output. \`npm run walk\` runs these commands and writes this page.
The times are of a machine with two busy cores and a filled npm cache: ${total().toFixed(0)} s in total. edgemcp is not on npm yet, so the package came from \`npm pack\`.

${text.join('\n\n')}
`
}

function total(): number {
  return steps.reduce((sum, { seconds }) => sum + seconds, 0)
}
