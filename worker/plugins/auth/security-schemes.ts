import type { Tool } from '../../declarations/tool.ts'
import type { Method } from '../../engine/methods/method.ts'
import { listTools } from '../../engine/methods/tools.ts'
import type { Plugin, Runtime } from '../../plugin.ts'
import { isObject } from '../../protocol/jsonrpc.ts'
import type { RequestAuth } from '../../request-hooks.ts'

/**
 * Adds to each listed tool how it may be called, as `securitySchemes` and as a member of `_meta`: `oauth2` with the scopes of the tool, and
 * `noauth` for a tool without scopes and `visibleTo`, if `auth` has `allowAnonymous`. ChatGPT reads them to ask its user to sign in for the tools that need it.
 * Tools of other servers, and lists of an endpoint without `auth`, have none.
 *
 * @see https://developers.openai.com/apps-sdk/build/auth
 *
 * @example
 * serve(server, {
 *   auth: bearer({ issuer: 'https://auth.example.com', allowAnonymous: true }),
 *   plugins: [securitySchemes()],
 * })
 */
export function securitySchemes(): Plugin {
  return {
    name: 'securitySchemes',
    methods: (runtime) => ({ 'tools/list': (inner = listTools) => listing(inner, runtime) }),
  }
}

const listing = (inner: Method, runtime: Runtime): Method => ({
  ...inner,
  async answer(context) {
    const [result, auth] = await Promise.all([inner.answer(context), runtime.auth()])
    const { tools } = result
    if (!auth || !Array.isArray(tools)) return result
    const declared = context.server.declarations.tools
    return { ...result, tools: tools.map((item) => withSchemes(item, declared, auth)) }
  },
})

function withSchemes(item: unknown, declared: ReadonlyMap<string, Tool>, { allowAnonymous }: RequestAuth): unknown {
  const tool = isObject(item) ? declared.get(String(item.name)) : undefined
  if (!isObject(item) || !tool) return item
  const { scopes = [], visibleTo } = tool
  const isOpen = allowAnonymous && scopes.length === 0 && !visibleTo
  const schemes = [...(isOpen ? [{ type: 'noauth' }] : []), { type: 'oauth2', scopes }]
  return {
    ...item,
    securitySchemes: schemes,
    _meta: { securitySchemes: schemes, ...(isObject(item._meta) && item._meta) },
  }
}
