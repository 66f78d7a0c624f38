/** The page of the inspector. Its script does all the work, as an ordinary client. */

import { Html, html } from '../../../protocol/html.ts'
import type { ServerInfo } from '../../../request-hooks.ts'
import { htmlResponse } from '../html-response.ts'
import { sourceHash } from '../source-hash.ts'
import { script, style } from './assets.ts'

/** Hashes of the style and the script, for the Content-Security-Policy. */
let hashes: readonly string[] | undefined

/** The data on the page besides that of every client: none in a deployment; in development, the data that needs the inspector's key. */
export type Access = 'client' | 'key missing' | 'key of an earlier start' | 'developer'

export async function inspectorPage(request: Request, host: ServerInfo, access: Access): Promise<Response> {
  hashes ??= await Promise.all([style, script].map(sourceHash))
  const [styleHash, scriptHash] = hashes
  return htmlResponse(request, write(host, access), [
    `style-src ${styleHash}`,
    `script-src ${scriptHash}`,
    "connect-src 'self'",
    'img-src data:',
    'media-src data:',
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ])
}

function write({ auth, hasSessions, paths, server: { declarations } }: ServerInfo, access: Access): Html {
  const isDeveloper = access === 'developer'
  const { name, title = name } = declarations.options
  return html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title} – inspector</title>
<link rel="icon" href="${icon}">
<style>${new Html(style)}</style>
<body data-mcp="${paths.mcp}"${hasSessions && html` data-sse="${paths.sse}"`}${isDeveloper && html` data-inside="?inside"`}${isDeveloper && auth && html` data-users`}>
<header><img src="${icon}" width="24" alt=""><h1>${title}</h1><small>inspector</small></header>
${access === 'key missing' && keyMissing}${access === 'key of an earlier start' && keyOfEarlierStart}
<main><noscript><p>The inspector needs JavaScript.</p></noscript></main>
${new Html(`<script type="module">${script}</script>`)}`
}

const keyMissing = html`<div class="problem" role="note">To use test users and to see Durable Objects, open the link that npm start or wrangler dev prints, in a browser on the machine that runs the server.</div>`

const keyOfEarlierStart = html`<div class="problem" role="note">The inspector key of this browser is of an earlier start of the server: open the link that npm start or wrangler dev printed, in a browser on the machine that runs the server.</div>`

const icon =
  "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 2 2'><circle cx='1' cy='1' r='1' fill='%230b6b4a'/><path d='M1 0a1 1 0 0 1 0 2' fill='%2363d2a4'/></svg>"
