import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { clientCapabilitiesKey, protocolVersionKey } from '../../worker/protocol/meta.ts'
import { newestRevision, revisions } from '../../worker/protocol/revisions/index.ts'
import { startEverything, startServer, type TestServer } from '../support/server.ts'

let everything: TestServer
let strange: TestServer

beforeAll(async () => {
  ;[everything, strange] = await Promise.all([startEverything(), startServer('test/page/odd')])
})
afterAll(() => Promise.all([everything?.harness.close(), strange?.harness.close()]))

const open = (server: TestServer, method = 'GET') => fetch(new URL('/', server.url), { method })

/** The page of the server behind auth, which goes by another host name. */
async function closedPage(): Promise<string> {
  const response = await strange.harness.fetch(`http://closed.localhost:${strange.url.port}/`)
  expect(response.status).toBe(200)
  return response.text()
}

describe('the response', () => {
  test('is an HTML page with headers against referrers and frames', async () => {
    const { status, headers } = await open(everything)
    expect(status).toBe(200)
    expect(headers.get('Content-Type')).toBe('text/html; charset=utf-8')
    expect(headers.get('X-Content-Type-Options')).toBe('nosniff')
    expect(headers.get('Referrer-Policy')).toBe('no-referrer')
    expect(headers.get('Cache-Control')).toBe('no-cache')
    expect(directivesOf(headers).get('frame-ancestors')).toBe("'none'")
  })

  test('allows its own style and script, by hash', async () => {
    for (const server of [everything, strange]) {
      const response = await open(server)
      const page = await response.text()
      expect(Object.fromEntries(directivesOf(response.headers))).toEqual({
        'default-src': "'none'",
        'style-src': sha256(only(page, /<style>(.*?)<\/style>/gs)),
        'script-src': sha256(only(page, /<script>(.*?)<\/script>/gs)),
        'img-src': 'data:',
        'base-uri': "'none'",
        'form-action': "'none'",
        'frame-ancestors': "'none'",
      })
    }
  })

  test('loads no resources and has no inline handlers or styles', async () => {
    for (const server of [everything, strange]) {
      const tags = tagsOf(await (await open(server)).text())
      expect(tags.filter((tag) => /\s(on\w+|style)\s*=/i.test(tag))).toEqual([])
      const addresses = tags.flatMap((tag) =>
        [...tag.matchAll(/\s(?:src|href)="([^"]*)"/g)].map(([, address]) => address),
      )
      expect(addresses.length).toBeGreaterThan(0)
      expect(addresses.filter((address) => !address?.startsWith('data:image/'))).toEqual([])
    }
  })

  test('has a language, one title, one main landmark and ordered headings', async () => {
    const page = await (await open(everything)).text()
    expect(page).toMatch(/^<!doctype html>\n<html lang="en">/)
    expect(page).toContain('<meta name="viewport" content="width=device-width">')
    expect(only(page, /<title>(.*?)<\/title>/g)).toBe('Everything – MCP server')
    for (const part of ['header', 'main', 'h1']) only(page, new RegExp(`<${part}>(.*?)</${part}>`, 'gs'))
    const levels = [...page.matchAll(/<h(\d)>/g)].map(([, level]) => Number(level))
    expect(levels.filter((level, index) => level > (levels[index - 1] ?? 0) + 1)).toEqual([])
  })

  test('to HEAD has the headers of the page without a body', async () => {
    const [head, get] = await Promise.all([open(everything, 'HEAD'), open(everything)])
    expect(head.status).toBe(200)
    for (const name of ['Content-Type', 'Content-Security-Policy']) {
      expect(head.headers.get(name)).toBe(get.headers.get(name))
    }
    expect(await head.text()).toBe('')
  })

  test.each(['POST', 'PUT', 'DELETE'])('to %s has status 405', async (method) => {
    const { status, headers } = await open(everything, method)
    expect(status).toBe(405)
    expect(headers.get('Allow')).toBe('GET, HEAD, OPTIONS')
  })

  test('stays below its size limit', async () => {
    expect(gzipSync(await closedPage()).byteLength).toBeLessThan(2_500)
    const page = await (await open(everything)).text()
    const names = page.match(/<li>/g) ?? []
    // What there is to say about each entry is all that a longer list costs.
    expect(page.length).toBeLessThan(6_000 + 150 * names.length)
  })
})

