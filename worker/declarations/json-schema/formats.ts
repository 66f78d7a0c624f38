/**
 * The formats of JSON Schema 2020-12, as their RFCs define them. Each check takes time in proportion to the length of the text.
 *
 * Internationalized hostnames follow UTS 46, as the URL parser of the platform does. It accepts more than IDNA 2008: the rules
 * of RFC 5892 for code points in context, and what the Punycode of an A-label stands for, are not checked.
 *
 * @see https://json-schema.org/draft/2020-12/json-schema-validation#section-7.3
 */

export type Format = {
  readonly matches: (text: string) => boolean
  /** The steps for each character, if it takes more time than in other formats: a step is up to 0.2 µs. */
  readonly steps?: number
  /** No longer text is valid. */
  readonly longest?: number
  /** A valid text, for the error. */
  readonly example: string
}

// Dates and times: RFC 3339, section 5.6 and appendix A

function isDate(text: string): boolean {
  const [, year, month, day] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text)?.map(Number) ?? []
  if (year === undefined || month === undefined || day === undefined) return false
  return month >= 1 && month <= 12 && day >= 1 && day <= daysOfMonth(year, month)
}

function daysOfMonth(year: number, month: number): number {
  if (month !== 2) return [4, 6, 9, 11].includes(month) ? 30 : 31
  return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0 ? 29 : 28
}

function isTime(text: string): boolean {
  const match = /^(\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:z|([+-])(\d\d):(\d\d))$/i.exec(text)
  if (!match) return false
  const [hour = 0, minute = 0, second = 0] = match.slice(1, 4).map(Number)
  const [offsetHour, offsetMinute] = [Number(match[5] ?? 0), Number(match[6] ?? 0)]
  if (hour > 23 || minute > 59 || second > 60 || offsetHour > 23 || offsetMinute > 59) return false
  // A leap second is the last one of a day in UTC.
  const offset = (offsetHour * 60 + offsetMinute) * (match[4] === '-' ? -1 : 1)
  const minutesUtc = (hour * 60 + minute - offset + minutesOfDay) % minutesOfDay
  return second < 60 || minutesUtc === minutesOfDay - 1
}

const minutesOfDay = 24 * 60

const isDateTime = (text: string) => /^.{10}t/i.test(text) && isDate(text.slice(0, 10)) && isTime(text.slice(11))

/** Units follow one another without a gap: `P1Y2D` lacks its months. */
const durations =
  /^P(?:\d+W|(?=.)(?:\d+Y(?:\d+M(?:\d+D)?)?|\d+M(?:\d+D)?|\d+D)?(?:T(?:\d+H(?:\d+M(?:\d+S)?)?|\d+M(?:\d+S)?|\d+S))?)$/

// Hosts: RFC 1123, section 2.1; RFC 5890, section 2.3; RFC 4291, section 2.2

const octet = '(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)'
const ipv4 = new RegExp(`^${octet}(?:\\.${octet}){3}$`)

const isIpv6 = (text: string) => /^[\da-f:.]+$/i.test(text) && URL.canParse(`http://[${text}]`)

const mostHostnameCharacters = 253

const isHostname = (text: string) => text.length <= mostHostnameCharacters && text.split('.').every(isLabel)

function isLabel(label: string): boolean {
  if (!/^[\da-z](?:[\da-z-]{0,61}[\da-z])?$/i.test(label)) return false
  // Two hyphens in the third and fourth place announce an encoding, of which there is one.
  return label.slice(2, 4) !== '--' || /^xn--/i.test(label)
}

/** Returns a hostname in lower case, with its labels in Punycode; `undefined` when it has none. */
function toAscii(hostname: string): string | undefined {
  try {
    // A last label that is no number keeps the parser from taking the hostname for an IPv4 address.
    return new URL(`http://${hostname}.example`).hostname.slice(0, -'.example'.length)
  } catch {
    return undefined
  }
}

function isIdnHostname(text: string): boolean {
  if (text.length > mostHostnameCharacters || /[^\da-z.\u0080-\u{10ffff}-]/iu.test(text)) return false
  // In Punycode a hyphen at an end of a label is no longer at its end.
  if (/(?:^|[.。．｡])-|-(?:[.。．｡]|$)/.test(text)) return false
  const ascii = toAscii(text)
  return ascii !== undefined && isHostname(ascii)
}

// Email: RFC 5321, section 4.1.2; RFC 6531, section 3.3

const isEmail = (text: string) => isMailbox(text, isHostname) && isAscii(text)
const isIdnEmail = (text: string) => isMailbox(text, isIdnHostname)

const isAscii = (text: string) => !/[^\0-\x7f]/.test(text)

/** The longest mailbox, quoted characters included, is far below this. It bounds the work. */
const mostMailboxCharacters = 1024

function isMailbox(text: string, isDomain: (text: string) => boolean): boolean {
  if (text.length > mostMailboxCharacters) return false
  const at = text.lastIndexOf('@')
  const [local, domain] = [text.slice(0, at), text.slice(at + 1)]
  if (at < 0 || !localPart.test(local)) return false
  const literal = /^\[(?:(IPv6:)(.*)|(.*))\]$/i.exec(domain)
  if (!literal) return isDomain(domain)
  return literal[1] ? isIpv6(literal[2] ?? '') : ipv4.test(literal[3] ?? '')
}

const atom = "[\\w!#$%&'*+/=?^`{|}~\\u0080-\\uffff-]+"
const localPart = new RegExp(`^(?:${atom}(?:\\.${atom})*|"(?:[ !#-[\\]-~\\u0080-\\uffff]|\\\\[ -~])*")$`)

