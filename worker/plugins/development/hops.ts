/** Timings of a request: its parts, calls of Durable Objects, runs of handlers. One record for the isolate. */
import type { Params } from '../../protocol/types.ts'

/** A part of a request, with its duration. Times are milliseconds since 1970. */
export type Hop = {
  readonly number: number
  readonly kind: 'request' | 'object' | 'handler'
  readonly what: string
  /** Number of its request, if known. */
  readonly request: number | undefined
  readonly began: number
  /** Duration in milliseconds; of a request, until its response started. `undefined` while it runs. */
  milliseconds?: number
  hasFailed?: true
}

/** A message on its way to the object of a session, where its request is no longer known. */
export type RecordedMessage = { readonly session: string; readonly method: string; readonly about: unknown }

const mostKept = 1000
const hops: Hop[] = []
const carrying = new Map<Hop, readonly RecordedMessage[]>()
let last = 0

export function begin(
  kind: Hop['kind'],
  what: string,
  request = current(),
  recorded: readonly RecordedMessage[] = [],
): Hop {
  last += 1
  const hop: Hop = { number: last, kind, what, request, began: Date.now() }
  hops.push(hop)
  if (recorded.length > 0) carrying.set(hop, recorded)
  const oldest = hops.length > mostKept ? hops.shift() : undefined
  if (oldest) carrying.delete(oldest)
  return hop
}

export function end(hop: Hop, hasFailed: boolean): void {
  hop.milliseconds = Date.now() - hop.began
  if (hasFailed) hop.hasFailed = true
  carrying.delete(hop)
}

/** Returns a request and its known parts, in the order in which they started. */
export const hopsOf = (request: number): Hop[] =>
  hops.filter((hop) => hop.request === request || hop.number === request)

/** Returns the request that sent a message to a session, if the message is still being processed. */
export function requestWith(session: string | undefined, method: string, params: Params): number | undefined {
  const about = aboutOf(params)
  for (const [{ request }, recorded] of carrying) {
    const isIt = recorded.some((hop) => hop.session === session && hop.method === method && hop.about === about)
    if (isIt) return request
  }
  return undefined
}

/** Returns the entry that a call names. */
export const aboutOf = ({ name, uri, taskId }: Params): unknown => name ?? uri ?? taskId

type Storage = { run<R>(value: Hop, work: () => R): R; getStore(): Hop | undefined }

/** `null`: the platform has no `AsyncLocalStorage`. */
let storage: Storage | null | undefined

function followed(): Storage | null {
  if (storage !== undefined) return storage
  const hooks = globalThis.process?.getBuiltinModule?.('node:async_hooks')
  // The types of the platform leave getBuiltinModule untyped.
  storage = hooks?.AsyncLocalStorage ? (new hooks.AsyncLocalStorage() as Storage) : null
  return storage
}

/** Runs work as a part of a request, including all that it awaits, if the platform supports that. */
export const runWith = <R>(request: Hop, work: () => R): R => followed()?.run(request, work) ?? work()

const current = (): number | undefined => followed()?.getStore()?.number
