import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { crc32 } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startServer, type TestServer } from '../support/server.ts'
import { send } from './request.ts'

let server: TestServer
beforeAll(async () => {
  server = await startServer('test/discovery/server', { OPENAI_CHALLENGE: 'token-of-openai\n' })
})
afterAll(() => server?.[Symbol.asyncDispose]())

const get = (host: string, path: string, init: Parameters<typeof send>[3] = {}) => send(server.url, host, path, init)
const json = async (host: string, path: string) => JSON.parse((await get(host, path)).text)

const versions = ['2026-07-28', '2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05']
const $schema = 'https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json'
const links =
  '</.well-known/api-catalog>; rel="api-catalog"; type="application/linkset+json", ' +
  '</mcp/server-card>; rel="service-desc"; type="application/mcp-server-card+json", ' +
  '</.well-known/ai-catalog.json>; rel="describedby"; type="application/ai-catalog+json"'

const card = {
  $schema,
  name: 'com.example/weather',
  version: '1.2.0',
  title: 'Weather',
  description: 'Forecasts for every town',
  websiteUrl: 'https://weather.example',
  repository: { url: 'https://github.com/example/weather', source: 'github' },
  icons: [{ src: 'https://weather.example/icon.png', mimeType: 'image/png', sizes: ['48x48'] }],
  remotes: [{ type: 'streamable-http', url: 'http://weather.localhost/mcp', supportedProtocolVersions: versions }],
  serverInfo: { name: 'weather', version: '1.2.0', title: 'Weather' },
  transport: { type: 'streamable-http', endpoint: 'http://weather.localhost/mcp' },
  capabilities: { logging: {}, tools: { listChanged: false } },
}
const aiCatalog = {
  specVersion: '1.0',
  host: { displayName: 'Weather', identifier: 'weather.localhost' },
  entries: [
    {
      identifier: 'urn:air:example.com:mcp:weather',
      type: 'application/mcp-server-card+json',
      url: 'http://weather.localhost/mcp/server-card',
    },
  ],
}
const apiCatalog = {
  linkset: [
    {
      anchor: 'http://weather.localhost/.well-known/api-catalog',
      item: [{ href: 'http://weather.localhost/mcp' }],
    },
    {
      anchor: 'http://weather.localhost/mcp',
      'service-desc': [{ href: 'http://weather.localhost/mcp/server-card', type: 'application/mcp-server-card+json' }],
      'service-doc': [{ href: 'https://weather.example' }],
    },
  ],
}
const skillsIndex = '/.well-known/agent-skills/index.json'
const linksWithSkills = `${links}, <${skillsIndex}>; rel="describedby"; type="application/json"`
const sourdough = '---\nname: sourdough\ndescription: How to keep a starter\n---\n\nFeed it.\n'

const documents: [host: string, path: string, type: string, body: string, links: string, maxAge: number][] = [
  ['weather', '/mcp/server-card', 'application/mcp-server-card+json', JSON.stringify(card), links, 600],
  ['weather', '/.well-known/mcp/server-card.json', 'application/json', JSON.stringify(card), links, 600],
  ['weather', '/.well-known/ai-catalog.json', 'application/ai-catalog+json', JSON.stringify(aiCatalog), links, 600],
  [
    'weather',
    '/.well-known/api-catalog',
    'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"',
    JSON.stringify(apiCatalog),
    links,
    600,
  ],
  [
    'weather',
    '/.well-known/mcp-registry-auth',
    'text/plain; charset=utf-8',
    'v=MCPv1; k=ed25519; p=dDPntUqj6p/AMlBM7X+r4cDTLkVnBNr5bcwtTvP2aNE=',
    links,
    600,
  ],
  ['weather', '/.well-known/openai-apps-challenge', 'text/plain; charset=utf-8', 'token-of-openai', links, 600],
  [
    'cook',
    '/.well-known/agent-skills/sourdough/SKILL.md',
    'text/markdown; charset=utf-8',
    sourdough,
    linksWithSkills,
    3600,
  ],
]

