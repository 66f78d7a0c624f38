/**
 * Decides who may use test users and read Durable Objects: a browser that was opened with the link that the terminal prints. An IP address
 * or host name proves nothing, because a tunnel may rewrite `Host` and add no header of its own.
 */
import { isSameText } from '../../sealing/same-text.ts'

const parameter = 'inspector'

/** The Cache API of this machine keeps a generated key while the Worker reloads. Only the code of the Worker reads it. */
const cacheName = 'edgemcp-inspector'
const cachedAt = 'https://edgemcp.invalid/inspector-key'
const lifetimeSeconds = 24 * 60 * 60

let generated: string | undefined

/** Returns the variable `EDGEMCP_INSPECTOR_KEY`, or a generated key that is valid for a day. */
export async function inspectorKey(env: object): Promise<string> {
  const key: unknown = Reflect.get(env, 'EDGEMCP_INSPECTOR_KEY')
  if (typeof key === 'string' && key !== '') return key
  return generated ?? (await cachedKey())
}

async function cachedKey(): Promise<string> {
  const cache = await caches.open(cacheName)
  const cached = await (await cache.match(cachedAt))?.text()
  // Another request may have generated it meanwhile.
  if (generated !== undefined) return generated
  generated = cached || crypto.randomUUID()
  const headers = { 'Cache-Control': `max-age=${lifetimeSeconds}` }
  if (!cached) await cache.put(cachedAt, new Response(generated, { headers }))
  return generated
}

/** Returns the link that authenticates a browser. */
export const inspectorLink = async (url: URL, env: object): Promise<string> =>
  `${url.origin}/?${parameter}=${await inspectorKey(env)}`

/**
 * Answers the link: stores the key in a cookie, and removes it from the URL. Returns `undefined` for other requests, and for the URL to
 * which a link with another key leads.
 */
export async function signIn({ url }: Request, env: object): Promise<Response | undefined> {
  const { searchParams, port } = new URL(url)
  const key = searchParams.get(parameter)
  if (!key) return undefined
  const headers = new Headers({ 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer' })
  const isCurrent = isSameText(key, await inspectorKey(env))
  headers.set('Location', isCurrent ? '/' : `/?${parameter}`)
  if (isCurrent) headers.set('Set-Cookie', `${cookieName(port)}=${key}; Path=/; HttpOnly; SameSite=Strict`)
  return new Response(null, { status: 303, headers })
}

/** How the key of a browser compares with that of the server. */
export type KeyState = 'current' | 'earlier' | 'missing'

/** Returns `earlier` for a browser with another key, or that opened a link with another key: those of an earlier start. */
export async function keyState({ url, headers }: Request, env: object): Promise<KeyState> {
  const { port, searchParams } = new URL(url)
  const prefix = `${cookieName(port)}=`
  const cookies = (headers.get('Cookie') ?? '').split(/; */).filter((cookie) => cookie.startsWith(prefix))
  const key = await inspectorKey(env)
  if (cookies.some((cookie) => isSameText(cookie.slice(prefix.length), key))) return 'current'
  return cookies.length > 0 || searchParams.has(parameter) ? 'earlier' : 'missing'
}

/** Returns the name of the cookie, which contains the port: cookies belong to a host, and two servers on one machine have different keys. */
const cookieName = (port: string): string => `edgemcp-inspector-${port || 'default'}`
