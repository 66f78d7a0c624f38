/**
 * Headers that mirror the body: `Mcp-Name` and `Mcp-Param-*`, their encoding, and which arguments a tool mirrors.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#standard-request-headers
 */
import { decodeBase64, encodeBase64 } from './base64.ts'
import { isObject } from './jsonrpc.ts'
import type { JsonSchema, Params } from './types.ts'
import { utf8 } from './utf8.ts'

/** An argument that a client repeats in the header `Mcp-Param-{header}`. */
export type HeaderParameter = {
  header: string
  /** Property names from the root of the arguments. */
  path: readonly string[]
  type: 'string' | 'integer' | 'boolean'
}

export const annotation = 'x-mcp-header'

/** Arguments that a tool mirrors: servers and platforms bound headers. */
export const mostHeaderParameters = 100

/** Whether a value is a token, such as the name of a header (RFC 9110, section 5.6.2). */
export const isToken = (value: unknown): value is string =>
  typeof value === 'string' && /^[\w!#$%&'*+.^`|~-]+$/.test(value)

/** Keywords of JSON Schema whose values are not schemas. */
export const dataKeywords: ReadonlySet<string> = new Set(['const', 'enum', 'default', 'examples'])

/**
 * Returns the mirrored parameters of an input schema.
 *
 * @param onAnnotation called for every annotation. The result omits those for which clients must reject the tool
 */
export function headerParameters(
  schema: JsonSchema,
  onAnnotation?: (header: Annotation, others: readonly HeaderParameter[]) => void,
): HeaderParameter[] {
  const parameters: HeaderParameter[] = []
  // Of the node that is visited: a copy for each level would take the square of the levels.
  const path: string[] = []
  visit(schema, true)
  return parameters

  function visit(node: unknown, reachable: boolean): void {
    if (typeof node !== 'object' || node === null) return
    if (annotation in node) add(node, reachable && path.length > 0)
    for (const [keyword, value] of Object.entries(node)) {
      if (dataKeywords.has(keyword)) continue
      if (keyword === 'properties' && isObject(value)) {
        for (const [name, property] of Object.entries(value)) {
          path.push(name)
          visit(property, reachable)
          path.pop()
        }
      } else visit(value, false)
    }
  }

  function add({ [annotation]: header, type }: Params, reachable: boolean): void {
    onAnnotation?.([header, type, path, reachable], parameters)
    if (typeof header === 'string' && reachable && parameters.length < mostHeaderParameters)
      // Of another type, a server does not start: `onAnnotation` has it refused.
      parameters.push({ header, path: [...path], type: type as HeaderParameter['type'] })
  }
}

/** The annotation of a schema, valid or not. `reachable`: only `properties` lead to it. */
export type Annotation = [header: unknown, type: unknown, path: readonly string[], reachable: boolean]

/** Returns the argument at a path; `undefined` if it, or a value before it, is absent or null. */
export function getPath(args: unknown, path: readonly string[]): unknown {
  let value = args
  for (const name of path) {
    if (!isObject(value) || !Object.hasOwn(value, name)) return undefined
    value = value[name]
  }
  return value ?? undefined
}

/** Encodes a header value if it cannot be sent unchanged. */
export const encodeHeader = (value: string): string =>
  /^(?![ \t])[\t\x20-\x7e]*(?<![ \t])$/.test(value) && !/^=\?base64\?.*\?=$/.test(value)
    ? value
    : `=?base64?${encodeBase64(utf8(value))}?=`

/** Returns the headers that repeat arguments of a call. An object or a list is none that a tool can mirror. */
export const parameterHeaders = (parameters: readonly HeaderParameter[], args: unknown): Record<string, string> =>
  Object.fromEntries(
    parameters.flatMap(({ header, path }) => {
      const value = getPath(args, path)
      return value === undefined || typeof value === 'object'
        ? []
        : [[`Mcp-Param-${header}`, encodeHeader(String(value))]]
    }),
  )

/** Decodes a mirrored header value; `undefined` for a value that a client must not send. */
export function decodeHeader(value: string): string | undefined {
  if (/[^\t\x20-\x7e]/.test(value)) return undefined
  const [, payload] = /^=\?base64\?(.*)\?=$/.exec(value) ?? []
  if (payload === undefined) return value
  if (payload.length % 4 > 0 || !/^[a-z\d+/]*={0,2}$/i.test(payload)) return undefined
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(decodeBase64(payload))
  } catch {
    return undefined
  }
}

const decimal = /^-?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i

/** Whether a decoded header equals the argument. Integers compare as numbers, all else as text. */
export function mirrors(decoded: string, argument: unknown): boolean {
  if (typeof argument === 'number') {
    return Number.isSafeInteger(argument) && decimal.test(decoded) && Number(decoded) === argument
  }
  if (typeof argument === 'boolean') return decoded === String(argument)
  return decoded === argument
}
