/**
 * Subscriptions of sessions, and the streams of stateless clients that take their place.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/server/resources#subscriptions
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions
 */
import { readEntryName, readText, type SessionMethod } from './method.ts'
import { hasResources, readUri } from './resources.ts'

const offered: SessionMethod['offered'] = (declarations, { updates }) => updates && hasResources(declarations)

const names: SessionMethod['names'] = ({ uri }) => readEntryName('resource', uri)

export const subscribe: SessionMethod = {
  requires: 'session',
  offered,
  names,
  async answer(params, session) {
    await session.subscribe(readUri(readText(params, 'uri')))
    return {}
  },
}

export const unsubscribe: SessionMethod = {
  requires: 'session',
  offered,
  names,
  async answer(params, session) {
    await session.unsubscribe(readText(params, 'uri'))
    return {}
  },
}
