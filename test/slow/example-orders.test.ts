/** `npm run example orders`: an agent receives the event of the tool that it calls. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, test } from 'vitest'
import { freePort } from '../support/free-port.ts'

test('npm run example orders shows an event that arrives at an agent', async () => {
  const data = mkdtempSync(join(tmpdir(), 'edgemcp-orders-'))
  const command = ['scripts/start.ts', 'orders', '--port', String(await freePort(2)), '--data', data]
  // Wrangler builds its NODE_ENV into the Worker, which accepts callback URLs of this machine in development only.
  const env = { ...process.env, NODE_ENV: 'development' }
  const child = spawn(process.execPath, command, { env, stdio: ['ignore', 'pipe', 'inherit'] })
  try {
    const lines: string[] = []
    for await (const line of createInterface({ input: child.stdout })) {
      if (line.startsWith('agent ')) lines.push(line)
      if (lines.length === 3) break
    }
    expect(lines.toSorted()).toEqual([
      expect.stringMatching(/^agent called pay_order: Paid 5 EUR for [0-9a-f]{8}\.$/),
      expect.stringMatching(/^agent received order\.paid: \{"id":"[0-9a-f]{8}","shop":"tea","total":5\}$/),
      'agent subscribed to order.paid of the shop "tea"',
    ])
    child.kill('SIGTERM')
    expect(await once(child, 'close')).toEqual([0, null])
  } finally {
    child.kill('SIGKILL')
    rmSync(data, { recursive: true, force: true })
  }
})
