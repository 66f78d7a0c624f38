import { isObject } from '../../protocol/jsonrpc.ts'
import type { Params } from '../../protocol/types.ts'
import type { Format } from './formats.ts'
import { Steps } from './patterns.ts'

/** A value takes too much work or stack: whether it matches is unknown, so no keyword such as `not` can use the answer. */
export class TooMuchWork extends Error {}

/** A part takes up to half a microsecond in workerd, a step of an automaton a fifth: all together up to a second. */
const stepsOfPart = 2.5

/** Most shorter texts are validated again faster than the result is found. */
const longText = 100

/** What all checks of one value share: a bound for their work, and what several of them need to know about the same part. */
export class Work {
  readonly steps = new Steps()
  readonly #names = new Map<Params, readonly string[]>()
  readonly #identities = new Map<unknown, unknown>()
  readonly #areUnique = new Map<readonly unknown[], boolean>()
  readonly #lengths = new Map<string, number>()
  readonly #formats = new Map<Format, Map<string, boolean | undefined>>()

  /**
   * Counts schemas that are evaluated, and names, items and options that are read.
   *
   * @throws TooMuchWork for more than 2 million, less what patterns and formats count
   */
  count(parts: number): void {
    if (!this.steps.count(parts * stepsOfPart)) throw new TooMuchWork('has too many parts for its schema: send less')
  }

  /** Returns the names of the properties of an object, and counts them. @throws TooMuchWork */
  names(value: Params): readonly string[] {
    const names = computeOnce(this.#names, value, () => namesOf(value))
    // For one without properties, too, the caller does something.
    this.count(1 + names.length)
    return names
  }

  /** Returns the indexes of a list. A check that reads none of its items takes time, too: a tenth of a part for each. @throws TooMuchWork */
  indexes(value: readonly unknown[]): Iterable<number> {
    this.count(value.length / 10)
    return value.keys()
  }

  /** Returns the number of characters of a text. It counts those of a long text once, because many alternatives may ask for them. */
  length(text: string): number {
    if (text.length < longText) return charactersOf(text)
    return computeOnce(this.#lengths, text, () => charactersOf(text))
  }

  /** Whether a text has a format; `undefined` if that takes too many steps. It validates a long text once. */
  matches(format: Format, text: string): boolean | undefined {
    const { steps = 0.05, longest = text.length } = format
    if (text.length > longest) return false
    const validate = () => (this.steps.count(steps * text.length) ? format.matches(text) : undefined)
    if (text.length < longText) return validate()
    const known = computeOnce(this.#formats, format, () => new Map())
    return computeOnce(known, text, validate)
  }

  /** Whether no two items of a list are equal, whatever the order of their properties. Reads each object and list of a value once. */
  areUnique(value: readonly unknown[]): boolean {
    return computeOnce(this.#areUnique, value, () => {
      this.count(value.length)
      return new Set(value.map((item) => this.#identity(item))).size === value.length
    })
  }

  /** Returns the same identity for equal values. */
  #identity(value: unknown): unknown {
    if (typeof value === 'string') return `"${value}`
    // JSON has no text for Infinity, which is what it reads 1e400 as.
    if (!Array.isArray(value) && !isObject(value)) return String(value)
    let identity = this.#identities.get(value)
    if (identity === undefined) {
      const parts = Array.isArray(value)
        ? value.map((item) => this.#identity(item))
        : Object.fromEntries(
            namesOf(value)
              .sort()
              .map((name) => [name, this.#identity(value[name])]),
          )
      const text = JSON.stringify(parts)
      identity = this.#identities.get(text) ?? `#${this.#identities.size}`
      this.#identities.set(text, identity).set(value, identity)
    }
    return identity
  }
}

/** Returns the names of the properties that are not `undefined`. */
export const namesOf = (value: Params): string[] => Object.keys(value).filter((name) => value[name] !== undefined)

function computeOnce<K, V>(known: Map<K, V>, key: K, compute: () => V): V {
  const value = known.get(key)
  if (value !== undefined) return value
  const computed = compute()
  known.set(key, computed)
  return computed
}

/** Returns the number of characters, of which some are two halves. Allocates nothing. */
function charactersOf(value: string): number {
  let pairs = 0
  for (let index = 1; index < value.length; index += 1) {
    const isPair = (value.charCodeAt(index) & 0xfc00) === 0xdc00 && (value.charCodeAt(index - 1) & 0xfc00) === 0xd800
    if (isPair) pairs += 1
  }
  return value.length - pairs
}
