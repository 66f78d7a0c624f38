import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { app } from '../../worker/plugins/apps/index.ts'
import { extension } from '../../worker/plugins/extensions/index.ts'
import { type Skill, type SkillFile, skills } from '../../worker/plugins/skills/index.ts'
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
  const sha256 = (bytes: string | Uint8Array) => `sha256:${createHash('sha256').update(bytes).digest('hex')}`
  type Entry = { uri: string; frontmatter: object; resources: { uri: string; digest: string; size: number }[] }

  test.each(revisions)('are listed and read in %s', async (revision) => {
    await using client = await connect(server.url, { revision })
    const request = async (method: string, params = {}) => {
      const { _meta, ...result } = await client.request(method, params)
      return result
    }
    const { skills: listed, ...rest } = await request('skills/list')
    const caching = revision === '2026-07-28' ? { resultType: 'complete', ttlMs: 0, cacheScope: 'private' } : {}
    expect(rest).toEqual(caching)
    const entries = listed as Entry[]
    expect(entries.map(({ uri }) => uri)).toEqual([
      'skill://baking/SKILL.md',
      'skill://more/brewing/SKILL.md',
      'skill://baking/sourdough/SKILL.md',
    ])
    expect(entries[0]?.frontmatter).toEqual({ name: 'baking', description: 'What baking is', metadata: { level: '3' } })
    expect(entries[0]?.resources).toContainEqual({
      uri: 'skill://baking/recipes/bread.md',
      digest: sha256('# Bread'),
      size: 7,
    })
    for (const { uri, resources } of entries) {
      expect(await request('skills/get', { uri })).toEqual({
        skill: entries.find((entry) => entry.uri === uri),
        ...caching,
      })
      for (const resource of resources) {
        const { contents } = (await client.request('resources/read', { uri: resource.uri })) as {
          contents: { text?: string; blob?: string }[]
        }
        const [content] = contents
        const bytes =
          content?.blob === undefined ? Buffer.from(content?.text ?? '') : Buffer.from(content.blob, 'base64')
        expect({ size: bytes.length, digest: sha256(bytes) }).toEqual({ size: resource.size, digest: resource.digest })
      }
    }
  })

  test('list the files of the skills in their folders, each once', async () => {
    await using client = await connect(server.url, { revision: '2026-07-28' })
    const { skills: listed } = (await client.request('skills/list')) as { skills: Entry[] }
    const urisOf = (name: string) =>
      listed.find(({ uri }) => uri.endsWith(`/${name}/SKILL.md`))?.resources.map(({ uri }) => uri)
    expect(urisOf('baking')).toEqual([
      'skill://baking/SKILL.md',
      'skill://baking/oven.png',
      'skill://baking/recipes/bread.md',
      'skill://baking/recipes/gr%C3%BC%C3%9Fe%20%26%20co.txt',
      'skill://baking/sourdough/SKILL.md',
    ])
    expect(urisOf('sourdough')).toEqual(['skill://baking/sourdough/SKILL.md'])
  })

  test.each(revisions)('can be read as directories in %s', async (revision) => {
    await using client = await connect(server.url, { revision })
    const { resources: listed } = (await client.request('resources/list')) as { resources: { uri: string }[] }
    const file = (uri: string) => listed.find((resource) => resource.uri === uri) ?? expect.fail(uri)
    const folder = (uri: string, name: string) => ({ uri, name, mimeType: 'inode/directory' })
    const read = async (uri: string) => {
      const { _meta, ...result } = await client.request('resources/directory/read', { uri })
      return result
    }
    const complete = revision === '2026-07-28' ? { resultType: 'complete' } : {}
    expect(await read('skill://baking')).toEqual({
      ...complete,
      resources: [
        file('skill://baking/SKILL.md'),
        file('skill://baking/oven.png'),
        folder('skill://baking/recipes', 'recipes'),
        folder('skill://baking/sourdough', 'sourdough'),
      ],
    })
    expect(await read('skill://baking/recipes')).toEqual({
      ...complete,
      resources: [
        file('skill://baking/recipes/bread.md'),
        file('skill://baking/recipes/gr%C3%BC%C3%9Fe%20%26%20co.txt'),
      ],
    })
    expect(await read('skill://more')).toEqual({ ...complete, resources: [folder('skill://more/brewing', 'brewing')] })
    expect(file('skill://baking/SKILL.md')).toMatchObject({ name: 'baking', description: 'What baking is' })
  })

  test.each([
    'skill://baking/SKILL.md',
    'skill://baking/',
    'skill://bak',
    'skill://',
    'skill:/',
    'skill:',
    '',
    'file:///etc',
    'constructor',
    undefined,
    5,
    { toString: 1 },
    ['skill://baking'],
  ])('have no directory %j', async (uri) => {
    await using client = await connect(server.url, { revision: '2026-07-28' })
    await expect(client.request('resources/directory/read', { uri })).rejects.toMatchObject({ code: -32602 })
  })

  test.each(['skill://baking', 'skill://baking/oven.png', 'skill://none/SKILL.md', undefined, ['skill://baking']])(
    'have no entry %j',
    async (uri) => {
      await using client = await connect(server.url, { revision: '2026-07-28' })
      await expect(client.request('skills/get', { uri })).rejects.toMatchObject({ code: -32602 })
    },
  )

  test.each(['skills/list', 'resources/directory/read'])('have no second page of %s', async (method) => {
    await using client = await connect(server.url, { revision: '2026-07-28' })
    for (const cursor of ['', 'a', 1, null]) {
      await expect(client.request(method, { uri: 'skill://baking', cursor })).rejects.toMatchObject({
        code: -32602,
        message: 'Invalid cursor: list again from the first page',
      })
    }
  })

  const digest = sha256('x')
  const file = (path: string): SkillFile => ({ path, digest, size: 1, text: 'x' })
  const skill = { folder: 'a', frontmatter: { name: 'a', description: 'A' }, files: [file('SKILL.md')] }
  const named = (name: string) => ({ ...skill, folder: name, frontmatter: { name, description: 'A' } })
  const about = (frontmatter: object) => ({ ...skill, frontmatter: { ...skill.frontmatter, ...frontmatter } })
  const holding = <F>(...files: F[]) => ({ ...skill, files: [...skill.files, ...files] })

  test('can have files with the names of inherited members', async () => {
    const names = [
      'constructor',
      '__proto__',
      'toString',
      'notes.constructor',
      'notes.__proto__',
      'NOTES.MD',
      'SKILL.md',
    ]
    const { resources } = await result(
      newServer().use(skills([{ ...skill, files: names.map(file) }])),
      'resources/list',
    )
    expect((resources as { mimeType: string }[]).map(({ mimeType }) => mimeType)).toEqual([
      ...names.slice(0, -2).map(() => 'text/plain'),
      'text/markdown',
      'text/markdown',
    ])
  })

  test.each([
    [undefined, 'public'],
    [[], 'private'],
    [['read'], 'private'],
  ])('with the scopes %j are %s to caches', async (scopes, cacheScope) => {
    const caching = { ttlMs: 1000, cacheScope: 'public' } as const
    const declared = newServer().use(skills([skill], { caching, ...(scopes && { scopes }) }))
    const principal = { issuer: 'https://auth.example', subject: 'ada', scopes: ['read'], claims: {} }
    for (const method of ['skills/list', 'skills/get']) {
      const params = { uri: 'skill://a/SKILL.md' }
      expect(await result(declared, method, params, { principal })).toMatchObject({ ttlMs: 1000, cacheScope })
    }
  })

  test('are not declared without a skill', () => {
    expect(newServer().use(skills([])).declarations.extensions).toBeUndefined()
  })

  const generate = 'skills() takes the list of skills that "npx edgemcp skills <folder> --out <file.ts>" generates'
  const contents = (path: string) =>
    `The file "${path}" of the skill "a" must have its size in bytes, its digest ("sha256:" and 64 hexadecimal digits), and text or base64: let "npx edgemcp skills" write them`
  const many = Array.from({ length: 511 }, (_, index) => file(`${index}.md`))
  const same = (one: string, other: string) =>
    `The paths "${one}" and "${other}" of skills are one file on some systems: rename or remove one`
  const name = (text: string) =>
    `The name of the skill "${text}" must have 1 to 64 lower-case letters, digits and single hyphens between them, as in "git-help"`

  test.each([
    ['files by their paths', { 'a/SKILL.md': '# A' }, generate],
    ['a skill without frontmatter', [{ folder: 'a', files: [] }], generate],
    ['a null', [null], generate],
    ['a file without a path', [holding({ ...file('b'), path: 5 })], generate],
    ['two skills in one folder', [skill, skill], 'Two skills have the folder "a": rename one'],
    ...['', 'A', 'a_b', '-a', 'a-', 'a--b', 'ä', 'a b', 'a'.repeat(65)].map((text): [string, object, string] => [
      `the name "${text}"`,
      [named(text)],
      name(text),
    ]),
    [
      'another name than the folder has',
      [about({ name: 'b' })],
      'The skill "b" is in the folder "a": give the skill and the folder the same name',
    ],
    [
      'a folder above',
      [{ ...skill, folder: '../a' }],
      'The path "../a/SKILL.md" of a skill must be names with single slashes between them, without "..", backslashes, colons and control characters, as in "tools/git-help/SKILL.md"',
    ],
    [
      'an empty description',
      [about({ description: ' ' })],
      'The description of the skill "a" has 1 characters: use 1 to 1024',
    ],
    [
      'a long description',
      [about({ description: '😀'.repeat(1025) })],
      'The description of the skill "a" has 1025 characters: use 1 to 1024',
    ],
    ...['', 'a'.repeat(501), 5].map((compatibility): [string, object, string] => [
      'an invalid compatibility',
      [about({ compatibility })],
      '"compatibility" of the skill "a" must be a text of 1 to 500 characters',
    ]),
    [
      'a number in metadata',
      [about({ metadata: { level: 3 } })],
      '"metadata" of the skill "a" must be a mapping of texts: put numbers and dates into quotes',
    ],
    ['metadata that is a list', [about({ metadata: ['a'] })], '"metadata" of the skill "a" must be a mapping of texts'],
    [
      'a list of tools',
      [about({ 'allowed-tools': ['Read'] })],
      '"allowed-tools" of the skill "a" must be one text, with spaces between the tools',
    ],
    ['a license that is no text', [about({ license: null })], '"license" of the skill "a" must be a text'],
    ['no SKILL.md', [{ ...skill, files: [file('skill.md')] }], 'The skill "a" has no file "SKILL.md": add it'],
    [
      'a SKILL.md that is not text',
      [{ ...skill, files: [{ path: 'SKILL.md', digest, size: 1, base64: 'eA==' }] }],
      'The file "SKILL.md" of the skill "a" must have text, not base64: save it as UTF-8',
    ],
    ['a file twice', [holding(file('b'), file('b'))], same('a/b', 'a/b')],
    ['a file in two cases', [holding(file('README.md'), file('readme.md'))], same('a/README.md', 'a/readme.md')],
    ['a file in two forms of Unicode', [holding(file('é'), file('e\u0301'))], same('a/é', 'a/e\u0301')],
    [
      'a file that is also in a nested skill',
      [holding(file('b/SKILL.md')), { ...named('b'), folder: 'a/b' }],
      same('a/b/SKILL.md', 'a/b/SKILL.md'),
    ],
    [
      'a folder in two cases',
      [
        { ...skill, folder: 'Tools/a' },
        { ...skill, folder: 'tools/a' },
      ],
      same('Tools/a/SKILL.md', 'tools/a/SKILL.md'),
    ],
    ...['b/c', 'B/c'].map((path): [string, object, string] => [
      'a file that is also a folder',
      [holding(file('b'), file(path))],
      `"a/b" is a file, and a folder of "a/${path}": rename one`,
    ]),
    [
      'a file that is also a nested skill',
      [holding(file('b')), { ...named('b'), folder: 'a/b' }],
      '"a/b" is a file, and a folder of "a/b/SKILL.md": rename one',
    ],
    ...[
      '/b',
      '../b',
      'b//c',
      'b/',
      './b',
      'b/.',
      '',
      'b\\c',
      '%2e%2e/b',
      '%252E./b',
      'C:/b',
      'a:b',
      'a\0b',
      'a\nb',
      'a\x7fb',
      'a\x85b',
      '\ud800',
    ].map((path): [string, object, string] => [
      `the path ${JSON.stringify(path)}`,
      [holding({ ...file('b'), path })],
      `The path ${JSON.stringify(`a/${path}`)} of a skill must be names with single slashes between them, without "..", backslashes, colons and control characters, as in "tools/git-help/SKILL.md"`,
    ]),
    ['a short digest', [holding({ ...file('b'), digest: 'sha256:00' })], contents('b')],
    ['an upper-case digest', [holding({ ...file('b'), digest: digest.toUpperCase() })], contents('b')],
    ['a negative size', [holding({ ...file('b'), size: -1 })], contents('b')],
    ['no size', [holding({ ...file('b'), size: undefined })], contents('b')],
    ['another size', [holding({ ...file('b'), text: 'é' })], contents('b')],
    ['another size of base64', [holding({ path: 'b', digest, size: 2, base64: 'eA==' })], contents('b')],
    ['a file that is not base64', [holding({ path: 'b', digest, size: 3, base64: 'e*==' })], contents('b')],
    ['a file without contents', [holding({ path: 'b', digest, size: 1 })], contents('b')],
    [
      'too many files in a nested skill',
      [holding(...many), { ...named('b'), folder: 'a/b' }],
      'The skill "a" has 513 files with 513 bytes, including those of skills in its folder: use at most 512 files and 16777216 bytes, which every client accepts',
    ],
    [
      'too many bytes',
      [holding({ ...file('b'), size: 16_777_216, text: 'x'.repeat(16_777_216) })],
      'The skill "a" has 2 files with 16777217 bytes, including those of skills in its folder: use at most 512 files and 16777216 bytes, which every client accepts',
    ],
  ])('cannot be declared with %s', (_, list, message) => {
    expect(() => skills(list as unknown as Skill[])).toThrow(message)
  })

  test('can be as large as every client accepts', () => {
    skills([holding(...many)])
    skills([holding({ ...file('b'), size: 16_777_215, text: 'x'.repeat(16_777_215) })])
    skills([about({ name: 'a', description: '😀'.repeat(1024), compatibility: 'a'.repeat(500) })])
    skills([named('a'.repeat(64)), named('0-a')])
  })
})
