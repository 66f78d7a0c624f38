/** The page of the inspector: everything it does, its script does, as a client like any other. */
import type { Auth } from '../auth/auth.ts'
import type { Host } from '../http/host.ts'
import { Html, html } from '../page/html.ts'
import { script, style } from './assets.ts'

export type InspectorOptions =
  /** What guards the server: the same as `serve` is given. */
  | { auth: Auth }
  /** Everybody who opens the page may call everything: for servers that have nothing to hide. */
  | { open: true }

/**
 * The inspector as a page at `/`, for deployments. `wrangler dev` has it there anyway.
 *
 * @example
 * serve(server, { auth, page: inspector({ auth }) })
 *
 * @throws Error when nothing guards the server and nobody has said that this is meant
 */
export function inspector(options: InspectorOptions): (request: Request, host: Host) => Promise<Response> {
  const { auth, open } = options as { auth?: Auth; open?: boolean }
  if (!auth && open !== true) {
    throw new Error('inspector() lets everybody call everything: give it the auth of serve(), or say { open: true }')
  }
  return async (request, host) => {
    if (auth && host.auth !== auth) {
      throw new Error('inspector({ auth }) has another auth than serve(): give both the same')
    }
    const [styleHash, scriptHash] = await hashes()
    return new Response(request.method === 'HEAD' ? null : write(host).text, {
      headers: {
        'Content-Type': 'text/html; charset=utf-8',
        'Content-Security-Policy': [
          `default-src 'none'`,
          `style-src ${styleHash}`,
          `script-src ${scriptHash}`,
          `connect-src 'self'`,
          'img-src data:',
          'media-src data:',
          `base-uri 'none'`,
          `form-action 'none'`,
          `frame-ancestors 'none'`,
          `require-trusted-types-for 'script'`,
          `trusted-types 'none'`,
        ].join('; '),
        'X-Content-Type-Options': 'nosniff',
        'Referrer-Policy': 'no-referrer',
        'Cache-Control': 'no-cache',
      },
    })
  }
}

/** Of style and script, which never change while the Worker runs. */
let hashed: Promise<string[]> | undefined
const hashes = () => (hashed ??= Promise.all([style, script].map(hash)))

/** @see https://www.w3.org/TR/CSP3/#grammardef-hash-source */
async function hash(text: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))
  return `'sha256-${btoa(String.fromCharCode(...new Uint8Array(digest)))}'`
}

function write({ objects, paths, server: { registry } }: Host): Html {
  const { name, title = name } = registry.options
  return html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title} – inspector</title>
<link rel="icon" href="${icon}">
<style>${new Html(style)}</style>
<body data-mcp="${paths.mcp}"${objects && paths.sse && html` data-sse="${paths.sse}"`}>
<header><img src="${icon}" width="24" alt=""><h1>${title}</h1><small>inspector</small></header>
<main><noscript><p>The inspector is a script: it needs JavaScript.</p></noscript></main>
${new Html(`<script type="module">${script}</script>`)}`
}

const icon =
  "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 2 2'><circle cx='1' cy='1' r='1' fill='%230b6b4a'/><path d='M1 0a1 1 0 0 1 0 2' fill='%2363d2a4'/></svg>"
