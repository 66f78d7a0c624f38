/** Validates the lists of upstreams: one invalid entry would make the whole list unreadable for strict clients. */

import { type Kind, type Kinds, preview } from '../../../declarations/check-options.ts'
import * as kind from '../../../declarations/option-kinds.ts'
import { readOptional } from '../../../declarations/optional-members.ts'
import * as bounds from '../../../protocol/bounds.ts'
import { isObject } from '../../../protocol/jsonrpc.ts'
import type { Params } from '../../../protocol/types.ts'
import { uriProblem } from '../../../protocol/uri.ts'
import { isUriTemplate } from '../../../protocol/uri-template.ts'
import { mendValue } from './mend-values.ts'

/** Characters of an entry, as JSON. Each of its members costs time whenever a list is read. */
export const maxEntryCharacters = 262_144
/** Variables of a template. Each costs memory and time with every URI that is matched. */
const maxTemplateVariables = 32

const isText = (value: unknown): value is string => typeof value === 'string'
const isName = (value: unknown) =>
  isText(value) && value !== '' && value.length <= bounds.nameCharacters && !/\p{Cc}/u.test(value)
const isTemplate = (value: unknown) =>
  isText(value) &&
  value.length <= bounds.uriCharacters &&
  isUriTemplate(value) &&
  variablesOf(value) <= maxTemplateVariables

/** Counts the variables, repeated ones included. */
const variablesOf = (template: string) => (template.match(/\{[^}]*\}/g) ?? []).join().split(',').length

const name: Kind = [isName, `1 to ${bounds.nameCharacters} characters without control characters`]
/** Keywords whose type clients check. Others are the business of who validates with the schema. */
const schemaKeywords: Kinds = {
  $schema: kind.string,
  properties: [
    (value) => isObject(value) && Object.values(value).every((each) => isObject(each) || typeof each === 'boolean'),
    'an object of JSON Schemas',
  ],
  required: kind.strings,
}
const objectSchema: Kind = [
  (value) => isObject(value) && value.type === 'object',
  'a JSON Schema with the type "object"',
  schemaKeywords,
]
const promptArguments: Kind = [
  (value) => kind.isListOf(value, isObject),
  'a list of objects with a "name"',
  {
    name: kind.required(kind.string),
    title: kind.string,
    description: kind.string,
    required: kind.flag,
  },
]
const uri: Kind = [
  (value) => isText(value) && value.length <= bounds.uriCharacters && uriProblem(value) === undefined,
  `a URI of at most ${bounds.uriCharacters} characters`,
]
const template: Kind = [
  isTemplate,
  `a URI template (RFC 6570) of at most ${bounds.uriCharacters} characters and ${maxTemplateVariables} variables`,
]

const described: Kinds = { title: kind.string, description: kind.string, icons: kind.icons, _meta: kind.object() }
const located: Kinds = {
  ...described,
  name: kind.required(kind.string),
  mimeType: kind.string,
  annotations: kind.annotations,
}

/** Members of an entry. */
const members = {
  tools: {
    name: kind.required(name),
    inputSchema: kind.required(objectSchema),
    ...described,
    outputSchema: kind.object(schemaKeywords),
    annotations: kind.toolAnnotations,
  },
  prompts: { name: kind.required(name), ...described, arguments: promptArguments },
  resources: { uri: kind.required(uri), ...located, size: [Number.isFinite, 'a number'] },
  resourceTemplates: { uriTemplate: kind.required(template), ...located },
} as const satisfies Readonly<Record<string, Kinds>>

export type ListMember = keyof typeof members

/**
 * Returns a copy of a listed entry without optional members that are `null`, at each level, which several SDKs write for absent ones.
 *
 * @param isSmall whether it was read from at most `maxEntryCharacters`. Default: it is measured
 * @returns `problem`: why the entry is invalid
 */
export function readEntry(
  member: ListMember,
  value: unknown,
  isSmall = false,
): { entry: Params } | { problem: string } {
  if (!isObject(value)) return { problem: 'an entry must be an object' }
  const { name, uri, uriTemplate } = value
  const owner = preview(name ?? uri ?? uriTemplate)
  if (!isSmall && JSON.stringify(value).length > maxEntryCharacters) {
    return { problem: `${owner} must have at most ${maxEntryCharacters} characters as JSON` }
  }
  try {
    const read: Params = readOptional(mendValue(value), members[member], owner, '', InvalidEntry)
    return { entry: member === 'tools' ? withObjects(read) : { ...read } }
  } catch (problem) {
    if (problem instanceof InvalidEntry) return { problem: problem.message }
    throw problem
  }
}

class InvalidEntry extends Error {}

/** Returns a copy of a tool without schemas of properties that are `true` or `false`: clients of versions with sessions reject these. */
function withObjects(tool: Params): Params {
  const copy = { ...tool }
  for (const name of ['inputSchema', 'outputSchema']) {
    const schema = copy[name]
    if (!isObject(schema) || !isObject(schema.properties)) continue
    const properties = Object.entries(schema.properties)
    if (properties.every(([, each]) => isObject(each))) continue
    const objects = properties.map(([key, each]) => [key, isObject(each) ? each : each ? {} : { not: {} }])
    copy[name] = { ...schema, properties: Object.fromEntries(objects) }
  }
  return copy
}
