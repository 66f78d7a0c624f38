/** Starts the server whose objects can be asked what they hold. */
import { type ServerWithObjects, startWithObjects } from '../../support/objects.ts'
import type { Inventory, LeakyOptions } from './inventory.ts'

/** `alone`: once it has no sockets any more. `due`: after its alarm has been set to now, if it has one. */
type When = { alone?: boolean; due?: boolean }

/** Milliseconds an object may take until it is alone. */
const patience = 60_000

export type LeakyServer = ServerWithObjects & {
  /** What a session's object holds. */
  session(name: string, when?: When): Promise<Inventory>
  /** What the Subscriptions object holds. */
  subscriptions(when?: When): Promise<Inventory>
  /** Streams of a session that wait for an answer. */
  openStreams(name: string): Promise<number>
}

/** @param folder `leaky-timed`: its clock can be put forward with `advance` */
export async function startLeaky(
  options: LeakyOptions,
  folder: 'leaky' | 'leaky-timed' = 'leaky',
): Promise<LeakyServer> {
  const server = await startWithObjects(`test/serve/${folder}`, { OPTIONS: JSON.stringify(options) })
  async function inspect(object: string, { alone, due }: When = {}): Promise<Inventory> {
    const url = new URL(`/objects/${object}${alone ? '?until=alone' : ''}`, server.url)
    const response = await fetch(url, { method: due ? 'POST' : 'GET', signal: AbortSignal.timeout(patience) })
    if (!response.ok) throw new Error(`${object}: ${response.status} ${await response.text()}`)
    return (await response.json()) as Inventory
  }
  return {
    ...server,
    session: (name, when) => inspect(`session/${name}`, when),
    subscriptions: (when) => inspect('subscriptions/subscriptions 0', when),
    async openStreams(name) {
      const storage = await server.harness.getWorker().getDurableObjectStorage('McpSession', { name })
      return (await storage.exec('SELECT id FROM streams WHERE unanswered > 0')).length
    },
  }
}
