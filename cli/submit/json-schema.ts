/** Walks through JSON Schemas of tools. */

type Schema = Readonly<Record<string, unknown>>

/** Keywords whose value is a schema, a list of schemas, or an object of schemas. */
const single = [
  'items',
  'additionalProperties',
  'contains',
  'not',
  'if',
  'then',
  'else',
  'propertyNames',
  'unevaluatedProperties',
  'unevaluatedItems',
  'additionalItems',
]
const lists = ['allOf', 'anyOf', 'oneOf', 'prefixItems', 'items']
const maps = ['properties', 'patternProperties', 'dependentSchemas']

export type Part = {
  /** Names of the properties on the way, such as `address.street`; empty for the schema itself. */
  readonly path: string
  readonly schema: Schema
}

/** Returns a schema and all schemas in it. Values such as `default` and `enum` are not schemas, and definitions are not a part before a `$ref` uses them. */
export function partsOf(schema: unknown, path = ''): Part[] {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return []
  const own = schema as Schema // Its members are unknown.
  const property = (name: string) => (path === '' ? name : `${path}.${name}`)
  return [
    { path, schema: own },
    ...single.flatMap((key) => partsOf(own[key], path)),
    ...lists.flatMap((key) => (Array.isArray(own[key]) ? own[key].flatMap((one) => partsOf(one, path)) : [])),
    ...maps.flatMap((key) =>
      Object.entries(own[key] ?? {}).flatMap(([name, one]) =>
        partsOf(one, key === 'properties' ? property(name) : path),
      ),
    ),
  ]
}