describe.each(documents)('%s %s', (host, path, type, body, link, maxAge) => {
  const digest = createHash('sha256').update(body).digest('base64url')
  const headers = {
    'access-control-allow-origin': '*',
    'access-control-expose-headers': 'etag, link',
    'cache-control': `public, max-age=${maxAge}`,
    etag: `"${digest}"`,
    link,
  }
  const described = {
    ...headers,
    'content-length': String(Buffer.byteLength(body)),
    'content-type': type,
    'x-content-type-options': 'nosniff',
  }

  test('answers GET and HEAD', async () => {
    const answer = await get(host, path)
    expect([answer.status, answer.text]).toEqual([200, body])
    expect(ownHeaders(answer.headers)).toEqual(described)
    const head = await get(host, path, { method: 'HEAD' })
    expect([head.status, head.text]).toEqual([200, ''])
    expect(ownHeaders(head.headers)).toEqual(described)
  })

  test.each([`"${digest}"`, `W/"${digest}"`, `"other", "${digest}"`, '*'])(
    'answers with 304 to If-None-Match: %s',
    async (condition) => {
      for (const method of ['GET', 'HEAD']) {
        const answer = await get(host, path, { method, headers: { 'If-None-Match': condition } })
        expect([answer.status, answer.text]).toEqual([304, ''])
        expect(ownHeaders(answer.headers)).toEqual(headers)
      }
    },
  )

  test.each(['"other"', digest, `"${digest.toUpperCase()}"`, ''])(
    'answers with the document to If-None-Match: %s',
    async (condition) => {
      expect((await get(host, path, { headers: { 'If-None-Match': condition } })).status).toBe(200)
    },
  )

  test('is readable by a page of any origin', async () => {
    const page = { Origin: 'https://page.example' }
    expect(ownHeaders((await get(host, path, { headers: page })).headers)).toEqual(described)
    const preflight = await get(host, path, {
      method: 'OPTIONS',
      headers: { ...page, 'Access-Control-Request-Method': 'GET', 'Access-Control-Request-Headers': 'if-none-match' },
    })
    expect(preflight.status).toBe(204)
    expect(Object.fromEntries(preflight.headers)).toMatchObject({
      'access-control-allow-origin': '*',
      'access-control-allow-methods': 'GET, HEAD',
      'access-control-allow-headers': '*',
    })
  })

  test('refuses other methods', async () => {
    for (const method of ['POST', 'PUT', 'DELETE']) {
      const { status, headers } = await get(host, path, { method })
      expect([status, headers.get('Allow')]).toEqual([405, 'GET, HEAD, OPTIONS'])
    }
  })
})

describe('skills', () => {
  const folder = resolve(import.meta.dirname, '../extensions/skills/baking')
  const sha256 = (bytes: Buffer | string) => createHash('sha256').update(bytes)
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).replaceAll('\\', '/'))
    .sort()

  test('are listed in an index with the digests of their files', async () => {
    const archive = await get('cook', '/.well-known/agent-skills/baking.zip')
    const brewing = await get('cook', '/.well-known/agent-skills/brewing/SKILL.md')
    const { status, headers, text } = await get('cook', skillsIndex)
    expect(JSON.parse(text)).toEqual({
      $schema: 'https://schemas.agentskills.io/discovery/0.2.0/schema.json',
      skills: [
        {
          name: 'baking',
          type: 'archive',
          description: 'What baking is',
          url: '/.well-known/agent-skills/baking.zip',
          digest: `sha256:${sha256(archive.bytes).digest('hex')}`,
        },
        {
          name: 'brewing',
          type: 'skill-md',
          description: 'What brewing is',
          url: '/.well-known/agent-skills/brewing/SKILL.md',
          digest: `sha256:${sha256(brewing.bytes).digest('hex')}`,
        },
        {
          name: 'sourdough',
          type: 'skill-md',
          description: 'How to keep a starter',
          url: '/.well-known/agent-skills/sourdough/SKILL.md',
          digest: `sha256:${sha256(sourdough).digest('hex')}`,
        },
      ],
    })
    const etag = `"${sha256(text).digest('base64url')}"`
    expect([status, headers.get('Content-Type'), headers.get('ETag')]).toEqual([200, 'application/json', etag])
    expect((await get('cook', skillsIndex, { headers: { 'If-None-Match': etag } })).status).toBe(304)
  })

  test('with several files are archives of their folders', async () => {
    const { status, headers, bytes } = await get('cook', '/.well-known/agent-skills/baking.zip')
    const etag = `"${sha256(bytes).digest('base64url')}"`
    expect([status, headers.get('Content-Type'), headers.get('ETag')]).toEqual([200, 'application/zip', etag])
    expect(headers.get('Content-Length')).toBe(String(bytes.length))
    const unpacked = unzip(bytes)
    expect([...unpacked.keys()].sort()).toEqual(files)
    for (const path of files) expect(unpacked.get(path)).toEqual(readFileSync(join(folder, path)))
    const conditional = { headers: { 'If-None-Match': etag } }
    expect((await get('cook', '/.well-known/agent-skills/baking.zip', conditional)).status).toBe(304)
  })

  test('are published only if they are passed to discovery()', async () => {
    const path = '/.well-known/agent-skills/private-skill/SKILL.md'
    for (const host of ['cook', 'vault', 'acme.tenant']) expect((await get(host, path)).status).toBe(404)
    for (const host of ['cook', 'acme.tenant']) expect((await get(host, skillsIndex)).text).not.toMatch(/private/i)
    for (const host of ['vault', 'weather', 'other.tenant']) expect((await get(host, skillsIndex)).status).toBe(404)
  })

  test.each(['baking/SKILL.md', 'brewing.zip', 'brewing', 'baking/oven.png', ''])('have no file %s', async (path) => {
    expect((await get('cook', `/.well-known/agent-skills/${path}`)).status).toBe(404)
  })

  test('have a link on the page and on each document of the server', async () => {
    for (const path of ['/', '/mcp/server-card', skillsIndex]) {
      expect((await get('cook', path)).headers.get('Link')).toBe(linksWithSkills)
    }
  })
})

