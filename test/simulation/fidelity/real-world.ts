/** Clients of the simulation in front of workerd. */
import { setTimeout as sleep } from 'node:timers/promises'
import { startServer, type TestServer } from '../../support/server.ts'
import {
  type ClientRequest,
  type ClientWorld,
  ConnectionLost,
  type ReceivedBody,
  type ReceivedResponse,
} from '../client-world.ts'
import { Diary } from '../diary.ts'
import { Random } from '../platform/random.ts'

export class RealWorld implements ClientWorld, AsyncDisposable {
  readonly random = new Random(1)
  readonly checks: (() => void)[] = []
  readonly serverErrors: string[] = []
  readonly isolates: number = 1
  faultCount = 0
  lossCount = 0
  readonly jumpedSeconds = 0
  readonly heldSeconds = 0
  readonly lateSeconds = 0
  readonly quietMs = Number.POSITIVE_INFINITY
  readonly #diary: Diary
  readonly #server: TestServer

  constructor(server: TestServer, diary: Diary) {
    this.#server = server
    this.#diary = diary
  }

  static async start(): Promise<RealWorld> {
    const diary = new Diary()
    const server = await startServer('test/simulation/server', {}, (request) =>
      request.url.startsWith('https://diary.example/') ? diary.answer(request) : undefined,
    )
    return new RealWorld(server, diary)
  }

  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.#server[Symbol.asyncDispose]()
  }

  async request(address: string, init: ClientRequest, leave?: AbortSignal): Promise<ReceivedResponse> {
    const { pathname, search } = new URL(address)
    const signal = leave ?? null
    const response = await fetch(new URL(pathname + search, this.#server.url), { ...init, signal }).catch(
      () => undefined,
    )
    if (!response) throw new ConnectionLost()
    return { status: response.status, headers: response.headers, body: new RealBody(response) }
  }

  async sleep(delayMs: number): Promise<void> {
    await sleep(delayMs)
  }

  now(): number {
    return Date.now()
  }

  stored(): ReadonlyMap<string, object> {
    throw new Error('A scenario reads what clients receive')
  }

  start(): void {
    throw new Error('A scenario starts no clients of its own')
  }

  beside(work: Promise<unknown>): void {
    work.catch(() => {})
  }

  written(entry: string): number {
    return this.#diary.written(entry)
  }
}

class RealBody implements ReceivedBody {
  hasEnded = false
  readonly #response: Response

  constructor(response: Response) {
    this.#response = response
  }

  async *chunks(): AsyncGenerator<string> {
    const decoder = new TextDecoder()
    try {
      for await (const chunk of this.#response.body ?? []) yield decoder.decode(chunk, { stream: true })
    } catch {
      throw new ConnectionLost()
    } finally {
      this.hasEnded = true
    }
  }

  async text(): Promise<string> {
    let text = ''
    for await (const chunk of this.chunks()) text += chunk
    return text
  }
}
