import { describe, expect, test } from 'vitest'
import { McpError } from '../../worker/protocol/errors.ts'
import {
  claimedVersion,
  isImplementation,
  isLogLevel,
  progressToken,
  readEnvelope,
} from '../../worker/protocol/meta.ts'
import { logLevels } from '../../worker/protocol/types.ts'

const whole = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': { roots: {} },
}

function refusal(act: () => unknown): McpError {
  try {
    act()
  } catch (thrown) {
    if (thrown instanceof McpError) return thrown
  }
  throw new Error('not refused')
}

describe('the envelope', () => {
  test('is read from its keys', () => {
    const clientInfo = { name: 'c', version: '1' }
    const meta = {
      ...whole,
      'io.modelcontextprotocol/clientInfo': clientInfo,
      'io.modelcontextprotocol/logLevel': 'notice',
    }
    expect(readEnvelope({ _meta: meta })).toEqual({
      version: '2026-07-28',
      capabilities: { roots: {} },
      client: clientInfo,
      logLevel: 'notice',
    })
  })

  test('requires neither a client nor a log level', () => {
    expect(readEnvelope({ _meta: whole })).toMatchObject({ client: undefined, logLevel: undefined })
  })

  test.each([
    ['no params', undefined, 'Missing params._meta'],
    ['no _meta', {}, 'Missing params._meta'],
    ['an _meta that is null', { _meta: null }, 'Missing params._meta'],
    ['an _meta that is a list', { _meta: [] }, 'Missing params._meta'],
    ['no version', { _meta: {} }, 'params._meta["io.modelcontextprotocol/protocolVersion"] must be a string'],
    [
      'no capabilities',
      { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } },
      'params._meta["io.modelcontextprotocol/clientCapabilities"] must be an object',
    ],
    [
      'half a client',
      { _meta: { ...whole, 'io.modelcontextprotocol/clientInfo': { name: 'c' } } },
      'params._meta["io.modelcontextprotocol/clientInfo"] must be an object with name and version',
    ],
    [
      'a client that is null',
      { _meta: { ...whole, 'io.modelcontextprotocol/clientInfo': null } },
      'params._meta["io.modelcontextprotocol/clientInfo"] must be an object with name and version',
    ],
    [
      'an unknown log level',
      { _meta: { ...whole, 'io.modelcontextprotocol/logLevel': 'loud' } },
      'params._meta["io.modelcontextprotocol/logLevel"] must be one of debug, info, notice, warning, error, critical, alert, emergency',
    ],
  ])('is refused with %s', (_, params, message) => {
    const { kind, message: said } = refusal(() => readEnvelope(params))
    expect([kind, said]).toEqual(['invalid_envelope', message])
  })

  test('is refused with an invalid progress token', () => {
    expect(refusal(() => readEnvelope({ _meta: { ...whole, progressToken: 1.5 } })).kind).toBe('invalid_params')
  })
})

describe('a progress token', () => {
  test.each([['a'], [''], [0], [-3]])('can be %j', (token) => {
    expect(progressToken({ _meta: { progressToken: token } })).toBe(token)
  })

  test.each([[undefined], [{}], [{ _meta: {} }], [{ _meta: [] }]])('can be absent: %j', (params) => {
    expect(progressToken(params as Record<string, unknown> | undefined)).toBeUndefined()
  })

  test.each([[null], [1.5], [true], [{}], [[]], [2 ** 53]])('cannot be %j', (token) => {
    expect(refusal(() => progressToken({ _meta: { progressToken: token } })).kind).toBe('invalid_params')
  })
})

test('any value of the version key counts as a claim', () => {
  const claim = (_meta: unknown) => claimedVersion({ _meta })
  expect(claimedVersion(undefined)).toBeUndefined()
  expect(claimedVersion({})).toBeUndefined()
  expect(claim({})).toBeUndefined()
  expect(claim([])).toBeUndefined()
  expect(claim(whole)).toBe('2026-07-28')
  expect(claim({ 'io.modelcontextprotocol/protocolVersion': 7 })).toBe(7)
  expect(claim({ 'io.modelcontextprotocol/protocolVersion': null })).toBeNull()
})

test('the log levels are those of syslog, least severe first', () => {
  expect(logLevels).toEqual(['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'])
  for (const level of logLevels) expect(isLogLevel(level)).toBe(true)
  for (const other of ['', 'Debug', 'warn', 'toString', 0, null, undefined]) expect(isLogLevel(other)).toBe(false)
})

test('an implementation requires a name and a version', () => {
  expect(isImplementation({ name: 'a', version: '1', title: 'A' })).toBe(true)
  for (const other of [null, [], 'a', {}, { name: 'a' }, { version: '1' }, { name: 'a', version: 1 }]) {
    expect(isImplementation(other)).toBe(false)
  }
})
