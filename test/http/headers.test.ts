import { describe, expect, test } from 'vitest'
import { callMethod } from '../../worker/engine/methods/index.ts'
import { checkMirroredParameters, checkStandardHeaders } from '../../worker/http/stateless/mcp-headers.ts'
import { McpError } from '../../worker/protocol/errors.ts'
import type { HeaderParameter } from '../../worker/protocol/param-headers.ts'

/** What a check says; nothing when it passes. */
function verdict(check: () => void): string | undefined {
  try {
    check()
  } catch (thrown) {
    if (thrown instanceof McpError && thrown.kind === 'header_mismatch') return thrown.message
    throw thrown
  }
  return undefined
}

describe('Mcp-Method and Mcp-Name', () => {
  type Row = [what: string, headers: Record<string, string>, method: string, params: object, says?: string]
  const encoded = '=?base64?SGVsbG8sIOS4lueVjA==?='
  const call = { 'Mcp-Method': 'tools/call' }
  test.each<Row>([
    ['the method', { 'Mcp-Method': 'tools/list' }, 'tools/list', {}],
    ['the method, in any case of the header', { 'MCP-METHOD': 'tools/list' }, 'tools/list', {}],
    ['the method, with space around it', { 'Mcp-Method': ' tools/list\t' }, 'tools/list', {}],
    ['an unknown method', { 'Mcp-Method': 'no/such' }, 'no/such', {}],
    ['no method', {}, 'tools/list', {}, 'Missing header Mcp-Method'],
    [
      'another method',
      { 'Mcp-Method': 'tools/call' },
      'tools/list',
      {},
      'Header Mcp-Method does not match the method in the body',
    ],
    [
      'the method in another case',
      { 'Mcp-Method': 'Tools/List' },
      'tools/list',
      {},
      'Header Mcp-Method does not match the method in the body',
    ],
    [
      'an empty method',
      { 'Mcp-Method': '' },
      'tools/list',
      {},
      'Header Mcp-Method does not match the method in the body',
    ],
    [
      'an encoded method',
      { 'Mcp-Method': '=?base64?dG9vbHMvbGlzdA==?=' },
      'tools/list',
      {},
      'Header Mcp-Method does not match the method in the body',
    ],
    [
      'two methods',
      { 'Mcp-Method': 'tools/list, tools/list' },
      'tools/list',
      {},
      'Header Mcp-Method does not match the method in the body',
    ],

    ['the name of a tool', { ...call, 'Mcp-Name': 'add' }, 'tools/call', { name: 'add' }],
    ['the name of a prompt', { 'Mcp-Method': 'prompts/get', 'Mcp-Name': 'ask' }, 'prompts/get', { name: 'ask' }],
    ['the URI of a resource', { 'Mcp-Method': 'resources/read', 'Mcp-Name': 'a:b' }, 'resources/read', { uri: 'a:b' }],
    ['an encoded name', { ...call, 'Mcp-Name': encoded }, 'tools/call', { name: 'Hello, 世界' }],
    ['a name that is encoded without need', { ...call, 'Mcp-Name': '=?base64?YWRk?=' }, 'tools/call', { name: 'add' }],
    [
      'a name that only starts like an encoded one',
      { ...call, 'Mcp-Name': '=?base64?YWRk' },
      'tools/call',
      { name: '=?base64?YWRk' },
    ],
    ['a name of spaces, encoded', { ...call, 'Mcp-Name': '=?base64?IA==?=' }, 'tools/call', { name: ' ' }],
    ['a name where none is wanted', { 'Mcp-Method': 'tools/list', 'Mcp-Name': 'x' }, 'tools/list', {}],
    ['a method named like an inherited member', { 'Mcp-Method': 'constructor' }, 'constructor', {}],
    ['no name of a tool', call, 'tools/call', { name: 'add' }, 'Missing header Mcp-Name'],
    ['no name of a prompt', { 'Mcp-Method': 'prompts/get' }, 'prompts/get', { name: 'ask' }, 'Missing header Mcp-Name'],
    [
      'no URI of a resource',
      { 'Mcp-Method': 'resources/read' },
      'resources/read',
      { uri: 'a:b' },
      'Missing header Mcp-Name',
    ],
    [
      'another name',
      { ...call, 'Mcp-Name': 'sub' },
      'tools/call',
      { name: 'add' },
      'Header Mcp-Name does not match params.name in the body',
    ],
    [
      'the name in another case',
      { ...call, 'Mcp-Name': 'Add' },
      'tools/call',
      { name: 'add' },
      'Header Mcp-Name does not match params.name in the body',
    ],
    [
      'another URI',
      { 'Mcp-Method': 'resources/read', 'Mcp-Name': 'a:c' },
      'resources/read',
      { uri: 'a:b' },
      'Header Mcp-Name does not match params.uri in the body',
    ],
    [
      'a name with bad padding',
      { ...call, 'Mcp-Name': '=?base64?SGVsbG8?=' },
      'tools/call',
      { name: 'Hello' },
      'Header Mcp-Name is not validly encoded: write "=?base64?<value>?="',
    ],
    [
      'a name with bad letters',
      { ...call, 'Mcp-Name': '=?base64?SGVs!!!bG8=?=' },
      'tools/call',
      { name: 'Hello' },
      'Header Mcp-Name is not validly encoded: write "=?base64?<value>?="',
    ],
    [
      'a name that is not ASCII',
      { ...call, 'Mcp-Name': 'caf\u00e9' },
      'tools/call',
      { name: 'café' },
      'Header Mcp-Name is not validly encoded: write "=?base64?<value>?="',
    ],
    // What is wrong with the body is told by who reads it.
    ['a name for a body without one', { ...call, 'Mcp-Name': 'add' }, 'tools/call', {}],
    ['a name for a body with a number', { ...call, 'Mcp-Name': '5' }, 'tools/call', { name: 5 }],
  ])('%s', (_, headers, method, params, says) => {
    expect(
      verdict(() => checkStandardHeaders(new Headers(headers), method, { ...params }, callMethod(method)?.named)),
    ).toBe(says)
  })
})

