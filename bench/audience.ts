/** Those who listen to one server: their streams are held by a process of their own, so that it is not the server's CPU. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { newest, stateless } from './dialects.ts'
import type { Answered, Asked, Group } from './listening.ts'

export type Publication = {
  /** Milliseconds from the request to each listener, in order of arrival. */
  readonly heard: readonly number[]
  /** Milliseconds until the publisher had its answer. */
  readonly answered: number
}

export class Audience {
  readonly #url: URL
  readonly #process: ChildProcess
  // The server closes what was idle for some seconds, maybe just when the next request is sent.
  readonly #agent = new Agent({ keepAlive: true, timeout: 1000 })
  readonly #published = new Map<string, number>()
  #waiting: PromiseWithResolvers<Answered> | undefined
  #problem: Error | undefined

  constructor(url: URL) {
    this.#url = url
    this.#process = fork(join(import.meta.dirname, 'listening.ts'), {
      serialization: 'advanced',
      // That a file is TypeScript is nothing to warn of.
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
   * Says that something has changed, through a tool, and waits until so many have heard it.
   *
   * @param scheme of the URI that changes; its number is the next one
   * @param padding characters that make the URI longer
   * @throws Error when somebody hears what was not published, or hears it twice
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

  /** How many have heard everything that was published of a scheme, up to now. */
  async complete(scheme: string): Promise<number> {
    const answered = await this.#ask({ last: scheme, number: this.published(scheme) })
    return 'count' in answered ? answered.count : 0
  }

  /** Those that were stuck read on. */
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

/** Milliseconds, by the clock that all processes share. */
const now = () => Number(process.hrtime.bigint()) / 1e6
