/** Ways to send a token, most of which nobody may use. */

import { expect } from 'vitest'
import { type Attack, anonymous, invalid, json, malformed, newest, type Stage } from './stage.ts'
import { wire } from './wire.ts'

const notOne = malformed('The header Authorization must be "Bearer", a space and one token')

const inUrl = malformed('Tokens in the URL are not accepted: send the header Authorization')

const withoutProof = {
  ...invalid('The header DPoP is missing: send a proof with each request'),
  challenge: expect.stringMatching(
    /^DPoP resource_metadata="[^"]+", scope="[^"]+", algs="[^"]+", error="invalid_dpop_proof"/,
  ),
}

const read = { name: 'read', arguments: {} }

/** The header `Authorization`, whatever it says. */
const header = (what: string, value: (token: string) => string, outcome: unknown): Attack => ({
  name: what,
  by: async (stage) => {
    const headers = { Authorization: value(await stage.token()) }
    return stage.ask('tools/call', read, { headers })
  },
  outcome,
  ran: (outcome as { status: number }).status === 200 ? ['read'] : [],
})

const good = { status: 200, result: 'read' }

const raw = (what: string, lines: (token: string, stage: Stage) => string[], outcome: unknown): Attack => ({
  name: what,
  by: async (stage) => stage.raw(await wire(stage, lines(await stage.token(), stage))),
  outcome,
  ran: (outcome as { status: number }).status === 200 ? ['read'] : [],
})

/** What the runtime says, before anybody is asked, to what is no HTTP. */
const noHttp = (what: string) => ({ status: 400, result: `invalid ${what} parsed` })

