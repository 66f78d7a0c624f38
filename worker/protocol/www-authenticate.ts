/** @see https://www.rfc-editor.org/rfc/rfc6750#section-3 */
export type Challenge = {
  /** Left out when the request carried no credential at all. */
  error?: 'invalid_request' | 'invalid_token' | 'insufficient_scope' | undefined
  description?: string | undefined
  scopes?: readonly string[] | undefined
  /** Where this resource describes itself. RFC 9728, section 5.1. */
  metadata?: string | undefined
}

/** The value of `WWW-Authenticate`. */
export function challengeText({ error, description, scopes, metadata }: Challenge): string {
  const parameters = {
    resource_metadata: metadata,
    scope: scopes?.length ? scopes.join(' ') : undefined,
    error,
    error_description: description,
  }
  const written = Object.entries(parameters).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}="${quotable(value)}"`],
  )
  return `Bearer ${written.join(', ')}`.trim()
}

/** Nothing that could end the text, or the header, early. */
const quotable = (text: string) => text.replace(/[^ !#-[\]-~]/g, "'")
