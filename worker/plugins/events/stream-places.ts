/**
 * The streams that callers have open in this isolate. A stream whose client reads slowly has no socket for a part of its time, so its object
 * does not count it then.
 */

type Place = { seenAt: number }

const places = new Map<string, Set<Place>>()

/** Milliseconds after which a stream counts as ended if its request was ended without a call of `leave`. */
const leaseMs = 60_000

/**
 * Counts a stream.
 *
 * @param key of the endpoint and the caller
 * @param most streams with this key
 * @returns what the end of the stream calls; `undefined`: there are too many
 */
export function takePlace(key: string, most: number): (() => void) | undefined {
  const now = Date.now()
  const taken = places.get(key) ?? new Set<Place>()
  for (const place of taken) if (place.seenAt < now - leaseMs) taken.delete(place)
  if (taken.size >= most) return undefined
  const place = { seenAt: now }
  places.set(key, taken.add(place))
  const timer = setInterval(() => {
    place.seenAt = Date.now()
  }, leaseMs / 2)
  return function leave() {
    clearInterval(timer)
    taken.delete(place)
    if (taken.size === 0 && places.get(key) === taken) places.delete(key)
  }
}
