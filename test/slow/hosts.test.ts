/** Published host programs, from the registry, whose users sign in. Skipped where there is no registry. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { Browser } from '../../worker/testing/provider/browser.ts'
import { Wallet } from '../auth/flow/wallet.ts'
import { Stage } from '../sign-in/attacks/stage.ts'
import { freePort } from '../support/free-port.ts'

const packages = {
  'mcp-remote-2025': 'npm:mcp-remote@0.1.37',
  'mcp-remote': '0.15.1',
  '@modelcontextprotocol/inspector': '2.12.0',
  '@ai-sdk/mcp': '2.0.99',
}

/** Installs them: the folder, or `undefined`. */
async function install(): Promise<string | undefined> {
  const folder = await mkdtemp(join(tmpdir(), 'edgemcp-hosts-'))
  await writeFile(join(folder, 'package.json'), JSON.stringify({ private: true, dependencies: packages }))
  const options = ['install', '--no-audit', '--no-fund', '--ignore-scripts']
  return promisify(execFile)('npm', options, { cwd: folder, timeout: 240_000 }).then(
    () => folder,
    async () => {
      await rm(folder, { recursive: true, force: true })
      return undefined
    },
  )
}

const installed = await install()
const modules = join(installed ?? '', 'node_modules')

/** Waits for a text of a stream. */
function heard(child: ChildProcess, of: 'stdout' | 'stderr', pattern: RegExp): Promise<RegExpExecArray> {
  const found = new Promise<RegExpExecArray>((resolve, reject) => {
    let all = ''
    const listen = (chunk: Buffer) => {
      all += chunk
      const found = pattern.exec(all)
      if (!found) return
      child[of]?.off('data', listen)
      resolve(found)
    }
    child[of]?.on('data', listen)
    child.once('exit', () => reject(new Error(`ended after ${all}`)))
  })
  // A test that has failed already does not wait for it.
  found.catch(() => {})
  return found
}

