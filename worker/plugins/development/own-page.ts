import { isLoopback, isLoopbackAddress } from '../../protocol/loopback.ts'
import { type KeyState, keyState } from './inspector-key.ts'

/** Headers that proxies and tunnels add. */
const forwarded =
  /^(?:x-forwarded-|x-original-|ngrok-|tailscale-|(?:forwarded|via|x-real-ip|x-client-ip|true-client-ip|cdn-loop)$)/

/**
 * Whether a page of this server sends a request, from a browser on this machine that has the key, and not through a tunnel or from another
 * page.
 */
export const isOwnPage = async (request: Request, env: object): Promise<boolean> =>
  (await ownPageKey(request, env)) === 'current'

/** Returns the state of the key in a request of a page of this server; `missing` for any other request. */
export async function ownPageKey(request: Request, env: object): Promise<KeyState> {
  return isLocalPage(request) ? keyState(request, env) : 'missing'
}

/** Whether a request comes from this machine, not through a tunnel, and from no page of another origin. */
export function isLocalPage({ url, headers }: Request): boolean {
  const { origin, hostname } = new URL(url)
  const site = headers.get('Sec-Fetch-Site') ?? 'none'
  const address = headers.get('CF-Connecting-IP')
  return (
    isLoopback(hostname) &&
    (headers.get('Origin') ?? origin) === origin &&
    ['same-origin', 'none'].includes(site) &&
    (address === null || isLoopbackAddress(address)) &&
    ![...headers.keys()].some((name) => forwarded.test(name))
  )
}
