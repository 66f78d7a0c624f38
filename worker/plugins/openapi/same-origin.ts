const redirects = new Set([301, 302, 303, 307, 308])
const maxRedirects = 5

/** Where a request goes. */
export type Target = {
  readonly url: URL
  /** The path of the operation in its document, for errors: that of the URL may contain a key. */
  readonly path: string
  /** The path of `baseUrl`, which errors do not contain. */
  readonly basePath: string
}

export class UnfollowedRedirect extends Error {}

/**
 * Sends a request, and follows redirects of GET and HEAD within the origin: another origin must not receive the headers, which are
 * credentials. Other methods are not repeated, because that could repeat their effect.
 *
 * @throws UnfollowedRedirect for a redirect that is not followed
 */
export async function fetchSameOrigin(
  { url, path, basePath }: Target,
  init: RequestInit & { method: string },
  fetch: (url: string, init: RequestInit) => Promise<Response>,
): Promise<Response> {
  for (let hop = 0, from = url; ; hop += 1) {
    const response = await fetch(from.href, { ...init, redirect: 'manual' })
    const location = redirects.has(response.status) ? response.headers.get('Location') : null
    if (location === null) return response
    await response.body?.cancel()
    const to = URL.parse(location, from.href)
    const isSafeMethod = init.method === 'GET' || init.method === 'HEAD'
    if (!to || to.origin !== url.origin || !isSafeMethod || hop === maxRedirects) {
      const isInBase = to?.pathname.startsWith(`${basePath}/`)
      const where = to ? to.origin + (isInBase ? to.pathname.slice(basePath.length) : '') : 'an invalid URL'
      throw new UnfollowedRedirect(
        `${init.method} ${path} redirects to ${where}: openApiTools() follows only redirects of GET or HEAD to the same origin`,
      )
    }
    from = to
  }
}
