import { describe, expect, test } from 'vitest'
import {
  type Change,
  changesIn,
  eventNotification,
  listChanges,
  readFilter,
  supportedFilter,
  type TopicRecipients,
  topicOf,
  topicsFor,
} from '../../worker/protocol/changes.ts'
import { McpError } from '../../worker/protocol/errors.ts'
import type { SubscriptionFilter } from '../../worker/protocol/types.ts'

const resource = { resource: 'note://1' }

test('a change becomes a notification of the protocol', () => {
  expect(eventNotification({ list: 'tools' })).toEqual({ method: 'notifications/tools/list_changed' })
  expect(eventNotification({ list: 'prompts' })).toEqual({ method: 'notifications/prompts/list_changed' })
  expect(eventNotification({ list: 'resources' })).toEqual({ method: 'notifications/resources/list_changed' })
  expect(eventNotification(resource)).toEqual({
    method: 'notifications/resources/updated',
    params: { uri: 'note://1' },
  })
})

describe('a subscriber', () => {
  const issuer = 'https://one.example'
  const hears = (filter: SubscriptionFilter, change: Change, tenant?: string, scope?: TopicRecipients) =>
    topicsFor(changesIn(filter), { issuer, tenant }).includes(topicOf(change, scope))

  test('gets changes of the lists in its filter', () => {
    expect(hears({ toolsListChanged: true }, { list: 'tools' })).toBe(true)
    expect(hears({ promptsListChanged: true }, { list: 'prompts' })).toBe(true)
    expect(hears({ resourcesListChanged: true }, { list: 'resources' })).toBe(true)
  })

  test('gets no changes outside its filter', () => {
    expect(hears({}, { list: 'tools' })).toBe(false)
    expect(hears({ toolsListChanged: false }, { list: 'tools' })).toBe(false)
    expect(hears({ promptsListChanged: true }, { list: 'tools' })).toBe(false)
    expect(hears({ resourcesListChanged: true }, resource)).toBe(false)
    expect(hears({}, resource)).toBe(false)
  })

  test('gets changes of exactly the resources in its filter', () => {
    expect(hears({ resourceSubscriptions: ['note://2', 'note://1'] }, resource)).toBe(true)
    expect(hears({ resourceSubscriptions: ['note://11'] }, resource)).toBe(false)
    expect(hears({ resourceSubscriptions: ['note://1'] }, { list: 'resources' })).toBe(false)
    expect(hears({ resourceSubscriptions: [] }, resource)).toBe(false)
  })

  test('gets changes for everyone and for its tenant', () => {
    const filter = { toolsListChanged: true, resourceSubscriptions: ['note://1'] }
    for (const change of [{ list: 'tools' }, resource] as const) {
      expect(hears(filter, change, 'acme')).toBe(true)
      expect(hears(filter, change, 'acme', { issuer, tenant: 'acme' })).toBe(true)
      expect(hears(filter, change, 'acme', { issuer, tenant: 'other' })).toBe(false)
      expect(hears(filter, change, undefined, { issuer, tenant: 'acme' })).toBe(false)
      expect(hears(filter, change, '', { issuer, tenant: '' })).toBe(true)
      expect(hears(filter, change, undefined, { issuer, tenant: '' })).toBe(false)
    }
  })

  test('gets no changes for a tenant of the same name of another issuer', () => {
    const other = { issuer: 'https://two.example', tenant: 'acme' }
    expect(hears({ toolsListChanged: true }, { list: 'tools' }, 'acme', other)).toBe(false)
  })

  test('of a tenant with an unusual name gets no changes for another tenant', () => {
    for (const tenant of ['tools', 'a" tools', '"acme"', 'resource:note://1', '\n']) {
      const topics = topicsFor(listChanges, { issuer, tenant })
      expect(topics).toHaveLength(6)
      expect(topics).not.toContain(topicOf({ list: 'tools' }, { issuer, tenant: 'acme' }))
      expect(hears({ toolsListChanged: true }, resource, tenant)).toBe(false)
    }
  })
})

