/** What serving takes, piece by piece: requests, calls of Durable Objects, runs of handlers. One record for the isolate. */
import type { Params } from '../../protocol/types.ts'

/** Something that takes a while. Moments are milliseconds since 1970. */
export type Hop = {
  readonly number: number
  readonly kind: 'request' | 'object' | 'handler'
  readonly what: string
  /** The number of the request that it is a part of, where that is known. */
  readonly request: number | undefined
  readonly began: number
  /** How long it took; of a request, until its answer began. `undefined`: it goes on. */
  milliseconds?: number
  hasFailed?: true
}

/** A message that is on its way to a session's object, where nobody knows any more which request it came with. */
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

/** A request and all that is known to be a part of it, in the order in which it began. */
export const hopsOf = (request: number): Hop[] =>
  hops.filter((hop) => hop.request === request || hop.number === request)

/** The request that brought a message to a session, if it is still waiting there. */
export function requestWith(session: string | undefined, method: string, params: Params): number | undefined {
  const about = aboutOf(params)
  for (const [{ request }, recorded] of carrying) {
    const isIt = recorded.some((hop) => hop.session === session && hop.method === method && hop.about === about)
    if (isIt) return request
  }
  return undefined
}

/** What a call is about, of those of the same method. */
export const aboutOf = ({ name, uri, taskId }: Params): unknown => name ?? uri ?? taskId

type Storage = { run<R>(value: Hop, work: () => R): R; getStore(): Hop | undefined }

/** `null`: the platform follows nobody. */
let storage: Storage | null | undefined

function followed(): Storage | null {
  if (storage !== undefined) return storage
  const hooks = globalThis.process?.getBuiltinModule?.('node:async_hooks')
  // The types of the platform leave getBuiltinModule untyped.
  storage = hooks?.AsyncLocalStorage ? (new hooks.AsyncLocalStorage() as Storage) : null
  return storage
}

/** Everything that the work does and awaits is a part of the request, where the platform can tell. */
export const runWith = <R>(request: Hop, work: () => R): R => followed()?.run(request, work) ?? work()

const current = (): number | undefined => followed()?.getStore()?.number
