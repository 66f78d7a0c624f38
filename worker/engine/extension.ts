import { checkOptions, isObject, type KindsOf } from '../declarations/check-options.ts'
import type { Awaitable, Context } from '../declarations/context.ts'
import { draftOf } from '../declarations/declarations.ts'
import { addExtensions, addMethod } from '../declarations/extend.ts'
import * as kind from '../declarations/option-kinds.ts'
import type { Module } from '../declarations/server.ts'
import type { Params, Result } from '../protocol/types.ts'
import type { Method } from './methods/method.ts'

/** Answers a method of an extension. @throws McpError to answer with an error */
export type ExtensionHandler = (params: Params, ctx: Context) => Awaitable<Result>

/** Configures an extension. */
export type Extension = {
  /** Its settings in `capabilities.extensions`. Default: `{}`. */
  settings?: Params
  /** Handlers of its methods, by name. Default: none. */
  methods?: Readonly<Record<string, ExtensionHandler>>
  /** The member of `params` that the header `Mcp-Name` repeats, by method. Default: none. */
  named?: Readonly<Record<string, string>>
  /** Scopes that a token needs to call its methods; `[]` admits every caller that `auth` accepts. Default: none. */
  scopes?: readonly string[]
}

function isJsonObject(value: unknown): boolean {
  try {
    return isObject(value) && JSON.stringify(value) !== undefined
  } catch {
    return false
  }
}

/** Methods of the protocol that a session or an endpoint answers before it looks for methods of extensions. */
const reserved = new Set([
  'initialize',
  'ping',
  'logging/setLevel',
  'resources/subscribe',
  'resources/unsubscribe',
  'subscriptions/listen',
])

const kinds: KindsOf<Extension> = {
  settings: [isJsonObject, 'an object of JSON values'],
  methods: kind.functions,
  named: kind.object(),
  scopes: kind.scopes,
}

/**
 * Creates an extension of MCP, as a module for `server.use`. Clients of every protocol version can call its methods.
 *
 * @param name a prefix that you own, a slash, and a name: `com.example/weather`
 * @throws Error for a name without a prefix, a method that the server answers itself, and an invalid option. The message names the fix
 * @see https://modelcontextprotocol.io/seps/2133-extensions
 *
 * @example
 * server.use(extension('com.example/weather', { methods: { 'weather/now': ({ city }) => ({ city, celsius: 21 }) } }))
 */
export function extension(name: string, options: Extension): Module {
  checkOptions('extension()', options, kinds)
  const { settings = {}, methods = {}, named = {}, scopes } = options
  if (!/^[a-z][\w-]*(?:\.[a-z][\w-]*)*\/[a-z0-9][\w.-]*$/i.test(name)) {
    throw new Error(`The extension "${name}" needs a vendor prefix, such as "com.example/${name}"`)
  }
  const taken = Object.keys(methods).find((method) => reserved.has(method))
  if (taken !== undefined) {
    throw new Error(`The extension "${name}" has the method "${taken}", which the server answers itself: rename it`)
  }
  return (server) => {
    const draft = draftOf(server)
    addExtensions(draft, { [name]: settings })
    for (const [method, handler] of Object.entries(methods)) {
      const answering: Method = {
        ...(Object.hasOwn(named, method) && { named: named[method] }),
        ...(scopes && { requiredScopes: scopes }),
        offered: () => true,
        answer: async ({ call, context }) => handler(call.params, context),
      }
      addMethod(draft, method, answering)
    }
  }
}
