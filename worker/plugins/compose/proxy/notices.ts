import type { MethodContext } from '../../../engine/methods/method.ts'
import { jsonText } from '../../../protocol/json-text.ts'
import { isLogLevel, progressToken } from '../../../protocol/meta.ts'
import type { LogLevel, Params } from '../../../protocol/types.ts'
import type { AnnouncedList } from './announce-change.ts'
import type { Proxied } from './proxied.ts'
import type { Listener } from './send-request.ts'

/** The notifications that one request relayed, so that a later round of the call counts them without sending them again. It is JSON. */
export type RelayedNotices = { readonly count: number; readonly progress?: number }

/** Changes of lists that are announced during one call. */
const maxAnnouncements = 100

/** Whether a value is a number that JSON has, unlike that of `1e999`. */
const isNumber = (value: unknown): value is number => Number.isFinite(value)

/** Whether data of an upstream has only such numbers. */
function hasJson(data: unknown): boolean {
  try {
    jsonText(data, 'it has')
    return true
  } catch {
    return false
  }
}

/** Relays progress and log messages of an upstream to the caller of one request. */
export class Notices implements Listener {
  readonly wantsProgress: boolean
  readonly logLevel: LogLevel | undefined
  readonly #methodContext: MethodContext
  readonly #context: MethodContext['context']
  readonly #proxied: Pick<Proxied, 'loggerOf' | 'expireList'>
  #count = 0
  #announcements = 0
  #progress: number | undefined

  constructor(methodContext: MethodContext, proxied: Pick<Proxied, 'loggerOf' | 'expireList'>) {
    const { call, context } = methodContext
    this.#methodContext = methodContext
    this.#context = context
    this.#proxied = proxied
    this.wantsProgress = progressToken(call.params) !== undefined
    this.logLevel = call.logLevel
  }

  get relayed(): RelayedNotices {
    return { count: this.#count, ...(this.#progress !== undefined && { progress: this.#progress }) }
  }

  /** Counts the notifications that an earlier round of the call has sent. */
  replay({ count, progress }: RelayedNotices): void {
    if (progress !== undefined) this.#context.progress(progress)
    // The context suppresses them, because it counts them among those of the earlier round.
    for (let sent = progress === undefined ? 0 : 1; sent < count; sent += 1) this.#context.log('debug', null)
  }

  onListChanged(list: AnnouncedList): void {
    this.#announcements += 1
    if (this.#announcements > maxAnnouncements) return
    this.#proxied.expireList(this.#methodContext, list)
  }

  onProgress({ progress, total, message }: Params): void {
    if (!isNumber(progress) || progress <= (this.#progress ?? Number.NEGATIVE_INFINITY)) return
    this.#progress = progress
    this.#count += 1
    const knownTotal = isNumber(total) ? total : undefined
    this.#context.progress(progress, knownTotal, typeof message === 'string' ? message : undefined)
  }

  onLog({ level, logger, data }: Params): void {
    if (!isLogLevel(level) || !hasJson(data)) return
    this.#count += 1
    this.#context.log(level, data, this.#proxied.loggerOf(logger))
  }
}
