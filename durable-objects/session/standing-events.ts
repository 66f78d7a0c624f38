/** Events on the standing stream of a session. Only `subscriptions()` and `tasks()` publish them, and bring this code. */
import type { Guarded } from '../../worker/declarations/caller.ts'
import { resolve } from '../../worker/engine/resolve.ts'
import { eventNotification, type ServerEvent } from '../../worker/protocol/changes.ts'
import { notificationText } from '../../worker/protocol/jsonrpc.ts'
import { defaultLogLevel, includesLevel } from '../../worker/protocol/meta.ts'
import { holdsScopes } from '../../worker/protocol/principal.ts'
import { standingStream } from '../shared/event-log.ts'
import type { Delivery, PartSession } from './added-parts.ts'

export class StandingEvents {
  readonly #session: PartSession
  readonly #hasSubscribed: (topics: readonly string[]) => Promise<boolean>

  /** @param hasSubscribed returns whether the session has subscribed to one of the topics */
  constructor(session: PartSession, hasSubscribed = async (_: readonly string[]) => false) {
    this.#session = session
    this.#hasSubscribed = hasSubscribed
  }

  /** Sends an event, if the reader of the stream may read it. Returns false if the session has ended. */
  async deliver({ event, scopes = [], topics }: Delivery): Promise<boolean> {
    if (this.#hasEnded) return false
    if (topics && !(await this.#hasSubscribed(topics))) return true
    if (this.#hasEnded) return false
    const resources = 'resource' in event ? this.#resourcesAt(event.resource) : []
    if (this.#takes(scopes, event) && this.#mayRead(resources)) this.send(event, scopes, resources.some(isScoped))
    return true
  }

  // It may be registering right now. One without an id has ended without a trace.
  get #hasEnded(): boolean {
    const { lifetime } = this.#session
    return lifetime.isOver || !lifetime.id
  }

  /** Returns the declared resource that has a URI, or those of all upstreams that may have it. */
  #resourcesAt(uri: string): readonly Guarded[] {
    const { declarations } = this.#session.host.server
    return resolve(declarations, { method: 'resources/subscribe', params: { uri } }).found.entries
  }

  /** Whether the reader has the scopes of one of these resources. Over HTTP+SSE, no other token can open the stream. */
  #mayRead(resources: readonly Guarded[]): boolean {
    const { values } = this.#session
    return (
      !resources.some(isScoped) ||
      values.get('handshake') !== undefined ||
      resources.some(({ scopes }) => holdsScopes(values.get('reader')?.scopes, scopes))
    )
  }

  /**
   * Whether the standing stream is open, its reader has these scopes and, for a log message, the log level of the client includes its level.
   */
  #takes(scopes: readonly string[], event: ServerEvent): boolean {
    const { values, streams } = this.#session
    if ('method' in event && event.method === 'notifications/message') {
      if (!includesLevel(values.get('logLevel') ?? defaultLogLevel, event.params.level)) return false
    }
    const isReadable = scopes.length === 0 || holdsScopes(values.get('reader')?.scopes, scopes)
    return isReadable && streams.hasStanding
  }

  /**
   * @param taskScopes the scopes of the task whose status it is; empty without scopes
   * @param isScopedResource whether it is about a resource with scopes
   */
  send(event: ServerEvent, taskScopes: readonly string[] = [], isScopedResource = false): void {
    const { values, streams } = this.#session
    const scoped = taskScopes.length > 0 ? 'task' : isScopedResource ? 'resource' : undefined
    if (scoped === 'task') values.put('taskScopes', [...new Set([...(values.get('taskScopes') ?? []), ...taskScopes])])
    streams.send(standingStream, notificationText(eventNotification(event)), { scoped })
  }
}

const isScoped = ({ scopes = [] }: Guarded): boolean => scopes.length > 0
