/** Test users: a developer makes them up in the inspector, in the place of a token that an issuer has signed. */
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

/** The user as a bearer token. It is no secret, and no good anywhere but in development. */
export const inspectorUserToken = (user: InspectorUser): string => mark + encodeBase64(utf8(JSON.stringify(user)))

/** `undefined` for tokens of other kinds. */
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
