/** Decides which callback URLs may be called: those of public hosts. */

/** Characters of a URL. */
const maxCharacters = 2048

/**
 * Returns what is wrong with a callback URL; `undefined` if events may be sent to it. A name is resolved by the platform, which reaches no
 * private network from a deployed Worker; addresses are decided here, in every spelling that a URL parser accepts.
 *
 * @param allowsLoopback for development: plain http to this machine is accepted, too
 */
export function problemOfUrl(text: string, allowsLoopback: boolean): string | undefined {
  if (text.length > maxCharacters) return `it has more than ${maxCharacters} characters`
  const url = URL.parse(text)
  if (!url) return 'it is no absolute URL'
  const isDevelopment = allowsLoopback && isThisMachine(url.hostname)
  if (url.protocol !== 'https:' && !(isDevelopment && url.protocol === 'http:')) return 'it needs the scheme https'
  if (url.username !== '' || url.password !== '') return 'it must not contain credentials'
  if (text.includes('#')) return 'it must not have a fragment'
  if (!isDevelopment && !isPublic(url.hostname)) return 'its host is not public'
  return undefined
}

const isThisMachine = (host: string): boolean => host === 'localhost' || host === '127.0.0.1' || host === '[::1]'

/** @param host as `URL` writes it: addresses have one spelling */
function isPublic(host: string): boolean {
  if (host.startsWith('[')) return isPublicV6(host.slice(1, -1))
  const bytes = /^(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(host)?.slice(1).map(Number)
  if (bytes) return !privateV4.some(([network, bits]) => (numberOf(bytes) ^ numberOf(network)) >>> (32 - bits) === 0)
  const labels = host.replace(/\.$/, '').split('.')
  return labels.length > 1 && labels.every((label) => label !== '') && !privateSuffix.test(`.${labels.join('.')}`)
}

/** Names that have no public address: those that are reserved (RFC 6761, 6762, 8375, 9476), and those of private networks in use. */
const privateSuffix =
  /\.(?:localhost|localdomain|local|internal|intranet|private|corp|home|lan|svc|home\.arpa|test|invalid|alt|onion)$/

const numberOf = ([a = 0, b = 0, c = 0, d = 0]: readonly number[]): number =>
  ((a << 24) | (b << 16) | (c << 8) | d) >>> 0

/** Networks that are not public: the registry of RFC 6890, with multicast and what is reserved. */
const privateV4: readonly (readonly [network: readonly number[], bits: number])[] = [
  [[0], 8],
  [[10], 8],
  [[100, 64], 10],
  [[127], 8],
  [[169, 254], 16],
  [[172, 16], 12],
  [[192, 0, 0], 24],
  [[192, 0, 2], 24],
  [[192, 88, 99], 24],
  [[192, 168], 16],
  [[198, 18], 15],
  [[198, 51, 100], 24],
  [[203, 0, 113], 24],
  [[224], 4],
  [[240], 4],
]

/** Global unicast is 2000::/3 (RFC 4291, section 2.4), without documentation, and without what contains an IPv4 address (6to4, Teredo). */
function isPublicV6(address: string): boolean {
  const [first = '', second = ''] = address.split(':')
  const [high, low] = [Number.parseInt(first || '0', 16), Number.parseInt(second || '0', 16)]
  if (high < 0x2000 || high > 0x3fff || high === 0x2002) return false
  // 2001::/23 is for protocols, 2001:db8::/32 and 3fff::/20 are for documentation.
  if (high === 0x2001 && (low < 0x200 || low === 0xdb8)) return false
  return !(high === 0x3fff && low < 0x1000)
}
