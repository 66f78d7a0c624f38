/** Mends values of upstreams that many clients accept and strict ones reject. */

import * as kind from '../../../declarations/option-kinds.ts'
import { isObject } from '../../../protocol/jsonrpc.ts'
import type { Params } from '../../../protocol/types.ts'

/**
 * Returns base64 without white space and with its padding.
 *
 * @returns any other value as it is
 * @see https://infra.spec.whatwg.org/#forgiving-base64-decode
 */
function mendBase64(value: unknown): unknown {
  if (typeof value !== 'string' || kind.base64[0](value)) return value
  try {
    return btoa(atob(value))
  } catch {
    return value
  }
}

/** Leaves out a `lastModified` that is no date and time: it is a hint. */
function mendAnnotations(annotations: Params): Params {
  const { lastModified, ...others } = annotations
  return lastModified === undefined || kind.dateTime[0](lastModified) ? annotations : others
}

/**
 * Returns a content block, contents or an entry of a list with its base64 and annotations mended.
 *
 * @returns the value itself if nothing of it is mended: an upstream may send many members
 */
export function mendValue(value: Params): Params {
  const { data, blob, annotations, resource } = value
  const mended: Params = {
    data: mendBase64(data),
    blob: mendBase64(blob),
    annotations: isObject(annotations) ? mendAnnotations(annotations) : annotations,
    resource: isObject(resource) ? mendValue(resource) : resource,
  }
  return withMembers(value, mended)
}

/** Returns a value with other members. @returns the value itself if it has them: an upstream may send many others, which a copy takes */
export function withMembers<V extends Params>(value: V, members: Params): V {
  const changed = Object.entries(members).filter(([name, member]) => member !== value[name])
  return changed.length === 0 ? value : { ...value, ...Object.fromEntries(changed) }
}
