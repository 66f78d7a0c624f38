/** How a Subscriptions object calls a session: endpoints that share it may keep their sessions in several classes. */

/** Sessions of this class are called by their names alone. */
const usualClass = 'McpSession'

export const sessionAddress = (className: string, name: string): string =>
  className === usualClass ? name : `${className} ${name}`

/** A name is a UUID, so it has no spaces. An older release called the sessions of every class by their names alone. */
export function readSessionAddress(address: string): { className: string; name: string } {
  const [name = '', className = usualClass] = address.split(' ').reverse()
  return { className, name }
}