describe('the content of the page', () => {
  test('has the name of the server, its URL and its protocol versions', async () => {
    const text = textOf(await (await open(everything)).text())
    expect(text).toContain('everything 1.0.0')
    expect(text).toContain('A server for tests')
    expect(text).toContain('Call the tools.')
    expect(text).toContain(everything.url.href)
    expect(text).toContain(new URL('/sse', everything.url).href)
    expect(text).toContain(revisions.map(({ date }) => date).join(', '))
  })

  test('uses the requested host', async () => {
    const { port } = everything.url
    const response = await everything.harness.fetch(`http://here.localhost:${port}/`)
    expect(snippet(await response.text(), 'endpoint')).toBe(`http://here.localhost:${port}/mcp`)
  })

  test('lists every tool, resource, template and prompt that anonymous clients can list', async () => {
    const page = await (await open(everything)).text()
    const entries = entriesOf(page)
    const [tools, templates, prompts] = await Promise.all([
      listAll(everything, 'tools/list', 'tools'),
      listAll(everything, 'resources/templates/list', 'resourceTemplates'),
      listAll(everything, 'prompts/list', 'prompts'),
    ])
    const fixed = (await listAll(everything, 'resources/list', 'resources')).filter(
      ({ uri }) => !/^note:/.test(String(uri)),
    )
    const told = [...tools, ...fixed, ...templates, ...prompts]
    expect(entries).toHaveLength(told.length)
    told.forEach((item, index) => {
      const entry = entries[index]
      expect(entry).toContain(String(item.title ?? item.uri ?? item.uriTemplate ?? item.name))
      expect(entry).toContain(String(item.uri ?? item.uriTemplate ?? `${item.name}(`))
      expect(entry).toContain(String(item.description))
    })
    expect(page).not.toContain('secret')
    expect(textOf(page)).toContain(`Tools ${tools.length}`)
  })

  test('shows the arguments of tools and prompts, and marks optional ones', async () => {
    const entries = entriesOf(await (await open(everything)).text())
    expect(entries).toContainEqual(expect.stringContaining('add(a, b)'))
    expect(entries).toContainEqual(expect.stringContaining('region(region?, count?, dry?, inner?)'))
    expect(entries).toContainEqual(expect.stringContaining('nothing()'))
    expect(entries).toContainEqual(expect.stringContaining('review(language, code?)'))
  })

  test('has only annotations that a tool declares', async () => {
    const entries = entriesOf(await (await open(strange)).text())
    const wipe = entries.find((entry) => entry.includes('wipe('))
    const look = entries.find((entry) => entry.includes('look('))
    expect(wipe).toContain('destructive')
    expect(wipe).not.toContain('read-only')
    expect(look).toContain('read-only')
    // A tool that changes nothing destroys nothing, whatever else it says.
    expect(look).not.toContain('destructive')
    expect(entriesOf(await (await open(everything)).text())[0]).not.toMatch(/read-only|destructive/)
  })

  test('omits entries with visibleTo, and entries that a template lists', async () => {
    const page = await (await open(strange)).text()
    expect(page).toContain('odd://{id}')
    expect(page).not.toMatch(/members|broken/i)
    expect(page).not.toContain('private')
  })

  test('escapes all texts', async () => {
    const page = await (await open(strange)).text()
    const known =
      /^<[!/]?(?:doctype|html|meta|title|link|style|header|img|div|h[123]|p|code|main|section|figure|pre|details|summary|small|em|b|ul|li|script)\b/
    expect(tagsOf(page).filter((tag) => !known.test(tag))).toEqual([])
    for (const name of ['title', 'style', 'script', 'img', 'h1']) expect(page.split(`<${name}`)).toHaveLength(2)
    expect(page).not.toMatch(/<[^>]*javascript:/)
    const text = textOf(page)
    for (const said of [
      '</title><script>alert("title")</script>',
      `<b>odd</b> & 'name'; touch "$HOME"`,
      '"><svg onload=alert(1)>',
      `<img src=x onerror=alert('description')>`,
      '</style><style>*{display:none}</style>\nSecond line &amp; third',
      '<h1>Wipe</h1>',
      '</li></ul><a href="javascript:alert(1)">click</a>',
      'wipe(<i>what, "why"?)',
      '<u>name text/<html>',
      'odd://"><script>alert(2)</script>',
      '<b>prompt(</code>)',
    ]) {
      expect(text).toContain(said)
    }
  })
})

describe('a server with auth', () => {
  test('shows its name, title, description and connection snippets, and no entries', async () => {
    const page = await closedPage()
    const text = textOf(page)
    for (const shown of ['Closed', 'closed', 'For members', 'Claude Code']) expect(text).toContain(shown)
    expect(page).not.toMatch(/hidden/i)
    expect(page).not.toContain('7.6.5')
    expect(page).not.toContain('McpSession')
    expect(entriesOf(page)).toEqual([])
    expect([...page.matchAll(/<h2>(.*?)<\/h2>/g)].map(([, heading]) => heading)).toEqual(['Endpoint', 'Connect'])
  })

  test('answers the curl command of its page, with a token', async () => {
    const line = snippet(await closedPage(), 'curl')
    expect(line).toContain('closed.localhost')
    const refused = JSON.parse(await shell(line, { TOKEN: 'bad' }))
    expect(refused.error).toBeDefined()
    const answer = JSON.parse(await shell(line, { TOKEN: 'good' }))
    expect(answer.result.tools).toMatchObject([{ name: 'hidden_tool' }])
  })
})

