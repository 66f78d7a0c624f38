/** The published JSON Schemas of every protocol version, read from the conformance suite, which contains four of the five. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { runInNewContext } from 'node:vm'

export type WireSchema = { $schema: string; definitions?: Definitions; $defs?: Definitions }
type Definitions = Record<string, Definition>
export type Definition = Record<string, unknown>

/** The suite has no exports, so its bundle is read as text and only the four object literals are evaluated. */
function bundledSchemas(): Record<string, WireSchema> {
  const path = createRequire(import.meta.url).resolve('@modelcontextprotocol/conformance/dist/index.js')
  const bundle = readFileSync(path, 'utf8')
  const table = /;const \w+=(\{"2025-03-26":(\w+),"2025-06-18":\w+,"2025-11-25":\w+,\[\w+\]:\w+\});/.exec(bundle)
  if (!table) throw new Error('The conformance suite no longer has its table of schemas where it was')
  const [, byRevision = '', first] = table
  const literals = bundle.slice(bundle.indexOf(`${first}={$schema:`), table.index)
  const source = `const ${literals};JSON.stringify(${byRevision.replace(/\[\w+\]/, '"2026-07-28"')})`
  return JSON.parse(runInNewContext(source, {}, { timeout: 5000 }))
}

/** 2024-11-05 is 2025-03-26 without audio and batches. The other differences are optional members of open objects. */
function without(schema: WireSchema, gone: readonly string[]): WireSchema {
  const refs = new Set(gone.map((name) => `#/definitions/${name}`))
  const isKept = (one: { $ref?: string; type?: string }) => !refs.has(one.$ref ?? '') && one.type !== 'array'
  const text = JSON.stringify(schema, (key, value) => {
    if (key === 'anyOf') return value.filter(isKept)
    return gone.includes(key) ? undefined : value
  })
  return JSON.parse(text)
}

const bundled = bundledSchemas()
const batches = ['JSONRPCBatchRequest', 'JSONRPCBatchResponse']

// The published NumberSchema requires integers for the limits and the default of a number. The specification requires numbers.
const patched = Object.entries(bundled).map(([revision, schema]) => {
  const definitions = schema.$defs ?? schema.definitions
  const properties = definitions?.NumberSchema?.properties as Record<string, Definition> | undefined
  for (const name of ['minimum', 'maximum', 'default']) if (properties?.[name]) properties[name].type = 'number'
  return [revision, schema] as const
})

/**
 * The published schemas leave every object open, so that they accept members of a newer version. Here an object
 * has the members of its version only. Parts of an `allOf` stay open, because the whole is closed. The schemas of
 * tools stay open too, and so does the JSON-RPC envelope, which older versions describe separately from its content.
 */
function closed(node: unknown, part = false): unknown {
  if (Array.isArray(node)) return node.map((entry) => closed(entry, part))
  if (typeof node !== 'object' || node === null) return node
  const members = Object.entries(node).map(([key, value]) => [
    key,
    isToolSchema(key) ? value : closed(value, key === 'allOf'),
  ])
  const copy = Object.fromEntries(members)
  if (copy.properties?.method) copy.properties = { jsonrpc: {}, id: {}, ...copy.properties }
  const isRecord = typeof copy.properties === 'object' && copy.additionalProperties === undefined
  return isRecord && !part && copy.allOf === undefined ? { ...copy, additionalProperties: false } : copy
}

const isToolSchema = (key: string) => key === 'inputSchema' || key === 'outputSchema'

/** By protocol version. */
export const wireSchemas: Readonly<Record<string, WireSchema>> = Object.fromEntries(
  Object.entries({
    '2024-11-05': without(bundled['2025-03-26'] as WireSchema, ['AudioContent', ...batches]),
    ...Object.fromEntries(patched),
  }).map(([revision, schema]) => [revision, closed(schema) as WireSchema]),
)
