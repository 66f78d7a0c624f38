/**
 * Whether a host, as `URL.hostname` writes it, is this machine.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6761#section-6.3 localhost and the names below it
 * @see https://www.rfc-editor.org/rfc/rfc1122#section-3.2.1.3 127.0.0.0/8
 */
export const isLoopback = (hostname: string): boolean =>
  /^(?:(?:.+\.)?localhost|\[::1\]|127(?:\.\d{1,3}){3})$/.test(hostname)

/** Whether an IP address, without brackets, is of this machine, also as an IPv4 address mapped to IPv6. RFC 4291, section 2.5. */
export const isLoopbackAddress = (address: string): boolean =>
  /^(?:(?:::ffff:)?127(?:\.\d{1,3}){3}|::1)$/i.test(address)
