import { resolveFragment } from '../../protocol/json-pointer.ts'
import { isObject } from '../../protocol/jsonrpc.ts'
import type { Params } from '../../protocol/types.ts'

/** OpenAPI 3.1 gives members beside a `$ref` a meaning, 3.0 ignores them. */
export const isVersion30 = (document: Params): boolean => String(document.openapi).startsWith('3.0')

/**
 * What a reference means, for anything but a schema.
 *
 * @param siblings the members beside a `$ref` that win over those of what it refers to. Default: none
 * @throws Error for a reference that leads nowhere or to itself, and for what is no object
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

/** @throws Error when the reference leads nowhere */
export function targetOf(reference: string, document: Params, where: string): unknown {
  const found = resolveFragment(document, reference)
  if (found === undefined) throw new Error(`${where} refers to ${reference}, which is not in the document`)
  return found
}
