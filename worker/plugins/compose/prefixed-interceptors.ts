import type { Interceptor } from '../../declarations/interceptor.ts'
import { isObject } from '../../protocol/jsonrpc.ts'
import type { Params } from '../../protocol/types.ts'

/** Wraps the interceptors of a mounted server so that they see its own names, without the prefix. */
export const withPrefix = (prefix: string, interceptors: readonly Interceptor[]): Interceptor[] =>
  prefix === ''
    ? [...interceptors]
    : interceptors.map((interceptor) => (call, next) => {
        const { method } = call
        const own = renamed(method, call.params, (name) => name.slice(prefix.length))
        // Its accessors are those of the call.
        const ownCall = Object.create(call, { params: { value: own, enumerable: true } }) as typeof call
        return interceptor(ownCall, (params = own, options) =>
          next(
            renamed(method, params, (name) => prefix + name),
            options,
          ),
        )
      })

/** URIs have their schemes: they are the same everywhere. */
function renamed(method: string, params: Params, rename: (name: string) => string): Params {
  const { name, ref } = params
  if (method === 'tools/call' || method === 'prompts/get') return { ...params, name: rename(String(name)) }
  const isPrompts = method === 'completion/complete' && isObject(ref) && ref.type === 'ref/prompt'
  return isPrompts ? { ...params, ref: { ...ref, name: rename(String(ref.name)) } } : params
}
