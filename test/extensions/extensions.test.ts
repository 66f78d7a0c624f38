import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { app } from '../../worker/plugins/apps/index.ts'
import { extension } from '../../worker/plugins/extensions/index.ts'
import { type Skill, skills } from '../../worker/plugins/skills/index.ts'
import { connect } from '../../worker/testing/index.ts'
import { newServer, result } from '../engine/stage.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { TaskClient } from '../tasks/client.ts'

let server: TestServer
beforeAll(async () => {
  server = await startServer('test/extensions/server')
})
afterAll(() => server[Symbol.asyncDispose]())

const revisions = ['2026-07-28', '2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05']
const settings = {
  'io.modelcontextprotocol/ui': {},
  'com.example/weather': { units: ['celsius'] },
  'io.modelcontextprotocol/skills': { directoryRead: true },
}

describe('an extension', () => {
  test.each(revisions)('is declared, and its method answers, in %s', async (revision) => {
    await using client = await connect(server.url, { revision })
    expect(client.initializeResult.capabilities).toMatchObject({ extensions: settings })
    const headers = revision === '2026-07-28' ? new TaskClient(server.url) : undefined
    const answer = headers
      ? await headers.result('weather/now', { city: 'Oslo' }, { headers: { 'Mcp-Name': 'Oslo' } })
      : await client.request('weather/now', { city: 'Oslo' })
    expect(answer).toMatchObject({ city: 'Oslo', celsius: 12, who: expect.any(String) })
  })

  test('requires the header Mcp-Name for a method that declares a name', async () => {
    const client = new TaskClient(server.url)
    expect(await client.ask('weather/now', { city: 'Oslo' })).toMatchObject({ status: 400, error: { code: -32020 } })
    const other = { headers: { 'Mcp-Name': 'Bergen' } }
    expect(await client.ask('weather/now', { city: 'Oslo' }, other)).toMatchObject({ error: { code: -32020 } })
  })

  test('returns its own errors, and hides the cause of unknown exceptions', async () => {
    await using client = await connect(server.url, { revision: '2025-11-25' })
    await expect(client.request('weather/now', {})).rejects.toMatchObject({
      code: -32602,
      message: 'params.city must be a string',
    })
    await expect(client.request('weather/breaks')).rejects.toMatchObject({ code: -32603, message: 'Internal error' })
    await expect(client.request('weather/then')).rejects.toMatchObject({ code: -32601 })
  })

  test('can have a method with the name of an inherited member', async () => {
    expect(await new TaskClient(server.url).result('toString', {})).toMatchObject({ text: 'Cloudy' })
  })

  test.each(['weather', '/weather', 'com.example/', '1.example/weather'])('cannot be named %s', (name) => {
    expect(() => extension(name, {})).toThrow('needs a vendor prefix')
  })
})

describe('an app', () => {
  const ui = { csp: { connectDomains: ['https://data.example'] }, permissions: { clipboardWrite: {} } }

  test.each(['2026-07-28', '2025-11-25', '2025-06-18'])('is listed with its tools and read in %s', async (revision) => {
    await using client = await connect(server.url, { revision })
    const { contents } = await client.request('resources/read', { uri: 'ui://chart' })
    expect(contents).toEqual([
      {
        uri: 'ui://chart',
        mimeType: 'text/html;profile=mcp-app',
        text: '<!doctype html><title>Chart</title>',
        _meta: { ui },
      },
    ])
    const { tools } = (await client.request('tools/list')) as { tools: { name: string; _meta?: object }[] }
    expect(tools.map(({ name, _meta }) => [name, _meta])).toEqual([
      ['sales', { ui: { resourceUri: 'ui://chart' }, 'ui/resourceUri': 'ui://chart' }],
      ['redraw', { ui: { resourceUri: 'ui://chart', visibility: ['app'] }, 'ui/resourceUri': 'ui://chart' }],
    ])
    const { resources } = (await client.request('resources/list')) as { resources: { uri: string; _meta?: object }[] }
    expect(resources.find(({ uri }) => uri === 'ui://chart')).toMatchObject({
      mimeType: 'text/html;profile=mcp-app',
      _meta: { ui },
    })
  })

  test.each(['2025-03-26', '2024-11-05'])(
    'is read without _meta in %s, and its tool returns text',
    async (revision) => {
      await using client = await connect(server.url, { revision })
      const { contents } = await client.request('resources/read', { uri: 'ui://chart' })
      expect(contents).toEqual([expect.not.objectContaining({ _meta: expect.anything() })])
      expect(await client.callTool('sales')).toMatchObject({ content: [{ type: 'text', text: 'January: 3' }] })
    },
  )

  test('requires a ui:// URI', () => {
    expect(() => app('https://x' as 'ui://x', { description: 'x', html: '' })).toThrow('begins with ui://')
  })
})

