/**
 * What `@cloudflare/workers-oauth-provider` does for the handler behind it: whose token this is stands in `ctx.props`. Here
 * a token is the name of a user.
 */
type Handler = { fetch(request: Request, env: unknown, ctx: ExecutionContext): Response | Promise<Response> }

export const withProps = ({ fetch }: Handler) => ({
  fetch(request: Request, env: unknown, ctx: ExecutionContext): Response | Promise<Response> {
    const [, user] = /^Bearer (\w+)$/.exec(request.headers.get('Authorization') ?? '') ?? []
    if (!user) return new Response('Unauthorized', { status: 401 })
    Object.defineProperty(ctx, 'props', { value: { user } })
    return fetch(request, env, ctx)
  },
})
