import { isLoopback, isLoopbackAddress } from '../../protocol/loopback.ts'
import { hasKey } from './inspector-key.ts'

/** What proxies and tunnels add to a request that they pass on. */
const forwarded =
  /^(?:x-forwarded-|x-original-|ngrok-|tailscale-|(?:forwarded|via|x-real-ip|x-client-ip|true-client-ip|cdn-loop)$)/

/**
 * Does a page of this server ask, in a browser of this machine that has the key? However many others may call the server, through a
 * tunnel or from other pages.
 */
export function isOwnPage(request: Request, env: object): boolean {
  const { url, headers } = request
  const { origin, hostname } = new URL(url)
  const site = headers.get('Sec-Fetch-Site') ?? 'none'
  const address = headers.get('CF-Connecting-IP')
  return (
    isLoopback(hostname) &&
    (headers.get('Origin') ?? origin) === origin &&
    ['same-origin', 'none'].includes(site) &&
    (address === null || isLoopbackAddress(address)) &&
    ![...headers.keys()].some((name) => forwarded.test(name)) &&
    hasKey(request, env)
  )
}
