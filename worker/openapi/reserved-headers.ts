/** Set by this server, by the runtime, or by hops on the way; `x-http-method` and the like turn one method into another. */
const names = new Set(
  (
    'accept accept-charset accept-encoding authorization connection content-encoding content-length content-type cookie cookie2 ' +
    'date expect forwarded host http2-settings keep-alive origin referer set-cookie te trailer transfer-encoding true-client-ip ' +
    'upgrade via x-client-ip x-cluster-client-ip x-real-ip x-http-method x-http-method-override x-method-override'
  ).split(' '),
)
const prefixes = ['cf-', 'mcp-', 'proxy-', 'sec-', 'x-forwarded-', 'x-original-', 'x-rewrite-']

/**
 * Is this a header that no argument may set? The developer's `headers` may.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9110#section-7.6.1 hop-by-hop headers
 * @see https://fetch.spec.whatwg.org/#forbidden-request-header
 */
export function isReservedHeader(name: string): boolean {
  const lower = name.toLowerCase()
  return names.has(lower) || prefixes.some((prefix) => lower.startsWith(prefix))
}
