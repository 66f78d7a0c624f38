import type { HttpRequest } from '../declarations/http-request.ts'

/** The HTTP request of a call, as the Worker forwards it to the Durable Object of a session. It contains credentials: it must not be stored. */
export type ForwardedHttpRequest = Pick<HttpRequest, 'url' | 'headers'>

/** @param address IP address of the client @returns the HTTP request as handlers get it; `undefined` without one */
export const httpRequestFrom = (
  http: ForwardedHttpRequest | undefined,
  address: string | undefined,
): HttpRequest | undefined => http && { method: 'POST', ...http, address }