export const sending: Readonly<Record<string, readonly Attack[]>> = {
  'schemes and their spelling': [
    header('the scheme in lower case is accepted', (token) => `bearer ${token}`, good),
    header('the scheme in upper case is accepted', (token) => `BEARER ${token}`, good),
    header('the scheme in mixed case is accepted', (token) => `bEaReR ${token}`, good),
    header('two spaces after the scheme are accepted', (token) => `Bearer  ${token}`, good),
    header('Basic followed by the token', (token) => `Basic ${token}`, anonymous),
    header('Basic with a name and a password', () => `Basic ${btoa('ada:secret')}`, anonymous),
    header('DPoP without a proof', (token) => `DPoP ${token}`, withoutProof),
    header('Token', (token) => `Token ${token}`, anonymous),
    header('the token without a scheme', (token) => token, anonymous),
    header('a scheme that begins with Bearer', (token) => `Bearerish ${token}`, anonymous),
    header('a tab behind the scheme', (token) => `Bearer\t${token}`, anonymous),
    header('a colon behind the scheme', (token) => `Bearer: ${token}`, anonymous),
    header('an empty header', () => '', anonymous),
    header('the scheme alone', () => 'Bearer', notOne),
    header('the scheme twice', (token) => `Bearer Bearer ${token}`, notOne),
    header('two tokens with a comma', (token) => `Bearer ${token},${token}`, notOne),
    header('two credentials with a comma', (token) => `Bearer ${token}, Bearer ${token}`, notOne),
    header('an invalid token and a valid one', (token) => `Bearer a.b.c, Bearer ${token}`, notOne),
    header('Basic before a valid token', (token) => `Basic YTpi, Bearer ${token}`, anonymous),
    header('a valid token before Basic', (token) => `Bearer ${token}, Basic YTpi`, notOne),
    header('a token in quotes', (token) => `Bearer "${token}"`, notOne),
    header('a parameter instead of a token', (token) => `Bearer token="${token}"`, notOne),
    header('a token with a parameter behind it', (token) => `Bearer ${token} realm="a"`, notOne),
    header('a percent-encoded token', (token) => `Bearer ${token.replaceAll('.', '%2E')}`, notOne),
    header('a token in which é replaces e', (token) => `Bearer ${token.replace('e', '\u00e9')}`, notOne),
    header(
      'a token of 16 KB is verified',
      () => `Bearer ${'a'.repeat(16_384)}`,
      invalid('The token is not valid for this resource'),
    ),
    header(
      'a token of 16 KB and one byte is refused',
      () => `Bearer ${'a'.repeat(16_385)}`,
      malformed('The token is too long: at most 16384 bytes'),
    ),
    header(
      'thousands of dots',
      () => `Bearer ${'.'.repeat(10_000)}`,
      invalid('The token is not valid for this resource'),
    ),
    header(
      'thousands of equals signs, against slow regular expressions',
      () => `Bearer a${'='.repeat(10_000)}!`,
      notOne,
    ),
    header('thousands of spaces, against slow regular expressions', () => `Bearer ${' '.repeat(10_000)}!`, notOne),
  ],
  'two credentials': [
    raw(
      'the header twice, the same token in both',
      (token) => [`Authorization: Bearer ${token}`, `Authorization: Bearer ${token}`],
      notOne,
    ),
    raw(
      'the header twice, the first without a valid token',
      (token) => ['Authorization: Bearer a.b.c', `Authorization: Bearer ${token}`],
      notOne,
    ),
    raw(
      'the header twice, the second without a valid token',
      (token) => [`Authorization: Bearer ${token}`, 'Authorization: Bearer a.b.c'],
      notOne,
    ),
    raw(
      'the header twice, in different cases',
      (token) => [`authorization: Bearer ${token}`, 'AUTHORIZATION: Bearer a.b.c'],
      notOne,
    ),
    raw(
      'the header twice, Basic first',
      (token) => ['Authorization: Basic YTpi', `Authorization: Bearer ${token}`],
      anonymous,
    ),
    {
      name: 'a valid header and a token in the query',
      by: async (stage) => {
        const token = await stage.token()
        return stage.ask('tools/call', read, { token, path: `/mcp?access_token=${token}` })
      },
      outcome: inUrl,
    },
  ],
  'tokens in other places': [
    ...['access_token', 'a=b&access_token'].map(
      (name): Attack => ({
        name: `in the query: ${name}`,
        by: async (stage) => stage.ask('tools/call', read, { path: `/mcp?${name}=${await stage.token()}` }),
        outcome: inUrl,
      }),
    ),
    ...['access%5Ftoken', 'Access_Token', 'token', 'bearer', 'authorization'].map(
      (name): Attack => ({
        name: `in the query, under an unknown name: ${name}`,
        by: async (stage) => stage.ask('tools/call', read, { path: `/mcp?${name}=${await stage.token()}` }),
        outcome: anonymous,
      }),
    ),
    {
      name: 'in a form',
      by: async (stage) =>
        stage.send({
          body: `access_token=${await stage.token()}`,
          headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
        }),
      outcome: anonymous,
    },
    {
      name: 'in the message',
      by: async (stage) => {
        const token = await stage.token()
        const _meta = { authorization: `Bearer ${token}` }
        return stage.send({
          body: JSON.stringify({
            jsonrpc: '2.0',
            id: 1,
            method: 'tools/call',
            access_token: token,
            params: { ...read, _meta },
          }),
          headers: { ...json, 'MCP-Protocol-Version': newest },
        })
      },
      outcome: anonymous,
    },
    ...[
      'Cookie',
      'Mcp-Session-Id',
      'Proxy-Authorization',
      'X-Authorization',
      'X-Forwarded-Authorization',
      'DPoP',
      'Cf-Access-Jwt-Assertion',
      'Mcp-Param-Authorization',
    ].map(
      (name): Attack => ({
        name: `in the header ${name}`,
        by: async (stage) => {
          const token = await stage.token()
          const value =
            name === 'Cookie'
              ? `access_token=${token}; Authorization=Bearer ${token}`
              : name === 'Mcp-Session-Id'
                ? token
                : `Bearer ${token}`
          return stage.ask('tools/call', read, { headers: { [name]: value } })
        },
        outcome: anonymous,
      }),
    ),
    ...[
      'X-Forwarded-User: ada',
      'Cf-Access-Authenticated-User-Email: ada@example.com',
      'X-Original-URL: /',
      'X-HTTP-Method-Override: OPTIONS',
    ].map(
      (line): Attack => ({
        name: `a header that proxies set: ${line}`,
        by: (stage) => {
          const [name = '', value = ''] = line.split(': ')
          return stage.ask('tools/call', read, { headers: { [name]: value } })
        },
        outcome: anonymous,
      }),
    ),
  ],
  'broken HTTP': [
    raw(
      'a line break in the token',
      (token) => [`Authorization: Bearer ${token.slice(0, 20)}\n${token.slice(20)}`],
      noHttp('HTTP header'),
    ),
    raw('a folded header', (token) => [`Authorization: Bearer`, ` ${token}`], noHttp('HTTP header')),
    raw('a null byte in the token', (token) => [`Authorization: Bearer ${token}\u0000`], noHttp('HTTP header')),
    raw('a control character in the token', (token) => [`Authorization: Bearer ${token}\u0001`], notOne),
    raw('a space in front of the colon', (token) => [`Authorization : Bearer ${token}`], noHttp('HTTP header')),
    raw('a header without a colon', (token) => [`Authorization Bearer ${token}`], noHttp('HTTP header')),
    raw(
      'two lengths',
      (token) => [`Authorization: Bearer ${token}`, 'Content-Length: 4', 'Content-Length: 300'],
      noHttp('content-length'),
    ),
    raw(
      'a Content-Length that is not a number',
      (token) => [`Authorization: Bearer ${token}`, 'Content-Length: 0x10'],
      noHttp('content-length'),
    ),
    raw(
      'a negative Content-Length',
      (token) => [`Authorization: Bearer ${token}`, 'Content-Length: -1'],
      noHttp('content-length'),
    ),
    raw(
      'an unknown transfer encoding like chunked',
      (token) => [`Authorization: Bearer ${token}`, 'Transfer-Encoding: xchunked'],
      noHttp('transfer-encoding'),
    ),
    raw(
      'headers of 200 KB, which the runtime accepts',
      (token) => [`Authorization: Bearer ${token}`, `X-Long: ${'a'.repeat(200_000)}`],
      good,
    ),
    raw(
      'a second request after the length of the first one',
      (token, stage) => [
        `Authorization: Bearer ${token.slice(0, -5)}`,
        'Content-Length: 0',
        '',
        `POST /mcp HTTP/1.1`,
        `Host: ${stage.server.url.host}`,
        'Content-Length: 0',
      ],
      [invalid('The token is malformed'), anonymous],
    ),
    ...(['first', 'last'] as const).map(
      (place): Attack => ({
        name: `Transfer-Encoding and Content-Length, the length ${place}: the chunks count`,
        by: async (stage) => {
          const { body = '', headers = {} } = stage.stateless('tools/call', read, {})
          const token = await stage.token()
          const lengths = ['Content-Length: 4', 'Transfer-Encoding: chunked']
          const lines = [
            'POST /mcp HTTP/1.1',
            `Host: ${stage.server.url.host}`,
            `Authorization: Bearer ${token}`,
            ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
            ...(place === 'first' ? lengths : lengths.reverse()),
            'Connection: close',
          ]
          return stage.raw(`${lines.join('\r\n')}\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`)
        },
        outcome: good,
        ran: ['read'],
      }),
    ),
  ],
}
