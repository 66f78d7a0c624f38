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
  const found = resolveFragment(document, reference)
  if (found === undefined) throw new Error(`${where} refers to ${reference}, which is not in the document`)
  return found
}