/** Reads a ZIP archive without compression, and compares its directory with the headers of its files. */
function unzip(archive: Buffer): Map<string, Buffer> {
  const end = archive.subarray(-22)
  expect(end.readUInt32LE(0)).toBe(0x06054b50)
  const count = end.readUInt16LE(10)
  const start = end.readUInt32LE(16)
  expect(start + end.readUInt32LE(12) + end.length).toBe(archive.length)
  const files = new Map<string, Buffer>()
  let entry = archive.subarray(start)
  for (let index = 0; index < count; index++) {
    const [signature, flags, method] = [entry.readUInt32LE(0), entry.readUInt16LE(8), entry.readUInt16LE(10)]
    expect([signature, flags, method]).toEqual([0x02014b50, 0x800, 0])
    // Made on Unix: otherwise Info-ZIP reads names as those of DOS.
    expect([entry.readUInt16LE(4), entry.readUInt32LE(38)]).toEqual([0x0314, 0o100644 * 2 ** 16])
    const [crc, size, nameLength] = [entry.readUInt32LE(16), entry.readUInt32LE(24), entry.readUInt16LE(28)]
    const local = archive.subarray(entry.readUInt32LE(42))
    expect(local.readUInt32LE(0)).toBe(0x04034b50)
    expect(local.subarray(4, 30)).toEqual(entry.subarray(6, 32))
    const name = entry.toString('utf8', 46, 46 + nameLength)
    expect(local.toString('utf8', 30, 30 + nameLength)).toBe(name)
    const bytes = local.subarray(30 + nameLength, 30 + nameLength + size)
    expect(crc32(bytes)).toBe(crc)
    files.set(name, bytes)
    entry = entry.subarray(46 + nameLength)
  }
  return files
}

/** The headers that the server sets. */
function ownHeaders(headers: Headers): Record<string, string> {
  return Object.fromEntries([...headers].filter(([name]) => !['connection', 'date', 'keep-alive'].includes(name)))
}

test('a page of a foreign origin reads the documents, and cannot call the endpoint or read the page', async () => {
  const headers = { Origin: 'https://page.example' }
  expect((await get('weather', '/mcp/server-card', { headers })).status).toBe(200)
  expect((await get('weather', '/', { headers })).status).toBe(403)
  expect((await get('weather', '/mcp', { method: 'POST', headers })).status).toBe(403)
})

test('an unknown host name over plain http gets no document', async () => {
  const { status, text } = await get('weather.example', '/mcp/server-card', { headers: { Host: 'rebound.example' } })
  expect([status, text]).toEqual([403, expect.stringContaining('The host rebound.example is not allowed')])
})

test('the endpoint speaks the versions of its card', async () => {
  const call = async (method: string, version: string, params: object) => {
    const headers = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' }
    const response = await fetch(server.url, {
      method: 'POST',
      headers: { ...headers, 'MCP-Protocol-Version': version, 'Mcp-Method': method },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    })
    return (await response.json()) as { result: { protocolVersion: string; supportedVersions: string[] } }
  }
  const [newest = '', ...others] = versions
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': newest,
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  expect((await call('server/discover', newest, { _meta })).result).toMatchObject({
    supportedVersions: [newest],
    capabilities: card.capabilities,
  })
  for (const protocolVersion of others) {
    const client = { protocolVersion, capabilities: {}, clientInfo: { name: 'test', version: '1' } }
    expect((await call('initialize', protocolVersion, client)).result.protocolVersion).toBe(protocolVersion)
  }
})

