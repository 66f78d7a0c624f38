/** One schedule: a platform, its clients, and what they have seen. */
import type { ClientRequest, ClientWorld, ReceivedResponse } from './client-world.ts'
import { Diary } from './diary.ts'
import type { Load } from './platform/bundle.ts'
import { Platform, type PlatformOptions } from './platform/platform.ts'
import type { Random } from './platform/random.ts'
import { Provider } from './provider.ts'

export class World implements ClientWorld {
  readonly platform: Platform
  readonly random: Random
  readonly provider: Provider
  readonly #diary = new Diary()
  readonly serverErrors: string[] = []
  readonly isolates: number
  jumpedSeconds = 0
  heldSeconds = 0
  /** When the last fault was over. */
  lastFaultAt = 0
  faultCount = 0
  /** Faults after which an object has forgotten what is in memory. */
  lossCount = 0
  /** Clients that have not finished. */
  readonly waiting = new Set<string>()
  readonly checks: (() => void)[] = []
  /** Servers outside of the platform, by their hosts. The identity provider answers for others. */
  readonly sites = new Map<string, (request: Request) => Promise<Response>>()

  constructor(versions: readonly Load[], options: PlatformOptions) {
    this.isolates = versions.length
    this.platform = new Platform(versions, options)
    this.random = this.platform.random
    const { random, platform } = this
    const { loop } = platform
    const sleep = (delayMs: number) =>
      new Promise<void>((resolve) => void loop.after(delayMs, 'provider answers', resolve))
    this.provider = new Provider({ random, sleep, now: () => loop.now })
    this.sites.set('diary.example', (request) => this.#writeDiary(request))
    platform.outside = (request) => {
      const site = this.sites.get(new URL(request.url).host)
      if (site) return site(request)
      loop.trail(`provider ${request.method} ${request.url}`)
      return this.provider.answer(request)
    }
  }

  async #writeDiary(request: Request): Promise<Response> {
    const entry = await request.clone().text()
    const answer = await this.#diary.answer(request)
    this.platform.loop.trail(`diary ${entry} ${this.written(entry)}`)
    return answer
  }

  get lateSeconds(): number {
    return this.jumpedSeconds + this.heldSeconds
  }

  get quietMs(): number {
    return this.platform.loop.now - this.lastFaultAt
  }

  written(entry: string): number {
    return this.#diary.written(entry)
  }

  start(label: string, script: () => Promise<void>): void {
    this.waiting.add(label)
    void this.platform
      .runClient(label, async () => {
        await script()
        this.waiting.delete(label)
      })
      .catch(() => {})
  }

  request(address: string, init: ClientRequest, leave?: AbortSignal): Promise<ReceivedResponse> {
    return this.platform.request(address, init, leave)
  }

  now(): number {
    return this.platform.loop.now
  }

  stored(className: string): ReadonlyMap<string, object> {
    const objects = [...this.platform.objects.values()].filter((object) => object.className === className)
    return new Map(objects.flatMap(({ name, storage }) => (storage.isEmpty ? [] : [[name, storage.dump()]])))
  }

  sleep(delayMs: number): Promise<void> {
    return this.platform.sleep(delayMs)
  }

  beside(work: Promise<unknown>): void {
    work.catch((problem) => {
      this.platform.loop.failure ??= problem
    })
  }
}
