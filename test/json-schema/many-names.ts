/** Validates an object with 240,000 names by a chain of 24 references, which collect them. Prints how many issues it has. */
import { compile } from '../../worker/declarations/json-schema/compile.ts'

const $defs: Record<string, object> = { link0: { additionalProperties: { type: 'number' } } }
for (let at = 1; at < 24; at += 1) $defs[`link${at}`] = { allOf: [{ $ref: `#/$defs/link${at - 1}` }] }
const check = compile({ allOf: [{ $ref: '#/$defs/link23' }], unevaluatedProperties: false, $defs }, 'schema')
const value = JSON.parse(`{${Array.from({ length: 240_000 }, (_, at) => `"k${at}":1`).join()}}`)
console.log(check(value).length)
