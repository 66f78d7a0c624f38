/** The server beside this file in a process of its own, what can be asked of it, and what can be done to it. */
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../support/free-port.ts'
import { type ServerProcess, serverProcess } from '../../support/process.ts'
import { bodyOf } from '../session.ts'
import type { Holding } from './holding.ts'
import { send } from './wire.ts'

type Kind = 'McpSubscriptions' | 'McpSession'

export const shards = ['subscriptions 0 listening', 'subscriptions 1 listening', 'subscriptions 2 listening']

export class ListeningServer implements AsyncDisposable {
  /** Resolves when it is there. */
  up: Promise<void> = Promise.resolve()
  readonly #process: ServerProcess
  readonly #control: URL

  private constructor(process: ServerProcess, control: URL) {
    this.#process = process
    this.#control = control
  }

  static async start(): Promise<ListeningServer> {
    const control = await freePort()
    const script = 'test/chaos/listening/serve.ts'
    const process = await serverProcess(({ port, data }) => [script, port, data, String(control)])
    await process.start()
    return new ListeningServer(process, new URL(`http://127.0.0.1:${control}`))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#process[Symbol.asyncDispose]()
  }

  get url(): URL {
    return this.#process.url
  }

  /** Kills it and starts it again. */
  async restart(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.up = promise
    await this.#process.kill()
    await this.#process.start()
    resolve()
  }

  /** Announces a change until that is taken. */
  async announce(change: string, attempting: () => void = () => {}): Promise<void> {
    let status: number | undefined
    for (let tries = 1; tries <= 100; tries++) {
      await this.up
      attempting()
      status = await post(new URL(`/publish?change=${encodeURIComponent(change)}`, this.url))
      if (status === 204) return
      await sleep(50)
    }
    throw new Error(`Announcing ${change} was answered with ${status}`)
  }

  /** Loses an object at once. Resolves to 204, unless it cannot. */
  lose(kind: Kind, name: string): Promise<number | undefined> {
    return post(new URL(`/objects/${kind}/${encodeURIComponent(name)}?do=abort`, this.url))
  }

  /** Puts an object out of memory, its sockets stay. Resolves to 204, unless something keeps it there. */
  evict(kind: Kind, name: string): Promise<number | undefined> {
    return post(new URL(`/${kind}/${encodeURIComponent(name)}`, this.#control))
  }

  /** What each Subscriptions object holds. `isOlder`: after what it has logged has been made six minutes older. */
  holdings({ isOlder = false } = {}): Promise<Holding[]> {
    return Promise.all(shards.map((name) => this.#holding(name, isOlder)))
  }

  async #holding(name: string, isOlder: boolean): Promise<Holding> {
    const url = new URL(`/objects/McpSubscriptions/${encodeURIComponent(name)}${isOlder ? '?do=age' : ''}`, this.url)
    let said = ''
    for (let tries = 1; tries <= 20; tries++) {
      await this.up
      try {
        const answer = await send(url, { method: isOlder ? 'POST' : 'GET' })
        said = await bodyOf(answer)
        if (answer.statusCode === 200) return JSON.parse(said)
      } catch (problem) {
        said = String(problem)
      }
      // It was lost a moment ago.
      await sleep(100)
    }
    throw new Error(`${url}: ${said}`)
  }
}

/** Resolves to the status of the answer; `undefined`: there was none. */
async function post(url: URL): Promise<number | undefined> {
  const answer = await send(url, { method: 'POST' }).catch(() => undefined)
  answer?.resume().on('error', () => {})
  return answer?.statusCode
}
