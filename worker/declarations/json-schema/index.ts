/**
 * The checker for plain JSON Schemas, for servers that use them: `createServer({ …, jsonSchema })`. Servers that bring
 * another schema library need not carry it.
 *
 * @see https://json-schema.org/draft/2020-12
 */

import { isObject } from '../../protocol/jsonrpc.ts'
import type { JsonSchemaReader } from '../schema.ts'
import { compile } from './compile.ts'

/** The dialects whose keywords are checked. */
const dialects = /^https?:\/\/json-schema\.org\/(draft\/2020-12|draft\/2019-09|draft-07)\/schema#?$/

/**
 * Reads a plain JSON Schema, of 2020-12 unless it says otherwise.
 *
 * @throws Error with one sentence when it is of another dialect, makes no sense, or refers to what is not in it
 */
export const jsonSchema: JsonSchemaReader = (schema, owner) => {
  if (!isObject(schema)) throw new Error(`The ${owner} must be a Standard Schema or a JSON Schema object`)
  const { $schema } = schema
  if ($schema !== undefined && !dialects.test(String($schema))) {
    throw new Error(`The ${owner} uses the JSON Schema dialect ${$schema}: use 2020-12`)
  }
  return compile(schema, owner)
}
