/** A tool that compresses a file, and keeps it as a resource of the session. */
import { env } from 'cloudflare:workers'
import { type Context, embeddedResource, resourceLink, type Server, toolError } from 'edgemcp'
import { type Store, state } from 'edgemcp/state'
import * as z from 'zod'

/** Bytes of one row: a row of a Durable Object has at most 2 MB. */
const rowBytes = 1_000_000

const tables = ['CREATE TABLE rows (name TEXT, part INTEGER, bytes BLOB, PRIMARY KEY (name, part)) WITHOUT ROWID']

const operations = (store: Store) => ({
  save(name: string, bytes: ArrayBuffer) {
    store.sql('DELETE FROM rows WHERE name = ?', name)
    for (let part = 0; part === 0 || part * rowBytes < bytes.byteLength; part++) {
      const row = bytes.slice(part * rowBytes, (part + 1) * rowBytes)
      store.sql('INSERT INTO rows VALUES (?, ?, ?)', name, part, row)
    }
  },
  read: (name: string) =>
    store
      .sql<{ bytes: ArrayBuffer }>('SELECT bytes FROM rows WHERE name = ? ORDER BY part', name)
      .map(({ bytes }) => bytes),
  names: () => store.sql<{ name: string }>('SELECT DISTINCT name FROM rows ORDER BY name').map(({ name }) => name),
})

/** The files of a session. A client of 2026-07-28 has none: each of its files has a handle. */
const sessionFiles = state('session-files', { per: 'session', tables }, operations)
const singleFiles = state('single-files', { per: 'handle', ttl: '1h', tables }, operations)

const mimeType = 'application/gzip'

export function gzip(server: Server): void {
  const sessionFile = server.resource(
    'demo://resource/session/{+file}',
    {
      name: 'Session File',
      description: 'A file of this session, made by gzip-file-as-resource',
      mimeType,
      async list({ session, state }) {
        const names = session ? await state(sessionFiles).names() : []
        return names.map((name) => ({ file: name, name }))
      },
    },
    async ({ file }, ctx) => (ctx.session ? wholeFile(await ctx.state(sessionFiles).read(file)) : undefined),
  )

  const singleFile = server.resource(
    'demo://resource/file/{handle}/{+file}',
    { name: 'Single File', description: 'A file made by gzip-file-as-resource for a client without session', mimeType },
    async ({ handle, file }, ctx) => wholeFile(await ctx.state(singleFiles, handle).read(file)),
  )

  async function save(name: string, bytes: ArrayBuffer, ctx: Context): Promise<string> {
    if (ctx.session) {
      await ctx.state(sessionFiles).save(name, bytes)
      await server.notify.resourcesChanged({ session: ctx.session.id })
      return sessionFile.uri({ file: name })
    }
    const handle = await ctx.createHandle(singleFiles)
    await ctx.state(singleFiles, handle).save(name, bytes)
    return singleFile.uri({ handle, file: name })
  }

  server.tool(
    'gzip-file-as-resource',
    {
      title: 'GZip File as Resource Tool',
      description: 'Fetches a file, compresses it, and returns it as a link to a resource, or as an embedded resource',
      inputSchema: z.object({
        name: z.string().default('README.md.gz').describe('The name of the compressed file'),
        data: z
          .url()
          .default('https://raw.githubusercontent.com/modelcontextprotocol/servers/refs/heads/main/README.md')
          .describe('The file: an http, https or data URL'),
        outputType: z.enum(['resourceLink', 'resource']).default('resourceLink').describe('What to return'),
      }),
      annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: true },
    },
    async ({ name, data, outputType }, ctx) => {
      const refusal = refuse(new URL(data))
      if (refusal) return toolError(`Error processing file ${data}: ${refusal}`)
      const bytes = await compress(await fetchFile(data, ctx.signal))
      const uri = await save(name, bytes, ctx)
      if (outputType === 'resourceLink') return resourceLink(uri, { name, mimeType })
      return embeddedResource({ uri, mimeType, blob: base64(bytes) })
    },
  )
}

/** Returns why a URL is not fetched. */
function refuse({ protocol, hostname, href }: URL): string | undefined {
  if (protocol === 'data:') return undefined
  if (protocol !== 'http:' && protocol !== 'https:') {
    return `Unsupported URL protocol for ${href}. Only http, https, and data URLs are supported.`
  }
  const allowed = variable('GZIP_ALLOWED_DOMAINS')
    .split(',')
    .map((domain) => domain.trim().toLowerCase())
    .filter((domain) => domain !== '')
  const isAllowed =
    allowed.length === 0 || allowed.some((domain) => hostname === domain || hostname.endsWith(`.${domain}`))
  return isAllowed ? undefined : `Domain ${hostname} is not in the allowed domains list.`
}

/** Fetches a file within the limits of the Worker's variables. @throws Error for a larger or slower file */
async function fetchFile(url: string, signal: AbortSignal): Promise<Blob> {
  const [mostBytes, mostMs] = [Number(variable('GZIP_MAX_FETCH_SIZE')), Number(variable('GZIP_MAX_FETCH_TIME_MILLIS'))]
  const timeout = AbortSignal.timeout(mostMs)
  try {
    const response = await fetch(url, { signal: AbortSignal.any([signal, timeout]) })
    const declared = Number(response.headers.get('Content-Length') ?? 0)
    if (declared > mostBytes) throw new Error(`Content-Length for ${url} exceeds max of ${mostBytes}: ${declared}`)
    const parts: Uint8Array<ArrayBuffer>[] = []
    let bytes = 0
    for await (const part of response.body ?? []) {
      bytes += part.byteLength
      if (bytes > mostBytes) throw new Error(`Response from ${url} exceeds ${mostBytes} bytes`)
      parts.push(new Uint8Array(part))
    }
    return new Blob(parts)
  } catch (problem) {
    if (timeout.aborted) throw new Error(`Fetching ${url} took more than ${mostMs} ms and was aborted.`)
    throw problem
  }
}

const compress = (file: Blob): Promise<ArrayBuffer> =>
  new Response(file.stream().pipeThrough(new CompressionStream('gzip'))).arrayBuffer()

async function wholeFile(parts: readonly ArrayBuffer[]): Promise<ArrayBuffer | undefined> {
  return parts.length > 0 ? new Blob([...parts]).arrayBuffer() : undefined
}

function base64(bytes: ArrayBuffer): string {
  let binary = ''
  for (const byte of new Uint8Array(bytes)) binary += String.fromCharCode(byte)
  return btoa(binary)
}

const variable = (name: string): string => String(Reflect.get(env, name) ?? '')
