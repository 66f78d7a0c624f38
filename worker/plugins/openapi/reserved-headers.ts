/** Headers that this server, the runtime or intermediaries set; `x-http-method` and similar ones change the method. */
const names = new Set(
  (
    'accept accept-charset accept-encoding authorization connection content-encoding content-length content-type cookie cookie2 ' +
    'date expect forwarded host http2-settings keep-alive origin referer set-cookie te trailer transfer-encoding true-client-ip ' +
    'traceparent tracestate baggage upgrade via x-host x-cluster-client-ip x-http-method x-http-method-override ' +
    'x-http-host-override x-method-override x-envoy-external-address client-cert x-spiffe-id'
  ).split(' '),
)
const prefixes = (
  'cf- mcp- proxy- sec- forwarded- x-forwarded x-original- x-rewrite- x-auth-request- x-authenticated- x-authentik- x-pomerium- ' +
  'x-vouch- x-amzn-oidc- x-goog-authenticated- x-goog-iap- x-ms-client-principal x-ms-token- x-appengine- tailscale- impersonate- ' +
  'x-remote-extra- ssl-client- x-ssl- x-client-cert x-credential-'
).split(' ')
/** Headers of credentials, of users that a gateway has authenticated, and of addresses. */
const patterns = [
  /(?:^|-)(?:auth|authorization|token|secret|password|credentials?|(?:api|access)-?key)$/,
  /(?:remote|authenticated|webauth)-user$/,
  /^(?:x-)?remote-(?:name|email|groups?)$/,
  /^x-consumer-(?:id|username|custom-id)$/,
  /(?:userinfo|jwt-assertion)$/,
  /(?:^|-)(?:client|originating|real|remote)-?(?:ip|addr|address)$/,
]

/** RFC 9110, section 5.6.2 */
const headerName = /^[\w!#$%&'*+.^`|~-]+$/
export const isHeaderName = (name: string): boolean => headerName.test(name)

/** Returns the same text for names that a server may treat as the same header: ignores case, and treats "_" as "-". */
export const headerKey = (name: string): string => name.toLowerCase().replaceAll('_', '-')

/**
 * Whether an argument must not set a header. The developer's `headers` may.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9110#section-7.6.1 hop-by-hop headers
 * @see https://fetch.spec.whatwg.org/#forbidden-request-header
 */
export function isReservedHeader(name: string): boolean {
  const key = headerKey(name)
  return (
    names.has(key) || prefixes.some((prefix) => key.startsWith(prefix)) || patterns.some((pattern) => pattern.test(key))
  )
}
