/** Brings answers of two servers into a form in which only meaningful differences are left. */
import { gunzipSync } from 'node:zlib'
import type { Json } from './participant.ts'

/** Members with texts for people, of which each server has its own: only their presence counts. */
const prose = new Set(['description', 'instructions'])

/** Lists whose entries have a name of their own. Their order does not matter. */
const keyed: Readonly<Record<string, string>> = {
  tools: 'name',
  prompts: 'name',
  resources: 'uri',
  resourceTemplates: 'uriTemplate',
  arguments: 'name',
}

/** Normalizes a JSON value: times, ids, compressed data, texts of validation errors, and the order of members. */
export function normalize(value: unknown, key = ''): unknown {
  if (typeof value === 'string') return normalizeText(value, key)
  if (Array.isArray(value)) {
    const name = keyed[key]
    if (name) return Object.fromEntries(value.map((entry: Json) => [String(entry[name]), normalize(entry)]))
    return value.map((entry) => normalize(entry))
  }
  if (typeof value !== 'object' || value === null) return value
  // Clients act on the code of an error. Its message is for people.
  if (key === 'error' && 'message' in value) return normalize({ ...value, message: undefined })
  return Object.fromEntries(
    Object.entries(key === 'result' ? withoutEnvelope({ ...value }) : value)
      .filter(([, member]) => member !== undefined)
      .map(([name, member]) => [name, normalize(member, name)]),
  )
}

/** Removes what 2026-07-28 adds to every result: the name of the server, and for how long clients may cache the result. */
function withoutEnvelope({ ttlMs: _ttlMs, cacheScope: _cacheScope, _meta, ...result }: Json): Json {
  if (typeof _meta !== 'object' || _meta === null || !('io.modelcontextprotocol/serverInfo' in _meta)) {
    return { ...result, _meta }
  }
  const { 'io.modelcontextprotocol/serverInfo': _serverInfo, ...meta } = _meta
  return Object.keys(meta).length > 0 ? { ...result, _meta: meta } : result
}

function normalizeText(text: string, key: string): unknown {
  if (prose.has(key)) return '<text>'
  if (key === 'blob') return { bytes: normalize(decodeBytes(text)) }
  if (key === 'data' && text.startsWith('iVBORw0KGgo')) return '<a PNG image>'
  if (key === 'level') return '<level>'
  if (key === 'taskId') return '<task id>'
  if (key === 'elicitationId' && !/^e\d+$/.test(text)) return '<random id>'
  if (key === 'statusMessage' && /^(Gathering|Analyzing|Synthesizing|Generating)/.test(text)) return '<a stage>'
  if (/^\d{4}-\d\d-\d\dT/.test(text)) return '<date>'
  const { plain, json } = splitJson(text)
  const normalized = replaceValues(plain)
  return json === undefined ? normalized : [normalized, normalize(json)]
}

function decodeBytes(base64: string): string {
  const bytes = Buffer.from(base64, 'base64')
  return bytes[0] === 0x1f && bytes[1] === 0x8b ? `gzip of: ${gunzipSync(bytes)}` : bytes.toString()
}

/** Splits off the JSON that a text ends with: the servers print members in different orders. */
function splitJson(text: string): { plain: string; json?: unknown } {
  const start = text.search(/\{\n/)
  if (start === -1) return { plain: text }
  try {
    return { plain: text.slice(0, start), json: JSON.parse(text.slice(start)) }
  } catch {
    return { plain: text }
  }
}

const replaceValues = (text: string): string =>
  text
    .replace(/\b(session|SessionId) [\w.-]{16,}/gi, '$1 <session id>')
    .replace(/\d{1,2}:\d\d:\d\d [AP]M/g, '<time>')
    .replace(/\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, '<random id>')
    .replace(/\b(Debug|Info|Notice|Warning|Error|Critical|Alert|Emergency)-level/, '<level>-level')
    .replace(/(at a 5 second pace\.).*$/s, '$1')
    // The same issue of the same schema, in two sentences.
    .replace(
      /^(?:MCP error -32602: )?(?:Input validation error: )?Invalid arguments for (?:tool |prompt )?([\w-]+): (.*) at (\w+)$/s,
      'Invalid arguments for $1: $3: $2',
    )
    // What the two servers say about themselves.
    .replace(/\n\n(?:Note:|This could mean:)[\s\S]*$/, '')
    .replace(/^(# Research Report[\s\S]*?)\n\n---[\s\S]*$/, '$1')
    .replace(/\n(This research query was processed|The query went) through 4 stages:/, '')
    .replace(/^# (?!Research)[\s\S]*$/, '<a document>')
    .replace(/\n{2,}/g, '\n')
