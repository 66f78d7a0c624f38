/** The memory of workerd, while a large stream is stored and read. Linux tells it. */
import { readdirSync, readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connect, type TestClient } from '../../worker/testing/index.ts'
import { startServer, type TestServer } from '../support/server.ts'

/** Processes that were there before this file started its server. */
const earlier = new Set(processes())
let server: TestServer
beforeAll(async () => {
  server = await startServer('test/results/server')
})
afterAll(() => server[Symbol.asyncDispose]())

const read = async (client: TestClient, uri: string) =>
  (await client.request('resources/read', { uri })).contents as { text: string }[]

function processes(): string[] {
  return process.platform === 'linux' ? readdirSync('/proc').filter((name) => /^\d+$/.test(name)) : []
}

/** The processes of workerd that this test file started: they are new, and descendants of this process. */
function workerds(): string[] {
  const parentOf = (pid: string) => /\) \w (\d+)/.exec(statusOf(pid, 'stat'))?.[1]
  const isOurs = (pid: string | undefined): boolean =>
    pid !== undefined && (pid === String(process.pid) || (Number(pid) > 1 && isOurs(parentOf(pid))))
  const found = processes().filter(
    (pid) => !earlier.has(pid) && statusOf(pid, 'comm').startsWith('workerd') && isOurs(pid),
  )
  if (found.length === 0) throw new Error('workerd is not running')
  return found
}

function statusOf(pid: string, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return ''
  }
}

/** The most memory that the processes have had so far, together. */
const peakMebibytes = (pids: readonly string[]) =>
  pids.reduce((sum, pid) => sum + Number(/VmHWM:\s+(\d+)/.exec(statusOf(pid, 'status'))?.[1]), 0) / 1024

test.runIf(process.platform === 'linux').each(['2026-07-28', '2025-11-25'])(
  'a stream of 200 MiB is stored and read in bounded memory: a client of %s',
  async (revision) => {
    await using client = await connect(server.url, { revision, token: 'ada' })
    // What the first call loads is not counted.
    await client.callTool('stream', { mebibytes: 20 })
    const pids = workerds()
    const before = peakMebibytes(pids)
    const result = await client.callTool('stream', { mebibytes: 200 })
    const blocks = result.content as { type: string; text: string; uri: string }[]
    const link = blocks.find(({ type }) => type === 'resource_link')
    expect(link).toMatchObject({ name: 'numbers.txt', size: 200 * 1024 * 1024, mimeType: 'text/plain' })
    expect(blocks[0]?.text).toBe('Here it is:')
    const last = await read(client, `${link?.uri}?offset=${200 * 1024 * 1024 - 16}`)
    expect(last).toMatchObject([{ text: '0123456789abcde\n' }])
    for (let at = 0; at < 200; at += 20) {
      const [part] = await read(client, `${link?.uri}?offset=${at * 1024 * 1024}&length=1048576`)
      expect(part?.text).toHaveLength(1024 * 1024)
    }
    const grown = peakMebibytes(pids) - before
    // All of it in memory once would be 200 MiB.
    expect(grown).toBeLessThan(130)
  },
)
