import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, utimesSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test, vi } from 'vitest'
import { connect } from '../../worker/testing/index.ts'
import { freePort } from '../support/free-port.ts'

const root = resolve(import.meta.dirname, '../..')
const source = join(root, 'test/development/effects/index.ts')
const wrangler = join(root, 'node_modules/wrangler/bin/wrangler.js')

/** The line of the source with this in it, as a terminal makes a link of it. */
function place(text: string): string {
  const line = readFileSync(source, 'utf8')
    .split('\n')
    .findIndex((written) => written.includes(text))
  return `${pathToFileURL(source)}:${line + 1}:`
}

test.each([
  {
    command: 'npm run example',
    args: (port: string, data: string) => [
      'scripts/start.ts',
      '../test/development/effects',
      ...['--port', port, '--data', data],
    ],
  },
  {
    command: 'wrangler dev',
    args: (port: string, data: string) => [
      wrangler,
      ...['dev', '--config', 'test/development/effects/wrangler.toml', '--ip', '127.0.0.1'],
      ...['--port', port, '--inspector-port', '0', '--persist-to', data],
    ],
  },
])(
  '$command prints the line of the source, and keeps the inspector key when the source changes',
  async ({ args }) => {
    const data = mkdtempSync(join(tmpdir(), 'edgemcp-'))
    // esbuild compares the contents, and not the time, of a file that was changed within three seconds before it was read.
    const longAgo = new Date(Date.now() - 3_600_000)
    utimesSync(source, longAgo, longAgo)
    const port = String(await freePort())
    // A process group of its own, to be ended as one.
    const child = spawn(process.execPath, args(port, data), {
      cwd: root,
      detached: true,
      env: { ...process.env, NODE_ENV: undefined, WRANGLER_LOG: undefined, TMPDIR: data },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const closed = once(child, 'close')
    let output = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk) => {
        output += chunk
      })
    }
    try {
      await vi.waitFor(() => expect(output).toMatch(/ready on/i), { timeout: 60_000 })
      const url = `http://127.0.0.1:${port}`
      const answers = { elicit: () => ({ action: 'accept', content: { sure: true } }) }
      const client = await connect(`${url}/mcp`, { revision: '2026-07-28', answers })
      expect(await client.callTool('through_another', { url })).toMatchObject({ content: [{ text: 'done' }] })
      const [inFunction, inHandler] = [
        place('const response = await fetch(url)'),
        place('await Promise.all([load(url)])'),
      ]
      await vi.waitFor(() => expect(output).toContain(inHandler))
      const said = output.slice(
        output.indexOf('The tool "through_another" calls fetch(…) before the input request "sure"'),
      )
      const lines = said.split('\n').map((line) => line.trim())
      expect(lines.filter((line) => line.startsWith('at '))).toEqual([
        expect.stringContaining(`at load (${inFunction}`),
        expect.stringContaining(`at the handler (${inHandler}`),
      ])

      await (await fetch(url)).text()
      const printedLink = /http:\S+\?inspector=[\w-]+/
      await vi.waitFor(() => expect(output).toMatch(printedLink))
      const [link = ''] = printedLink.exec(output) ?? []
      const { headers } = await fetch(link, { redirect: 'manual' })
      const Cookie = String(headers.get('Set-Cookie')).split(';')[0] as string
      const reload = await fetch(`${url}/?inside=reload`, { headers: { Cookie } })
      expect(reload.status).toBe(200)
      utimesSync(source, new Date(), new Date())
      await reload.text().catch(() => 'broken off')
      expect(await (await fetch(url, { headers: { Cookie } })).text()).toContain('data-inside')
    } finally {
      process.kill(-(child.pid as number), 'SIGKILL')
      await closed
      rmSync(data, { recursive: true, force: true })
    }
  },
  90_000,
)
