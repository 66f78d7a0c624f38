/** Validates every message of a server in a test against the published schema of its protocol version. */
import { Ajv, type ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import * as formats from 'ajv-formats'
import type { Message } from '../../worker/protocol/jsonrpc.ts'
import { type Definition, type WireSchema, wireSchemas } from './wire-schemas.ts'

export type WireTruth = {
  see(direction: 'sent' | 'received', message: Message): void
  /** @throws Error that lists every message that the schema refuses, with the reason */
  check(): void
}

export function wireTruth(revision: string): WireTruth {
  const book = bookOf(revision)
  const methods = new Map<unknown, string>()
  const problems: string[] = []
  let seen = 0

  function nameOf(message: Message): string {
    if ('method' in message) {
      const { method } = message
      return book.byMethod.get(`${'id' in message ? 'request' : 'notification'} ${method}`) ?? `no ${method}`
    }
    if (!('result' in message)) return book.errorName
    if (message.result.resultType === 'input_required') return 'InputRequiredResult'
    const method = methods.get(message.id)
    const request = book.byMethod.get(`request ${method}`)
    const named = request?.replace(/Request$/, 'Result')
    return named && book.definitions[named] ? named : 'EmptyResult'
  }

  return {
    see(direction, message) {
      if (direction === 'sent') {
        if ('method' in message && 'id' in message) methods.set(message.id, message.method)
        return
      }
      seen += 1
      const name = nameOf(message)
      const validate = book.validator(name)
      const value = 'result' in message ? message.result : message
      if (!validate) problems.push(`${name}: ${JSON.stringify(message)}`)
      else if (!validate(value)) {
        const errors = (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`)
        problems.push(`${name}: ${errors.join(', ')} in ${JSON.stringify(message)}`)
      }
    },
    check() {
      if (seen === 0) throw new Error('Nothing was seen on the wire')
      if (problems.length > 0) throw new Error(`Not what ${revision} says:\n${problems.join('\n')}`)
    },
  }
}

type Book = {
  definitions: Record<string, Definition>
  byMethod: Map<string, string>
  errorName: string
  validator(name: string): ValidateFunction | undefined
}

const books = new Map<string, Book>()

function bookOf(revision: string): Book {
  const known = books.get(revision)
  if (known) return known
  // The invented next version has no schema of its own.
  const schema = (wireSchemas[revision] ?? wireSchemas['2026-07-28']) as WireSchema
  const place = schema.$defs ? '$defs' : 'definitions'
  const definitions = schema[place] as Record<string, Definition>
  const ajv = new (schema.$defs ? Ajv2020 : Ajv)({ strict: false, allErrors: true })
  const addFormats = formats.default as unknown as (ajv: Ajv) => void
  addFormats(ajv)
  ajv.addFormat('byte', true)
  ajv.addSchema({ ...schema, $id: `mcp://${revision}` })
  const validators = new Map<string, ValidateFunction>()
  const book: Book = {
    definitions,
    byMethod: methodsIn(definitions),
    errorName: 'JSONRPCErrorResponse' in definitions ? 'JSONRPCErrorResponse' : 'JSONRPCError',
    validator(name) {
      if (!definitions[name]) return undefined
      let validate = validators.get(name)
      if (!validate) {
        validate = ajv.compile({ $ref: `mcp://${revision}#/${place}/${name}` })
        validators.set(name, validate)
      }
      return validate
    },
  }
  books.set(revision, book)
  return book
}

/** Returns the definition for the message of a method: `request tools/call` → `CallToolRequest`. */
function methodsIn(definitions: Record<string, Definition>): Map<string, string> {
  const found = new Map<string, string>()
  for (const [name, { properties }] of Object.entries(definitions)) {
    const method = (properties as Record<string, Definition> | undefined)?.method?.const
    if (typeof method !== 'string') continue
    found.set(`${name.endsWith('Notification') ? 'notification' : 'request'} ${method}`, name)
  }
  return found
}
