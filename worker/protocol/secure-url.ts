import { isLoopback } from './loopback.ts'

/** Returns the URL of a page that a user may be sent to: https (or http on localhost), without a user name and a password. */
export function pageUrlIn(text: string): string | undefined {
  const url = URL.parse(text)
  return url && isSecureUrl(text) && !url.username && !url.password ? url.href : undefined
}

/** Whether a text is an absolute https URL, or an http URL of this machine, whose requests cannot be read or changed on the way. */
export function isSecureUrl(text: string): boolean {
  const url = URL.parse(text)
  return url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url.hostname))
}
