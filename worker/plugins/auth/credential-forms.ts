/** Finds the credential of a request, and the auth that it is for. */
import type { Auth } from '../../plugin.ts'
import type { CredentialForm } from '../../request-hooks.ts'
import { bearerToken } from './request-token.ts'
import { issuerIn } from './token-form.ts'

/** `owner`: the auth of the credential; `undefined` if no auth describes it. `malformed` states what is wrong with the request. */
type FoundCredential = { readonly owner: Auth | undefined } | { readonly malformed: string } | undefined

type Owned<F = CredentialForm> = { readonly auth: Auth; readonly form: F }

/** Characters of all bearer tokens. Each auth checks those of its own. */
const anyToken = /^[\w.~:+/-]+=*$/

export class CredentialForms {
  /** Names of the headers with credentials, besides `Authorization`. */
  readonly credentialHeaders: readonly string[]
  readonly #all: readonly Owned[]
  /** Names of the headers that the forms name. */
  readonly #headers: readonly string[]

  /** @throws Error for an auth without forms, and for forms of two auths that overlap */
  constructor(auths: readonly Auth[]) {
    for (const [index, { credentials = [] }] of auths.entries()) {
      if (credentials.length > 0) continue
      throw new Error(
        `Argument ${index + 1} of oneOf() does not describe its credentials: give your own auth the member credentials. oauthProvider() cannot be combined`,
      )
    }
    this.#all = auths.flatMap((auth) => (auth.credentials ?? []).map((form) => ({ auth, form })))
    refuseOverlaps(this.#all)
    this.#headers = this.#all.flatMap(({ form }) => ('header' in form ? form.header : []))
    this.credentialHeaders = [
      ...new Set([...this.#headers, ...auths.flatMap(({ credentialHeaders = [] }) => credentialHeaders)]),
    ]
  }

  /** Returns the one credential of a request; `undefined` for a request without one. */
  find(request: Request): FoundCredential {
    const { headers } = request
    const carriers = ['Authorization', ...this.#headers].filter((name) => headers.has(name))
    const [carrier, other] = carriers
    if (other !== undefined) {
      return { malformed: `The request has credentials in ${carriers.join(' and ')}: send one of them` }
    }
    const token = bearerToken(request, anyToken)
    if (token && 'malformed' in token) return token
    if (carrier === undefined) return undefined
    const owned = token
      ? this.#ownerOfToken(token.token)
      : this.#all.find(({ form }) => 'header' in form && form.header === carrier)
    return { owner: owned?.auth }
  }

  /** Returns headers without those that may carry a credential. */
  withoutCredentials(headers: Headers): Headers {
    const kept = new Headers(headers)
    for (const name of ['Authorization', ...this.credentialHeaders]) kept.delete(name)
    return kept
  }

  /** Returns what describes a token best: how it looks, then its issuer, then what all tokens have in common. */
  #ownerOfToken(token: string): Owned | undefined {
    const jwt = issuerIn(token)
    const describes: readonly ((form: CredentialForm) => boolean)[] = [
      (form) =>
        ('prefix' in form && token.startsWith(form.prefix)) || ('pattern' in form && token.search(form.pattern) >= 0),
      (form) => 'issuer' in form && jwt?.iss === form.issuer,
      (form) => 'tokens' in form && form.tokens === 'opaque' && jwt === undefined,
      (form) => 'tokens' in form && form.tokens === 'any',
    ]
    for (const matches of describes) {
      const owned = this.#all.find(({ form }) => matches(form))
      if (owned) return owned
    }
    return undefined
  }
}

/** @throws Error for forms of two auths, of which one would receive the credentials of the other */
function refuseOverlaps(all: readonly Owned[]): void {
  for (const [index, one] of all.entries()) {
    const { form } = one
    if ('header' in form && /^authorization$/i.test(form.header)) {
      throw new Error('The credentials of an auth of oneOf() name the header Authorization: describe its bearer tokens')
    }
    if ('prefix' in form && form.prefix === '') {
      throw new Error("The credentials of an auth of oneOf() have an empty prefix: write { tokens: 'any' }")
    }
    const twice = all.slice(index + 1).find((other) => other.auth !== one.auth && overlaps(form, other.form))
    if (!twice) continue
    throw new Error(
      `Two auths of oneOf() have the same credentials, ${JSON.stringify(form)} and ${JSON.stringify(twice.form)}: each credential must be of one auth`,
    )
  }
}

function overlaps(one: CredentialForm, other: CredentialForm): boolean {
  if ('header' in one) return 'header' in other && one.header.toLowerCase() === other.header.toLowerCase()
  if ('prefix' in one) {
    return 'prefix' in other && (one.prefix.startsWith(other.prefix) || other.prefix.startsWith(one.prefix))
  }
  if ('pattern' in one) return 'pattern' in other && String(one.pattern) === String(other.pattern)
  if ('issuer' in one) return 'issuer' in other && one.issuer === other.issuer
  return 'tokens' in other && one.tokens === other.tokens
}
