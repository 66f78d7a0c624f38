/**
 * Decides who may use test users and read Durable Objects: a browser that was opened with the link that the terminal prints. An IP address
 * or host name proves nothing, because a tunnel may rewrite `Host` and add no header of its own.
 */
import { utf8 } from '../../protocol/utf8.ts'

const parameter = 'inspector'

let minted: string | undefined

/** Returns the variable `EDGEMCP_INSPECTOR_KEY`, or a key that is valid until the Worker is reloaded. */
export function inspectorKey(env: object): string {
  const key: unknown = Reflect.get(env, 'EDGEMCP_INSPECTOR_KEY')
  minted ??= crypto.randomUUID()
  return typeof key === 'string' && key !== '' ? key : minted
}

/** Returns the link that authenticates a browser. */
export const inspectorLink = (url: URL, env: object): string => `${url.origin}/?${parameter}=${inspectorKey(env)}`

/** Answers the link: stores the key in a cookie, and removes it from the URL. Returns `undefined` for other requests. */
export function signIn({ url }: Request, env: object): Response | undefined {
  const { searchParams, port } = new URL(url)
  const key = searchParams.get(parameter)
  if (key === null) return undefined
  const headers = new Headers({ Location: '/', 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer' })
  if (isEqual(key, inspectorKey(env))) {
    headers.set('Set-Cookie', `${cookieName(port)}=${key}; Path=/; HttpOnly; SameSite=Strict`)
  }
  return new Response(null, { status: 303, headers })
}

export function hasKey({ url, headers }: Request, env: object): boolean {
  const name = `${cookieName(new URL(url).port)}=`
  const cookies = (headers.get('Cookie') ?? '').split(/; */)
  return cookies.some((cookie) => cookie.startsWith(name) && isEqual(cookie.slice(name.length), inspectorKey(env)))
}

/** Returns the name of the cookie, which contains the port: cookies belong to a host, and two servers on one machine have different keys. */
const cookieName = (port: string): string => `edgemcp-inspector-${port || 'default'}`

function isEqual(one: string, other: string): boolean {
  const [a, b] = [utf8(one), utf8(other)]
  return a.byteLength === b.byteLength && crypto.subtle.timingSafeEqual(a, b)
}
