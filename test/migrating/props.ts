/**
 * What `@cloudflare/workers-oauth-provider` does for the handler behind it: whose token this is stands in `ctx.props`, and the
 * client in `ctx.auth`. Here a token is the name of a user. A preflight has none.
 */
type Handler<Env> = { fetch(request: Request, env: Env, ctx: ExecutionContext): Response | Promise<Response> }

export const withProps = <Env>({ fetch }: Handler<Env>): Handler<Env> => ({
  fetch(request, env, ctx) {
    if (request.method === 'OPTIONS') return fetch(request, env, ctx)
    const [, user] = /^Bearer (\w+)$/.exec(request.headers.get('Authorization') ?? '') ?? []
    if (!user) return new Response('Unauthorized', { status: 401 })
    Object.defineProperty(ctx, 'props', { value: { user } })
    Object.defineProperty(ctx, 'auth', { value: { clientId: 'mover', scope: [] } })
    return fetch(request, env, ctx)
  },
})
