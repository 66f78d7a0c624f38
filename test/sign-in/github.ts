/** A fake GitHub whose user is signed in, and whose answers a test can change. */

import { listen } from '../../worker/testing/node/listen.ts'
import { Provider, type ProviderUser } from '../../worker/testing/provider/fake-provider.ts'

const tokenPath = '/login/oauth/access_token'

export class GitHub extends Provider implements AsyncDisposable {
  /** Whether the user declines at GitHub. */
  declines = false
  /** Returns the scopes that the user grants; `undefined` leaves them out of the response. */
  grantedScopes: (requested: string) => string | undefined = (requested) => requested
  /** Refresh tokens that were sent, in order. */
  readonly refreshed: string[] = []
  /** Refresh tokens that were sent while the same one was being answered. */
  overlaps = 0
  /** Awaited before a refresh is answered. */
  beforeRefresh: (() => Promise<unknown>) | undefined
  readonly #refreshing = new Set<string>()
  readonly #close: () => Promise<void>

  static async start(): Promise<GitHub> {
    let gitHub: GitHub | undefined
    const { url, close } = await listen((request) => gitHub?.respond(request))
    gitHub = new GitHub(url, close)
    return gitHub
  }

  private constructor(url: string, close: () => Promise<void>) {
    super(url, [])
    this.#close = close
    this.account = { id: 1815, login: 'ada', name: 'Ada Lovelace', organizations: ['Engines'] }
  }

  /** Who is signed in to GitHub in every browser. */
  get account(): ProviderUser {
    if (!this.signedIn) throw new Error('A page asks')
    return this.signedIn
  }

  set account(user: ProviderUser) {
    this.users.push(user)
    this.signedIn = user
  }

  override async respond(request: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url)
    if (this.declines && pathname === '/login/oauth/authorize') {
      const back = new URL(searchParams.get('redirect_uri') ?? '')
      back.search = String(new URLSearchParams({ state: searchParams.get('state') ?? '', error: 'access_denied' }))
      return Response.redirect(back.href)
    }
    if (pathname !== tokenPath) return super.respond(request)
    const refreshToken = new URLSearchParams(await request.clone().text()).get('refresh_token')
    const response = refreshToken === null ? await super.respond(request) : await this.#refresh(refreshToken, request)
    if (this.answers.has(tokenPath)) return response
    const { scope, ...body } = (await response.json()) as Record<string, string>
    const granted = scope && this.grantedScopes(scope.replaceAll(',', ' '))?.replaceAll(' ', ',')
    return Response.json({ ...body, ...(granted && { scope: granted }) })
  }

  /** Holds the answer to a path, once it is asked. */
  hold(path: string) {
    const arrived = Promise.withResolvers<void>()
    const released = Promise.withResolvers<void>()
    this.answers.set(path, async () => {
      arrived.resolve()
      await released.promise
      this.answers.delete(path)
      return new Response()
    })
    return { arrived: arrived.promise, release: () => released.resolve() }
  }

  async #refresh(token: string, request: Request): Promise<Response> {
    this.refreshed.push(token)
    if (this.#refreshing.has(token)) this.overlaps += 1
    this.#refreshing.add(token)
    await this.beforeRefresh?.()
    this.#refreshing.delete(token)
    return super.respond(request)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#close()
  }
}
