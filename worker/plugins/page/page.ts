/** The page at `/`, for people who open the address of the server in a browser. */

import type { AccessOptions } from '../../declarations/caller.ts'
import { callerOf } from '../../engine/caller.ts'
import { instructionsFor } from '../../engine/methods/discover.ts'
import { visibleEntries } from '../../engine/methods/lists.ts'
import { Html, html } from '../../protocol/html.ts'
import { clientCapabilitiesKey, protocolVersionKey } from '../../protocol/meta.ts'
import { newestRevision, revisions } from '../../protocol/revisions/index.ts'
import type { JsonSchema, ToolAnnotations } from '../../protocol/types.ts'
import type { ServerInfo } from '../../request-hooks.ts'
import { script, style } from './assets.ts'
import { htmlResponse } from './html-response.ts'
import { sourceHash } from './source-hash.ts'

/** Responds with the page: how to connect and, without `auth`, the entries that every caller sees. */
export async function writePage(request: Request, host: ServerInfo): Promise<Response> {
  const [styleHash, scriptHash, page] = await Promise.all([sourceHash(style), sourceHash(script), write(request, host)])
  return htmlResponse(request, page, [`style-src ${styleHash}`, `script-src ${scriptHash}`, 'img-src data:'])
}

async function write(request: Request, host: ServerInfo): Promise<Html> {
  const { auth, hasSessions, paths, server } = host
  const { declarations } = server
  const { name, version, title = name, description } = declarations.options
  const { origin } = new URL(request.url)
  const url = origin + paths.mcp
  const kind = declarations.tools.size > 0 ? 'tools' : declarations.prompts.size > 0 ? 'prompts' : 'resources'
  return html`<!doctype html>
<html lang="en">
<meta name="viewport" content="width=device-width">
<title>${title} – MCP server</title>
<link rel="icon" href="${icon}">
<style>${new Html(style)}</style>
<header><img src="${icon}" width="48" alt=""><div><h1>${title}</h1>${description && html`<p>${description}</p>`}<code>${name} ${!auth && version}</code></div></header>
<main>
${section('Endpoint', snippet('endpoint', url))}
${section('Connect', linesFor(slug(name), url, `${kind}/list`, auth !== undefined).map(client))}
${
  // With auth, only callers see the entries.
  !auth && [
    await offers(host),
    section('Protocol', [
      html`<p>MCP ${revisions.map(({ date }) => date).join(', ')}</p>`,
      hasSessions && html`<p>HTTP+SSE, for older clients: <code>${origin + paths.sse}</code></p>`,
    ]),
  ]
}
</main>
${new Html(`<script>${script}</script>`)}`
}

const icon =
  "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 2 2'><circle cx='1' cy='1' r='1' fill='%230b6b4a'/><path d='M1 0a1 1 0 0 1 0 2' fill='%2363d2a4'/></svg>"

const section = (heading: unknown, content: unknown) =>
  html`<section><h2>${heading}</h2><div>${content}</div></section>`

const snippet = (label: string, lines: string) => html`<figure><pre aria-label="${label}">${lines}</pre></figure>`

// How to connect

type Line = [client: string, place: string, line: string]

const client = ([name, place, line]: Line, index: number) =>
  html`<details name="client"${index === 0 && ' open'}><summary>${name} <code>${place}</code></summary>${snippet(name, line)}</details>`

function linesFor(name: string, url: string, method: string, auth: boolean): Line[] {
  const word = quoted(url)
  const { date } = newestRevision
  const params = { _meta: { [protocolVersionKey]: date, [clientCapabilitiesKey]: {} } }
  return [
    ['Claude Code', 'Terminal', `claude mcp add --transport http ${name} ${word}`],
    ['Cursor', '.cursor/mcp.json', json({ mcpServers: { [name]: { url } } })],
    ['VS Code', '.vscode/mcp.json', json({ servers: { [name]: { type: 'http', url } } })],
    [
      'MCP Inspector',
      'Terminal',
      `npx @modelcontextprotocol/inspector --cli ${word} \\
  --transport http --method ${method}`,
    ],
    [
      'curl',
      'Terminal',
      `curl ${word} \\
  -H 'Content-Type: application/json' \\
  -H 'MCP-Protocol-Version: ${date}' \\
  -H 'Mcp-Method: ${method}' \\${auth ? '\n  -H "Authorization: Bearer $TOKEN" \\' : ''}
  -d '${JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })}'`,
    ],
  ]
}

const json = (value: unknown) => JSON.stringify(value, null, 2)

/** Returns a form of the name that every client accepts. */
const slug = (name: string) => name.replace(/\W+/g, '-').replace(/^-|-$/g, '') || 'mcp'

/** Quotes a word for a shell: host names may contain special characters. */
const quoted = (word: string) => (/^[\w.:/-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)

// What there is

/** Returns a section for each kind of entry that every caller sees. */
async function offers({ server: { declarations }, report }: Pick<ServerInfo, 'server' | 'report'>) {
  const { tools, resources, templates, prompts } = declarations
  const instructions = await instructionsFor(declarations, anonymous)
  return [
    instructions && section('Instructions', html`<p>${instructions}</p>`),
    await list(
      'Tools',
      tools.values(),
      report,
      ({ item: { name, inputSchema, annotations = {}, title = annotations.title, description } }) =>
        entry(title, signature(name, fieldsOf(inputSchema)), description, hints(annotations)),
    ),
    await list('Resources', [...resources.values(), ...templates.values()], report, ({ item }) => {
      const uri = 'uri' in item ? item.uri : item.uriTemplate
      const { name, title = name === uri ? undefined : name, description, mimeType } = item
      return entry(title, uri, description, mimeType && html` <small>${mimeType}</small>`)
    }),
    await list('Prompts', prompts.values(), report, ({ item: { name, title, description, arguments: args = [] } }) =>
      entry(title, signature(name, args), description),
    ),
  ]
}

const anonymous = callerOf({
  principal: undefined,
  client: undefined,
  capabilities: {},
  request: undefined,
  protocolVersion: undefined,
})

async function list<E extends AccessOptions>(
  heading: string,
  all: Iterable<E>,
  report: ServerInfo['report'],
  written: (entry: E) => Html,
) {
  const entries = await visibleEntries(all, anonymous, report)
  return (
    entries.length > 0 &&
    section(html`${heading} <small>${entries.length}</small>`, html`<ul>${entries.map(written)}</ul>`)
  )
}

function entry(title: string | undefined, code: string, description: string | undefined, tags?: unknown): Html {
  const coded = html`<code>${code}</code>`
  return html`<li><h3>${title || coded}${tags}</h3><p>${description}</p>${title && coded}</li>`
}

const signature = (name: string, args: readonly { name: string; required?: boolean }[]) =>
  `${name}(${args.map((argument) => argument.name + (argument.required ? '' : '?')).join(', ')})`

const fieldsOf = ({ properties, required }: JsonSchema) =>
  Object.keys(Object(properties)).map((name) => ({ name, required: [required].flat().includes(name) }))

/** Returns the annotations that a tool states. Defaults are omitted. */
const hints = ({ readOnlyHint, destructiveHint }: ToolAnnotations) => [
  readOnlyHint && html` <small><em>read-only</em></small>`,
  destructiveHint && !readOnlyHint && html` <small><b>destructive</b></small>`,
]
