import { expect, test, vi } from 'vitest'
import { connect } from '../../worker/testing/index.ts'
import { exampleProcess } from '../support/process.ts'

test('a session that expires after its process was killed loses its registration for changes', async () => {
  await using server = await exampleProcess('../test/serve/lapsing')
  await server.start()
  const registered = async () =>
    (await fetch(new URL('/registered', server.url))).json() as Promise<{ topic: string }[]>
  const client = await connect(server.url, { revision: '2025-11-25' })
  await client.request('resources/subscribe', { uri: 'note://1' })
  expect((await registered()).map(({ topic }) => topic)).toContain('resource:note://1')
  await server.kill()
  await server.start()
  await vi.waitFor(async () => expect(await registered()).toEqual([]), { timeout: 60_000, interval: 200 })
})