describe('the connection snippets', () => {
  test('have a curl command that works unchanged', async () => {
    const answer = JSON.parse(await shell(snippet(await (await open(everything)).text(), 'curl')))
    const names = answer.result.tools.map(({ name }: { name: string }) => name)
    const all = (await listAll(everything, 'tools/list', 'tools')).map(({ name }) => name)
    expect(names.length).toBeGreaterThan(0)
    expect(all.slice(0, names.length)).toEqual(names)
  })

  test('have a curl command that works for a server name with special characters', async () => {
    const line = snippet(await (await open(strange)).text(), 'curl')
    expect(JSON.parse(await shell(line)).result.tools).toMatchObject([{ name: 'wipe' }, { name: 'look' }])
  })

  test('have a Claude Code command with a valid name', async () => {
    const line = (name: string, server: TestServer) => `claude mcp add --transport http ${name} ${server.url.href}`
    expect(snippet(await (await open(everything)).text(), 'Claude Code')).toBe(line('everything', everything))
    expect(snippet(await (await open(strange)).text(), 'Claude Code')).toBe(line('b-odd-b-name-touch-HOME', strange))
  })

  test('have an MCP Inspector command', async () => {
    const line = snippet(await (await open(everything)).text(), 'MCP Inspector')
    const words = (await shell(`printf '%s\\n' ${line}`)).trimEnd().split('\n')
    const options = ['--transport', 'http', '--method', 'tools/list']
    expect(words).toEqual(['npx', '@modelcontextprotocol/inspector', '--cli', everything.url.href, ...options])
  })

  test('have JSON for the files of Cursor and VS Code', async () => {
    const page = await (await open(everything)).text()
    const url = everything.url.href
    expect(JSON.parse(snippet(page, 'Cursor'))).toEqual({ mcpServers: { everything: { url } } })
    expect(JSON.parse(snippet(page, 'VS Code'))).toEqual({ servers: { everything: { type: 'http', url } } })
  })

  test('quote the brackets of an IPv6 address for shells', async () => {
    const { port } = strange.url
    const page = await (await strange.harness.fetch(`http://[::1]:${port}/`)).text()
    for (const label of ['Claude Code', 'MCP Inspector', 'curl']) {
      expect(snippet(page, label)).toContain(` 'http://[::1]:${port}/mcp'`)
    }
    expect(snippet(page, 'endpoint')).toBe(`http://[::1]:${port}/mcp`)
  })
})

// Reading a page

const entities = /&#(\d+);/g
const decode = (text: string) => text.replace(entities, (_, code) => String.fromCharCode(Number(code)))

/** Every tag as it stands there. What looks like one inside the style or the script is none. */
const tagsOf = (page: string): string[] => withoutCode(page).match(/<[^>]*>/g) ?? []
const withoutCode = (page: string) => page.replace(/(<(style|script)>).*?(<\/\2>)/gs, '$1$3')

/** What a person reads. */
const textOf = (page: string) => decode(withoutCode(page).replace(/<[^>]*>/g, ''))

const entriesOf = (page: string) => [...page.matchAll(/<li>(.*?)<\/li>/gs)].map(([, entry = '']) => textOf(entry))

/** What the copy button of a snippet copies. */
const snippet = (page: string, label: string) =>
  decode(only(page, new RegExp(`<pre aria-label="${label}">([^<]*)</pre>`, 'g')))

function only(page: string, pattern: RegExp): string {
  const found = [...page.matchAll(pattern)]
  expect(found, String(pattern)).toHaveLength(1)
  return found[0]?.[1] ?? ''
}

function directivesOf(headers: Headers): Map<string, string> {
  const directives = (headers.get('Content-Security-Policy') ?? '').split(';').map((part) => part.trim())
  return new Map(directives.map((part) => [part.split(' ', 1)[0] ?? '', part.slice(part.indexOf(' ') + 1)]))
}

const sha256 = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`

async function shell(line: string, variables: Record<string, string> = {}): Promise<string> {
  const env = { ...process.env, NO_PROXY: '*', no_proxy: '*', ...variables }
  const { stdout } = await promisify(execFile)('bash', ['-c', line], { env })
  return stdout
}

/** A list as a client without credentials gets it, all pages of it. */
async function listAll({ url }: TestServer, method: string, member: string): Promise<Record<string, unknown>[]> {
  const all: Record<string, unknown>[] = []
  let cursor: string | undefined
  do {
    const _meta = { [protocolVersionKey]: newestRevision.date, [clientCapabilitiesKey]: {} }
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        'MCP-Protocol-Version': newestRevision.date,
        'Mcp-Method': method,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { cursor, _meta } }),
    })
    const { result } = (await response.json()) as { result: Record<string, unknown> }
    all.push(...(result[member] as Record<string, unknown>[]))
    cursor = result.nextCursor as string | undefined
  } while (cursor !== undefined)
  return all
}
