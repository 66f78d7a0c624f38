/** The RPC interfaces of events. Types only, so that `worker/` can import them. */
import type { Owner } from '../../worker/protocol/principal.ts'

/** Selects the principals who receive an event: one user, the users of one tenant, or everyone. */
export type StoredRecipients =
  | (Required<Pick<Owner, 'issuer' | 'subject'>> & { readonly tenant?: string | undefined })
  | { readonly issuer: string; readonly tenant: string }
  | { readonly everyone: true }

/** An event, as it is sent. */
export type Publication = {
  /** Value of the header `webhook-id`. */
  readonly id: string
  /** The JSON of every attempt. */
  readonly body: string
  /** Events with the same key reach a subscription in their order. Default: in any order. */
  readonly key?: string | undefined
}

/** A subscription to one event, by webhook. */
export type NewSubscription = {
  readonly id: string
  /** Name of the event. */
  readonly name: string
  /** JSON of the arguments, in one spelling. */
  readonly args: string
  readonly url: string
  readonly secret: string
  /** The principal, sealed. */
  readonly principal: string
  readonly owner: Owner
  /** The OAuth client of the user. */
  readonly client: string | undefined
  /** The tenant of the endpoint. */
  readonly tenant: string | undefined
  /** Milliseconds since 1970. */
  readonly refreshBefore: number
  /** The position in the log of the event that its client has. */
  readonly after: number | undefined
}

/** `position`: everything before it was delivered. See `LogPage`. */
export type SubscribeOutcome =
  | {
      readonly kind: 'active'
      readonly status: DeliveryStatus | undefined
      readonly position: number
      readonly isTruncated: boolean
    }
  | { readonly kind: 'unverified'; readonly reason: string }
  | { readonly kind: 'exhausted'; readonly limit: string; readonly max: number }

/** @see https://github.com/modelcontextprotocol/modelcontextprotocol/pull/3415 */
export type DeliveryStatus = {
  readonly active: boolean
  readonly lastDeliveryAt?: string
  readonly lastError: string | null
  readonly failedSince?: string
}

/** Describes an event that did not reach a subscription, which continues. */
export type DeadLetter = {
  /** Id of the event, as `publish()` returned it. */
  readonly id: string
  /** Id of the subscription. */
  readonly subscription: string
  /** `gone`: the receiver answered 410; `too_large`: 413; `dropped`: more than `maxWaiting` of `events()` waited. */
  readonly reason: 'gone' | 'too_large' | 'dropped'
  /** Time of the last attempt or of the drop, in ISO 8601. */
  readonly at: string
}

/** A subscription, for the developer. */
export type SubscriptionSummary = {
  readonly id: string
  /** Name of the event. */
  readonly event: string
  /** Without its query, in which a receiver may have a secret. */
  readonly url: string
  readonly state: 'active' | 'suspended'
  /** ISO 8601. */
  readonly refreshBefore: string
}

/** The RPC interface of the object of an owner: the subscriptions of a user, and what is to be delivered to them. */
export interface EventOwnerRpc {
  /** Verifies the URL, unless it is verified, and activates or refreshes the subscription. */
  subscribe(subscription: NewSubscription): Promise<SubscribeOutcome>
  /** Returns false for an unknown subscription. */
  unsubscribe(id: string): Promise<boolean>
  /** Stores deliveries of an event, unless it has them. Returns the subscriptions that have ended. */
  deliver(publication: LoggedEvent, subscriptions: readonly MemberId[]): Promise<readonly MemberId[]>
  subscriptions(): Promise<readonly SubscriptionSummary[]>
  /** @param event its name. Default: all events */
  deadLetters(event?: string): Promise<readonly DeadLetter[]>
  /** Sends dead letters again. Returns how many. @param ids of events. Default: all */
  redeliver(event?: string, ids?: readonly string[]): Promise<number>
}

/** The RPC interface of the object of a host: it counts the verifications of all users, in memory. */
export interface EventReceiverRpc {
  /** Counts a verification. Returns the limit of the user, or that of all, if the last minute has reached it. @param owner name of its object */
  admit(owner: string): Promise<number | undefined>
}

/** Names a subscription in the index of its event. A later version replaces an earlier one, whichever arrives first. */
export type MemberId = { readonly id: string; readonly version: number }

/** A subscription in the index of its event. */
export type Member = MemberId & {
  /** Name of the object of its owner. */
  readonly owner: string
  readonly who: Owner
  readonly args: string
  /** Milliseconds since 1970. */
  readonly expires: number
}

/** A client that reads the log of an event. `who`: absent for an anonymous caller. `args`: the arguments of its subscription, as JSON. */
export type Reader = { readonly who?: Owner | undefined; readonly args: string }

/** `after`: the position that a client has; absent: it begins now. `maxAgeMs`: milliseconds. */
export type Replay = { readonly after?: number | undefined; readonly maxAgeMs?: number | undefined }

/** `listener`: a text for the caller; empty for one that is not known. */
export type LogQuery = Reader & Replay & { readonly listener: string; readonly limit: number }

/** An event, and its position in the log: see `event-log.ts`. */
export type LoggedEvent = Publication & { readonly position: number }

/**
 * `start`: the position from which it was read. `characters`: those of all events that were read for it. `isTruncated`: events before
 * `start` are gone, or were not wanted. `hasMore`: there may be events after `position`.
 */
export type LogPage = {
  readonly events: readonly Pick<LoggedEvent, 'position' | 'body'>[]
  readonly start: number
  readonly position: number
  readonly characters: number
  readonly isTruncated: boolean
  readonly hasMore: boolean
}

/** Opens a stream: JSON, percent-encoded, in a header. `listener`: the caller, whose streams are counted; empty: unknown. `isResumed`: the client knows its position. */
export type StreamRequest = Omit<Replay, 'after'> & {
  readonly reader: Reader
  readonly after: number | null
  readonly listener: string
  readonly isResumed: boolean
}

/** What a stream sends to the Worker that holds it, with the position after it. */
export type StreamMessage =
  | { readonly kind: 'active' | 'gap' | 'position' }
  | { readonly kind: 'event'; readonly body: string }

/** The RPC interface of the object of an event: its subscriptions, its log, and the publications that are on their way. */
export interface EventIndexRpc {
  /** @param after the position that the client has. Default: it begins now */
  add(member: Member, after?: number): Promise<Pick<LogPage, 'position' | 'isTruncated'>>
  /** Removes these versions, and earlier ones. */
  remove(members: readonly MemberId[]): Promise<void>
  /** Returns the names of the objects of those who have subscribed. */
  owners(recipients: StoredRecipients): Promise<readonly string[]>
  /** Stores an event, which then reaches each of its subscriptions. */
  publish(publication: Publication, recipients: StoredRecipients): Promise<void>
  /** Returns the next events for a client. */
  read(query: LogQuery): Promise<LogPage>
  /** Opens the stream of a `StreamRequest`: a WebSocket. */
  fetch(request: Request): Promise<Response>
}
