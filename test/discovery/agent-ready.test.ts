/**
 * The checks of the scanner at isitagentready.com that concern an MCP server, as requests to a server with and one without `auth`. Those for
 * websites are not among them: robots.txt, sitemap and Markdown negotiation are for pages that crawlers index, and DNS records are not served
 * by a Worker.
 *
 * @see https://isitagentready.com/llms-full.txt
 */
import { createHash } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startServer, type TestServer } from '../support/server.ts'
import { type Received, send } from './request.ts'

let server: TestServer
beforeAll(async () => {
  server = await startServer('test/discovery/server')
})
afterAll(() => server?.[Symbol.asyncDispose]())

type Fetch = (path: string) => Promise<Received>
const parsed = async (response: Promise<Received>) => {
  const { status, headers, text } = await response
  expect(status).toBe(200)
  expect(headers.get('Content-Type')).toMatch(/^application\/([\w-]+\+)?json/)
  return JSON.parse(text)
}

/** @param origin as the server sees it */
type Check = [name: string, hosts: readonly string[], run: (fetch: Fetch, origin: string) => Promise<void>]

const checks: Check[] = [
  [
    'MCP server card: serverInfo, the endpoint of the transport and the capabilities',
    ['cook', 'vault'],
    async (fetch, origin) => {
      expect(await parsed(fetch('/.well-known/mcp/server-card.json'))).toMatchObject({
        serverInfo: { name: expect.stringMatching(/./), version: expect.stringMatching(/./) },
        transport: { type: 'streamable-http', endpoint: `${origin}/mcp` },
        capabilities: { resources: expect.anything() },
      })
    },
  ],
  [
    'MCP server card: the members of SEP-2127, which the AI catalog leads to',
    ['cook', 'vault'],
    async (fetch, origin) => {
      const { entries } = await parsed(fetch('/.well-known/ai-catalog.json'))
      const found = entries.find(({ type }: { type: string }) => type === 'application/mcp-server-card+json')
      expect(found.identifier).toMatch(/^urn:air:[a-z\d.-]+:mcp:[\w.-]+$/)
      const card = await fetch(new URL(found.url).pathname)
      expect(card.headers.get('Content-Type')).toBe('application/mcp-server-card+json')
      const { $schema, name, version, description, remotes } = JSON.parse(card.text)
      expect($schema).toBe('https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json')
      expect(name).toMatch(/^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/)
      expect(version).toMatch(/^\d+\.\d+\.\d+$/)
      expect(description).toMatch(/^.{1,100}$/)
      expect(remotes).toMatchObject([{ type: 'streamable-http', url: `${origin}/mcp` }])
    },
  ],
  [
    'API catalog: a linkset whose entries have an anchor and a description',
    ['cook', 'vault'],
    async (fetch, origin) => {
      const response = await fetch('/.well-known/api-catalog')
      expect(response.headers.get('Content-Type')).toMatch(/^application\/linkset\+json/)
      const { linkset } = JSON.parse(response.text)
      for (const { anchor } of linkset) expect(URL.canParse(anchor)).toBe(true)
      const api = linkset.find(({ anchor }: { anchor: string }) => anchor === `${origin}/mcp`)
      const [{ href }] = api['service-desc']
      expect((await fetch(new URL(href).pathname)).status).toBe(200)
    },
  ],
  [
    'Agent skills: an index whose entries have the digests of their files',
    ['cook', 'acme.tenant'],
    async (fetch, origin) => {
      const index = '/.well-known/agent-skills/index.json'
      const { $schema, skills } = await parsed(fetch(index))
      expect($schema).toBe('https://schemas.agentskills.io/discovery/0.2.0/schema.json')
      expect(skills).not.toHaveLength(0)
      for (const { name, type, description, url, digest } of skills) {
        expect(name).toMatch(/^(?!.{65})[a-z\d]+(-[a-z\d]+)*$/)
        expect(description).toMatch(/^.{1,1024}$/)
        expect(digest).toMatch(/^sha256:[\da-f]{64}$/)
        const { status, headers, bytes } = await fetch(new URL(url, origin + index).pathname)
        expect([status, `sha256:${createHash('sha256').update(bytes).digest('hex')}`]).toEqual([200, digest])
        const expected = { 'skill-md': /^text\/markdown/, archive: /^application\/zip$/ }[String(type)]
        expect(headers.get('Content-Type')).toMatch(expected ?? expect.fail(type))
      }
    },
  ],
  [
    'Link headers: relations of the page, whose targets exist',
    ['cook', 'vault'],
    async (fetch) => {
      const { status, headers } = await fetch('/')
      expect(status).toBe(200)
      const links = [...(headers.get('Link') ?? '').matchAll(/<([^>]+)>; rel="([^"]+)"/g)]
      expect(links.map(([, , relation]) => relation)).toEqual(
        expect.arrayContaining(['api-catalog', 'service-desc', 'describedby']),
      )
      for (const [, path = ''] of links) expect((await fetch(path)).status).toBe(200)
    },
  ],
  [
    'OAuth protected resource: metadata that the card names, whose resource is the endpoint',
    ['vault', 'acme.tenant'],
    async (fetch, origin) => {
      const { authentication } = await parsed(fetch('/.well-known/mcp/server-card.json'))
      const { pathname } = new URL(authentication.resourceMetadata)
      for (const path of [pathname, '/.well-known/oauth-protected-resource']) {
        expect(await parsed(fetch(path))).toMatchObject({
          resource: `${origin}/mcp`,
          authorization_servers: ['https://auth.example.com'],
        })
      }
    },
  ],
]

test.each(checks.flatMap(([name, hosts, run]) => hosts.map((host) => [name, host, run] as const)))(
  '%s (%s)',
  async (_, host, run) => {
    await run((path) => send(server.url, host, path), `http://${host}.localhost`)
  },
)
