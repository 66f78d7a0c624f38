/**
 * Path of the metadata for clients without a token: on the host of the server, before its own path.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9728#section-3
 * @see https://www.rfc-editor.org/rfc/rfc8414#section-3
 */
export const protectedResource = '/.well-known/oauth-protected-resource'
export const authorizationServer = '/.well-known/oauth-authorization-server'
