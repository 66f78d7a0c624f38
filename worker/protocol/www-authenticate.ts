/** @see https://www.rfc-editor.org/rfc/rfc6750#section-3 */
export type Challenge = {
  /** Absent if the request had no credential. */
  error?:
    | 'invalid_request'
    | 'invalid_token'
    | 'insufficient_scope'
    | 'invalid_dpop_proof'
    | 'use_dpop_nonce'
    | undefined
  description?: string | undefined
  scopes?: readonly string[] | undefined
  /** URL of the metadata of this resource. RFC 9728, section 5.1. */
  metadata?: string | undefined
  /** Signature algorithms of proofs: the scheme is DPoP. RFC 9449, section 7.1. */
  algs?: string | undefined
}

/** Returns the value of `WWW-Authenticate`. */
export function challengeText({ error, description, scopes, metadata, algs }: Challenge): string {
  const parameters = {
    resource_metadata: metadata,
    scope: scopes?.length ? scopes.join(' ') : undefined,
    algs,
    error,
    error_description: description,
  }
  const written = Object.entries(parameters).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}="${quotable(value)}"`],
  )
  return `${algs === undefined ? 'Bearer' : 'DPoP'} ${written.join(', ')}`.trim()
}

/** Replaces characters that could end the quoted text, or the header. */
const quotable = (text: string) => text.replace(/[^ !#-[\]-~]/g, "'")
