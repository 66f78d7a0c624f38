/** Test users: a developer enters them in the inspector instead of a token of an issuer. */
import { decodeBase64, encodeBase64 } from '../protocol/base64.ts'
import { isObject } from '../protocol/jsonrpc.ts'
import type { Params } from '../protocol/types.ts'
import { utf8 } from '../protocol/utf8.ts'

export type InspectorUser = {
  readonly subject: string
  readonly scopes: readonly string[]
  readonly tenant: string | undefined
  readonly claims: Params
}

const mark = 'made-up-by-the-inspector.'

/** Encodes the user as a bearer token. It is not secret, and valid in development only. */
export const inspectorUserToken = (user: InspectorUser): string => mark + encodeBase64(utf8(JSON.stringify(user)))

/** Returns the user of a token; `undefined` for other tokens. */
export function parseTestUser(token: string): InspectorUser | undefined {
  if (!token.startsWith(mark)) return undefined
  try {
    const user: unknown = JSON.parse(new TextDecoder().decode(decodeBase64(token.slice(mark.length))))
    if (!isObject(user)) return undefined
    const { subject, scopes, tenant, claims } = user
    if (typeof subject !== 'string' || !Array.isArray(scopes) || !isObject(claims)) return undefined
    return { subject, scopes: scopes.map(String), tenant: tenant === undefined ? undefined : String(tenant), claims }
  } catch {
    return undefined
  }
}
