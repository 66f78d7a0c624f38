import type { Html } from '../../protocol/html.ts'

/**
 * Responds with a page that no other page can frame, and that loads nothing but what the policy allows.
 *
 * @param policy directives besides those that every page has: `default-src`, `base-uri`, `form-action` and `frame-ancestors` are `'none'`
 * @see https://www.w3.org/TR/CSP3/
 */
export function htmlResponse({ method }: Request, { text }: Html, policy: readonly string[]): Response {
  return new Response(method === 'HEAD' ? null : text, {
    headers: {
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Security-Policy': ["default-src 'none'", ...policy, ...closed].join('; '),
      'X-Content-Type-Options': 'nosniff',
      'Referrer-Policy': 'no-referrer',
      'Cache-Control': 'no-cache',
    },
  })
}

const closed = ["base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"]