describe.skipIf(installed === undefined)('published hosts', () => {
  let stage: Stage
  let folder: string
  let children: ChildProcess[]
  beforeAll(async () => {
    stage = await Stage.start()
  })
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'edgemcp-host-'))
    children = []
  })
  afterEach(async () => {
    for (const child of children.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null)) {
      child.kill('SIGKILL')
      await once(child, 'exit')
    }
    await rm(folder, { recursive: true, force: true })
  })
  afterAll(async () => {
    await stage?.[Symbol.asyncDispose]()
    if (installed !== undefined) await rm(installed, { recursive: true, force: true })
  })

  const run = (script: string, args: readonly string[]): ChildProcess => {
    const child = spawn(process.execPath, [join(modules, script), ...args], {
      // Nothing opens a browser, and nothing is stored elsewhere.
      env: {
        ...process.env,
        HOME: folder,
        MCP_REMOTE_CONFIG_DIR: folder,
        BROWSER: 'true',
        MCP_AUTO_OPEN_ENABLED: 'true',
      },
    })
    children.push(child)
    return child
  }

  /** Does in a browser what the program asks its user for. */
  async function visit(url: string, browser = new Browser(), scopes?: readonly string[]): Promise<URLSearchParams> {
    const asked = new URL(url)
    const returned = await browser.authorize(asked, { decision: 'github', ...(scopes && { scopes }) })
    const back = new URL(asked.searchParams.get('redirect_uri') as string)
    back.search = String(returned)
    // The program may begin to listen after it has shown the URL.
    const status = () =>
      fetch(back).then(
        (response) => response.status,
        () => 'no answer',
      )
    await expect.poll(status).toBe(200)
    return asked.searchParams
  }

  const authorization = /https?:\/\/[^\s"]+\/authorize\?[^\s"]+/

  describe.each(['mcp-remote-2025', 'mcp-remote'])('%s', (name) => {
    const start = (url = stage.server) =>
      run(`${name}/dist/proxy.js`, [url.href, '--allow-http', '--transport', 'http-only'])

    const send = (child: ChildProcess, message: object) =>
      child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)

    /** Calls a tool as a local host does. */
    async function call(child: ChildProcess, tool: string): Promise<string> {
      const answered = heard(child, 'stdout', /"id":2\}?.*\n|.*"id":2,.*\n/)
      const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'host', version: '1' } }
      const opened = heard(child, 'stdout', /"id":1/)
      send(child, { id: 1, method: 'initialize', params })
      await opened
      send(child, { method: 'notifications/initialized' })
      send(child, { id: 2, method: 'tools/call', params: { name: tool, arguments: {} } })
      return (await answered)[0]
    }

    test('signs in, and starts again with what it stored', async () => {
      const first = start()
      const result = call(first, 'whoami')
      const [url] = await heard(first, 'stderr', authorization)
      const params = await visit(url)
      expect(params.get('resource')).toBe(stage.server.href)
      expect(await result).toContain('github.1815')
      first.kill()
      await once(first, 'exit')
      expect(await call(start(), 'whoami')).toContain('github.1815')
    })

    test('refreshes in two processes at once', async () => {
      const first = start()
      const result = call(first, 'whoami')
      await visit((await heard(first, 'stderr', authorization))[0])
      await result
      first.kill()
      await once(first, 'exit')
      await change('tokens.json', (tokens) => ({ ...tokens, access_token: 'expired', expires_at: 1 }))
      // The program may read the file while the other process writes it, and end: a host starts it again.
      const called = async () => call(start(), 'whoami').catch(() => call(start(), 'whoami'))
      const results = await Promise.all([called(), called()])
      for (const one of results) expect(one).toContain('github.1815')
    })

    test('registers again when the server does not know it any more', async () => {
      const first = start()
      const result = call(first, 'whoami')
      const asked = await visit((await heard(first, 'stderr', authorization))[0])
      await result
      first.kill()
      await once(first, 'exit')
      await change('tokens.json', (tokens) => ({ ...tokens, access_token: 'expired', expires_at: 1 }))
      await change('client_info.json', (client) => ({ ...client, client_id: 'MfS4jXq0Dk2LwZ7a' }))
      const second = start()
      const again = call(second, 'whoami')
      const params = await visit((await heard(second, 'stderr', authorization))[0])
      expect(params.get('client_id')).not.toBe('MfS4jXq0Dk2LwZ7a')
      expect(params.get('client_id')).not.toBe(asked.get('client_id'))
      expect(await again).toContain('github.1815')
    })

    /** Changes a file that the program stored. */
    async function change(suffix: string, by: (value: Record<string, unknown>) => object): Promise<void> {
      const files = await readdir(folder, { recursive: true })
      const file = join(folder, files.find((path) => path.endsWith(suffix)) as string)
      await writeFile(file, JSON.stringify(by(JSON.parse(await readFile(file, 'utf8')))))
    }
  })

  test('the command line of the Inspector signs in, calls a tool with what it stored, and signs in again', async () => {
    const callback = `http://127.0.0.1:${await freePort()}/oauth/callback`
    const start = (...more: string[]) =>
      run('@modelcontextprotocol/inspector/clients/launcher/build/index.js', [
        '--cli',
        stage.server.href,
        ...['--callback-url', callback, '--method', 'tools/call', '--tool-name', 'whoami'],
        ...more,
      ])
    const first = start()
    const output = text(first.stdout as NonNullable<typeof first.stdout>)
    await visit((await heard(first, 'stderr', authorization))[0])
    expect(await output).toContain('github.1815')
    const stored = start()
    expect(await text(stored.stdout as NonNullable<typeof stored.stdout>)).toContain('github.1815')
    const second = start('--relogin')
    const again = text(second.stdout as NonNullable<typeof second.stdout>)
    await visit((await heard(second, 'stderr', authorization))[0])
    expect(await again).toContain('github.1815')
  })

  test('the AI SDK signs in, and registers again when the server does not know it any more', async () => {
    const { createMCPClient, auth } = await import(pathToFileURL(join(modules, '@ai-sdk/mcp/dist/index.js')).href)
    const wallet = Object.assign(new Wallet(), { isClientInformationDynamicallyRegistered: () => true })
    const connect = () => createMCPClient({ transport: { type: 'http', url: stage.server.href, authProvider: wallet } })
    const signIn = async () => {
      await expect(connect()).rejects.toThrow('Unauthorized')
      const returned = await new Browser().authorize(wallet.sentTo as URL, { decision: 'github' })
      const authorizationCode = returned.get('code')
      const options = { authorizationCode, callbackIssuer: returned.get('iss'), callbackState: returned.get('state') }
      expect(await auth(wallet, { serverUrl: stage.server, ...options })).toBe('AUTHORIZED')
    }
    await signIn()
    const { whoami } = await (await connect()).tools()
    expect(JSON.stringify(await whoami.execute({}, { toolCallId: '1', messages: [] }))).toContain('github.1815')
    wallet.held = { ...wallet.held, access_token: 'expired', token_type: 'bearer' }
    await (await connect()).tools()
    expect(wallet.held?.access_token).not.toBe('expired')
    wallet.held = { ...wallet.held, access_token: 'expired', token_type: 'bearer' }
    wallet.client = { ...wallet.client, client_id: 'MfS4jXq0Dk2LwZ7a' } as NonNullable<Wallet['client']>
    await signIn()
    expect(wallet.client?.client_id).not.toBe('MfS4jXq0Dk2LwZ7a')
    await (await connect()).tools()
  })
})
