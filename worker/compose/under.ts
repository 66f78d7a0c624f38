import { isObject } from '../protocol/jsonrpc.ts'
import type { Params } from '../protocol/types.ts'
import type { Around, Asking } from '../server/around.ts'

/** What stands around the calls of a server that is a part of another: it knows its own names only. */
export const under =
  (prefix: string, around: Around): Around =>
  (asked, answer) =>
    around(
      renamed(asked, (name) => name.slice(prefix.length)),
      (inner) => answer(renamed(inner, (name) => prefix + name)),
    )

function renamed<A extends Asking>(asked: A, rename: (name: string) => string): A {
  const { method, params } = asked.call
  return { ...asked, call: { ...asked.call, params: changed(method, params, rename) } }
}

/** URIs have their schemes: they are the same everywhere. */
function changed(method: string, params: Params, rename: (name: string) => string): Params {
  const { name, ref } = params
  if (method === 'tools/call' || method === 'prompts/get') return { ...params, name: rename(String(name)) }
  const isPrompts = method === 'completion/complete' && isObject(ref) && ref.type === 'ref/prompt'
  return isPrompts ? { ...params, ref: { ...ref, name: rename(String(ref.name)) } } : params
}
