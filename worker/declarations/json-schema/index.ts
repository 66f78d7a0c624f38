/**
 * edgemcp/json-schema: Validate plain JSON Schemas. Servers that use another schema library do not need it.
 *
 * @see https://json-schema.org/draft/2020-12
 */

import { isObject } from '../../protocol/jsonrpc.ts'
import type { JsonSchemaReader } from '../schema.ts'
import { compile } from './compile.ts'

/** Dialects whose keywords are checked. */
const dialects = /^https?:\/\/json-schema\.org\/(draft\/2020-12|draft\/2019-09|draft-07)\/schema#?$/

/**
 * Compiles plain JSON Schemas: pass it to `createServer`. The default dialect is 2020-12; 2019-09 and draft-07 are accepted.
 *
 * @throws Error for another dialect, an invalid schema, and a reference without a target
 * @see https://json-schema.org/draft/2020-12
 *
 * @example
 * import { createServer } from 'edgemcp'
 * const plain = createServer({ name: 'hello', version: '1.0.0', jsonSchema })
 * plain.tool('greet', { description: 'Greet a person', inputSchema: { type: 'object', properties: { name: { type: 'string' } } } },
 *   ({ name }) => `Hello, ${name}!`)
 */
export const jsonSchema: JsonSchemaReader = (schema, owner) => {
  if (!isObject(schema)) throw new Error(`The ${owner} must be a Standard Schema or a JSON Schema object`)
  const { $schema } = schema
  if ($schema !== undefined && !dialects.test(String($schema))) {
    throw new Error(`The ${owner} uses the JSON Schema dialect ${$schema}: use 2020-12`)
  }
  return compile(schema, owner)
}
