/** What the handlers of `server/work.ts` write down before they work. It is kept here, where nobody is killed. */
import { EventEmitter, once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export type Diary = {
  readonly url: string
  /** How many runs of a key have begun. */
  runs(key: string): number
  /** Resolves with the time when so many runs of a key have begun. */
  reaches(key: string, runs: number): Promise<number>
} & AsyncDisposable

export async function openDiary(): Promise<Diary> {
  const begun = new Map<string, number[]>()
  const news = new EventEmitter()
  news.setMaxListeners(0)
  const server = createServer(async (request, response) => {
    let key = ''
    for await (const chunk of request) key += chunk
    const times = begun.get(key) ?? []
    begun.set(key, times)
    times.push(Date.now())
    news.emit(key)
    response.end(String(times.length))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    runs: (key) => begun.get(key)?.length ?? 0,
    async reaches(key, runs) {
      for (;;) {
        const at = begun.get(key)?.[runs - 1]
        if (at !== undefined) return at
        await once(news, key)
      }
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
