/** The request context of a call: checked once in the Worker, and sealed for Durable Objects if it contains secrets. */
import { emptyContext, type RequestContext, Secret } from '../declarations/request-context.ts'
import { kindOf } from '../declarations/result-constructors.ts'
import { McpError } from '../protocol/errors.ts'
import { jsonText } from '../protocol/json-text.ts'
import { isObject } from '../protocol/jsonrpc.ts'
import type { Seals } from './call.ts'

/** The form in which a request context is sent to a Durable Object, and stored: JSON as text, sealed if it contains secrets. */
export type StoredContext = { readonly json: string } | { readonly sealed: string }

/** Characters of a request context as JSON. It is a part of each request to a session, and of each stored call. */
const maxCharacters = 16_384
const purpose = 'request context'
/** Starts the names that only this file writes. Other names that start with it are escaped: they get another one. */
const mark = '\0'
/** The only member of a secret in JSON. */
const secretKey = `${mark}secret`

/**
 * Returns what the option `requestContext` of `serve()` returned, after a trip through JSON, so that handlers get equal values in Workers
 * and in Durable Objects.
 *
 * @throws TypeError that names the member that JSON cannot represent; Error for a value that is too large
 */
export function checkedContext(returned: unknown): RequestContext {
  if (returned === undefined) return emptyContext
  if (!isObject(returned))
    throw new TypeError(`requestContext of serve() returned ${kindOf(returned)}: return an object`)
  jsonText(returned, 'requestContext of serve() returned')
  const { json } = encode(returned)
  if (json.length <= maxCharacters) return decode(json)
  const [[name, length] = ['', 0]] = Object.entries(returned)
    .map(([name, value]) => [name, JSON.stringify(value)?.length ?? 0] as const)
    .sort((one, other) => other[1] - one[1])
  throw new Error(
    `requestContext of serve() returned ${json.length} characters of JSON, most of them in "${name}" (${length}): at most ${maxCharacters} are allowed. Return a key, and read the data in handlers`,
  )
}

/** @returns `undefined` for an empty request context @param lifetimeMs milliseconds for which the work may continue */
export async function storeContext(
  context: RequestContext,
  seals: Pick<Seals, 'seal'>,
  lifetimeMs: number,
): Promise<StoredContext | undefined> {
  if (context === emptyContext) return undefined
  const { json, hasSecrets } = encode(context)
  return hasSecrets ? { sealed: await seals.seal(purpose, json, lifetimeMs) } : { json }
}

/**
 * @param stored absent: the call has no request context
 * @throws McpError `call_interrupted` when the secrets cannot be unsealed
 */
export async function openContext(
  stored: StoredContext | undefined,
  seals: Pick<Seals, 'open'>,
): Promise<RequestContext> {
  if (!stored) return emptyContext
  if ('json' in stored) return decode(stored.json)
  const json = await seals.open(purpose, stored.sealed)
  if (typeof json === 'string') return decode(json)
  throw new McpError(
    'call_interrupted',
    'The request context of the call cannot be unsealed, because it has expired or its key is no longer in EDGEMCP_KEYS: call again',
    { reason: 'interrupted', retryable: false },
  )
}

function encode(context: object): { readonly json: string; readonly hasSecrets: boolean } {
  let hasSecrets = false
  const json = JSON.stringify(context, function (this: Readonly<Record<string, unknown>>, key, value: unknown) {
    // `value` is what `toJSON` returned.
    const original = this[key]
    if (original instanceof Secret) {
      hasSecrets = true
      return { [secretKey]: original.reveal() }
    }
    if (original === value || !isObject(original)) return renamed(value, (name) => mark + name)
    throw new TypeError(
      `requestContext of serve() returned a ${original.constructor.name} at "${key}": return its text`,
    )
  })
  return { json, hasSecrets }
}

const decode = (json: string): RequestContext =>
  JSON.parse(json, (_, value: unknown) =>
    isObject(value) && Object.hasOwn(value, secretKey)
      ? new Secret(value[secretKey])
      : renamed(value, (name) => name.slice(mark.length)),
  )

/** Returns the value; an object with names that start with the mark as a copy with other names. */
function renamed(value: unknown, rename: (name: string) => string): unknown {
  if (!isObject(value) || !Object.keys(value).some(isMarked)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [isMarked(name) ? rename(name) : name, member]),
  )
}

const isMarked = (name: string) => name.startsWith(mark)
