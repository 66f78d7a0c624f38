import { isObject } from '../protocol/jsonrpc.ts'
import type { Params } from '../protocol/types.ts'
import type { InterceptedCall, Interceptor } from '../server/interceptor.ts'

/** What stands around the calls of a server that is a part of another: it knows its own names only. */
export const withPrefix =
  (prefix: string, interceptor: Interceptor): Interceptor =>
  (intercepted, answer) =>
    interceptor(
      renamed(intercepted, (name) => name.slice(prefix.length)),
      (inner) => answer(renamed(inner, (name) => prefix + name)),
    )

function renamed<A extends InterceptedCall>(intercepted: A, rename: (name: string) => string): A {
  const { method, params } = intercepted.call
  return { ...intercepted, call: { ...intercepted.call, params: changed(method, params, rename) } }
}

/** URIs have their schemes: they are the same everywhere. */
function changed(method: string, params: Params, rename: (name: string) => string): Params {
  const { name, ref } = params
  if (method === 'tools/call' || method === 'prompts/get') return { ...params, name: rename(String(name)) }
  const isPrompts = method === 'completion/complete' && isObject(ref) && ref.type === 'ref/prompt'
  return isPrompts ? { ...params, ref: { ...ref, name: rename(String(ref.name)) } } : params
}
