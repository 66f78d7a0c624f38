import { resolveFragment } from '../../protocol/json-pointer.ts'
import { isObject } from '../../protocol/jsonrpc.ts'
import type { Params } from '../../protocol/types.ts'

const secret = '[…]'
/** What is behind a reference that this function does not follow. */
const hidden: Params = { writeOnly: true }
/** Characters of a text. */
const longest = 200
/** Levels of references. */
const deepest = 20

/**
 * Copies arguments for an event. Removes values that the schema marks as `writeOnly`, as passwords, or does not describe; cuts long texts.
 *
 * @see https://json-schema.org/draft/2020-12/json-schema-validation#section-9.4
 */
export function redacted(value: unknown, schema: unknown): unknown {
  return copy(value, [schema])

  /** @param schemas of which each may be the one for this value */
  function copy(value: unknown, schemas: readonly unknown[]): unknown {
    const known = schemas.flatMap((member) => expanded(member, 0))
    // Whatever one of them hides is hidden.
    if (known.length === 0 || known.some(isSecret)) return secret
    if (Array.isArray(value)) {
      const items = known.map((item) => item.items)
      return value.map((item) => copy(item, items))
    }
    if (isObject(value)) {
      const members = Object.entries(value).map(([key, member]) => [key, copy(member, known.map(memberOf(key)))])
      return Object.fromEntries(members)
    }
    return typeof value === 'string' && value.length > longest ? `${value.slice(0, longest - 1)}…` : value
  }

  /** A schema with those that it refers to and chooses from. */
  function expanded(input: unknown, depth: number): Params[] {
    // An empty one says nothing.
    if (!isObject(input) || Object.keys(input).length === 0) return []
    if (depth > deepest) return [hidden]
    const others = ['anyOf', 'oneOf', 'allOf'].flatMap((key) => input[key] ?? [])
    const referred = [input.$ref, input.$dynamicRef].flatMap((ref) =>
      typeof ref === 'string' ? [resolveFragment(schema, ref) ?? hidden] : [],
    )
    return [input, ...[...others, ...referred].flatMap((member) => expanded(member, depth + 1))]
  }
}

const isSecret = ({ writeOnly, format }: Params): boolean => writeOnly === true || format === 'password'

const memberOf =
  (key: string) =>
  ({ properties, additionalProperties }: Params): unknown =>
    isObject(properties) && Object.hasOwn(properties, key) ? properties[key] : additionalProperties
