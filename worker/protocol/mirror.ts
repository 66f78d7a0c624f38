/**
 * Headers that mirror the body: `Mcp-Name` and `Mcp-Param-*`, their encoding, and which arguments a tool mirrors.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports#standard-request-headers
 */
import { decodeBase64 } from './base64.ts'
import { isObject } from './jsonrpc.ts'
import type { JsonSchema, Params } from './types.ts'

/** An argument that a client repeats in the header `Mcp-Param-{header}`. */
export type MirroredParameter = {
  header: string
  /** Property names from the root of the arguments. */
  path: readonly string[]
  type: 'string' | 'integer' | 'boolean'
}

const annotation = 'x-mcp-header'
const token = /^[\w!#$%&'*+.^`|~-]+$/

/** Keywords whose values are not schemas. */
const literals = new Set(['const', 'enum', 'default', 'examples'])

/**
 * The mirrored parameters of an input schema.
 *
 * @throws Error when an annotation is one that clients must refuse: it says where and what would be right
 */
export function mirroredParameters(schema: JsonSchema): MirroredParameter[] {
  const found: MirroredParameter[] = []
  visit(schema, [], true)
  return found

  function visit(node: unknown, path: readonly string[], reachable: boolean): void {
    if (typeof node !== 'object' || node === null) return
    if (annotation in node) add(node, path, reachable)
    for (const [keyword, value] of Object.entries(node)) {
      if (literals.has(keyword)) continue
      if (keyword === 'properties' && isObject(value)) {
        for (const [name, property] of Object.entries(value)) visit(property, [...path, name], reachable)
      } else visit(value, path, false)
    }
  }

  function add(node: Params, path: readonly string[], reachable: boolean): void {
    const header = node[annotation]
    const where = path.join('.') || 'the root'
    if (typeof header !== 'string' || !token.test(header)) {
      throw new Error(`${annotation} on ${where} must be a header name of letters, digits and dashes`)
    }
    if (!reachable || path.length === 0) {
      throw new Error(`${annotation} "${header}" must sit on a property reached through "properties" only`)
    }
    const { type } = node
    if (type !== 'string' && type !== 'integer' && type !== 'boolean') {
      throw new Error(`${annotation} on ${where} needs the type string, integer or boolean`)
    }
    if (found.some((other) => other.header.toLowerCase() === header.toLowerCase())) {
      throw new Error(`${annotation} "${header}" is used twice: header names ignore case, so choose another`)
    }
    found.push({ header, path, type })
  }
}

/** The argument at the end of a path; `undefined` when it, or anything on the way, is absent or null. */
export function argumentAt(args: unknown, path: readonly string[]): unknown {
  let value = args
  for (const name of path) {
    if (!isObject(value) || !Object.hasOwn(value, name)) return undefined
    value = value[name]
  }
  return value ?? undefined
}

/** Reads a mirrored header value. `undefined` when it is none that a client may send. */
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

/** Is the decoded header the same value as the argument? Integers compare as numbers, everything else as text. */
export function mirrors(decoded: string, argument: unknown): boolean {
  if (typeof argument === 'number') {
    return Number.isSafeInteger(argument) && decimal.test(decoded) && Number(decoded) === argument
  }
  if (typeof argument === 'boolean') return decoded === String(argument)
  return decoded === argument
}
