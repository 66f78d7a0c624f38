import { expect, test } from 'vitest'
import { Mirrored } from '../../worker/plugins/compose/proxy/mirrored.ts'

const inputSchema = { type: 'object', properties: { region: { type: 'string', 'x-mcp-header': 'Region' } } }
const headersOf = (mirrored: Mirrored, name: string) => mirrored.headers({ name, arguments: { region: 'eu' } })

test('the mirrored arguments of the latest thousand tools are stored, and of no tool without any', () => {
  const mirrored = new Mirrored()
  mirrored.learn([{ name: 'first', inputSchema }])
  expect(headersOf(mirrored, 'first')).toEqual({ 'Mcp-Param-Region': 'eu' })
  mirrored.learn(Array.from({ length: 2000 }, (_, index) => ({ name: `plain${index}`, inputSchema: {} })))
  expect(headersOf(mirrored, 'first')).toEqual({ 'Mcp-Param-Region': 'eu' })
  mirrored.learn(Array.from({ length: 1000 }, (_, index) => ({ name: `other${index}`, inputSchema })))
  expect(headersOf(mirrored, 'first')).toEqual({})
  expect(headersOf(mirrored, 'other999')).toEqual({ 'Mcp-Param-Region': 'eu' })
})

test('a tool that loses its mirrored arguments is removed', () => {
  const mirrored = new Mirrored()
  mirrored.learn([{ name: 'a', inputSchema }])
  mirrored.learn([{ name: 'a', inputSchema: {} }])
  expect(headersOf(mirrored, 'a')).toEqual({})
})
