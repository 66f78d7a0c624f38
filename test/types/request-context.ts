/** The members of a request context are declared once, and known to handlers, interceptors and the option of `serve()`. */
import { type CallInfo, type Context, createServer, type Secret, secret, serve } from 'edgemcp'
import { type Equal, is } from './equal.ts'

declare module 'edgemcp' {
  interface RequestContext {
    readonly limits?: { readonly perDay: number }
    readonly password?: Secret<{ readonly text: string }>
  }
}

export function read({ requestContext }: Context, call: CallInfo) {
  is<Equal<typeof requestContext.limits, { readonly perDay: number } | undefined>>()
  is<Equal<typeof call.requestContext, typeof requestContext>>()
  const revealed = requestContext.password?.reveal()
  is<Equal<typeof revealed, { readonly text: string } | undefined>>()
  // @ts-expect-error it is declared nowhere
  return requestContext.unknown
}

const server = createServer({ name: 'types', version: '1' })
serve(server, { requestContext: () => ({ limits: { perDay: 5 }, password: secret({ text: 'x' }) }) })
serve(server, { requestContext: async (request, { env, principal }) => (request && env && principal ? {} : {}) })
// @ts-expect-error the member has another type
serve(server, { requestContext: () => ({ limits: 5 }) })
// @ts-expect-error a secret is no text
serve(server, { requestContext: () => ({ password: { text: 'x' } }) })
// @ts-expect-error a header that may be absent is no secret
secret<string | undefined>(undefined)