// URIs: RFC 3986, appendix A; IRIs: RFC 3987, section 2.2

const unreserved = '\\w.~-'
const subDelimiters = "!$&'()*+,;="

/** The characters of an IRI beyond ASCII, without the last two of each plane. */
const international = [
  '\\u{a0}-\\u{d7ff}\\u{f900}-\\u{fdcf}\\u{fdf0}-\\u{ffef}',
  ...Array.from({ length: 14 }, (_, index) => {
    const plane = (index + 1).toString(16)
    return `\\u{${plane}${plane === 'e' ? '1' : '0'}000}-\\u{${plane}fffd}`
  }),
].join('')
const privateUse = '\\u{e000}-\\u{f8ff}\\u{f0000}-\\u{ffffd}\\u{100000}-\\u{10fffd}'

const only = (characters: string) => new RegExp(`^[${characters}%]*$`, 'u')

function uriChecks(beyondAscii: string, inQuery: string) {
  const plain = unreserved.replace('-', '\\-') + subDelimiters + beyondAscii
  const name = only(plain)
  const userInfo = only(`${plain}:`)
  const path = only(`${plain}:@/`)
  const fragment = only(`${plain}:@/?`)
  const query = only(`${plain}:@/?${inQuery}`)

  function isAuthority(text: string): boolean {
    const at = text.indexOf('@')
    if (at >= 0 && !userInfo.test(text.slice(0, at))) return false
    const match = /^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/.exec(text.slice(at + 1))
    if (!match) return false
    const [, literal, host = ''] = match
    if (literal === undefined) return name.test(host)
    return isIpv6(literal) || /^v[\da-f]+\.[\w.~!$&'()*+,;=:-]+$/i.test(literal)
  }

  return (isReference: boolean) => (text: string) => {
    if (/%(?![\da-f]{2})/i.test(text)) return false
    const parts = /^(?:([^:/?#]*):)?(?:\/\/([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?$/s.exec(text)
    if (!parts) return false
    const [, scheme, authority, ownPath = '', ownQuery = '', ownFragment = ''] = parts
    if (scheme === undefined ? !isReference : !/^[a-z][a-z\d+.-]*$/i.test(scheme)) return false
    if (authority !== undefined && !isAuthority(authority)) return false
    return path.test(ownPath) && query.test(ownQuery) && fragment.test(ownFragment)
  }
}

const isUri = uriChecks('', '')
const isIri = uriChecks(international, privateUse)

// URI templates: RFC 6570, section 2

const templateExpression = /\{[^{}]*\}/g

function isUriTemplate(text: string): boolean {
  if (/%(?![\da-f]{2})/i.test(text)) return false
  if (/[\0- "<>\\^`{|}\x7f-\x9f]/.test(text.replace(templateExpression, ''))) return false
  return (text.match(templateExpression) ?? []).every((expression) => {
    const list = expression.slice(1, -1).replace(/^[+#./;?&=,!@|]/, '')
    return list.split(',').every((variable) => {
      const name = variable.replace(/(?::[1-9]\d{0,3}|\*)$/, '')
      return name.split('.').every((part) => /^[\w%]+$/.test(part))
    })
  })
}

// Others

const uuid = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i

/** RFC 6901, section 3. */
const isJsonPointer = (text: string) => (text === '' || text.startsWith('/')) && !/~(?![01])/.test(text)

function isRelativeJsonPointer(text: string): boolean {
  const [up] = /^(?:0|[1-9]\d*)/.exec(text) ?? []
  if (up === undefined) return false
  const rest = text.slice(up.length)
  return rest === '#' || isJsonPointer(rest)
}

function isRegex(text: string): boolean {
  try {
    new RegExp(text, 'u')
    return true
  } catch {
    return false
  }
}

const byPattern = (pattern: RegExp) => (text: string) => pattern.test(text)

/** By name. A format that is not here says nothing about a value. */
export const formats: ReadonlyMap<string, Format> = new Map(
  Object.entries({
    date: { matches: isDate, example: '1999-12-31' },
    time: { matches: isTime, example: '12:30:00Z' },
    'date-time': { matches: isDateTime, example: '1999-12-31T12:30:00Z' },
    duration: { matches: byPattern(durations), example: 'P1DT12H' },
    email: { matches: isEmail, example: 'ada@example.com', steps: 0.15 },
    'idn-email': { matches: isIdnEmail, example: 'ada@example.com', steps: 1.25, longest: mostMailboxCharacters },
    hostname: { matches: isHostname, example: 'www.example.com', steps: 0.15 },
    'idn-hostname': {
      matches: isIdnHostname,
      example: 'www.example.com',
      steps: 1.25,
      longest: mostHostnameCharacters,
    },
    ipv4: { matches: byPattern(ipv4), example: '192.0.2.1' },
    ipv6: { matches: isIpv6, example: '2001:db8::1' },
    uri: { matches: isUri(false), example: 'https://example.com/a' },
    'uri-reference': { matches: isUri(true), example: '/a?b#c' },
    iri: { matches: isIri(false), example: 'https://example.com/é' },
    'iri-reference': { matches: isIri(true), example: '/é' },
    'uri-template': { matches: isUriTemplate, example: 'https://example.com/{id}', steps: 0.6 },
    uuid: { matches: byPattern(uuid), example: '123e4567-e89b-12d3-a456-426614174000' },
    'json-pointer': { matches: isJsonPointer, example: '/a/0' },
    'relative-json-pointer': { matches: isRelativeJsonPointer, example: '1/a' },
    // V8 compiles a class such as `\p{L}` slowly: up to 80 µs for each of its characters.
    regex: { matches: isRegex, example: '^[a-z]+$', steps: 1000 },
  }),
)
