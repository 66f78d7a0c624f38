/** The Durable Objects that this Worker has called since it started, and the duration of each call. */
import { BoundedMap } from '../../protocol/bounded-map.ts'
import { isRequest, type Message } from '../../protocol/jsonrpc.ts'
import { aboutOf, begin, end, type RecordedMessage } from './hops.ts'

export type SeenObject = {
  readonly className: string
  readonly name: string
  calls: number
  /** Milliseconds since 1970: time of the last call. */
  at: number
}

const seen = new BoundedMap<string, SeenObject>({ maxEntries: 500 })

/** Returns the objects, the most recently called first. */
export const seenObjects = (): SeenObject[] => Array.from(seen, ([, object]) => object).reverse()

export const hasSeen = (className: string, name: string): boolean => seen.has(`${className} ${name}`)

/** Returns a stub that records its calls. */
export function watched<T extends object>(object: T, className: string, name: string): T {
  // A stub of an object: its members are what the proxy passes on.
  return new Proxy(object, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key)
      if (typeof key !== 'string' || typeof value !== 'function') return value
      return (...args: unknown[]) => {
        const hop = begin('object', `${className}.${key}`, undefined, carriedBy(key, args))
        see(className, name, hop.began)
        // Not `value.apply`: the properties of what is called there are calls as well.
        const answer: unknown = Reflect.apply(value, target, args)
        Promise.resolve(answer).then(
          () => end(hop, false),
          () => end(hop, true),
        )
        return answer
      }
    },
  })
}

function see(className: string, name: string, at: number): void {
  const key = `${className} ${name}`
  const calls = (seen.peek(key)?.calls ?? 0) + 1
  seen.set(key, { className, name, calls, at })
}

/** Returns the requests of a POST to a session; none for other calls. */
function carriedBy(called: string, [posted, to]: readonly unknown[]): RecordedMessage[] {
  if (called !== 'post') return []
  const { messages }: { messages: readonly Message[] } = JSON.parse(String(posted))
  const { session }: { session: string } = JSON.parse(String(to))
  return messages.filter(isRequest).map(({ method, params = {} }) => ({ session, method, about: aboutOf(params) }))
}
