/** Validates the lists of upstreams: one invalid entry would make the whole list unreadable for strict clients. */

import { bounds } from '../../../protocol/bounds.ts'
import { isObject } from '../../../protocol/jsonrpc.ts'
import type { Params } from '../../../protocol/types.ts'
import { uriProblem } from '../../../protocol/uri.ts'
import { uriTemplate } from '../../../protocol/uri-template.ts'

type Check = { readonly what: string; readonly isValid: (value: unknown) => boolean }
type Checks = Readonly<Record<string, Check>>

/** Variables of a template. Each costs memory and time with every URI that is matched. */
const maxTemplateVariables = 32

const isText = (value: unknown): value is string => typeof value === 'string'
const isName = (value: unknown) =>
  isText(value) && value !== '' && value.length <= bounds.nameCharacters && !/\p{Cc}/u.test(value)
const isTemplate = (value: unknown) => {
  if (!isText(value) || value.length > bounds.uriCharacters || value.split('{').length > maxTemplateVariables)
    return false
  try {
    return uriTemplate(value).names.length <= maxTemplateVariables
  } catch {
    return false
  }
}

const text: Check = { what: 'a string', isValid: isText }
const name: Check = {
  what: `1 to ${bounds.nameCharacters} characters without control characters`,
  isValid: isName,
}
const object: Check = { what: 'an object', isValid: isObject }
const objectSchema: Check = {
  what: 'a JSON Schema with the type "object"',
  isValid: (value) => isObject(value) && value.type === 'object',
}
const number: Check = { what: 'a number', isValid: (value) => typeof value === 'number' }
const icons: Check = {
  what: 'a list of objects with a "src"',
  isValid: (value) => Array.isArray(value) && value.every((icon) => isObject(icon) && isText(icon.src)),
}
const promptArguments: Check = {
  what: 'a list of objects with a "name"',
  isValid: (value) => Array.isArray(value) && value.every(isPromptArgument),
}
const isPromptArgument = (value: unknown) => {
  if (!isObject(value) || !isText(value.name)) return false
  const { title, description, required } = value
  return [title, description].every((member) => member === undefined || isText(member)) && isBoolean(required ?? false)
}
const isBoolean = (value: unknown) => typeof value === 'boolean'
const uri: Check = {
  what: `a URI of at most ${bounds.uriCharacters} characters`,
  isValid: (value) => isText(value) && value.length <= bounds.uriCharacters && uriProblem(value) === undefined,
}
const template: Check = {
  what: `a URI template (RFC 6570) of at most ${bounds.uriCharacters} characters and ${maxTemplateVariables} variables`,
  isValid: isTemplate,
}

const optional: Checks = { title: text, description: text, icons, _meta: object }
const resource: Checks = { ...optional, mimeType: text, annotations: object }

/** Types of the members of an entry, required ones first. */
const members = {
  tools: [
    { name, inputSchema: objectSchema },
    { ...optional, outputSchema: object, annotations: object },
  ],
  prompts: [{ name }, { ...optional, arguments: promptArguments }],
  resources: [
    { uri, name: text },
    { ...resource, size: number },
  ],
  resourceTemplates: [{ uriTemplate: template, name: text }, resource],
} as const satisfies Readonly<Record<string, readonly [Checks, Checks]>>

export type ListMember = keyof typeof members

/**
 * Returns a copy of a listed entry without optional members that are `null`, which several SDKs write for absent ones.
 *
 * @returns `problem`: why the entry is invalid
 */
export function readEntry(member: ListMember, value: unknown): { entry: Params } | { problem: string } {
  if (!isObject(value)) return { problem: 'it must be an object' }
  const [required, others] = members[member]
  for (const [key, { what, isValid }] of Object.entries<Check>(required)) {
    if (!isValid(value[key])) return { problem: `"${key}" must be ${what}` }
  }
  const entry = { ...value }
  for (const [key, { what, isValid }] of Object.entries<Check>(others)) {
    if (entry[key] === null) delete entry[key]
    if (entry[key] !== undefined && !isValid(entry[key])) return { problem: `"${key}" must be ${what}` }
  }
  return { entry }
}
