import type { Params } from '../../worker/protocol/types.ts'
import type { EventIndexRpc, EventOwnerRpc, EventReceiverRpc } from './rpc.ts'

/** Provides the objects of events with what they need of the endpoint. */
export type EventsHost = {
  index(event: string): EventIndexRpc
  owner(name: string): EventOwnerRpc
  /** @param host of a callback URL */
  receiver(host: string): EventReceiverRpc
  /**
   * Whether a subscription with these arguments receives an event.
   *
   * @param args JSON
   * @param body JSON
   * @throws any error of the function of the developer
   */
  matches(event: string, args: string, body: string): boolean
  /**
   * Decides again whether a subscription may receive its event. Returns why it ends; `undefined` if it may.
   *
   * @throws any error when that cannot be decided now
   */
  terminationOf(subscription: {
    readonly name: string
    readonly principal: string
    readonly tenant: string | null
  }): Promise<Termination | undefined>
  /** Encrypts a secret. @param lifetimeMs milliseconds */
  seal(secret: string, lifetimeMs: number): Promise<string>
  /** Decrypts it; `undefined` if it has expired or its key is gone. */
  open(sealed: string): Promise<string | undefined>
  readonly limits: EventLimits
  /** Records what was done outside of a request, with `observe()` and `audit()`. */
  observe(work: EventWork): void
  report(problem: unknown): void
}

/** Why the server ends a subscription. */
export type Termination = {
  /** For the log. */
  readonly reason: string
  /** For the receiver. */
  readonly error?: { readonly code: number; readonly message: string; readonly data?: object }
}

export type EventWork = {
  /** `events/deliver` is one attempt. */
  readonly method: 'events/publish' | 'events/deliver' | 'events/suspend' | 'events/end'
  /** Name of the event. */
  readonly name: string
  /** Name of the object of the user. Default: the work is for no single user. */
  readonly owner?: string
  /** Start, in milliseconds since 1970. */
  readonly since: number
  readonly error?: { readonly kind: string; readonly code: number; readonly message: string } | undefined
  readonly details: Readonly<Params>
}

export type EventLimits = {
  /** Subscriptions of a user. */
  readonly subscriptions: number
  /** Deliveries that wait for a user. The oldest ones become dead letters beyond it. */
  readonly waiting: number
  /** Milliseconds until an attempt counts as failed. */
  readonly timeoutMs: number
  /** Verifications of a user that may fail in an hour. */
  readonly failedVerifications: number
  /** Verifications of all users at one host in a minute. */
  readonly verificationsOfHost: number
  /** Milliseconds for which clients can read an event; 0: they cannot. */
  readonly logMs: number
  /** Events that clients can read. */
  readonly logEvents: number
  /** Streams of an event, and those of one caller. */
  readonly streams: number
  readonly streamsEach: number
}

/** Whether clients can read events that were published. */
export const keepsLog = ({ logMs }: EventLimits): boolean => logMs > 0
