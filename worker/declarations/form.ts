/**
 * Schemas of forms: one flat object of plain fields, which every client can show.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation#requested-schema
 */

import { isObject } from '../protocol/jsonrpc.ts'
import type { JsonSchema, Params } from '../protocol/types.ts'
import { strings } from './option-kinds.ts'
import { type JsonSchemaReader, readSchema, type Schema, type Validator } from './schema.ts'

const forms = new WeakMap<object, Validator>()

/**
 * Reads the schema of a form.
 *
 * @param asker the owner of the schema, for errors
 * @throws Error when a form cannot show one of the fields. The message names the field
 */
export function readForm(schema: Schema, asker: string, reader?: JsonSchemaReader): Validator {
  let form = forms.get(schema)
  if (!form) {
    const validator = readSchema(schema, 'input', `schema of the ${asker}`, reader)
    form = { ...validator, jsonSchema: formSchema(validator.jsonSchema, asker) }
    forms.set(schema, form)
  }
  return form
}

function formSchema(schema: JsonSchema, asker: string): JsonSchema {
  if (schema.type !== 'object' || !isObject(schema.properties)) {
    throw new Error(`The schema of the ${asker} must be an object with at least one property`)
  }
  const properties = Object.entries(schema.properties).map(([name, property]) => {
    const field = isObject(property) ? fieldSchema(property) : undefined
    if (field) return [name, field]
    throw new Error(`The ${asker} cannot ask for "${name}": use strings, numbers, booleans or enums of strings`)
  })
  const required = Array.isArray(schema.required) && schema.required.length > 0 ? { required: schema.required } : {}
  return { type: 'object', properties: Object.fromEntries(properties), ...required }
}

const formats = new Set(['email', 'uri', 'date', 'date-time'])
const described = ['title', 'description', 'default']

/** Returns a field as forms have it; `undefined` for one that no form can have. @param property with members of the right types */
export function fieldSchema(property: Params): Params | undefined {
  const { type } = property
  if (type === 'boolean') return pick(property, 'type', ...described)
  if (type === 'number' || type === 'integer') return pick(property, 'type', ...described, 'minimum', 'maximum')
  if (type === 'array') return manyOf(property)
  if (isTexts(property.enum)) {
    return { type: 'string', ...pick(property, ...described, 'enum', 'enumNames') }
  }
  const titled = titledChoices(property.oneOf ?? property.anyOf)
  if (titled) return { type: 'string', ...pick(property, ...described), oneOf: titled }
  if (type !== 'string') return undefined
  const field = pick(property, 'type', ...described, 'minLength', 'maxLength', 'format')
  if (!formats.has(String(field.format))) delete field.format
  return field
}

const isTexts = strings[0]

function manyOf(property: Params): Params | undefined {
  const items = isObject(property.items) ? property.items : {}
  const common = pick(property, 'type', ...described, 'minItems', 'maxItems')
  if (isTexts(items.enum)) return { ...common, items: { type: 'string', enum: items.enum } }
  const titled = titledChoices(items.anyOf ?? items.oneOf)
  return titled && { ...common, items: { anyOf: titled } }
}

function titledChoices(options: unknown): Params[] | undefined {
  if (!Array.isArray(options) || options.length === 0) return undefined
  if (!options.every((option) => isObject(option) && typeof option.const === 'string')) return undefined
  return options.map((option) => ({ const: option.const, title: option.title ?? option.const }))
}

function pick(value: Params, ...names: string[]): Params {
  return Object.fromEntries(names.filter((name) => value[name] !== undefined).map((name) => [name, value[name]]))
}
