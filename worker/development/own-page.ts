/** Does a page of this server ask, on this machine? However many others may call it, by a tunnel or from other pages. */
export function isOwnPage({ url, headers }: Request): boolean {
  const { origin, hostname } = new URL(url)
  const site = headers.get('Sec-Fetch-Site') ?? 'none'
  return (
    /^(?:localhost|127\.0\.0\.1|\[::1\])$/.test(hostname) &&
    (headers.get('Origin') ?? origin) === origin &&
    ['same-origin', 'none'].includes(site)
  )
}
