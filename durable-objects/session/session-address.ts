/**
 * The address by which a Subscriptions object calls a session: endpoints with one Subscriptions object may store their sessions in several
 * classes.
 */

/** The class of sessions whose address is their name. */
const usualClass = 'McpSession'

export const sessionAddress = (className: string, name: string): string =>
  className === usualClass ? name : `${className} ${name}`

/** Parses an address. A name is a UUID, so it contains no spaces. */
export function readSessionAddress(address: string): { className: string; name: string } {
  const [name = '', className = usualClass] = address.split(' ').reverse()
  return { className, name }
}
