import { expect, test } from 'vitest'
import { asMcpError, errorTable, McpError } from '../../worker/protocol/errors.ts'

test('each error code is one that the newest protocol version allows', () => {
  for (const { code } of Object.values(errorTable)) {
    expect(code === -32700 || (code >= -32603 && code <= -32600) || (code >= -32022 && code <= -32020)).toBe(true)
  }
})

test('each kind of error has a code, and a status for responses without a stream', () => {
  const table = Object.entries(errorTable).map(([kind, { code, status }]) => `${status} ${code} ${kind}`)
  expect(table.sort()).toEqual([
    '200 -32600 client_error',
    '200 -32600 url_elicitation_required',
    '200 -32602 invalid_handle',
    '200 -32602 invalid_params',
    '200 -32602 request_state_used',
    '200 -32602 resource_not_found',
    '200 -32603 call_interrupted',
    '200 -32603 internal_error',
    '400 -32020 header_mismatch',
    '400 -32021 missing_client_capability',
    '400 -32022 unsupported_version',
    '400 -32600 invalid_request',
    '400 -32600 session_required',
    '400 -32602 invalid_envelope',
    '400 -32602 out_of_bounds',
    '400 -32700 parse_error',
    '401 -32600 unauthorized',
    '403 -32600 forbidden',
    '403 -32600 insufficient_scope',
    '404 -32600 session_not_found',
    '404 -32601 method_not_found',
    '405 -32600 method_not_allowed',
    '406 -32600 not_acceptable',
    '408 -32600 request_timeout',
    '413 -32600 content_too_large',
    '415 -32600 unsupported_media_type',
    '429 -32600 too_many_requests',
    '503 -32603 unavailable',
  ])
})

test('clients get the message of an McpError, and "Internal error" for other exceptions', () => {
  const known = new McpError('invalid_params', 'Wrong', { a: 1 })
  const reported: unknown[] = []
  const report = (problem: unknown) => reported.push(problem)
  expect(asMcpError(known, report)).toBe(known)
  expect(reported).toEqual([])
  for (const thrown of [new Error('the password is x'), 'text', undefined, null]) {
    const told = asMcpError(thrown, report)
    expect(reported.pop()).toBe(thrown)
    expect([told.kind, told.message, told.data]).toEqual(['internal_error', 'Internal error', undefined])
  }
})

test.each(['not_found', 'toString', '__proto__', -32602, undefined])(
  'an McpError of the kind %s is refused',
  (kind) => {
    const problem = `McpError has no kind "${kind}": use ${Object.keys(errorTable).join(', ')}`
    expect(() => new McpError(kind as never, 'Wrong')).toThrow(new TypeError(problem))
  },
)
