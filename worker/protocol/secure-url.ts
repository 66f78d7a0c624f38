import { isLoopback } from './loopback.ts'

/** Is this an absolute https URL, or an http URL of this machine? Nobody on the way can read or change what is sent there. */
export function isSecureUrl(text: string): boolean {
  const url = URL.parse(text)
  return url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url.hostname))
}