test('a change for a tenant without its issuer is refused', () => {
  // As from JavaScript, or from another Worker: the type does not admit it.
  const scope = { tenant: 'acme' } as unknown as TopicRecipients
  expect(() => topicOf({ list: 'tools' }, scope)).toThrow(
    'A change for the tenant "acme" needs the issuer of the tenant',
  )
})

test('the topics of a tenant have the same length for claims of any length', () => {
  const lengths = ['a', '日'.repeat(9_000), '\ud800'].map(
    (tenant) => topicOf({ list: 'tools' }, { issuer: 'https://one.example', tenant }).length,
  )
  expect(new Set(lengths).size).toBe(1)
})

test('each change has its own topic', () => {
  const topics = [...listChanges.map((change) => topicOf(change)), topicOf(resource), topicOf({ resource: 'tools' })]
  expect(topics).toEqual(['tools', 'prompts', 'resources', 'resource:note://1', 'resource:tools'])
})

test('a template has a topic that no URI has', () => {
  const template = topicOf({ resource: 'note://{id}' })
  expect(topicOf({ resource: 'note://%7Bid%7D' })).not.toBe(template)
  expect(topicOf({ resource: 'note://{id%7D' })).not.toBe(template)
  expect(topicOf({ resource: '日://{id}' })).toBe('resource:%E6%97%A5://{id}')
})

describe('a subscription filter', () => {
  test('is read unchanged', () => {
    const filter = {
      toolsListChanged: true,
      promptsListChanged: false,
      resourcesListChanged: true,
      resourceSubscriptions: ['note://1'],
    }
    expect(readFilter({ notifications: filter })).toEqual(filter)
    expect(readFilter({ notifications: {} })).toEqual({})
  })

  test.each<[string, Record<string, unknown> | undefined, string]>([
    ['no params', undefined, 'params.notifications must be an object'],
    ['no filter', {}, 'params.notifications must be an object'],
    ['a list', { notifications: [] }, 'params.notifications must be an object'],
    ['null', { notifications: null }, 'params.notifications must be an object'],
    [
      'a text for a switch',
      { notifications: { toolsListChanged: 'yes' } },
      'params.notifications.toolsListChanged must be true or false',
    ],
    [
      'null for a switch',
      { notifications: { promptsListChanged: null } },
      'params.notifications.promptsListChanged must be true or false',
    ],
    [
      'one for a switch',
      { notifications: { resourcesListChanged: 1 } },
      'params.notifications.resourcesListChanged must be true or false',
    ],
    ['one URI', { notifications: { resourceSubscriptions: 'a:b' } }, 'must be a list of URIs'],
    ['numbers for URIs', { notifications: { resourceSubscriptions: ['a:b', 1] } }, 'must be a list of URIs'],
    ['null for URIs', { notifications: { resourceSubscriptions: null } }, 'must be a list of URIs'],
  ])('is refused with %s', (_, params, message) => {
    expect(() => readFilter(params)).toThrow(expect.objectContaining({ kind: 'invalid_params' }))
    expect(() => readFilter(params)).toThrow(McpError)
    expect(() => readFilter(params)).toThrow(message)
  })

  const all = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true }
  test.each([
    [
      { tools: true, prompts: true, resources: true },
      { ...all, resourceSubscriptions: ['note://1'] },
    ],
    [{ tools: true, prompts: false, resources: false }, { toolsListChanged: true }],
    [{ tools: false, prompts: true, resources: false }, { promptsListChanged: true }],
    [
      { tools: false, prompts: false, resources: true },
      { resourcesListChanged: true, resourceSubscriptions: ['note://1'] },
    ],
    [{ tools: false, prompts: false, resources: false }, {}],
  ])('is restricted to the change notifications that the server offers: %j', (offered, expected) => {
    expect(supportedFilter({ ...all, resourceSubscriptions: ['note://1'] }, offered)).toEqual(expected)
  })

  test('is acknowledged with the requested members only', () => {
    const offered = { tools: true, prompts: true, resources: true }
    expect(supportedFilter({ toolsListChanged: false }, offered)).toEqual({})
    expect(supportedFilter({ toolsListChanged: true, madeUp: true } as object, offered)).toEqual({
      toolsListChanged: true,
    })
  })
})
