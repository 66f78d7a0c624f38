import { describe, expect, test } from 'vitest'
import type { Runtime } from '../../worker/plugin.ts'
import { type DiscoveryOptions, discovery } from '../../worker/plugins/discovery/index.ts'
import { newServer } from '../engine/stage.ts'

const title = 'a'.repeat(101)
const key = 'dDPntUqj6p/AMlBM7X+r4cDTLkVnBNr5bcwtTvP2aNE='
const registryAuthExpected =
  '"registryAuth" of discovery() must be the line with the public key, such as "v=MCPv1; k=ed25519; p=…". It is not repeated here, because it may be a secret'
const challengeExpected =
  '"openAiChallenge" of discovery() must be one token of at most 512 characters, without spaces. It is not repeated here, because it may be a secret'
const nameExpected =
  '"name" of discovery() must be the labels of a domain in reverse order, a slash and a name, such as "com.example/weather", with at most 200 characters, not '

const skillIn = (folder: string) => ({
  folder,
  frontmatter: { name: folder.split('/').at(-1) ?? '', description: 'A' },
  files: [{ path: 'SKILL.md', digest: `sha256:${'0'.repeat(64)}`, size: 0, text: '' }],
})

const wrong: [options: unknown, message: string][] = [
  [[], 'discovery() takes an object with name, description,'],
  [{ names: 'a' }, 'discovery() does not take "names"'],
  [{ name: undefined }, `${nameExpected}undefined`],
  [{ name: './.' }, nameExpected],
  [{ name: 'com..example/x' }, nameExpected],
  [{ description: '   ' }, '"description" of discovery() must be a text of 1 to 100 characters'],
  [{ origin: 'https://*.example.com' }, '"origin" of discovery() must be an origin'],
  [{ otherEndpoints: [[]] }, '"otherEndpoints" of discovery() must be a list such as'],
  [{ maxAge: 1e300 }, '"maxAge" of discovery() must be at most a year'],
  [{ registryAuth: `v=MCPv1; k=ed25519; p=${'a'.repeat(64)}` }, registryAuthExpected],
  [{ registryAuth: [key] }, registryAuthExpected],
  [{ name: 'weather' }, `${nameExpected}"weather"`],
  [{ name: 'com.example/a/b' }, `${nameExpected}"com.example/a/b"`],
  [{ name: 'com.example/a"\r\n' }, nameExpected],
  [{ name: `com.example/${'a'.repeat(200)}` }, nameExpected],
  [{ description: '' }, '"description" of discovery() must be a text of 1 to 100 characters, not ""'],
  [{ description: title }, '"description" of discovery() must be a text of 1 to 100 characters, not '],
  [{ repository: 'https://github.com/a/b' }, '"repository" of discovery() must be an object such as'],
  [
    { repository: { url: 'github.com/a/b', source: 'github' } },
    '"repository.url" of discovery() must be a URL such as "https://github.com/example/weather", not "github.com/a/b"',
  ],
  [{ repository: { url: 'https://github.com/a/b' } }, '"repository.source" of discovery() must be a non-empty string'],
  [
    { origin: 'https://mcp.example.com/' },
    '"origin" of discovery() must be an origin such as "https://mcp.example.com", without a path, not "https://mcp.example.com/"',
  ],
  [{ origin: 'mcp.example.com' }, '"origin" of discovery() must be an origin'],
  [{ otherEndpoints: ['/a'] }, `"otherEndpoints" of discovery() must be a list such as [{ name: 'weather'`],
  [{ otherEndpoints: [{ name: 'a:b', path: '/a' }] }, '"otherEndpoints.name" of discovery() must be letters, digits'],
  [{ otherEndpoints: [{ name: 'a', path: '/a>b' }] }, '"otherEndpoints.path" of discovery() must be a path such as'],
  [{ maxAge: '1 hour' }, '"maxAge" of discovery() must be milliseconds, or a string such as'],
  [{ registryAuth: '-----BEGIN PRIVATE KEY-----' }, registryAuthExpected],
  [{ registryAuth: `v=MCPv1; k=ed25519; p=${key}\nv=MCPv1; k=ed25519; p=${key}` }, registryAuthExpected],
  [{ registryAuth: `v=MCPv1; k=rsa; p=${key}` }, registryAuthExpected],
  [{ registryAuth: '' }, registryAuthExpected],
  [{ openAiChallenge: 'two words' }, challengeExpected],
  [{ openAiChallenge: 'a\nb' }, challengeExpected],
  [{ openAiChallenge: 'ü' }, challengeExpected],
  [{ openAiChallenge: 'a'.repeat(513) }, challengeExpected],
  [{ openAiChallenge: 1 }, challengeExpected],
  [
    { skills: null },
    'discovery() takes the list of skills that "npx edgemcp skills <folder> --out <file.ts>" generates',
  ],
  [{ skills: [skillIn('A')] }, 'The name of the skill "A" must have 1 to 64 lower-case letters'],
  [
    { skills: [skillIn('one/a'), skillIn('two/a')] },
    'Two skills of discovery() have the name "a": rename one, or publish one of them',
  ],
]

describe('discovery()', () => {
  test.each(wrong)('does not accept %j', (options, message) => {
    const given = Array.isArray(options) ? options : { name: 'com.example/a', ...(options as object) }
    expect(() => discovery(given as DiscoveryOptions)).toThrow(message)
  })

  test('does not repeat a text that may be a secret', () => {
    for (const option of ['registryAuth', 'openAiChallenge']) {
      expect(() => discovery({ name: 'com.example/a', [option]: 'private key' })).toThrow(/^(?!.*private key)/s)
    }
  })

  test('accepts a proof with the line break that a tool for secrets adds, and an absent one', () => {
    for (const end of ['', '\n', '\r\n'])
      discovery({ name: 'com.example/a', registryAuth: `v=MCPv1; k=ed25519; p=${key}${end}` })
    discovery({ name: 'com.example/a', registryAuth: undefined, openAiChallenge: undefined })
  })
})

describe('a server that discovery() cannot describe', () => {
  const validate = (server: ReturnType<typeof newServer>, options: Partial<DiscoveryOptions> = {}) =>
    discovery({ name: 'com.example/a', ...options }).validate?.(server)

  test.each([
    [{ title }, 'The title of the server is too long for a server card: use at most 100 characters'],
    [
      { description: title },
      "The description of the server is too long for a server card: pass one of at most 100 characters, as in discovery({ description: '…' })",
    ],
    [
      { websiteUrl: 'https://example.com/>"; rel=evil' },
      'websiteUrl of the server must be a URL such as "https://weather.example" for a server card',
    ],
  ])('%j', (options, message) => {
    expect(() => validate(newServer(options))).toThrow(message)
  })

  test('has tenants that share a host', () => {
    const mcp = '/{tenant}/mcp'
    const runtime = { paths: { mcp, sse: '/{tenant}/sse', messages: '/{tenant}/messages' } } as Runtime
    expect(() => discovery({ name: 'com.example/a' }).routes?.(runtime)).toThrow(
      `discovery() describes one endpoint of each host, and the tenants of "${mcp}" share a host: give them hosts, as in tenants('{tenant}.example.com', …), or remove discovery()`,
    )
  })

  test('is described with a shorter text', () => {
    validate(newServer({ description: title }), { description: 'Short' })
  })
})
