/** Returns the value of a cookie of a request. */
export function readCookie({ headers }: Request, name: string): string | undefined {
  const cookies = (headers.get('Cookie') ?? '').split(/; */)
  return cookies.find((cookie) => cookie.startsWith(`${name}=`))?.slice(name.length + 1)
}
