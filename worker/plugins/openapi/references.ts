import { resolveFragment } from '../../protocol/json-pointer.ts'
import { isObject } from '../../protocol/jsonrpc.ts'
import type { Params } from '../../protocol/types.ts'

/** Whether a document is of OpenAPI 3.0, which ignores members beside a `$ref`. 3.1 gives them a meaning. */
export const isVersion30 = (document: Params): boolean => String(document.openapi).startsWith('3.0')

/**
 * Resolves a reference to anything but a schema.
 *
 * @param siblings the members beside a `$ref` that override those of its target. Default: none
 * @throws Error for a reference without a target or to itself, and for a target that is not an object
 */
export function followed(
  value: unknown,
  document: Params,
  where: string,
  siblings: (reference: Params) => Params = () => ({}),
): Params {
  let found = value
  let own: Params = {}
  for (let depth = 0; isObject(found) && typeof found.$ref === 'string'; depth += 1) {
    if (depth === 20) throw new Error(`The references of ${where} are circular`)
    own = { ...siblings(found), ...own }
    found = targetOf(found.$ref, document, where)
  }
  if (!isObject(found)) throw new Error(`${where} has a member that must be an object`)
  return { ...found, ...own }
}

/** @throws Error for a reference without a target */
export function targetOf(reference: string, document: Params, where: string): unknown {
  const found = resolveReference(document, reference)
  if (found === undefined) throw new Error(`${where} refers to ${reference}, which is not in the document`)
  return found
}

/**
 * Returns the value that a reference within a document, or within a schema, names: by a JSON Pointer, an `$anchor` or an `$id`. `undefined`
 * where there is none.
 *
 * @see https://json-schema.org/draft/2020-12/json-schema-core#section-8.2
 */
export function resolveReference(root: Params, reference: string): unknown {
  const pointed = resolveFragment(root, reference)
  if (pointed !== undefined) return pointed
  const [id, fragment] = reference.split('#')
  const found = namedIn(root).get(id || reference)
  return id && fragment && isObject(found) ? resolveReference(found, `#${fragment}`) : found
}

export const combinations = ['allOf', 'anyOf', 'oneOf']

/** Keywords with schemas for the same value. */
export const applicators = [...combinations, 'then', 'else', 'dependentSchemas']

/** Returns a schema, and those that may apply to the same value by its references and these keywords. */
export function schemasOf(
  schema: unknown,
  document: Params,
  keywords: readonly string[] = combinations,
  seen = new Set<Params>(),
): Params[] {
  if (!isObject(schema) || seen.has(schema)) return []
  seen.add(schema)
  const { $ref } = schema
  const target =
    typeof $ref === 'string' ? (resolveReference(schema, $ref) ?? resolveReference(document, $ref)) : undefined
  const referred = schemasOf(target, document, keywords, seen)
  if (typeof $ref === 'string' && isVersion30(document)) return referred
  const applied = keywords.flatMap((key) =>
    key === 'dependentSchemas' ? Object.values(schema[key] ?? {}) : schema[key],
  )
  return [schema, ...referred, ...applied.flatMap((each) => schemasOf(each, document, keywords, seen))]
}

/** Returns the names of the properties that the schema of an argument has. */
export const declaredNames = (argument: string, input: Params): string[] =>
  schemasOf(Object(input.properties)[argument], input, applicators).flatMap(({ properties }) =>
    Object.keys(Object(properties)),
  )

const known = new WeakMap<Params, Map<string, unknown>>()

/** Returns the schemas with an `$id`, and by `#` and their anchor those of the same resource. */
function namedIn(root: Params): ReadonlyMap<string, unknown> {
  const found = known.get(root) ?? new Map<string, unknown>()
  if (known.has(root)) return found
  known.set(root, found)
  const seen = new Set<unknown>()
  const open: [value: unknown, isSameResource: boolean][] = [[root, true]]
  for (let next = open.pop(); next; next = open.pop()) {
    const [value, isWithin] = next
    if (typeof value !== 'object' || value === null || seen.has(value)) continue
    seen.add(value)
    const { $id, $anchor, $dynamicAnchor }: Params = isObject(value) ? value : {}
    if (typeof $id === 'string') found.set($id, value)
    const isSameResource = isWithin && (value === root || typeof $id !== 'string')
    if (isSameResource) for (const name of [$anchor, $dynamicAnchor]) if (name) found.set(`#${name}`, value)
    for (const member of Object.values(value)) open.push([member, isSameResource])
  }
  return found
}
