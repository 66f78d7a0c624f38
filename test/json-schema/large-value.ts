/** Validates a list of 75,000 objects, each of which is the last of six alternatives. Prints how many issues it has. */
import { compile } from '../../worker/declarations/json-schema/compile.ts'

const names = ['a', 'b', 'c', 'd', 'e', 'f']
const $defs = Object.fromEntries(names.map((name) => [name, { type: 'object', properties: { k: { const: name } } }]))
const oneOf = names.map((name) => ({ $ref: `#/$defs/${name}` }))
const check = compile({ type: 'array', items: { oneOf }, $defs }, 'schema')
console.log(check(JSON.parse(`[${Array(75_000).fill('{"k":"f"}').join()}]`)).length)
