/** The request context: data that the application computes once for each HTTP request, and the secrets in it. */
import { jsonText } from '../protocol/json-text.ts'

/**
 * Types the data that the option `requestContext` of `serve()` returns. Extend it in a declaration of your own. Members are JSON, or
 * `Secret`.
 *
 * @example
 * declare module 'edgemcp' {
 *   interface RequestContext { readonly accountId?: string }
 * }
 */
// biome-ignore lint/suspicious/noEmptyInterface: it is there to be added to
export interface RequestContext {}

/** The request context of a call without data of its own. */
// The members that an application declares exist if the option of serve() returns them.
export const emptyContext = Object.freeze({}) as RequestContext

const concealed = '[secret]'

/**
 * Conceals a value of a request context. Logs, JSON and texts show `[secret]`. Outside of a Worker's memory the value exists only as a
 * sealed text. `secret()` creates one.
 *
 * @typeParam T the type of the value: JSON
 */
export class Secret<T> {
  readonly #value: T

  /** @param value the value to conceal: JSON */
  constructor(value: T) {
    this.#value = value
  }

  /** Returns the value. */
  reveal(): T {
    return this.#value
  }

  /** Returns `[secret]`. */
  toString(): string {
    return concealed
  }

  /** Returns `[secret]`. */
  toJSON(): string {
    return concealed
  }

  /** Returns `[secret]`, for `console.log`. */
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return concealed
  }
}

/**
 * Marks a member of the request context as secret. In Durable Objects and in messages to them, the value exists only as a sealed text.
 *
 * @param value JSON, such as an API key
 * @returns an object whose `reveal()` returns the value
 * @throws TypeError for a value without a JSON form, such as `undefined`. The message names its place
 *
 * @example
 * const key = secret('sk_123')
 * console.log(key, key.reveal().length) // [secret] 6
 */
export function secret<T extends NonNullable<unknown> | null>(value: T): Secret<T> {
  if (jsonText(value, 'secret() got') === undefined) {
    throw new TypeError('secret() got undefined, which has no JSON form: leave the member out of the request context')
  }
  return new Secret(value)
}
