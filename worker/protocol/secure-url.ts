import { isLoopback } from './loopback.ts'

/** Whether a text is an absolute https URL, or an http URL of this machine, whose requests cannot be read or changed on the way. */
export function isSecureUrl(text: string): boolean {
  const url = URL.parse(text)
  return url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url.hostname))
}