describe('headers of mirrored arguments', () => {
  const mirrored: HeaderParameter[] = [
    { header: 'Region', path: ['region'], type: 'string' },
    { header: 'Count', path: ['count'], type: 'integer' },
    { header: 'Dry', path: ['dry'], type: 'boolean' },
    { header: 'Deep', path: ['inner', 'deep'], type: 'string' },
  ]
  const differs = (header: string, path: string) =>
    `Header Mcp-Param-${header} does not match arguments.${path} in the body`
  type Row = [what: string, headers: Record<string, string>, args: unknown, says?: string]
  test.each<Row>([
    ['no header of an absent argument', {}, {}],
    ['no header of absent arguments', {}, undefined],
    ['no header of null', {}, { region: null, inner: null }],
    ['a text', { Region: 'west' }, { region: 'west' }],
    ['an empty text', { Region: '' }, { region: '' }],
    ['an encoded text', { Region: '=?base64?SGVsbG8sIOS4lueVjA==?=' }, { region: 'Hello, 世界' }],
    ['an integer', { Count: '42' }, { count: 42 }],
    ['an integer with a point', { Count: '42.0' }, { count: 42 }],
    ['a negative integer', { Count: '-7' }, { count: -7 }],
    ['no header of zero', {}, { count: 0 }, 'Missing header Mcp-Param-Count'],
    ['zero', { Count: '0' }, { count: 0 }],
    ['true', { Dry: 'true' }, { dry: true }],
    ['false', { Dry: 'false' }, { dry: false }],
    ['a nested argument', { Deep: 'x' }, { inner: { deep: 'x' } }],
    [
      'all of them',
      { Region: 'a', Count: '1', Dry: 'true', Deep: 'b' },
      { region: 'a', count: 1, dry: true, inner: { deep: 'b' } },
    ],
    ['an argument without annotation', { Other: 'x', Region: 'a' }, { region: 'a', other: 'y' }],
    ['no header of a text', {}, { region: 'west' }, 'Missing header Mcp-Param-Region'],
    ['no header of an empty text', {}, { region: '' }, 'Missing header Mcp-Param-Region'],
    ['no header of false', {}, { dry: false }, 'Missing header Mcp-Param-Dry'],
    ['no header of a nested argument', {}, { inner: { deep: 'x' } }, 'Missing header Mcp-Param-Deep'],
    ['another text', { Region: 'east' }, { region: 'west' }, differs('Region', 'region')],
    ['the text in another case', { Region: 'West' }, { region: 'west' }, differs('Region', 'region')],
    ['another integer', { Count: '43' }, { count: 42 }, differs('Count', 'count')],
    ['true in another case', { Dry: 'True' }, { dry: true }, differs('Dry', 'dry')],
    ['another nested text', { Deep: 'y' }, { inner: { deep: 'x' } }, differs('Deep', 'inner.deep')],
    ['a header of an absent argument', { Region: 'west' }, {}, differs('Region', 'region')],
    ['a header of null', { Region: 'null' }, { region: null }, differs('Region', 'region')],
    ['a header of absent arguments', { Region: 'west' }, undefined, differs('Region', 'region')],
    ['a header of an object', { Region: '[object Object]' }, { region: {} }, differs('Region', 'region')],
    [
      'a header with bad padding',
      { Region: '=?base64?SGVsbG8?=' },
      { region: 'Hello' },
      'Header Mcp-Param-Region is not validly encoded: write "=?base64?<value>?="',
    ],
    [
      'a header that is not ASCII',
      { Region: 'caf\u00e9' },
      { region: 'café' },
      'Header Mcp-Param-Region is not validly encoded: write "=?base64?<value>?="',
    ],
  ])('%s', (_, named, args, says) => {
    const headers = new Headers(
      Object.entries(named).map(([name, value]): [string, string] => [`mcp-param-${name}`, value]),
    )
    expect(verdict(() => checkMirroredParameters(headers, mirrored, args))).toBe(says)
  })
})
