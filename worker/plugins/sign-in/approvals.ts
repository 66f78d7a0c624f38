/**
 * Approvals that a browser remembers: which user let which client have which scopes. The cookie is sealed, so that nobody else writes it.
 */
import type { AuthRequest } from '@cloudflare/workers-oauth-provider'
import type { OAuthSite } from '../../../durable-objects/sign-in/rpc.ts'
import type { Seals } from '../../engine/call.ts'
import { encodeBase64url } from '../../protocol/base64url.ts'
import { sha256 } from '../../sealing/sha256.ts'
import { deleteCookie, readCookie, setCookie } from './cookies.ts'

type Approval = {
  /** Hash of the client and the redirect URI. */
  readonly client: string
  readonly resource: string | undefined
  readonly user: string
  /** For which the user acted. */
  readonly tenant: string | undefined
  readonly scopes: readonly string[]
  /** Milliseconds since 1970: when the user approved it, and until when the browser remembers it. */
  readonly at: number
  readonly expires: number
}

/** What an approval is for. */
type Approved = Pick<AuthRequest, 'clientId' | 'redirectUri' | 'resource' | 'scope'>

const cookieName = '__Host-oauth-approvals'

const sealPurpose = ({ origin }: OAuthSite) => `sign-in approvals ${origin}`

/** Characters of the cookie that browsers store: RFC 6265, section 6.1. */
const maxCookieCharacters = 3_800

export class Approvals {
  readonly #all: readonly Approval[]
  readonly #seals: Seals
  readonly #site: OAuthSite

  private constructor(all: readonly Approval[], seals: Seals, site: OAuthSite) {
    this.#all = all
    this.#seals = seals
    this.#site = site
  }

  /**
   * Reads the approvals of the browser that sent a request.
   *
   * @param rememberMs milliseconds for which they are remembered now: an older cookie may be valid for longer
   */
  static async read(request: Request, seals: Seals, site: OAuthSite, rememberMs: number): Promise<Approvals> {
    const cookie = readCookie(request, cookieName)
    const opened = cookie === undefined ? undefined : await seals.open(sealPurpose(site), cookie)
    // What `cookieWith` sealed.
    const all = Array.isArray(opened) ? (opened as Approval[]) : []
    return new Approvals(
      all.filter(({ at, expires }) => Math.min(expires, at + rememberMs) > Date.now()),
      seals,
      site,
    )
  }

  /** Whether a user of this browser has approved a client before, for its redirect URI. */
  async know({ clientId, redirectUri }: Pick<Approved, 'clientId' | 'redirectUri'>): Promise<boolean> {
    const client = await hashOf(clientId, redirectUri)
    return this.#all.some((one) => one.client === client)
  }

  /**
   * Returns when the approval of a request was given that this browser remembers, in milliseconds since 1970; 0 if it remembers none.
   *
   * @param user who approved it. Default: any user
   * @param acting the tenant for which the user acted. Default: any
   */
  async timeOf(
    { clientId, redirectUri, resource, scope }: Approved,
    user?: string,
    acting?: { readonly tenant: string | undefined },
  ): Promise<number> {
    const client = await hashOf(clientId, redirectUri)
    const holder = user === undefined ? undefined : await hashOf(user)
    const found = this.#all.filter(
      (one) =>
        one.client === client &&
        one.resource === resource &&
        (holder === undefined || one.user === holder) &&
        (acting === undefined || one.tenant === acting.tenant) &&
        scope.every((name) => one.scopes.includes(name)),
    )
    return Math.max(0, ...found.map(({ at }) => at))
  }

  /**
   * Returns a header that adds an approval, in the place of the oldest ones if they are too many.
   *
   * @param at when the user approved it, in milliseconds since 1970
   */
  async cookieWith(
    { clientId, redirectUri, resource, scope }: Approved,
    userId: string,
    tenant: string | undefined,
    at: number,
    rememberMs: number,
  ): Promise<string> {
    const [client, user] = await Promise.all([hashOf(clientId, redirectUri), hashOf(userId)])
    const isSame = (one: Approval) =>
      one.client === client && one.resource === resource && one.user === user && one.tenant === tenant
    const added: Approval = { client, resource, user, tenant, scopes: scope, at, expires: Date.now() + rememberMs }
    const all = [...this.#all.filter((one) => !isSame(one)), added]
    let value = await this.#seal(all, rememberMs)
    while (value.length > maxCookieCharacters && all.length > 1) {
      all.shift()
      value = await this.#seal(all, rememberMs)
    }
    return setCookie(cookieName, value, rememberMs, 'Lax')
  }

  #seal(all: readonly Approval[], lifeMs: number): Promise<string> {
    return this.#seals.seal(sealPurpose(this.#site), all, lifeMs)
  }
}

/** Returns a header that deletes all approvals of a browser. */
export const forgetApprovals = (): string => deleteCookie(cookieName)

const hashOf = async (...texts: readonly string[]): Promise<string> =>
  encodeBase64url((await sha256(JSON.stringify(texts))).subarray(0, 16))
