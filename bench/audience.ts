/** The subscribers of one server. A separate process holds their streams, so that it does not use the CPU time of the server. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { newest, stateless } from './dialects.ts'
import type { Answered, Asked, Group } from './listening.ts'

export type Publication = {
  /** Milliseconds from the request to each subscriber, in order of arrival. */
  readonly heard: readonly number[]
  /** Milliseconds until the publisher had its response. */
  readonly answered: number
}

export class Audience {
  readonly #url: URL
  readonly #process: ChildProcess
  // The server closes connections that were idle for some seconds, perhaps when the next request is sent.
  readonly #agent = new Agent({ keepAlive: true, timeout: 1000 })
  readonly #published = new Map<string, number>()
  #waiting: PromiseWithResolvers<Answered> | undefined
  #problem: Error | undefined

  constructor(url: URL) {
    this.#url = url
    this.#process = fork(join(import.meta.dirname, 'listening.ts'), {
      serialization: 'advanced',
      // Node.js need not warn about TypeScript files.
      execArgv: ['--disable-warning=ExperimentalWarning'],
    })
    process.once('exit', this.#leave)
    this.#process.on('message', (answered: Answered) => {
      if ('problem' in answered) this.#fail(answered.problem)
      else this.#waiting?.resolve(answered)
    })
    this.#process.on('exit', () => this.#fail('The listening process ended'))
  }

  async open(group: Group): Promise<void> {
    await this.#ask({ open: group, url: this.#url.href })
  }

  /**
   * Publishes a change with a tool, and waits until this many subscribers are notified.
   *
   * @param scheme the scheme of the URI that changes; its number is the next one
   * @param padding characters that make the URI longer
   * @throws Error when a subscriber gets a change that was not published, or gets it twice
   */
  async publish(scheme: string, listeners: number, padding = 0): Promise<Publication> {
    const number = this.published(scheme) + 1
    this.#published.set(scheme, number)
    const uri = `${scheme}://${number}${padding ? `-${'x'.repeat(padding)}` : ''}`
    const heard = listeners > 0 ? this.#ask({ heard: uri, count: listeners }) : undefined
    const since = now()
    const touched = this.#touch(uri).then(() => now() - since)
    const [answered, told] = await Promise.all([heard, touched])
    const times = answered && 'times' in answered ? [...answered.times] : []
    return { heard: times.map((time) => time - since).sort((a, b) => a - b), answered: told }
  }

  published(scheme: string): number {
    return this.#published.get(scheme) ?? 0
  }

  /** The number of subscribers that got every change of a scheme so far. */
  async complete(scheme: string): Promise<number> {
    const answered = await this.#ask({ last: scheme, number: this.published(scheme) })
    return 'count' in answered ? answered.count : 0
  }

  /** Lets paused subscribers read again. */
  async read(): Promise<void> {
    await this.#ask({ read: true })
  }

  readonly #leave = () => this.leave()

  leave(): void {
    process.off('exit', this.#leave)
    this.#agent.destroy()
    this.#process.removeAllListeners('exit')
    this.#process.kill('SIGKILL')
  }

  async #touch(uri: string): Promise<void> {
    const method = 'tools/call'
    const { headers, params } = stateless.write({ method, params: { name: 'touch', arguments: { uri } } })
    const sent = request(this.#url, {
      method: 'POST',
      agent: this.#agent,
      headers: {
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
        'MCP-Protocol-Version': newest,
        ...headers,
      },
    }).end(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }))
    const [response] = await once(sent, 'response')
    const answer = await text(response)
    if (!answer.includes(`${uri.length} characters`)) throw new Error(`Publishing was answered with ${answer}`)
  }

  async #ask(asked: Asked): Promise<Answered> {
    if (this.#problem) throw this.#problem
    this.#waiting = Promise.withResolvers()
    this.#process.send(asked)
    return this.#waiting.promise
  }

  #fail(problem: string): void {
    this.#problem ??= new Error(problem)
    this.#waiting?.reject(this.#problem)
  }
}

/** Milliseconds of the clock that all processes share. */
const now = () => Number(process.hrtime.bigint()) / 1e6