describe('a server whose entries need a token', () => {
  const path = '/mcp/server-card'

  test('has a card that names the metadata, and nothing of its entries', async () => {
    expect(await json('vault', path)).toEqual({
      $schema,
      name: 'com.example/vault',
      version: '7.6.5',
      description: 'vault',
      remotes: [{ type: 'streamable-http', url: 'http://vault.localhost/mcp', supportedProtocolVersions: versions }],
      serverInfo: { name: 'vault', version: '7.6.5' },
      transport: { type: 'streamable-http', endpoint: 'http://vault.localhost/mcp' },
      capabilities: {
        logging: {},
        tools: { listChanged: false },
        resources: { subscribe: false, listChanged: false },
        prompts: { listChanged: false },
      },
      authentication: {
        required: true,
        resourceMetadata: 'http://vault.localhost/.well-known/oauth-protected-resource/mcp',
      },
    })
  })

  test('has no document with anything private', async () => {
    const names = ['mcp/server-card.json', 'ai-catalog.json', 'api-catalog']
    for (const path of ['/mcp/server-card', '/', ...names.map((name) => `/.well-known/${name}`)]) {
      const { text, headers } = await get('vault', path)
      expect(text + headers.get('Link')).not.toMatch(/private/i)
    }
  })
})

test('an endpoint with anonymous callers says that it needs no token', async () => {
  expect(await json('locked', '/mcp/server-card')).toMatchObject({ authentication: { required: false } })
})

test.each(['mcp-registry-auth', 'openai-apps-challenge'])(
  'without its option, /.well-known/%s is not found',
  async (name) => {
    expect((await get('hostile', `/.well-known/${name}`)).status).toBe(404)
  },
)

describe('names with quotes, line breaks and other characters than ASCII', () => {
  const paths = ['/', '/mcp/server-card', '/.well-known/ai-catalog.json', '/.well-known/api-catalog']

  test.each(paths)('do not reach the headers of %s', async (path) => {
    const { status, headers } = await get('hostile', path)
    expect(status).toBe(200)
    expect(headers.get('Link')).toBe(links)
    expect([headers.get('X-Injected'), headers.get('Set-Cookie')]).toEqual([null, null])
  })

  test('are JSON texts in the documents', async () => {
    expect(await json('hostile', '/mcp/server-card')).toMatchObject({
      name: 'com.example/hostile',
      version: '1.0.0"\r\n',
      title: 'Wetter\r\nSet-Cookie: a=b; "ü"',
      description: '</script>"\n☔',
      serverInfo: { name: 'a"\r\nX-Injected: 1, <b>ü' },
    })
    const { entries } = await json('hostile', '/.well-known/ai-catalog.json')
    expect(entries).toMatchObject([{ identifier: 'urn:air:example.com:mcp:hostile' }])
  })
})

describe('several endpoints of one origin', () => {
  test('have a card each, with the origin of the option', async () => {
    expect(await json('pair', '/notes/mcp/server-card')).toMatchObject({
      name: 'com.example/notes',
      remotes: [{ url: 'https://mcp.example.com/notes/mcp' }],
    })
    expect(await json('pair', '/weather/mcp/server-card')).toMatchObject({
      name: 'com.example/weather',
      remotes: [{ url: 'https://mcp.example.com/weather/mcp' }],
    })
  })

  test('share the catalogs of the first one, which lists the others', async () => {
    const { entries } = await json('pair', '/.well-known/ai-catalog.json')
    expect(entries).toMatchObject([
      { identifier: 'urn:air:example.com:mcp:notes', url: 'https://mcp.example.com/notes/mcp/server-card' },
      { identifier: 'urn:air:example.com:mcp:weather', url: 'https://mcp.example.com/weather/mcp/server-card' },
    ])
    const { linkset } = await json('pair', '/.well-known/api-catalog')
    expect(linkset).toMatchObject([
      { item: [{ href: 'https://mcp.example.com/notes/mcp' }, { href: 'https://mcp.example.com/weather/mcp' }] },
      { anchor: 'https://mcp.example.com/notes/mcp' },
      { anchor: 'https://mcp.example.com/weather/mcp' },
    ])
  })
})

test('a tenant with a host of its own has a card, and other hosts have none', async () => {
  expect(await json('acme.tenant', '/mcp/server-card')).toMatchObject({
    name: 'com.example/cook',
    remotes: [{ url: 'http://acme.tenant.localhost/mcp' }],
    authentication: {
      required: true,
      resourceMetadata: 'http://acme.tenant.localhost/.well-known/oauth-protected-resource/mcp',
    },
  })
  for (const path of ['/mcp/server-card', '/.well-known/ai-catalog.json']) {
    expect((await get('other.tenant', path)).status).toBe(404)
  }
})
