/** Serves the host's page, its sandbox under another name, and the way to the server, which is the host's own. */
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import type { McpUiResourceCsp } from '@modelcontextprotocol/ext-apps/app-bridge'
import { build } from 'esbuild'

export type HostServer = { readonly port: number } & AsyncDisposable

/** @param server where the tools are */
export async function serveHost(server: URL): Promise<HostServer> {
  const read = (name: string) => readFile(join(import.meta.dirname, name), 'utf8')
  const [page, sandbox, script] = await Promise.all([read('host.html'), read('sandbox.html'), bundle('host.ts')])

  const web = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://host.invalid')
    if (pathname === '/mcp') {
      await passOn(request, response, server)
    } else if (pathname === '/host.js') {
      response.writeHead(200, { 'Content-Type': 'text/javascript' }).end(script)
    } else if (pathname === '/sandbox') {
      const policy = policyOf(JSON.parse(searchParams.get('csp') ?? '{}'))
      response.writeHead(200, { 'Content-Type': 'text/html', 'Content-Security-Policy': policy }).end(sandbox)
    } else {
      response.writeHead(200, { 'Content-Type': 'text/html' }).end(page)
    }
  })
  web.listen(0, '127.0.0.1')
  await once(web, 'listening')
  return {
    port: (web.address() as { port: number }).port,
    async [Symbol.asyncDispose]() {
      web.closeAllConnections()
      web.close()
      await once(web, 'close')
    },
  }
}

/**
 * What a view may do, from the domains it asks for: nothing beyond itself if there are none.
 *
 * @see https://github.com/modelcontextprotocol/ext-apps/blob/main/specification/2026-01-26/apps.mdx
 */
function policyOf({ connectDomains, resourceDomains = [], frameDomains, baseUriDomains }: McpUiResourceCsp): string {
  const among = (domains: readonly string[] | undefined, otherwise: string) => domains?.join(' ') || otherwise
  const resources = resourceDomains.join(' ')
  return [
    `default-src 'none'`,
    `object-src 'none'`,
    `script-src 'self' 'unsafe-inline' ${resources}`,
    `style-src 'self' 'unsafe-inline' ${resources}`,
    `img-src 'self' data: ${resources}`,
    `media-src 'self' data: ${resources}`,
    `font-src 'self' ${resources}`,
    `connect-src ${among(connectDomains, `'none'`)}`,
    `frame-src ${among(frameDomains, `'none'`)}`,
    `base-uri ${among(baseUriDomains, `'self'`)}`,
  ].join('; ')
}

const requestHeaders = ['accept', 'content-type', 'mcp-protocol-version', 'mcp-method', 'mcp-name', 'mcp-session-id']
const answerHeaders = ['content-type', 'mcp-session-id']

async function passOn(request: IncomingMessage, response: ServerResponse, server: URL): Promise<void> {
  const gone = new AbortController()
  response.on('close', () => gone.abort())
  const body = request.method === 'POST' ? await text(request) : undefined
  const headers = only(requestHeaders, (name) => request.headers[name])
  try {
    const answer = await fetch(server, { method: request.method, headers, body, signal: gone.signal })
    const answered = only(answerHeaders, (name) => answer.headers.get(name))
    response.writeHead(answer.status, answered).flushHeaders()
    await pipeline(answer.body ?? [], response)
  } catch (problem) {
    // The stream beside the calls ends when its page is closed.
    if (!gone.signal.aborted) response.destroy(problem as Error)
  }
}

function only(names: readonly string[], read: (name: string) => unknown): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = read(name)
      return typeof value === 'string' ? [[name, value]] : []
    }),
  )
}

async function bundle(name: string): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [join(import.meta.dirname, name)],
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'browser',
    target: 'es2024',
  })
  return outputFiles[0]?.text ?? ''
}
