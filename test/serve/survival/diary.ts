/** Counts the runs of the handlers of `index.ts`, in the process of the test: what they have done outlives their server. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

export type Diary = {
  readonly url: string
  /** How many runs of a key have started. */
  runs(key: string): number
} & AsyncDisposable

export async function openDiary(): Promise<Diary> {
  const runs = new Map<string, number>()
  const server = createServer(async (request, response) => {
    const key = await text(request)
    runs.set(key, (runs.get(key) ?? 0) + 1)
    response.end(String(runs.get(key)))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    runs: (key) => runs.get(key) ?? 0,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
    },
  }
}
