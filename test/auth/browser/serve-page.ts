/** Serves the page, with its client bundled as anybody would. */
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { build } from 'esbuild'

/** What the page is told. */
export type Settings = {
  server: string
  mode: unknown
  /** Headers that its client adds to each request. */
  headers?: Record<string, string>
  /** The call of its first button. Default: it reads a note. */
  read?: { name: string; arguments: Record<string, string> }
}

export type PageServer = { readonly port: number; settings: Settings | undefined } & AsyncDisposable

/** @param folder where `page.html` and `page.ts` are */
export async function servePage(folder = import.meta.dirname): Promise<PageServer> {
  const html = await readFile(join(folder, 'page.html'), 'utf8')
  const { outputFiles } = await build({
    entryPoints: [join(folder, 'page.ts')],
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'browser',
    target: 'es2024',
  })
  const script = outputFiles[0]?.text
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '', 'http://page.invalid')
    const [type, body] =
      pathname === '/page.js'
        ? ['text/javascript', script]
        : pathname === '/settings'
          ? ['application/json', JSON.stringify(page.settings)]
          : ['text/html', html]
    response.writeHead(200, { 'Content-Type': type, 'Cache-Control': 'no-store' }).end(body)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const page: PageServer = {
    port: (server.address() as { port: number }).port,
    settings: undefined,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  return page
}
