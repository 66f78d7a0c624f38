import { isObject } from '../../protocol/jsonrpc.ts'
import type { Params } from '../../protocol/types.ts'
import { resolveReference } from './references.ts'

/** Headers that this server, the runtime or intermediaries set; `x-http-method` and similar ones change the method. */
const names = new Set(
  (
    'accept accept-charset accept-encoding authorization connection content-encoding content-length content-type cookie cookie2 ' +
    'date expect forwarded host http2-settings keep-alive origin referer set-cookie te trailer transfer-encoding true-client-ip ' +
    'traceparent tracestate baggage upgrade via x-host x-tunneled-method l5d-client-id x-client-dn x-cluster-client-ip ' +
    'x-http-method x-http-method-override x-http-host-override x-method-override x-envoy-external-address client-cert ' +
    'x-arr-clientcert x-spiffe-id dpop alt-used'
  ).split(' '),
)
const prefixes = (
  'cf- mcp- proxy- sec- oidc- x-oidc- x-webauth- x-vercel- x-middleware- ' +
  'x-original- x-rewrite- x-replaced- x-envoy- x-hasura- x-auth- x-authenticated- x-authentik- x-pomerium- ' +
  'x-vouch- x-amzn-oidc- x-goog-authenticated- x-goog-iap- x-ms-client-principal x-ms-token- x-appengine- tailscale- impersonate- x-impersonate- ' +
  'cloudfront-viewer- x-remote-extra- ssl-client- x-ssl- x-client-cert x-credential-'
).split(' ')
/** Headers of credentials, of users that a gateway has authenticated, and of addresses. */
const patterns = [
  /(?:^|-)(?:auth|authorization|\w*tokens?|jwt|bearer|csrf|xsrf|secret|password|passwd|passphrase|pin|otp|credentials?)(?:-id)?$/,
  /(?:^|-)(?:sid|session|session-?id|proxy|user|groups|roles|sudo|on-behalf-of|signature|signature-input|signature-\d+)$/,
  /(?:^|-)(?:access|account|admin|api|app|application|auth|client|functions?|license|mashape|master|rapidapi|private|secret|service|subscription)-?keys?(?:-id)?$/,
  /^(?:x-)?remote-(?:name|email|group|user-id)$/,
  /^x-consumer-(?:id|name|username|custom-id)$/,
  /(?:userinfo|jwt-(?:assertion|payload))$/,
  /(?:^|-)(?:client|originating|real|remote)-?(?:addr|address)$/,
  /(?:^|-|client|socket|real|remote)ip$/,
  /(?:^|-)forwarded/,
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

/**
 * Whether a security scheme of a document sends its credentials in a header.
 *
 * @see https://spec.openapis.org/oas/v3.2.0.html#security-scheme-object
 */
export function isSecurityHeader(name: string, document: Params): boolean {
  const { securitySchemes } = isObject(document.components) ? document.components : {}
  return Object.values(isObject(securitySchemes) ? securitySchemes : {}).some((value) => {
    const isReference = isObject(value) && typeof value.$ref === 'string'
    const scheme = isReference ? resolveReference(document, String(value.$ref)) : value
    return isObject(scheme) && scheme.in === 'header' && headerKey(String(scheme.name)) === headerKey(name)
  })
}
