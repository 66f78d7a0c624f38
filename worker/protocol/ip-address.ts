/** IP addresses from the header `CF-Connecting-IP`. */

/**
 * Returns the network of one client: an IPv4 address, or a /64 network of IPv6. An IPv4 address inside of an IPv6 address is that address.
 *
 * @see https://www.rfc-editor.org/rfc/rfc4291#section-2.5.5.2
 * @see https://www.rfc-editor.org/rfc/rfc6052#section-2.1
 */
export function networkOf(address: string): string {
  // In the form of RFC 5952, except that its end is never an IPv4 address.
  const ip = URL.parse(`http://[${address}]`)?.hostname.slice(1, -1)
  if (ip === undefined) return address
  const [, high, low] = /^(?:::ffff|64:ff9b:):(\w+):(\w+)$/.exec(ip) ?? []
  if (high !== undefined) {
    const bytes = [high, low].map((group) => Number(`0x${group}`)).flatMap((group) => [group >> 8, group & 255])
    return bytes.join('.')
  }
  const groups = (text: string) => text.split(':').filter((group) => group !== '')
  const zeros = '0:'.repeat(8 - groups(ip).length)
  return groups(ip.replace('::', `:${zeros}`))
    .slice(0, 4)
    .join(':')
}