describe('skills', () => {
  const sha256 = (text: string) => `sha256:${createHash('sha256').update(text).digest('hex')}`

  test.each(revisions)('are listed and read in %s', async (revision) => {
    await using client = await connect(server.url, { revision })
    const listed = await client.request('skills/list')
    const entries = listed.skills as {
      uri: string
      frontmatter: object
      resources: { uri: string; digest: string; size: number }[]
    }[]
    expect(entries.map(({ uri }) => uri)).toEqual(['skill://baking/SKILL.md', 'skill://more/brewing/SKILL.md'])
    expect(entries[0]?.frontmatter).toEqual({ name: 'baking', description: 'What baking is', metadata: { level: 3 } })
    expect(entries[0]?.resources).toHaveLength(4)
    expect(entries[0]?.resources).toContainEqual({
      uri: 'skill://baking/recipes/bread.md',
      digest: sha256('# Bread'),
      size: 7,
    })
    for (const { uri, resources } of entries) {
      expect((await client.request('skills/get', { uri })).skill).toEqual(entries.find((entry) => entry.uri === uri))
      for (const resource of resources) {
        const { contents } = (await client.request('resources/read', { uri: resource.uri })) as {
          contents: { text?: string; blob?: string }[]
        }
        const [content] = contents
        const bytes =
          content?.blob === undefined ? Buffer.from(content?.text ?? '') : Buffer.from(content.blob, 'base64')
        expect({ size: bytes.length, digest: `sha256:${createHash('sha256').update(bytes).digest('hex')}` }).toEqual({
          size: resource.size,
          digest: resource.digest,
        })
      }
    }
    expect('ttlMs' in listed).toBe(revision === '2026-07-28')
  })

  test('can be read as directories', async () => {
    await using client = await connect(server.url, { revision: '2026-07-28' })
    const children = async (uri: string) => (await client.request('resources/directory/read', { uri })).resources
    expect(await children('skill://baking')).toEqual([
      { uri: 'skill://baking/SKILL.md', name: 'SKILL.md', mimeType: 'text/markdown' },
      { uri: 'skill://baking/oven.png', name: 'oven.png', mimeType: 'image/png' },
      { uri: 'skill://baking/recipes', name: 'recipes', mimeType: 'inode/directory' },
    ])
    expect(await children('skill://baking/recipes')).toEqual([
      { uri: 'skill://baking/recipes/bread.md', name: 'bread.md', mimeType: 'text/markdown' },
      { uri: 'skill://baking/recipes/gr%C3%BC%C3%9Fe%20%26%20co.txt', name: 'grüße & co.txt', mimeType: 'text/plain' },
    ])
    for (const uri of ['skill://baking/SKILL.md', 'skill://bak', 'skill://', 'file:///etc', undefined, 5]) {
      await expect(client.request('resources/directory/read', { uri })).rejects.toMatchObject({ code: -32602 })
    }
    for (const uri of [{ toString: 1 }, ['skill://baking'], 'skill:', 'skill:/']) {
      for (const method of ['skills/get', 'resources/directory/read'])
        await expect(client.request(method, { uri })).rejects.toMatchObject({ code: -32602 })
    }
    for (const uri of ['skill://baking', 'skill://none/SKILL.md', undefined]) {
      await expect(client.request('skills/get', { uri })).rejects.toMatchObject({ code: -32602 })
    }
  })

  test('can have files with the names of inherited members', async () => {
    const names = ['constructor', '__proto__', 'toString', 'notes.constructor', 'notes.__proto__', 'NOTES.MD']
    const files = names.map((path) => ({ path, digest: sha256('x'), size: 1, text: 'x' }))
    const { resources } = await result(newServer().use(skills([{ ...skill, files }])), 'resources/list')
    expect((resources as { mimeType: string }[]).map(({ mimeType }) => mimeType)).toEqual([
      ...names.slice(0, -1).map(() => 'application/octet-stream'),
      'text/markdown',
    ])
  })

  const manual = { name: 'a', description: 'A' }
  const skill: Skill = { folder: 'a', frontmatter: manual, files: [] }

  test.each([
    [
      'files by their paths',
      { 'a/SKILL.md': '# A' },
      'skills() takes the list that "npx edgemcp skills <folder> --out <file.ts>" generates',
    ],
    ['a skill without frontmatter', [{ folder: 'a', files: [] }], 'skills() takes the list that "npx edgemcp skills'],
    ['a null', [null], 'skills() takes the list that "npx edgemcp skills'],
    ['two skills in one folder', [skill, skill], 'Two skills have the folder "a": rename one'],
  ])('cannot be declared with %s', (_, list, message) => {
    expect(() => skills(list as unknown as Skill[])).toThrow(message)
  })
})
