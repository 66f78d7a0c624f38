/** The metadata of an endpoint with several auths. */
import { isObject } from '../../protocol/jsonrpc.ts'
import type { Params } from '../../protocol/types.ts'

/**
 * Returns the metadata of a resource, with the authorization servers, scopes and algorithms of all auths. The first one names the resource:
 * others may spell its URL without the slash at its end. RFC 9728, section 2.
 */
export async function mergedMetadata(
  first: Promise<Response>,
  others: readonly Promise<Response>[],
): Promise<Response> {
  const response = await first
  const metadata = await jsonOf(response)
  if (!metadata) return response
  const more = await Promise.all(others.map(async (other) => jsonOf(await other)))
  const all = [metadata, ...more.filter((one) => one !== undefined)]
  const union = (name: string) => {
    const values = new Set(all.flatMap((one) => one[name] ?? []))
    return values.size > 0 ? { [name]: [...values] } : {}
  }
  const merged = {
    ...metadata,
    ...union('authorization_servers'),
    ...union('scopes_supported'),
    ...union('dpop_signing_alg_values_supported'),
    // Another auth accepts plain tokens.
    ...(!all.every((one) => one.dpop_bound_access_tokens_required) && {
      dpop_bound_access_tokens_required: undefined,
    }),
  }
  return new Response(JSON.stringify(merged), { headers: response.headers })
}

/** Returns the object that a response contains; `undefined` for an error, or the answer to a preflight. */
async function jsonOf(response: Response): Promise<Readonly<Params> | undefined> {
  if (response.status !== 200) return undefined
  const value: unknown = await response
    .clone()
    .json()
    .catch(() => undefined)
  return isObject(value) ? value : undefined
}
