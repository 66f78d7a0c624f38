/** Servers, and what happens to them. */
import { evict } from '../../support/objects.ts'
import { exampleProcess } from '../../support/process.ts'
import { startServer, startWithWrangler, type TestServer } from '../../support/server.ts'
import type { Left } from './left.ts'

export type Stage = {
  readonly url: URL
  /** @param objects the names of those that conversations have needed so far */
  happen(objects: readonly string[]): Promise<void>
} & AsyncDisposable

const folder = 'test/serve/survival'
export const start = () => startServer(folder)

/** What happens, happens to all who use it, one after another. */
type Shared = () => Promise<TestServer>

/** Everything in memory is gone, the key ring's object included. */
export const evicting = (server: Shared, sockets: 'close' | 'hibernate') => async (): Promise<Stage> => {
  const shared = await server()
  return {
    url: shared.url,
    async happen(objects) {
      await Promise.all(objects.map((name) => evict(shared, 'McpSession', name, sockets)))
      await evict(shared, 'McpSession', 'keys', sockets)
    },
    async [Symbol.asyncDispose]() {},
  }
}

export async function killing(): Promise<Stage> {
  const server = await exampleProcess(`../${folder}`)
  await server.start()
  return {
    url: server.url,
    async happen() {
      await server.kill()
      await server.start()
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}

export async function deploying(): Promise<Stage> {
  const server = await startWithWrangler(folder)
  const versions = ['second', 'third']
  return {
    ...server,
    async happen() {
      const configPath = `${import.meta.dirname}/${versions.shift()}/wrangler.toml`
      await server.harness.update({ workers: [{ configPath }] })
    },
  }
}

export const passing = (server: Shared, milliseconds: number) => async (): Promise<Stage> => {
  const { url } = await server()
  return {
    url,
    happen: (objects) => letPass(url, milliseconds, objects),
    async [Symbol.asyncDispose]() {},
  }
}

/** Time passes, and what these objects wanted to be woken for meanwhile is done. */
export async function letPass(url: URL, milliseconds: number, objects: readonly string[]): Promise<void> {
  await ask(url, `/later?milliseconds=${milliseconds}`, objects)
}

export const leftIn = async (url: URL, objects: readonly string[]): Promise<Left[]> => ask(url, '/left', objects)

/** How often each object was born in the server's process. */
export const birthsIn = async (url: URL): Promise<Record<string, number>> =>
  (await fetch(new URL('/objects', url))).json()

async function ask<T>(url: URL, path: string, objects: readonly string[]): Promise<T> {
  const response = await fetch(new URL(path, url), { method: 'POST', body: JSON.stringify(objects) })
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
  return response.json() as T
}
